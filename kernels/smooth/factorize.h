// L' D L on the tree's sparsity, and the solves with it.
//
// solves    M = L' D L,  L unit lower triangular;  x = M^-1 b
// equation  from the last dof k to the first, for ancestors i, j of k (j of i, or i itself):
//             L_ki = M_ki / M_kk
//             M_ij -= L_ki M_kj
//           then
//             M^-1 b = L^-1 D^-1 L^-T b
//             z = D^-1/2 L^-T b has |z|^2 = b' M^-1 b    (whitening)
// source    Featherstone 2008, section 6.5: the ancestors of a dof's ancestor are its own ancestors, so that
//           eliminating from the leaves to the root fills nothing in
// deviation under contact laws of a whole step, M + h diag(damping) takes the place of M
// reads     M, in the row storage of inertia.h
// writes    LD, Dinv, Dscale; a solve its argument
// cost      O(sum of depth^2) for the factor, O(sum of depths) for a solve
#pragma once

#include "kernels/data/law_has.h"
#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// LD <- M
template <class E>
DS_STAGE void load_factor(E& env) {
  const auto M = env.M(), LD = env.LD();
  env.each(env.t.n.nM, [&](int e) { LD[e] = M[e]; });
  env.sync();
}

// the factor of the matrix in LD, in place, and Dinv
template <class E>
DS_STAGE void eliminate(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD(), Dinv = env.Dinv();
  for (int k = t.n.nv - 1; k >= 0; k--) {
    const int row = t.M_rowadr[k], n = t.M_rowadr[k + 1] - row;
    const Real inv = Real(1) / LD[row];
    // every ancestor's row loses its share; the row itself becomes a row of L
    int a = 1 + env.lanes.rank();
    if constexpr (E::kPack > 1) {
      for (; a + 1 < n; a += 2) {  // two share what they load
        const auto own = LD.from(row + a + 1), up = LD.from(t.M_rowadr[t.M_col[row + a]] + 1),
                   next = LD.from(t.M_rowadr[t.M_col[row + a + 1]]);
        const Real first = LD[row + a], l = first * inv, m = own[0] * inv;
        LD[t.M_rowadr[t.M_col[row + a]]] = fma(-l, first, LD[t.M_rowadr[t.M_col[row + a]]]);
        for (Index e = 0; e < n - a - 1; e++) {
          const Real x = own[e];
          up[e] = fma(-l, x, up[e]);
          next[e] = fma(-m, x, next[e]);
        }
      }
    }
    for (; a < n; a += env.lanes.width()) {
      const int up = t.M_rowadr[t.M_col[row + a]];
      const Real l = LD[row + a] * inv;
      for (int e = 0; e < n - a; e++) LD[up + e] = fma(-l, LD[row + a + e], LD[up + e]);
    }
    env.sync();
    for (int a = 1 + env.lanes.rank(); a < n; a += env.lanes.width()) LD[row + a] = LD[row + a] * inv;
    if (env.lanes.rank() == 0) Dinv[k] = inv;
  }
  env.done();
}

// the same with Dscale, for rows that are to be whitened
template <class E>
DS_FN void eliminate_to_whiten(E& env) {
  eliminate(env);
  env.each(env.t.n.nv, [&](int i) { env.Dscale()[i] = sqrt(env.Dinv()[i]); });
  env.done();
}

// of M; under laws of a whole step of M + h diag(damping), in which the step is then implicit
template <class E>
DS_FN void factorize(E& env) {
  const auto& t = env.t;
  load_factor(env);
  const bool damped = t.o.has_damping && !disabled(t.o, kDisableEulerDamp | kDisableDamper);
  if (law_has<kLawStepInertia>(t.o) && t.o.integrator == kEuler && damped) {
    const auto LD = env.LD();
    env.each(t.n.nv, [&](int i) {
      LD[t.M_rowadr[i]] = fma(typename E::Real(t.o.timestep), env.dof_damping(i), LD[t.M_rowadr[i]]);
    });
    env.sync();
  }
  eliminate_to_whiten(env);
}

// x <- L^-T x, in place; the lanes together
template <class E, class F>
DS_FN void solve_LT(E& env, const F& x) {
  const auto& t = env.t;
  const auto LD = env.LD();
  for (int k = t.n.nv - 1; k >= 0; k--) {
    const int row = t.M_rowadr[k], n = t.M_rowadr[k + 1] - row;
    const auto xk = x[k];
    for (int a = 1 + env.lanes.rank(); a < n; a += env.lanes.width()) {
      const int i = t.M_col[row + a];
      x[i] = fma(-LD[row + a], xk, x[i]);
    }
    env.sync();
  }
}
// x <- L^-1 x, in place; the lanes together. Dofs of one depth wait for those above, not for each other: a
// lane takes whole rows of them. Roots have no ancestors, and stay as the caller wrote them
template <class E, class F>
DS_FN void solve_L(E& env, const F& x) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD();
  const auto solve_row = [&](int k) {
    const int row = t.M_rowadr[k], n = t.M_rowadr[k + 1] - row;
    x[k] = x[k] - accumulate_eights<Real>(EveryEntry{}, n - 1, [&](int a, const Real& p) {
             return fma(LD[row + 1 + a], x[t.M_col[row + 1 + a]], p);
           });
  };
  if constexpr (E::Lanes::kWidth == 1) {
    for (int k = 0; k < t.n.nv; k++) solve_row(k);
  } else {
    for (int depth = 1; depth < t.n.ndepth; depth++) {
      const int first = t.depth_adr[depth];
      env.sync();
      env.each(t.depth_adr[depth + 1] - first, [&](int i) { solve_row(t.depth_dof[first + i]); });
    }
    env.sync();
  }
}
// x <- M^-1 x
template <class E, class F>
DS_FN void solve_M(E& env, const F& x) {
  const auto Dinv = env.Dinv();
  solve_LT(env, x);
  env.each(env.t.n.nv, [&](int i) { x[i] = x[i] * Dinv[i]; });
  solve_L(env, x);
}
// y <- M x
template <class E, class F, class G>
DS_FN void multiply_M(E& env, const F& x, const G& y) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto M = env.M();
  env.each(t.n.nv, [&](int i) { y[i] = M[t.M_rowadr[i]] * x[i]; });
  // the symmetric half, in an order of its own: one row after the other
  for (int k = 0; k < t.n.nv; k++) {
    const int row = t.M_rowadr[k], n = t.M_rowadr[k + 1] - row;
    const Real s = env.accumulate(
        n - 1, [&](int a, const Real& p) { return fma(M[row + 1 + a], x[t.M_col[row + 1 + a]], p); });
    const Real xk = x[k];
    for (int a = 1 + env.lanes.rank(); a < n; a += env.lanes.width()) {
      const int i = t.M_col[row + a];
      y[i] = fma(M[row + a], xk, y[i]);
    }
    if (env.lanes.rank() == 0) y[k] = y[k] + s;
    env.sync();
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
