// Newton on the primal, with an exact line search: the finish of the constraint solver.
//
// For pyramids f is piecewise quadratic, and a full step onto an unchanged active set is exact. The direction is found
// among the rows (newton_rows.h) or among the dofs (newton_dofs.h). A converged environment is frozen by mask, and once
// half of a pack is, what only those need is passed over (active_subset.h).
//
// solves    minimize over w   f(w) = 1/2 |w|^2 + sum s(y0 + Z'w)
// equation  grad = w - Z force(y),   H = 1 + Z curvature(y) Z',   dw = -H^-1 grad,   w <- w + alpha dw
//           with force = -s', curvature = s'' of every row, kind by kind (rows/kinds/kinds.h), and alpha the minimum of f
//           along dw
// source    Todorov 2014 for the primal
// deviation none
// reads     Z, Linv, *_y0, *_D, con_mu, w, row_space
// writes    w, *_y, *_f, *_h, grad, dw, dy, con_dy, iterations
// cost      of a step O(rows nv), and the direction's
#pragma once

#include "kernels/solver/active_subset.h"
#include "kernels/solver/newton_dofs.h"
#include "kernels/solver/newton_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// y = y0 + Z'w of every row in use
template <int kDim, class E>
DS_STAGE void residuals(E& env) {
  const auto w = env.w();
  each_whitened<kDim>(env, [&](const auto& rows) { rows.put_residuals(w); });
  env.sync();
}

// the cost of the rows at the present y
template <int kDim, bool kByRows, class E>
DS_STAGE typename E::Real row_cost(E& env) {
  typename E::Real cost(0);
  each_kind<kDim, kByRows>(env, [&](const auto& kind) { cost = cost + kind.cost(); });
  return cost;
}

// forces, and curvatures where wanted, of every row at the present y; returns a number that changes when the
// active set does
template <int kDim, bool kByRows, bool kCurvature, class E>
DS_STAGE typename E::Real row_laws(E& env) {
  typename E::Real key(0);
  each_whitened<kDim, kByRows>(env,
                               [&](const auto& rows) { key = key + rows.template put_laws<kCurvature>(); });
  env.done();
  return key;
}

// grad = w - Z force, of the environments in `live`
template <int kDim, class E>
DS_STAGE void gradient(E& env, typename E::Mask live) {
  const auto w = env.w(), grad = env.grad();
  env.each(env.t.n.nv, [&](int i) { grad[i] = w[i]; });
  env.sync();
  each_whitened<kDim>(env, [&](const auto& rows) { rows.subtract_forces(live, grad); });
  env.sync();
}
// x = the terms of -Z force that are asked for, or their squares, summed; each lane has its own dofs of x
template <Terms kTerms, int kDim, class E, class F>
DS_HD void put_terms(E& env, const typename E::Mask& live, const F& x) {
  env.each(env.t.n.nv, [&](int i) { x[i] = typename E::Real(0); });
  env.sync();
  each_whitened<kDim>(env, [&](const auto& rows) { rows.template subtract_forces<kTerms>(live, x); });
}

// the direction of Newton's step, of environments of either space
template <int kDim, bool kByRows, class E>
DS_HD void newton_direction(E& env, const typename E::Mask& live) {
  const auto many_rows = mask_and(live, mask_not(env.row_space)), few_rows = mask_and(live, env.row_space);
  if (any(many_rows)) dof_space_direction<kDim, kByRows>(env, many_rows);
  if (any(few_rows)) row_space_direction<kDim, kByRows>(env, few_rows);
}

// calls f(y, its change along dw) for every row in use
template <int kDim, class E, class F>
DS_HD void each_residual(E& env, F f) {
  each_scalar_kind(env, [&](const auto& kind) { kind.each_residual(f); });
  ContactRows<kDim, E>{env}.each_residual(f);
}
// change of their y along dw
template <int kDim, class E>
DS_STAGE void direction_rows(E& env) {
  const auto dw = env.dw();
  each_whitened<kDim>(env, [&](const auto& rows) { rows.put_changes(dw); });
  env.sync();
}

// slope and curvature of the cost at w + alpha dw
template <int kDim, bool kByRows, class E>
DS_FN void along(E& env, const typename E::Real& alpha, const typename E::Real& wd,
                 const typename E::Real& dd, typename E::Real* slope, typename E::Real* bend) {
  using Real = typename E::Real;
  Real s = fma(alpha, dd, wd), b = dd;
  each_kind<kDim, kByRows>(env, [&](const auto& kind) { kind.add_along(alpha, &s, &b); });
  *slope = s;
  *bend = b;
}

// A slope below this share of that at 0 is the minimum's; a float cannot see one below its own rounding of the terms
template <class Real>
constexpr double kSlopeLeft = kSingle<Real> ? 1e-3 : 1e-9;
// the upper end of the bracket of step lengths until a slope above zero is seen
constexpr double kNoUpperEnd = kMaxVal;
// enough for Newton on a slope that is nearly straight, and for a few halvings where it is not
constexpr int kLineSearchTurns = 12;
// a step whose length is as near to 1 as this is a whole Newton step
constexpr double kWholeStep = 1e-3;

// the minimum along dw: Newton on the slope, kept inside a bracket that shrinks
template <int kDim, bool kByRows, class E>
DS_STAGE typename E::Real line_search(E& env, const typename E::Real& wd, const typename E::Real& dd,
                                      const typename E::Real& slope0, const typename E::Mask& live) {
  using Real = typename E::Real;
  const Real zero(0), one(1), unbounded(kNoUpperEnd);
  Real lo = zero, hi = unbounded, alpha = one;
  const Real enough = abs(slope0) * Real(kSlopeLeft<Real>);
  auto searching = live;
  for (int it = 0; it < kLineSearchTurns; it++) {
    Real slope, bend;
    along<kDim, kByRows>(env, alpha, wd, dd, &slope, &bend);
    searching = mask_and(searching, abs(slope) > enough);
    if (!any(searching)) break;
    const auto past = slope > zero;
    lo = select(mask_and(searching, mask_not(past)), alpha, lo);
    hi = select(mask_and(searching, past), alpha, hi);
    Real next = alpha - slope / bend;
    const Real middle = select(hi < unbounded, Real(0.5) * (lo + hi), Real(2) * alpha);
    next = select(mask_and(next > lo, next < hi), next, middle);
    alpha = select(searching, next, alpha);
  }
  return alpha;
}

// steps until the active set is stable, or the step is negligible, or the cap is reached; y must be current.
// Leaves the laws of all rows at the y that it leaves. Returns the environments of the `wanted` ones that did
// not converge; counts the steps of each. `together`: all environments are here, so that those of a block begin each
// step at the same time.
template <int kDim, bool kByRows, class E>
DS_STAGE typename E::Mask newton(E& env, int cap, const typename E::Real& tolerance,
                                 const typename E::Mask& wanted, bool together = false) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w(), dw = env.dw(), grad = env.grad();
  const int nv = t.n.nv;
  const Real zero(0), one(1);
  Real key_before(-1);
  auto live = wanted;
  ActiveSubset<E> subset(env);
  bool searches = true;
  for (int step = 0; together ? env.any_in_block(searches) : searches; step++) {
    if (!searches) continue;
    const Real key = row_laws<kDim, kByRows, true>(env);
    // a full step onto the set it was computed for has landed on the minimum
    if constexpr (!kByRows) live = mask_and(live, key != key_before);
    if (step == cap || !any(live)) {
      searches = false;
      continue;
    }
    subset.to(live);
    gradient<kDim>(env, live);
    const Real gg = env.accumulate(nv, [&](int i, const Real& s) { return fma(grad[i], grad[i], s); });
    live = mask_and(live, gg > zero);  // NaN has no direction: such an environment is left as it is
    if (!any(live)) {
      env.done();
      searches = false;
      continue;
    }
    newton_direction<kDim, kByRows>(env, live);
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
    const Real alpha = line_search<kDim, kByRows>(env, wd, dd, slope0, live);
    const Real move = select(live, alpha, zero);
    env.sync();
    env.each(nv, [&](int i) { w[i] = select(live, fma(move, dw[i], w[i]), w[i]); });
    each_residual<kDim>(env, [&](Real& y, const Real& d) { y = select(live, fma(move, d, y), y); });
    env.sync();
    const Real ww = env.accumulate(nv, [&](int i, const Real& s) { return fma(w[i], w[i], s); });
    env.iterations = env.iterations + select(live, one, zero);
    // the decrement is the squared M-norm of the step left over
    live = mask_and(live, -slope0 > tolerance * tolerance * ww);
    // only a full step may stop at an unchanged set
    key_before = select(abs(alpha - one) < Real(kWholeStep), key, Real(-1));
  }
  return live;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
