// The mass matrix: composite rigid bodies.
//
// solves    M(q)
// equation  from the leaves to the root, p the parent of i:
//             Ic_p += Ic_i
//           then for each dof i, and each j that is i or an ancestor dof of i:
//             M_ij = S_j' Ic_body(i) S_i
//             M_ii += armature_i
//           and armature J'J of tendons (tendons.h)
// source    Featherstone 2008, table 6.2
// deviation none. Row i of M holds the dof itself, then its ancestors up to the root: the row of an ancestor
//           is a tail of it, so no list of indices is needed to combine rows
// reads     cinert, cdof, ten_J
// writes    crb (in the place of cinert), M
// cost      O(sum of the dofs' depths)
#pragma once

#include "kernels/smooth/tendons.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// what bodies have, kWidth numbers each, becomes sums over their subtrees
template <int kWidth, class E, class F>
DS_HD void sum_subtrees(E& env, const F& x) {
  const auto& t = env.t;
  for (int level = t.n.nlevel - 1; level >= 0; level--) {
    for (int k = t.level_adr[level] + env.lanes.rank(); k < t.level_adr[level + 1]; k += env.lanes.width()) {
      const int b = t.level_body[k];
      for (int c = t.child_adr[b]; c < t.child_adr[b + 1]; c++)
        for (int e = 0; e < kWidth; e++) x[kWidth * b + e] += x[kWidth * t.child_body[c] + e];
    }
    env.sync();
  }
}

// crb of the inertias in its place
template <class E>
DS_HD void composite_inertias(E& env) {
  sum_subtrees<kInertiaNumbers>(env, env.crb());
}

template <class E>
DS_STAGE void inertia(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto crb = env.crb(), cdof = env.cdof(), M = env.M();
  composite_inertias(env);
  env.each(t.n.nv, [&](int i) {
    const Spatial<Real> f = multiply(crb.inertia(t.dof_body[i]), cdof.spatial(i));
    const int begin = t.M_rowadr[i], end = t.M_rowadr[i + 1];
    M[begin] = dot(cdof.spatial(i), f) + env.dof_armature(i);
    for (int e = begin + 1; e < end; e++) M[e] = dot(cdof.spatial(t.M_col[e]), f);
  });
  add_tendon_inertia(env);
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
