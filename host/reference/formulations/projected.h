// contact inertia, the null-space projector, and the plastic impact of a contact that closes.
//
// solves    [M -J'; J 0][a; f] = [tau; -Jdot v]   and   [M -J'; J 0][v+; L] = [M v-; 0]
// equation  Lambda = (J M^-1 J')^+ [kg], N' = I - J' Lambda J M^-1 (idempotent, J M^-1 N' = 0);
//           M a = N' tau - J' Lambda Jdot v, f = -Lambda (Jdot v + J M^-1 tau);
//           L = -Lambda J v-, v+ = (I - M^-1 J' Lambda J) v-, kinetic energy lost 1/2 (J v-)' Lambda (J v-)
// source    Khatib 1987 (operational space); lecture notes on modelling contacts in excess coordinates (legged robots)
// deviation the right side is -Jdot v throughout, and the loss is a positive number
// reads     M (nv,nv), tau or v (nv), J (k,nv), Jdot_v (k)
// cost      O(nv^3 + k^2 nv)
#pragma once

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

struct ProjectedMotion {
  Vector qacc;
  Vector force;
  Matrix contact_inertia;
  Matrix projector;
};

ProjectedMotion projected_dynamics(const Matrix& M, const Vector& tau, const Matrix& J, const Vector& Jdot_v);

struct PlasticImpact {
  Vector v_next;
  Vector impulse;
  double energy_loss;
};

// bilateral: an impulse may pull, which only the complementarity form of impact.h forbids
PlasticImpact plastic_impact(const Matrix& M, const Matrix& J, const Vector& v);

}  // namespace dualstep::formulations
