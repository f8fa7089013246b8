// Projected Gauss-Seidel on the contact dual, by blocks, on whitened rows.
//
//   w = Z l is kept;   y_c = y0_c + Z_c' w + R_c l_c;   each block is minimized over its own cone, then w +=
//   Z_c dl_c
//
// Source: the dual of Todorov 2014; block updates after Jourdan, Alart and Jean 1998. Limits, friction loss
// and ball limits are scalar blocks: l <- clip(l - y / a). A pyramidal contact's block is swept three times
// over its edges; an elliptic one takes the exact step along its own ray, then projected gradient steps on
// the disc |s| <= l_n of the scaled tangents s_i = l_i / mu_i with step 1 / trace, which cannot raise the
// dual. Blocks go in the static order of their sources: limits, friction loss, dense scalar rows, contacts. Reads
// Linv, Z, *_y0, *_D. Writes *_lambda, con_A, con_f, w. Cost of a sweep: O(rows nv).
#pragma once

#include "kernels/solver/anderson.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// diagonal blocks of A, lower triangles
template <int kDim, class E>
DS_STAGE void diagonal_blocks(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto Z = env.Z(), A = env.con_A();
  const int nv = t.n.nv;
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const auto z = rows_of<kDim>(Z, t.n.ndense + kDim * slot, nv);
    DS_UNROLL
    for (int first = 0; first < kTriangle<kDim>; first += 3) {
      using Sum = Sums<Real, 3>;
      const Sum a = env.template accumulate_in<Sum>(slot_support(env, slot), nv, [&](Index d, Sum s) {
        DS_UNROLL
        for (int k = 0; k < 3; k++) {
          const int r = triangle_row(first + k), c = first + k - triangle(r);
          s.of[k] = fma(z[r][d], z[c][d], s.of[k]);
        }
        return s;
      });
      if (env.lanes.rank() != 0) continue;
      DS_UNROLL
      for (int k = 0; k < 3; k++) A[kTriangle<kDim> * slot + first + k] = a.of[k];
    }
  }
  env.done();
}

// one pyramidal block: y at entry without R l; returns the change of the contact force in df
template <class Real, int kDim>
DS_FN void pyramid_block(const ConeParams<Real, kDim>& p, const Real* A, Real* y, Real* lambda, Real* df) {
  const Real zero(0);
  DS_UNROLL
  for (int r = 0; r < kDim; r++) df[r] = zero;
  const Real R = Real(1) / select(p.D > zero, p.D, Real(1));
  for (int pass = 0; pass < 3; pass++) DS_UNROLL
  for (int i = 0; i < kDim - 1; i++) {
    const int row = (i + 1) * (i + 2) / 2;
    const Real cross = Real(2) * p.mu[i] * A[row], side = p.mu[i] * p.mu[i] * A[row + i + 1];
    for (int minus = 0; minus < 2; minus++) {
      const Real mu = minus ? -p.mu[i] : p.mu[i];
      const Real a = A[0] + (minus ? -cross : cross) + side + R;
      Real& l = lambda[2 * i + minus];
      const Real ye = fma(mu, y[i + 1], y[0]) + R * l;
      const Real next = select(edge_D(p, i, minus) > zero, max(l - ye / a, zero), zero);
      const Real dl = next - l;
      l = next;
      const Real dt = mu * dl;
      df[0] = df[0] + dl;
      df[i + 1] = df[i + 1] + dt;
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        const int hi = r > i + 1 ? r : i + 1, lo = r > i + 1 ? i + 1 : r;
        y[r] = fma(A[triangle(r)], dl, fma(A[triangle(hi) + lo], dt, y[r]));
      }
    }
  }
}

// where `closed`: ray becomes the edge of a L1 cone along which y falls fastest
template <int kDim, class Real, class Mask>
DS_FN void steepest_edge(const Real* y, const Mask& closed, Real* ray) {
  const Real zero(0), one(1);
  Real largest = zero;
  DS_UNROLL
  for (int i = 1; i < kDim; i++) largest = max(largest, abs(y[i]));
  auto open = closed;  // no edge is taken yet
  DS_UNROLL
  for (int i = 1; i < kDim; i++) {
    const auto here = mask_and(mask_and(open, abs(y[i]) >= largest), largest > zero);
    ray[i] = select(closed, select(here, select(y[i] > zero, -one, one), zero), ray[i]);
    open = mask_and(open, mask_not(here));
  }
}

// one elliptic block, likewise
template <class Real, int kDim>
DS_FN void elliptic_block(const ConeParams<Real, kDim>& p, const Real* A, const Real* y_in, Real* lambda,
                          Real* df) {
  const Real zero(0), one(1);
  // scaled by mu_i on the tangents the cone is circular: s_0 = l_n, s_i = l_i / mu_i
  Real scale[kDim], y[kDim], s[kDim], G[kTriangle<kDim>];
  const auto live = p.D > zero;
  const Real Rn = one / select(live, p.D, one);
  const Real safe_mu = select(p.cone_mu > zero, p.cone_mu, one);
  scale[0] = one;
  DS_UNROLL
  for (int i = 1; i < kDim; i++) scale[i] = p.mu[i - 1];
  Real trace = zero;
  DS_UNROLL
  for (int i = 0; i < kDim; i++) {
    for (int j = 0; j <= i; j++) G[triangle(i) + j] = A[triangle(i) + j] * scale[i] * scale[j];
    // R_i mu_i^2 is one number for all tangents: R_n mu^2
    G[triangle(i) + i] = G[triangle(i) + i] + (i == 0 ? Rn : Rn * safe_mu * safe_mu);
    if (i > 0) trace = trace + G[triangle(i) + i];
    const Real mu = i == 0 ? one : select(p.mu[i - 1] > zero, p.mu[i - 1], one);
    s[i] = lambda[i] / mu;
    y[i] = y_in[i] * scale[i];
  }
  const auto entry = [&](int i, int j) { return i > j ? G[triangle(i) + j] : G[triangle(j) + i]; };
  const auto gradient = [&](int i) {
    Real g = y[i];
    DS_UNROLL
    for (int j = 0; j < kDim; j++) g = fma(entry(i, j), s[j], g);
    return g;
  };
  // y without the block's own share
  DS_UNROLL
  for (int i = 0; i < kDim; i++) {
    Real own = zero;
    DS_UNROLL
    for (int j = 0; j < kDim; j++)
      own = fma(i == j && i > 0 ? entry(i, j) - Rn * safe_mu * safe_mu
                : i == j        ? entry(i, j) - Rn
                                : entry(i, j),
                s[j], own);
    y[i] = y[i] - own;
  }
  // the ray of the present force, or where it is zero the steepest ray of the cone
  Real t2 = zero;
  DS_UNROLL
  for (int i = 1; i < kDim; i++) t2 = fma(y[i], y[i], t2);
  const Real tn = sqrt(t2);
  const auto closed = s[0] <= zero;
  Real ray[kDim];
  ray[0] = select(closed, one, s[0]);
  DS_UNROLL
  for (int i = 1; i < kDim; i++)
    ray[i] = select(closed, select(tn > zero, -(y[i] / select(tn > zero, tn, one)), zero), s[i]);
  if (p.l1_cone) steepest_edge<kDim>(y, closed, ray);
  Real slope = zero, bend = zero;
  DS_UNROLL
  for (int i = 0; i < kDim; i++) {
    slope = fma(y[i], ray[i], slope);
    Real g = zero;
    DS_UNROLL
    for (int j = 0; j < kDim; j++) g = fma(entry(i, j), ray[j], g);
    bend = fma(g, ray[i], bend);
  }
  const Real along = max(-(slope / bend), zero);
  DS_UNROLL
  for (int i = 0; i < kDim; i++) s[i] = ray[i] * along;
  // tangents on the disc of radius l_n
  const Real step = one / select(trace > zero, trace, one);
  for (int pass = 0; pass < 4; pass++) {
    Real trial[kDim], n2 = zero;
    DS_UNROLL
    for (int i = 1; i < kDim; i++) {
      trial[i] = select(p.dim > Real(i), s[i] - step * gradient(i), zero);
      n2 = fma(trial[i], trial[i], n2);
    }
    if (p.l1_cone) {
      shrink_tangents<kDim>(p.dim, s[0], zero, trial);
      DS_UNROLL
      for (int i = 1; i < kDim; i++) s[i] = trial[i];
      continue;
    }
    const Real n = sqrt(n2);
    const Real shrink = select(n > s[0], s[0] / select(n > zero, n, one), one);
    DS_UNROLL
    for (int i = 1; i < kDim; i++) s[i] = trial[i] * shrink;
  }
  DS_UNROLL
  for (int i = 0; i < kDim; i++) {
    const Real next = select(live, s[i] * scale[i], zero);
    df[i] = next - lambda[i];
    lambda[i] = next;
  }
}

template <class E>
DS_STAGE void clear_forces(E& env, int per_contact) {
  using Real = typename E::Real;
  const auto& t = env.t;
  env.each(2 * t.n.nlim, [&](int i) { env.lim_lambda()[i] = Real(0); });
  env.each(t.n.nloss, [&](int i) { env.loss_lambda()[i] = Real(0); });
  env.each(t.n.ndense, [&](int i) { env.dense_lambda()[i] = Real(0); });
  env.each(per_contact * env.ncon_max, [&](int i) { env.con_lambda()[i] = Real(0); });
  env.each(t.n.nv, [&](int i) { env.w()[i] = Real(0); });
  env.sync();
}

// scalar blocks: limits, friction loss, dense scalar rows
template <class E>
DS_STAGE void sweep_scalar_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w(), lim = env.lim_lambda(), loss = env.loss_lambda(), gen = env.dense_lambda();
  const Real zero(0), one(1);
  const int nv = t.n.nv;
  each_limit(env, [&](int s, int dof) {
    const Real D = env.lim_D()[s];
    const auto live = D > zero;
    if (!any(live)) return;
    const Real sign(s & 1 ? -1 : 1), R = one / select(live, D, one), l = lim[s];
    Real dot, diag;
    single_dots(env, dof, w, &dot, &diag);
    const Real y = fma(sign, dot, env.lim_y0()[s]) + R * l;
    const Real next = select(live, max(l - y / (diag + R), zero), zero);
    env.sync();
    if (env.lanes.rank() == 0) lim[s] = next;
    single_axpy(env, dof, sign * (next - l), w);
  });
  for (int k = 0; k < t.n.nloss; k++) {
    const int dof = t.loss_dof[k];
    const Real f = env.loss_param(3 * k), R = env.loss_param(3 * k + 1), l = loss[k];
    Real dot, diag;
    single_dots(env, dof, w, &dot, &diag);
    const Real y = env.loss_y0()[k] + dot + R * l;
    const Real next = clamp(l - y / (diag + R), -f, f);
    env.sync();
    if (env.lanes.rank() == 0) loss[k] = next;
    single_axpy(env, dof, next - l, w);
  }
  for (int g = 0; g < t.n.ndense; g++) {
    const Real D = env.dense_D()[g];
    const auto live = D > zero;
    if (!any(live)) continue;
    const Real R = one / select(live, D, one), l = gen[g];
    const auto Z = env.Z();
    const Real diag = env.accumulate_in(dense_support(env, g), nv, [&](int d, const Real& s) {
      return fma(Z[g * nv + d], Z[g * nv + d], s);
    });
    const Real y = env.dense_y0()[g] + dense_dot(env, g, w) + R * l;
    const Real free = l - y / (diag + R);
    const Real next = select(live, two_sided(env, g) ? free : max(free, zero), zero);
    env.sync();
    if (env.lanes.rank() == 0) gen[g] = next;
    const Real change = next - l;
    add_rows<1>(env, dense_support(env, g), g, &change, w);
    env.sync();
  }
}

template <int kDim, bool kElliptic, class E>
DS_STAGE void sweep_contacts(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w();
  constexpr int kForces = kElliptic ? kDim : 2 * (kDim - 1);
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const int first = t.n.ndense + kDim * slot;
    Real y[kDim], A[kTriangle<kDim>], lambda[kForces], df[kDim];
    contact_dots<kDim>(env, slot, w, y);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) y[r] = env.con_y0()[kDim * slot + r] + y[r];
    for (int k = 0; k < kTriangle<kDim>; k++) A[k] = env.con_A()[kTriangle<kDim> * slot + k];
    for (int k = 0; k < kForces; k++) lambda[k] = env.con_lambda()[kForces * slot + k];
    const auto p = cone_params<kDim>(env, slot);
    if constexpr (kElliptic)
      elliptic_block(p, A, y, lambda, df);
    else
      pyramid_block(p, A, y, lambda, df);
    env.sync();
    if (env.lanes.rank() == 0)
      for (int k = 0; k < kForces; k++) env.con_lambda()[kForces * slot + k] = lambda[k];
    add_rows<kDim>(env, slot_support(env, slot), first, df, w);
    env.sync();
  }
}

// sweeps from zero forces
template <int kDim, bool kElliptic, class E>
DS_STAGE void pgs(E& env, int sweeps) {
  clear_forces(env, kElliptic ? kDim : 2 * (kDim - 1));
  typename E::Real least(0);
  for (int k = 0; k < sweeps; k++) {
    sweep_scalar_rows(env);
    sweep_contacts<kDim, kElliptic>(env);
    if (env.t.o.accelerated) accelerate<kDim, kElliptic>(env, k, k + 1 == sweeps, &least);
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
