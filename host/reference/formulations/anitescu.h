// Anitescu's convex relaxation of the contact step.
//
// solves    min 1/2 (v' - v_free)'M(v' - v_free)  subject to  phi/h + (n + mu d_k) v' >= 0 for every direction d_k,
//           or, with a circular cone, subject to J v' + phi/h e_n in the dual friction cone
// equation  its dual: min over beta >= 0 of 1/2 beta'G M^-1 G'beta + beta'(G v_free + phi/h), rows of G being n + mu d_k;
//           the impulse is sum beta_k (1, mu d_k)
//           circular: min over the cone of 1/2 L'AL + L'(J v_free + phi/h e_n)
// source    Anitescu 2006; Anitescu & Hart 2004; Tedrake, Underactuated Robotics, multi-body appendix
// deviation the dual's linear term holds G v_free, without which bodies fall through; the rows are n + mu d,
//           not n - mu d
// reads     M (nv,nv), J (3c,nv) rows n, t1, t2, phi (c) [m], mu (c), v_free (nv), h [s], nd even, or 0 for the circle
// writes    v', impulses (3c) in the order n, t1, t2; throws Infeasible where facing contacts both penetrate
// cost      O(nv^3) and a convex program of nd c, or 3 c, unknowns
#pragma once

#include "host/reference/formulations/frictionless.h"

namespace dualstep::formulations {

ImpulseStep anitescu(const Matrix& M, const Matrix& J, const Vector& phi, const Vector& mu,
                     const Vector& v_free, double h, int directions);

}  // namespace dualstep::formulations
