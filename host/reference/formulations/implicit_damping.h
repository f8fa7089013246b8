// implicit damping: the relaxed cart against a wall, and joints with springs.
//
// solves    the scalar cart: f = argmin_{f >= 0} 1/2 f^2 (1+e)/(m + h b) + f (v_free - v*)/h
//           joints: (M + h D + h^2 K)(v' - v) = h (tau - D v - K (q + h v - rest)), q' = q + h v'
// equation  v_free = v + h (u - b v)/(m + h b), v* = v - 2h(1+e) v/kappa - h(1+e) q/kappa^2,
//           f = max(0, -(m + h b)(v_free - v*)/(h (1+e))), v' = v_free + h f/(m + h b)
// source    Tedrake, Underactuated Robotics, multi-body appendix (relaxed complementarity); Todorov 2014
// deviation the inertia is m + h b, with b in N s/m, and the objective has 1/h, so that f is a force; both are missing there
// reads     scalars, SI; M, D, K (nv,nv), rest, q, v, tau (nv), h [s]
// cost      a few operations; O(nv^3)
#pragma once

#include "host/reference/formulations/coulomb_1d.h"
#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

struct RelaxedCart {
  double m, damping, epsilon, kappa;  // damping: b; epsilon: e
};
ScalarStep todorov_scalar(const RelaxedCart& cart, double q, double v, double u, double h);

struct SpringJoints {
  const Matrix &M, &D, &K;
  const Vector& rest;
};
struct JointStep {
  Vector q_next, v_next;
};

JointStep implicit_joint_step(const SpringJoints& joints, const Vector& q, const Vector& v, const Vector& tau,
                              double h);

}  // namespace dualstep::formulations
