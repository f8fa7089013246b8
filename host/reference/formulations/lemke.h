// linear complementarity problems.
//
// solves    w = q + M z,  0 <= w,  0 <= z,  z_i w_i = 0
// equation  Lemke's path: w = q + M z + d z0 is followed from z0 = max(-q/d) to z0 = 0 by complementary
//           pivots; ties in the ratio test are broken lexicographically, so that a degenerate problem cannot cycle
// source    Lemke 1965; Cottle, Pang & Stone, The Linear Complementarity Problem, sections 4.4 and 4.9
// deviation rows and columns are equilibrated first (which keeps complementarity); the tableau is rebuilt
//           from its basis every few pivots, and the answer is solved afresh from the last basis; where the
//           path ends in a ray, or rounding leads it round in a cycle, other covering vectors, a tiny shift of
//           M and, up to 12 unknowns, every complementary cone are tried
// reads     M (k,k), symmetric or not, and q (k)
// writes    z, w, the residual max(-z, -w, |z w|); throws Infeasible where no solution was found
// cost      O(k^2) a pivot, about 2k pivots; 2^k small least squares in the last resort
#pragma once

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

struct LcpSolution {
  Vector z;
  Vector w;
  double residual;
};

enum class LemkeEnd { kSolved, kRay, kPivotLimit };

struct LemkePath {
  LemkeEnd end;
  Vector z;
  int pivots;
};

// one path of at most about `limit` pivots, with covering vector d > 0, on the problem as it stands
LemkePath lemke(const Matrix& M, const Vector& q, const Vector& d, int limit);

// max(-z, -w, |z w|), zero for no rows
double lcp_residual(const Vector& z, const Vector& w);

// the whole strategy above
LcpSolution solve_lcp(const Matrix& M, const Vector& q);

}  // namespace dualstep::formulations
