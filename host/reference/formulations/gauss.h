// Gauss's principle of least constraint, from both sides.
//
// solves    primal  min_a 1/2 (a - a_uc)' M (a - a_uc)  subject to  J a + Jdot v = 0,  a_uc = M^-1 tau
//           dual    min_f 1/2 f' A f + f' c,  c = J a_uc + Jdot v,  A = J M^-1 J'
// equation  with y = L'(a - a_uc), M = L L', W = L^-1 J': the primal is the least-norm y with W'y = -c;
//           the dual is f = -A^+ c;
//           strong duality: primal value = -dual value
// source    Gauss 1829; Udwadia & Kalaba 1992; Tedrake, Underactuated Robotics, multi-body appendix
// deviation the dual's linear term has a plus sign; printed with a minus it returns -f
// reads     M (nv,nv), tau (nv), J (k,nv), Jdot_v (k)
// writes    acceleration (from the primal), force (from the dual), both objectives
// cost      O(nv^3 + k^2 nv)
#pragma once

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

struct GaussMotion {
  Vector qacc;
  Vector force;
  double primal;
  double dual;
  double inconsistency;
};

GaussMotion gauss(const Matrix& M, const Vector& tau, const Matrix& J, const Vector& Jdot_v);

}  // namespace dualstep::formulations
