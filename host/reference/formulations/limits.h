// unilateral position constraints: joint limits and the like.
//
// solves    M a = tau + J'f, phi(q) >= 0, for the acceleration and the forces that only push
// equation  a row is closed unless phi > 0 or phi' > -phi/epsilon; closed rows together:
//           0 <= J a + Jdot v + (2/epsilon) phi' + phi/epsilon^2  complementary to  f >= 0
// source    Tedrake's 2012 notes on constraints, section 3.1
// deviation the stabilising terms enter with plus signs; with the minus signs printed there they drive the constraint deeper
// reads     M (nv,nv), tau (nv), J (k,nv), Jdot_v (k), v (nv), phi (k), epsilon [s] (none: every row closed and at rest)
// writes    acceleration, force, which rows passed the gate; throws Infeasible where no motion meets all closed rows
// cost      O(nv^3) and one LCP of the closed rows
#pragma once

#include <optional>
#include <vector>

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

struct LimitMotion {
  Vector qacc;
  Vector force;
  std::vector<char> active;
};

LimitMotion limit_dynamics(const Matrix& M, const Vector& tau, const Matrix& J, const Vector& Jdot_v,
                           const Vector& v, const Vector& phi, std::optional<double> epsilon);

}  // namespace dualstep::formulations
