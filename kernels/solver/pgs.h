// Projected Gauss-Seidel on the contact dual, by blocks, on whitened rows.
//
// Limits, friction losses and dense scalar rows are scalar blocks: l <- project(l - y / a). A contact is one block
// (kinds/contact_block.h). Blocks go in the order of kinds.h, which is that of their sources in the model.
//
// solves    minimize over l in K   1/2 l'(A + R) l + l'y0,   approximately: so many sweeps
// equation  w = Z l is kept
//             y_c = y0_c + Z_c'w + R_c l_c
//           each block is minimized over its own cone, then w += Z_c dl_c
// source    the dual of Todorov 2014; block updates after Jourdan, Alart and Jean 1998
// deviation none
// reads     Linv, Z, *_y0, *_D, con_A, con_mu
// writes    *_lambda, w
// cost      of a sweep O(rows nv)
#pragma once

#include "kernels/solver/anderson.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <int kDim, bool kByRows, class E>
DS_STAGE void clear_forces(E& env) {
  using Real = typename E::Real;
  each_kind<kDim, kByRows>(env, [&](const auto& kind) {
    const auto l = kind.lambda();
    env.each(kind.count(), [&](int i) { l[i] = Real(0); });
  });
  env.each(env.t.n.nv, [&](int i) { env.w()[i] = Real(0); });
  env.sync();
}

template <class E>
DS_STAGE void sweep_scalar_rows(E& env) {
  const auto w = env.w();
  each_scalar_kind(env, [&](const auto& kind) { kind.sweep(w); });
}
template <int kDim, bool kByRows, class E>
DS_STAGE void sweep_contacts(E& env) {
  Contacts<kDim, kByRows, E>(env).sweep(env.w());
}

// sweeps from zero forces
template <int kDim, bool kByRows, class E>
DS_STAGE void pgs(E& env, int sweeps) {
  clear_forces<kDim, kByRows>(env);
  typename E::Real least(0);
  for (int k = 0; k < sweeps; k++) {
    sweep_scalar_rows(env);
    sweep_contacts<kDim, kByRows>(env);
    if (env.t.o.accelerated) accelerate<kDim, kByRows>(env, k, k + 1 == sweeps, &least);
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
