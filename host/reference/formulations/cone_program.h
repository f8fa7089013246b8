// the convex program under every contact dual.
//
// solves    min 1/2 x'Qx + c'x,  x in a product of: the real line, the half line, an interval, second-order cones
// equation  optimal iff x = P(x - D^-1 (Qx + c)) for the projection P onto the product and any positive block scaling D
// source    Todorov 2014 (the dual); Vandenberghe 2010, The CVXOPT linear and quadratic cone program solvers
//           (the interior point); Qi & Sun 1993 (semismooth Newton); Nocedal & Wright ch. 4 (the disc)
// deviation three solvers in a row: block sweeps, semismooth Newton on the fixed point, and a primal-dual
//           interior point for what the first two leave open; Q may be singular, the Newton steps are then least-norm
// reads     Q (n,n) symmetric and positive semidefinite, c (n), the blocks in order
// writes    x, the fixed point residual with D = mean diagonal, how many sweeps and steps; throws Infeasible
//           where the objective has no lower bound
// cost      O(n^2) a sweep, O(n^3) a step
#pragma once

#include <vector>

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

enum class BlockKind { kFree, kNonneg, kInterval, kCone };

struct ConeBlock {
  BlockKind kind;
  int start;
  int size;
  double bound;  // half width of an interval
};

struct ConeProgram {
  Matrix Q;
  Vector c;
  std::vector<ConeBlock> blocks;
};

struct ConeSolution {
  Vector x;
  double residual;
  int iterations;
};

// min 1/2 x'Gx + r'x over the ball |x| <= radius, G positive semidefinite: the secular equation
// 1/|x(nu)| = 1/radius with x(nu) = -(G + nu I)^-1 r; nu times the radius, the gradient left over, is
// returned where asked
Vector minimize_on_ball(const Matrix& G, const Vector& r, double radius, double* push = nullptr);

// the nearest point of the second-order cone x0 >= |x1..|, and its derivative where asked for
Vector project_cone(const Vector& x, Matrix* derivative = nullptr);

// the parts, each improving x in place; `steps` counts what was done
void sweep(const ConeProgram& program, int sweeps, Vector& x, int& steps);
double newton(const ConeProgram& program, int limit, Vector& x, int& steps);
// false when the iterates run away along a direction of descent: no minimum exists
bool interior_point(const ConeProgram& program, Vector& x, int& steps);

// |x - P(x - D^-1 (Qx + c))|, D the mean diagonal of each block, in the largest norm, over the size of c
double fixed_point_residual(const ConeProgram& program, const Vector& x);

// all three; `start` may be empty
ConeSolution solve_cone_program(const ConeProgram& program, const Vector& start = Vector());

}  // namespace dualstep::formulations
