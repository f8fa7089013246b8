// impacts with restitution and friction.
//
// solves    v+ = v + M^-1 J'L for the impulses of contacts that close
// equation  frictionless    0 <= n v+ + e n v _|_ L >= 0, all contacts together
//                           (one contact: L = -(1+e) n v / (n M^-1 n'))
//           no slip         L = -A^+ diag(1+e, 1, 1) u, u = J v, A = J M^-1 J'; nothing when no contact approaches
//           Coulomb, "lcp"  the LCP of stewart_trinkle.h with the normal term (1+e) u_n
//           "convex"        min 1/2 L'AL + L'diag(1+e, 1, 1)u over the friction cones; sliding then inflates L_n
// source    Newton's law of restitution; Moreau 1988; Mirtich 1996; Tedrake, Underactuated Robotics, multi-body appendix
// deviation diag(1+e, 1, 1) stands to the right of A^+: to its left, as printed there, it is wrong wherever
//           normal and tangent couple
// reads     M (nv,nv), J (3c,nv) rows n, t1, t2, v (nv), mu (c) (all infinite, or none), e (c) in [0, 1]
// writes    v+, impulses (3c), and by how much e was scaled when the energy was limited (bisection until
//           T+ <= T-); throws Infeasible
// cost      O(nv^3) and one LCP or cone program; about 50 of them where the energy is limited
#pragma once

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

enum class ImpactLaw { kLcp, kConvex };

struct ImpactResult {
  Vector v_next;
  Vector impulse;
  double restitution_scale;
};

struct ImpactOptions {
  ImpactLaw law;
  int directions;  // of the friction pyramid of the LCP
  bool limit_energy;
};
ImpactResult impact(const Matrix& M, const Matrix& J, const Vector& v, const Vector& mu,
                    const Vector& restitution, const ImpactOptions& options);

}  // namespace dualstep::formulations
