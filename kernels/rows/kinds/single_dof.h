// Single-dof rows: J has one entry, so limits and friction loss of a dof share one whitened row.
//
// A row is made where it is in use: where the dof has a friction loss, or a limit with a weight in some environment of the
// pack.
//
// solves    the whitened rows of limits and friction losses, and what the solver asks of them
// equation  x = D^-1/2 L^-T e_dof   (a row of Linv, on the dof's ancestors),   y = y0 +- x'w,   grad <- grad - l x
// source    factorize.h for L'DL; rows.h for the whitening
// deviation none
// reads     LD, Dscale, Linv, single_*, lim_*, loss_*
// writes    the set of rows in use, Linv, and as the solver asks lim_y, loss_y, dy, single_f, single_h
// cost      O(rows in use x ancestors of a dof)
#pragma once

#include "kernels/rows/kinds/friction_loss.h"
#include "kernels/rows/kinds/limit.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// calls f with the kinds of rows that stand on single-dof rows, in their order
template <class E, class F>
DS_HD void each_single_kind(const E& env, F f) {
#define DS_ROW(kind, elements, rows, first) f(kind<E>{env});
  DS_SINGLE_DOF_KINDS(DS_ROW)
#undef DS_ROW
}

// the environments that use a single-dof row, or may
template <class E>
DS_HD typename E::Mask single_users(const E& env, int u) {
  auto used = all_false<typename E::Real>();
  each_single_kind(env, [&](const auto& kind) { kind.add_users(u, &used); });
  return used;
}
// those that environments of a set use, as a set
template <class E>
DS_HD void find_single_rows(const E& env, const typename E::Mask& users, const typename E::Words& out) {
  const auto& t = env.t;
  const int rank = env.lanes.rank(), width = env.lanes.width();
  for (int word = 0; word < t.n.nsingleword; word++) {
    int mine = 0, all = 0;
    for (int u = 32 * word + rank; u < t.n.nsingle && u < 32 * (word + 1); u += width) {
      if (any(mask_and(users, single_users(env, u)))) mine |= static_cast<int>(1u << (u & 31));
    }
    // no two lanes have the same
    (void)env.lanes.exclusive_scan(mine, &all);
    if (rank == 0) out[word] = all;
  }
}
template <class E>
DS_STAGE void find_single_rows(E& env) {
  using Real = typename E::Real;
  find_single_rows(env, all_true<Real>(), single_rows_in_use(env));
  env.done();
}

// single-dof rows in use whitened: x = D^-1/2 L^-T e_i on the chain of ancestors of i
template <class E>
DS_STAGE void single_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD(), Dscale = env.Dscale(), Linv = env.Linv();
  env.each(t.n.nsingle, [&](int u) {
    if (!in_set(single_rows_in_use(env), u)) return;
    const int i = t.single_dof[u], row = t.M_rowadr[i], n = t.M_rowadr[i + 1] - row;
    const auto z = Linv.from(row);
    z[0] = Real(1);
    for (Index a = 1; a < n; a++) z[a] = Real(0);
    for (int a = 0; a < n; a++) {
      const int k = t.M_col[row + a];
      const auto up = LD.from(t.M_rowadr[k]), above = z.from(a);
      const Index behind = n - a;
      const Real x = z[a];
      for (Index e = 1; e < behind; e++) above[e] = fma(-up[e], x, above[e]);
      z[a] = x * Dscale[k];
    }
  });
}

template <class E>
struct SingleDofRows {
  using Real = typename E::Real;
  const E& env;

  // y = y0 + Z'w
  template <class F>
  DS_HD void put_residuals(const F& w) const {
    each_single(env, [&](int u) {
      const Real x = single_dot(env, env.t.single_dof[u], w);
      if (env.lanes.rank() != 0) return;
      each_single_kind(env, [&](const auto& kind) { kind.put_residual(u, x); });
    });
  }
  // dy = Z'dw
  template <class F>
  DS_HD void put_changes(const F& dw) const {
    each_single(env, [&](int u) {
      const Real x = single_dot(env, env.t.single_dof[u], dw);
      if (env.lanes.rank() != 0) return;
      each_single_kind(env, [&](const auto& kind) { kind.put_change(u, x); });
    });
  }
  // force and curvature of each row in use, of all kinds together; returns a number that changes when the
  // active set does
  template <bool kCurvature>
  DS_HD Real put_laws() const {
    const Real zero(0);
    const auto f = env.single_f(), h = env.single_h();
    return env.accumulate(env.t.n.nsingle, [&](int u, const Real& sum) -> Real {
      if (!in_set(single_rows_in_use(env), u)) return sum;
      Real force = zero, curvature = zero, key = zero;
      each_single_kind(env, [&](const auto& kind) { kind.add_law(u, &force, &curvature, &key); });
      f[u] = force;
      h[u] = curvature;
      return sum + key;
    });
  }
  // x <- x - Z l for those that push on an environment in `live`, or + the squares of the terms; none is rigid
  template <Terms kTerms = Terms::kAll, class F>
  DS_HD void subtract_forces(const typename E::Mask& live, const F& x) const {
    if constexpr (kTerms == Terms::kRigid) return;
    const auto force = env.single_f();
    each_single(env, [&](int u) {
      const Real f = force[u];
      if (any(mask_and(live, f != Real(0)))) single_axpy<kTerms>(env, env.t.single_dof[u], -f, x);
    });
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
