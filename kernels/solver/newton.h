// Newton on the primal, with an exact line search: the finish of the constraint solver.
//
//   f(w) = 1/2 |w|^2 + sum s(y0 + Z'w),   grad = w - Z force(y),   H = 1 + Z curvature(y) Z'
//
// Source: Todorov 2014 for the primal; the active-set view of it after the sweeps of pgs.h: for pyramids f is
// piecewise quadratic, and a full step onto an unchanged active set is exact. The direction is found among
// the rows (newton_rows.h) or among the dofs (newton_dofs.h). A converged environment is frozen by mask, and
// once half of a pack is, what only those need is passed over (active_subset.h).
#pragma once

#include "kernels/solver/active_subset.h"
#include "kernels/solver/newton_dofs.h"
#include "kernels/solver/newton_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// y = y0 + Z'w of every row in use
template <int kDim, class E>
DS_STAGE void residuals(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w();
  each_single(env, [&](int u) {
    const Real x = single_dot(env, t.single_dof[u], w);
    if (env.lanes.rank() != 0) return;
    each_limit_of(env, u, [&](int s, int) { env.lim_y()[s] = env.lim_y0()[s] + (s & 1 ? -x : x); });
    each_loss_of(env, u, [&](int k) { env.loss_y()[k] = env.loss_y0()[k] + x; });
  });
  for (int g = 0; g < t.n.ndense; g++) {
    const Real x = dense_dot(env, g, w);
    if (env.lanes.rank() == 0) env.dense_y()[g] = env.dense_y0()[g] + x;
  }
  for (int slot = 0; slot < env.ncon_max; slot++) {
    Real x[kDim];
    contact_dots<kDim>(env, slot, w, x);
    if (env.lanes.rank() != 0) continue;
    DS_UNROLL
    for (int r = 0; r < kDim; r++) env.con_y()[kDim * slot + r] = env.con_y0()[kDim * slot + r] + x[r];
  }
  env.sync();
}

// the cost of the rows at the present y
template <int kDim, bool kElliptic, class E>
DS_STAGE typename E::Real row_cost(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real half(0.5), zero(0);
  Real cost = env.accumulate(2 * t.n.nlim, [&](int s, const Real& sum) {
    const Real D = env.lim_D()[s];
    const auto used = D > zero;
    if (!any(used)) return sum;
    const Real y = min(select(used, env.lim_y()[s], zero), zero);
    return fma(half * D * y, y, sum);
  });
  cost = cost + env.accumulate(t.n.nloss, [&](int k, const Real& sum) {
    const Real f = env.loss_param(3 * k), R = env.loss_param(3 * k + 1), y = env.loss_y()[k],
               l = loss_force(y, f, R);
    return sum + select(abs(y) < R * f, half * y * y / R, abs(y) * f - half * R * f * f) + zero * l;
  });
  cost = cost + env.accumulate(t.n.ndense, [&](int g, const Real& sum) {
    const Real y = two_sided(env, g) ? env.dense_y()[g] : min(env.dense_y()[g], zero);
    return fma(half * env.dense_D()[g] * y, y, sum);
  });
  return cost + env.accumulate(env.ncon_max, [&](int slot, const Real& sum) {
    Real y[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) y[r] = env.con_y()[kDim * slot + r];
    ConeLaw<Real, kDim> law;
    cone_law<kElliptic, false>(cone_params<kDim>(env, slot), y, &law);
    return sum + law.cost;
  });
}

// forces, and curvatures where wanted, of every row at the present y; returns a number that changes when the
// active set does
template <int kDim, bool kElliptic, bool kCurvature, class E>
DS_STAGE typename E::Real row_laws(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real zero(0), one(1);
  const auto single_f = env.single_f(), single_h = env.single_h(), dense_f = env.dense_lambda(),
             dense_h = env.dense_h();
  Real key = env.accumulate(t.n.nsingle, [&](int u, const Real& sum) -> Real {
    if (!in_set(single_rows_in_use(env), u)) return sum;
    Real force = zero, weight = zero, changed = zero;
    each_limit_of(env, u, [&](int s, int) {
      // of a side that this environment does not use, no number gets any further, be it infinite
      const Real D = env.lim_D()[s], y = select(D > zero, env.lim_y()[s], zero);
      const Real h = select(y < zero, D, zero);
      force = s & 1 ? fma(h, y, force) : fma(-h, y, force);
      weight = weight + h;
      changed = changed + select(h > zero, set_weight<Real>(Condition::kLimit, s), zero);
    });
    each_loss_of(env, u, [&](int k) {
      const Real y = env.loss_y()[k], f = env.loss_param(3 * k), R = env.loss_param(3 * k + 1);
      const auto inside = abs(y) < R * f;
      force = force + loss_force(y, f, R);
      weight = weight + select(inside, one / R, zero);
      changed = changed + select(inside, set_weight<Real>(Condition::kLoss, 2 * k),
                                 select(y > zero, set_weight<Real>(Condition::kLoss, 2 * k + 1), zero));
    });
    single_f[u] = force;
    single_h[u] = weight;
    return sum + changed;
  });
  key = key + env.accumulate(t.n.ndense, [&](int g, const Real& sum) {
    const Real y = env.dense_y()[g], D = env.dense_D()[g];
    const Real h = two_sided(env, g) ? D : select(y < zero, D, zero);
    dense_f[g] = -(h * y);
    dense_h[g] = h;
    if (two_sided(env, g)) return sum;
    return sum + select(h > zero, set_weight<Real>(Condition::kDense, g), zero);
  });
  key = key + env.accumulate(env.ncon_max, [&](int slot, const Real& sum) {
    Real y[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) y[r] = env.con_y()[kDim * slot + r];
    ConeLaw<Real, kDim> law;
    cone_law<kElliptic, kCurvature>(cone_params<kDim>(env, slot), y, &law);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) env.con_f()[kDim * slot + r] = law.force[r];
    if (kCurvature)
      for (int k = 0; k < triangle(kDim); k++) env.con_h()[triangle(kDim) * slot + k] = law.curvature[k];
    return sum + law.key;
  });
  env.done();
  return key;
}

// grad = w - Z force, of the environments in `live`; a contact without a normal force has no other
template <int kDim, class E>
DS_STAGE void gradient(E& env, typename E::Mask live) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w(), grad = env.grad(), single_f = env.single_f();
  const auto dense_f = env.dense_lambda(), con_f = env.con_f();
  const int nv = t.n.nv;
  env.each(nv, [&](int i) { grad[i] = w[i]; });
  env.sync();
  each_single(env, [&](int u) {
    const Real f = single_f[u];
    if (any(mask_and(live, f != Real(0)))) single_axpy(env, t.single_dof[u], -f, grad);
  });
  for (int g = 0; g < t.n.ndense; g++) {
    const Real f = -dense_f[g];
    add_rows<1>(env, dense_support(env, g), g, &f, grad);
  }
  for (int slot = 0; slot < env.ncon_max; slot++) {
    if (!any(mask_and(live, con_f[kDim * slot] != Real(0)))) continue;
    Real f[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) f[r] = -con_f[kDim * slot + r];
    add_rows<kDim>(env, slot_support(env, slot), t.n.ndense + kDim * slot, f, grad);
  }
  env.sync();
}

// calls f(y, its change along dw) for every row in use
template <class E, class F>
DS_HD void each_residual(E& env, int kdim, F f) {
  const auto& t = env.t;
  const auto dy = env.dy();
  env.each(t.n.nsingle, [&](int u) {
    if (!in_set(single_rows_in_use(env), u)) return;
    each_limit_of(env, u, [&](int s, int) { f(env.lim_y()[s], dy[s]); });
  });
  env.each(t.n.nloss, [&](int k) { f(env.loss_y()[k], dy[2 * t.n.nlim + k]); });
  env.each(t.n.ndense, [&](int g) { f(env.dense_y()[g], dy[2 * t.n.nlim + t.n.nloss + g]); });
  env.each(kdim * env.ncon_max, [&](int c) { f(env.con_y()[c], env.con_dy()[c]); });
}
// change of their y along dw
template <int kDim, class E>
DS_STAGE void direction_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto dw = env.dw(), dy = env.dy();
  each_single(env, [&](int u) {
    const Real x = single_dot(env, t.single_dof[u], dw);
    if (env.lanes.rank() != 0) return;
    each_limit_of(env, u, [&](int s, int) { dy[s] = s & 1 ? -x : x; });
    each_loss_of(env, u, [&](int k) { dy[2 * t.n.nlim + k] = x; });
  });
  for (int g = 0; g < t.n.ndense; g++) {
    const Real x = dense_dot(env, g, dw);
    if (env.lanes.rank() == 0) dy[2 * t.n.nlim + t.n.nloss + g] = x;
  }
  for (int slot = 0; slot < env.ncon_max; slot++) {
    Real x[kDim];
    contact_dots<kDim>(env, slot, dw, x);
    if (env.lanes.rank() != 0) continue;
    DS_UNROLL
    for (int r = 0; r < kDim; r++) env.con_dy()[kDim * slot + r] = x[r];
  }
  env.sync();
}

// slope and curvature of the cost at w + alpha dw
template <int kDim, bool kElliptic, class E>
DS_FN void along(E& env, const typename E::Real& alpha, const typename E::Real& wd,
                 const typename E::Real& dd, typename E::Real* slope, typename E::Real* bend) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto dy = env.dy();
  const Real zero(0);
  Real s = fma(alpha, dd, wd), b = dd;
  const auto half_line = [&](const Real& y0, const Real& d, const Real& D, Real* slope_of, Real* bend_of) {
    const auto used = D > zero;
    const Real step = select(used, d, zero), y = select(used, fma(alpha, d, y0), zero);
    const Real h = select(y < zero, D * step, zero);
    *slope_of = fma(h, y, *slope_of);
    *bend_of = fma(h, step, *bend_of);
  };
  each_limit(env, [&](int i, int) { half_line(env.lim_y()[i], dy[i], env.lim_D()[i], &s, &b); });
  for (int k = 0; k < t.n.nloss; k++) {
    const Real d = dy[2 * t.n.nlim + k], y = fma(alpha, d, env.loss_y()[k]);
    const Real f = env.loss_param(3 * k), R = env.loss_param(3 * k + 1);
    s = fma(-loss_force(y, f, R), d, s);
    b = b + select(abs(y) < R * f, d * d / R, zero);
  }
  for (int g = 0; g < t.n.ndense; g++) {
    const Real d = dy[2 * t.n.nlim + t.n.nloss + g], y0 = env.dense_y()[g], D = env.dense_D()[g];
    if (two_sided(env, g)) {
      s = fma(D * d, fma(alpha, d, y0), s);
      b = fma(D * d, d, b);
    } else {
      half_line(y0, d, D, &s, &b);
    }
  }
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const auto p = cone_params<kDim>(env, slot);
    Real y[kDim], d[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) {
      d[r] = env.con_dy()[kDim * slot + r];
      y[r] = fma(alpha, d[r], env.con_y()[kDim * slot + r]);
    }
    if constexpr (!kElliptic) {
      DS_UNROLL
      for (int i = 0; i < kDim - 1; i++)
        for (int minus = 0; minus < 2; minus++) {
          const Real mu = minus ? -p.mu[i] : p.mu[i], D = edge_D(p, i, minus);
          const Real ye = fma(mu, y[i + 1], y[0]), de = fma(mu, d[i + 1], d[0]);
          const Real h = select(ye < zero, D * de, zero);
          s = fma(h, ye, s);
          b = fma(h, de, b);
        }
    } else {
      cone_along(p, y, d, &s, &b);
    }
  }
  *slope = s;
  *bend = b;
}

// the minimum along dw: Newton on the slope, kept inside a bracket that shrinks
template <int kDim, bool kElliptic, class E>
DS_STAGE typename E::Real line_search(E& env, const typename E::Real& wd, const typename E::Real& dd,
                                      const typename E::Real& slope0, const typename E::Mask& live) {
  using Real = typename E::Real;
  const Real zero(0), one(1), huge(1e10);
  Real lo = zero, hi = huge, alpha = one;
  // a float cannot see a slope below its own rounding of the terms
  const Real enough = abs(slope0) * (sizeof(ScalarOf<Real>) == 4 ? Real(1e-3) : Real(1e-9));
  auto searching = live;
  for (int it = 0; it < 12; it++) {
    Real slope, bend;
    along<kDim, kElliptic>(env, alpha, wd, dd, &slope, &bend);
    searching = mask_and(searching, abs(slope) > enough);
    if (!any(searching)) break;
    const auto past = slope > zero;
    lo = select(mask_and(searching, mask_not(past)), alpha, lo);
    hi = select(mask_and(searching, past), alpha, hi);
    Real next = alpha - slope / bend;
    const Real middle = select(hi < huge, Real(0.5) * (lo + hi), Real(2) * alpha);
    next = select(mask_and(next > lo, next < hi), next, middle);
    alpha = select(searching, next, alpha);
  }
  return alpha;
}

// steps until the active set is stable, or the step is negligible, or the cap is reached; y must be current.
// Leaves the laws of all rows at the y that it leaves. Returns the environments of the `wanted` ones that did
// not converge; counts the steps of each.
template <int kDim, bool kElliptic, class E>
DS_STAGE typename E::Mask newton(E& env, int cap, const typename E::Real& tolerance,
                                 const typename E::Mask& wanted) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w(), dw = env.dw(), grad = env.grad();
  const int nv = t.n.nv;
  const Real zero(0), one(1);
  Real key_before(-1);
  auto live = wanted;
  ActiveSubset<E> subset(env);
  for (int step = 0;; step++) {
    const Real key = row_laws<kDim, kElliptic, true>(env);
    // a full step onto the set it was computed for has landed on the minimum
    if constexpr (!kElliptic) live = mask_and(live, key != key_before);
    if (step == cap || !any(live)) break;
    subset.to(live);
    gradient<kDim>(env, live);
    const Real gg = env.accumulate(nv, [&](int i, const Real& s) { return fma(grad[i], grad[i], s); });
    live = mask_and(live, gg > zero);  // NaN has no direction: such an environment is left as it is
    if (!any(live)) {
      env.done();
      break;
    }
    const auto many_rows = mask_and(live, mask_not(env.row_space)), few_rows = mask_and(live, env.row_space);
    if (any(many_rows)) dof_space_direction<kDim, kElliptic>(env, many_rows);
    if (any(few_rows)) row_space_direction<kDim, kElliptic>(env, few_rows);
    using Sum = Sums<Real, 3>;
    const Sum dots = env.template accumulate<Sum>(nv, [&](int i, Sum s) {
      const Real d = dw[i];
      s.of[0] = fma(grad[i], d, s.of[0]);
      s.of[1] = fma(w[i], d, s.of[1]);
      s.of[2] = fma(d, d, s.of[2]);
      return s;
    });
    const Real slope0 = dots.of[0], wd = dots.of[1], dd = dots.of[2];
    direction_rows<kDim>(env);
    const Real alpha = line_search<kDim, kElliptic>(env, wd, dd, slope0, live);
    const Real move = select(live, alpha, zero);
    env.sync();
    env.each(nv, [&](int i) { w[i] = select(live, fma(move, dw[i], w[i]), w[i]); });
    each_residual(env, kDim, [&](Real& y, const Real& d) { y = select(live, fma(move, d, y), y); });
    env.sync();
    const Real ww = env.accumulate(nv, [&](int i, const Real& s) { return fma(w[i], w[i], s); });
    env.iterations = env.iterations + select(live, one, zero);
    // the decrement is the squared M-norm of the step left over
    live = mask_and(live, -slope0 > tolerance * tolerance * ww);
    // only a full step may stop at an unchanged set
    key_before = select(abs(alpha - one) < Real(1e-3), key, Real(-1));
  }
  return live;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
