// The mass matrix: composite rigid bodies.
//
//   Ic_p += Ic_i;   M_ij = S_j' Ic_body(i) S_i for j an ancestor dof of i (or i itself);   + armature on the
//   diagonal
//
// Source: Featherstone 2008, table 6.2. Row i of M holds the dof itself, then its ancestors up to the root:
// the row of an ancestor is a tail of it, so no index list is needed to combine rows.
// Reads cinert, cdof. Writes crb (in the place of cinert), M. Cost: O(sum of depths).
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class E>
DS_STAGE void inertia(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto crb = env.crb(), cdof = env.cdof(), M = env.M();
  for (int level = t.n.nlevel - 1; level >= 0; level--) {
    for (int k = t.level_adr[level] + env.lanes.rank(); k < t.level_adr[level + 1]; k += env.lanes.width()) {
      const int b = t.level_body[k];
      for (int c = t.child_adr[b]; c < t.child_adr[b + 1]; c++)
        for (int e = 0; e < 10; e++) crb[10 * b + e] += crb[10 * t.child_body[c] + e];
    }
    env.sync();
  }
  env.each(t.n.nv, [&](int i) {
    const Spatial<Real> f = multiply(crb.inertia(t.dof_body[i]), cdof.spatial(i));
    const int begin = t.M_rowadr[i], end = t.M_rowadr[i + 1];
    M[begin] = dot(cdof.spatial(i), f) + env.dof_armature(i);
    for (int e = begin + 1; e < end; e++) M[e] = dot(cdof.spatial(t.M_col[e]), f);
  });
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
