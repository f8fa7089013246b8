// Products with whitened rows, over the dofs that each of them reaches: Z_row . x, and x + c Z_row. Rows of
// limits and friction losses reach one joint, and are rows of Linv themselves ("unit rows").
#pragma once

#include "kernels/cone.h"
#include "kernels/rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// Z_row . x over the dofs of a support
template <class E, class Set, class F>
DS_HD typename E::Real dense_dot(const E& env, const Set& support, int row, const F& x) {
  using Real = typename E::Real;
  const auto Z = env.Z();
  const int at = row * env.t.n.nv;
  return env.accumulate_in(support, env.t.n.nv,
                           [&](int d, const Real& s) { return fma(Z[at + d], x[d], s); });
}
template <class E, class F>
DS_HD typename E::Real general_dot(const E& env, int g, const F& x) {
  return dense_dot(env, general_support(env, g), g, x);
}
template <int kDim, class E, class F>
DS_HD typename E::Real contact_dot(const E& env, int slot, int r, const F& x) {
  return dense_dot(env, slot_support(env, slot), env.t.n.ngen + kDim * slot + r, x);
}
// x <- x + sum of c_r Z_r over kRows rows from `first` on, which reach a support. Every lane does its own
// dofs
template <int kRows, class E, class Set, class Real, class F>
DS_HD void add_rows(const E& env, const Set& support, int first, const Real* c, const F& x) {
  const auto Z = env.Z();
  const int nv = env.t.n.nv;
  const auto add = [&](int d) {
    Real s = x[d];
    DS_UNROLL
    for (int r = 0; r < kRows; r++) s = fma(Z[(first + r) * nv + d], c[r], s);
    x[d] = s;
  };
  if constexpr (E::Lanes::kWidth == 1) {
    each_member(support, env.t.n.nword, add);
  } else {
    env.each(nv, [&](int d) {
      if (in_set(support, d)) add(d);
    });
  }
}
// unit row of dof i . x
template <class E, class F>
DS_HD typename E::Real unit_dot(const E& env, int i, const F& x) {
  using Real = typename E::Real;
  const auto Linv = env.Linv();
  const int row = env.t.M_rowadr[i], n = env.t.M_rowadr[i + 1] - row;
  return env.accumulate(n,
                        [&](int a, const Real& s) { return fma(Linv[row + a], x[env.t.M_col[row + a]], s); });
}
template <class E, class F>
DS_HD void unit_axpy(const E& env, int i, const typename E::Real& s, const F& x) {
  const auto Linv = env.Linv();
  const int row = env.t.M_rowadr[i], n = env.t.M_rowadr[i + 1] - row;
  env.each(n, [&](int a) { x[env.t.M_col[row + a]] = fma(Linv[row + a], s, x[env.t.M_col[row + a]]); });
  env.sync();
}
template <class E>
DS_HD typename E::Real unit_diag(const E& env, int i) {
  using Real = typename E::Real;
  const auto Linv = env.Linv();
  const int row = env.t.M_rowadr[i], n = env.t.M_rowadr[i + 1] - row;
  return env.accumulate(n, [&](int a, const Real& s) { return fma(Linv[row + a], Linv[row + a], s); });
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
