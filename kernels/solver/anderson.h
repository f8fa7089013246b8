// Sweeps with a memory (solver "pgs_anderson"): after each sweep the forces move on along the last two changes, to where
// the dual is least on the plane of them.
//
// d1 and d2 are the differences of what the last three sweeps left. Since w = Z l is kept along, A needs no product:
// d'A e = w_d . w_e. The next sweep brings every block back into its cone. Where that leaves a larger dual than the sweep
// before did, the environment goes back to what that one left, and forgets the difference. The w of a difference is made
// from its forces: the difference of two w would have the rounding of both; moved on with the rest it would look like a way
// to lower the dual, and be followed (seen: by sweep 30 all was lost).
//
// solves    forces of a lower dual, from those of the last sweeps
// equation  q(l) = l'(A + R) l / 2 + y0'l,   l <- l + a d1 + b d2,   (a, b) = argmin q
// source    Anderson 1965 in the norm of the energy, with two differences
// deviation none
// reads     *_lambda, w, Z, Linv, *_y0, *_D, con_mu
// writes    *_lambda, w, anderson_history
// cost      a little more than a sweep's
#pragma once

#include "kernels/rows/kinds/kinds.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the forces of all rows as one run, with w behind them
template <int kDim, bool kByRows, class E>
struct Forces {
  using Real = typename E::Real;
  E& env;

  DS_HD int count() const { return env.t.n.nrow1 + Contacts<kDim, kByRows, E>(env).count(); }
  DS_HD int size() const { return count() + env.t.n.nv; }
  DS_HD Real& operator[](int i) const {
    if (i >= count()) return env.w()[i - count()];
    // of the last kind that begins at or before i
    Real* at = nullptr;
    each_kind<kDim, kByRows>(env, [&](const auto& kind) {
      if (i >= kind.first()) at = &kind.lambda()[i - kind.first()];
    });
    return *at;
  }

  // sum of f(i, R, y0) over the forces of rows that are there
  template <class F>
  DS_HD Real sum(F f) const {
    Real part[4];
    int k = 0;
    each_kind<kDim, kByRows>(env, [&](const auto& kind) { part[k++] = kind.dual_sum(kind.first(), f); });
    return (part[0] + part[1]) + (part[2] + part[3]);
  }
  // the same over w
  template <class F>
  DS_HD Real sum_w(F f) const {
    const int behind = count();
    return env.accumulate(env.t.n.nv, [&](int d, const Real& s) { return s + f(behind + d); });
  }
};

// w <- Z l, for a run of forces with w behind them
template <int kDim, bool kByRows, class E, class F>
DS_STAGE void whiten_forces(E& env, const F& l) {
  using Real = typename E::Real;
  const Forces<kDim, kByRows, E> forces{env};
  const auto w = l.from(forces.count());
  env.each(env.t.n.nv, [&](int d) { w[d] = Real(0); });
  env.sync();
  each_kind<kDim, kByRows>(env, [&](const auto& kind) { kind.add_forces(l.from(kind.first()), w); });
  env.done();
}

// of the cost of the dual: a sweep that raises it by less has not made it worse
template <class Real>
constexpr double kCostRounding = kSingle<Real> ? 1e-6 : 1e-15;
// squared sine of the angle between two changes below which they are parallel
constexpr double kParallelChanges = 1e-4;
// after a sweep; least: the dual of the best sweep so far
template <int kDim, bool kByRows, class E>
DS_STAGE void accelerate(E& env, int sweep, bool last, typename E::Real* least) {
  using Real = typename E::Real;
  const Forces<kDim, kByRows, E> l{env};
  const Real zero(0), one(1), half(0.5);
  const int stride = env.t.n.nhistory;
  const auto before = env.anderson_history(), d1 = before.from(stride), d2 = d1.from(stride);
  const Real dual = l.sum([&](int i, const Real& R, const Real& y0) {
    return (half * R * l[i] + y0) * l[i];
  }) + half * l.sum_w([&](int i) { return l[i] * l[i]; });
  const Real noise = Real(kCostRounding<Real>) * abs(*least);
  const auto worse = sweep > 0 ? dual > *least + noise : all_false<Real>();
  *least = sweep > 0 ? min(*least, dual) : dual;
  env.sync();  // the sums read what is overwritten now
  env.each(l.size(), [&](int i) {
    const Real now = l[i], then = sweep > 0 ? before[i] : now;
    d2[i] = sweep > 1 ? d1[i] : zero;
    d1[i] = select(worse, zero, now - then);
    before[i] = l[i] = select(worse, then, now);
  });
  env.done();
  if (last || sweep == 0) return;
  whiten_forces<kDim, kByRows>(env, d1);
  const auto slope = [&](const auto& d) {
    return l.sum([&](int i, const Real& R, const Real& y0) { return fma(R, l[i], y0) * d[i]; }) +
           l.sum_w([&](int i) { return l[i] * d[i]; });
  };
  const auto bend = [&](const auto& d, const auto& e) {
    return l.sum([&](int i, const Real& R, const Real&) { return R * d[i] * e[i]; }) +
           l.sum_w([&](int i) { return d[i] * e[i]; });
  };
  const Real g1 = slope(d1), g2 = slope(d2), h11 = bend(d1, d1), h12 = bend(d1, d2), h22 = bend(d2, d2);
  // where the two are all but parallel, the last one alone
  const Real det = h11 * h22 - h12 * h12;
  const auto plane = det > Real(kParallelChanges) * h11 * h22, line = h11 > zero;
  const Real safe_det = select(plane, det, one), safe_bend = select(line, h11, one);
  const Real a = select(plane, (h12 * g2 - h22 * g1) / safe_det, select(line, -(g1 / safe_bend), zero));
  const Real b = select(plane, (h12 * g1 - h11 * g2) / safe_det, zero);
  env.sync();
  env.each(l.size(), [&](int i) { l[i] = l[i] + (a * d1[i] + b * d2[i]); });
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
