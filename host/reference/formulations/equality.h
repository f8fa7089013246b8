// bilateral constraints by position and by velocity, stabilised.
//
// solves    M a = tau + J' f for the acceleration and the force that keep c(q) = 0, or psi(q, v, t) = 0
// equation  position: c'' = -2 alpha c' - alpha^2 c, so f = -A^+ (J M^-1 tau + Jdot v + 2 alpha c' + alpha^2 c)
//           velocity: psi' = -alpha psi, so f = -A^+ (G M^-1 tau + drift + alpha psi), drift = psi_q q' + psi_t
//           A = J M^-1 J', A^+ its pseudo-inverse
// source    Tedrake, Underactuated Robotics, multi-body appendix; Tedrake's 2012 notes on constraints,
//           sections 1 and 2 (alpha = 1/epsilon there); Baumgarte 1972
// deviation the velocity form is printed there without a transpose and without psi_t; both are here
// reads     M (nv,nv), tau (nv), J (k,nv), the drift (k), c (k), c' (k), alpha [1/s]
// writes    acceleration, force, and how much of the demand no force can meet (relative)
// cost      O(nv^3 + k^2 nv)
#pragma once

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

struct ConstrainedMotion {
  Vector qacc;
  Vector force;
  double inconsistency;
};

ConstrainedMotion equality_dynamics(const Matrix& M, const Vector& tau, const Matrix& J, const Vector& Jdot_v,
                                    const Vector& c, const Vector& c_dot, double alpha);

ConstrainedMotion velocity_equality_dynamics(const Matrix& M, const Vector& tau, const Matrix& G,
                                             const Vector& drift, const Vector& psi, double alpha);

}  // namespace dualstep::formulations
