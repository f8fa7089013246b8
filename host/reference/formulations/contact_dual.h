// the convex contact dual, every row type and cone.
//
// solves    min_{f in K} 1/2 f'(A + R) f + f'b
// equation  y = (A + R) f + b, f in K, y in K*, f'y = 0. K is a product of: free rows (equality), f >= 0
//           (limits), |f| <= bound (friction loss), and for contacts with rows n, t1, t2, spin, roll1, roll2
//           elliptic   sum (f_i / mu_i)^2 <= f_n^2
//           pyramidal  f = E beta, beta >= 0; E has columns (1, mu_1 cos t_k, mu_2 sin t_k), t_k = 2 pi k / nd,
//                      for three rows and (1, +-mu_i e_i) for four and six
//           desaxce: b_n <- b_n + max over the cone's section of -(mu u)'y_t, that is |mu y_t| for the
//           elliptic cone: the fixed point is Coulomb's law with Signorini's condition, no convex program
// source    Todorov 2014, Convex and analytically-invertible dynamics with contacts and constraints;
//           Tedrake, Underactuated Robotics, multi-body appendix; de Saxce & Feng 1998 (bipotential); Acary
//           et al. 2011 (the fixed point)
// deviation R stands on the force, not on the pyramid's edges; the fixed point is speeded up by Anderson's
//           mixing, and handed to coulomb.h where that does not settle
// reads     A (r,r) symmetric positive semidefinite [1/kg], R (r) >= 0, b (r) [m/s^2] for forces, [m/s] for impulses
// writes    force, objective (R and the final b inside), the natural residual |f - P_K(f - y/a)|, a the mean
//           diagonal of A + R, and the sweeps and steps taken; rows without any inertia (both bodies fixed) get no force
// cost      O(r^2) a sweep, O(r^3) a Newton step
#pragma once

#include <vector>

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

enum class FrictionCone { kElliptic, kPyramidal };

struct ContactDualRows {
  int equality = 0;
  int limits = 0;
  std::vector<double> friction_loss;
  std::vector<std::vector<double>> mu;  // per contact, dims - 1 coefficients
  FrictionCone cone = FrictionCone::kElliptic;
  int directions = 4;
  bool desaxce = false;

  int rows() const;
};

struct ContactDualSolution {
  Vector force;
  double objective;
  double residual;
  int iterations;
};

ContactDualSolution contact_dual(const Matrix& A, const Vector& b, const Vector& R,
                                 const ContactDualRows& rows);

// the edges of one contact's friction pyramid, a column each
Matrix pyramid_edges(const std::vector<double>& mu, int directions);

// the nearest point of sum (x_i / mu_i)^2 <= x_n^2, x_n >= 0, in the euclidean norm
Vector project_elliptic(const Vector& x, const std::vector<double>& mu);

}  // namespace dualstep::formulations
