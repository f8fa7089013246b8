// frictionless time stepping.
//
// solves    v' = v_free + M^-1 n'L with the linearised gap held open
// equation  0 <= phi/h + n v'  complementary to  L >= 0; the same as min 1/2 |v' - v_free|_M^2 s.t. phi/h + n v' >= 0
// source    Tedrake, Underactuated Robotics, multi-body appendix; lecture notes on LCP time stepping; Moreau 1988
// deviation L is an impulse [N s]; a force is L/h. phi/h is not capped
// reads     M (nv,nv), n (k,nv), phi (k) [m], v_free (nv), h [s]
// writes    v', L; throws Infeasible where the gaps contradict each other
// cost      O(nv^3) and one symmetric LCP of k rows
#pragma once

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

struct ImpulseStep {
  Vector v_next;
  Vector impulse;
};

ImpulseStep frictionless_step(const Matrix& M, const Matrix& n, const Vector& phi, const Vector& v_free,
                              double h);

}  // namespace dualstep::formulations
