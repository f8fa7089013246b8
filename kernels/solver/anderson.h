// Sweeps with a memory (solver "pgs_anderson"): after each sweep the forces move on along the last two
// changes, to where the dual is least on the plane of them.
//
//   q(l) = l'(A + R) l / 2 + y0'l,   l <- l + a d1 + b d2,   (a, b) = argmin q
//
// d1 and d2 are the differences of what the last three sweeps left. Since w = Z l is kept along, A needs no
// product: d'A e = w_d . w_e. The next sweep brings every block back into its cone. Where that leaves a
// larger dual than the sweep before did, the environment goes back to what that one left, and forgets the
// difference. The w of a difference is made from its forces: the difference of two w would have the rounding
// of both; moved on with the rest it would look like a way to lower the dual, and be followed (seen: by
// sweep 30 all was lost).
// Source: Anderson 1965 in the norm of the energy, with two differences.
//
// Reads *_lambda, w, Z, Linv, *_y0, *_D, con_mu. Writes *_lambda, w, anderson_history. Cost: a little more than a
// sweep's.
#pragma once

#include "kernels/rows/whitened_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the forces of all rows as one run, with w behind them
template <int kDim, bool kElliptic, class E>
struct Forces {
  using Real = typename E::Real;
  static constexpr int kPerContact = kElliptic ? kDim : 2 * (kDim - 1);
  E& env;

  // limits, friction losses, dense scalar rows, contacts
  DS_HD int count() const { return env.t.n.nrow1 + kPerContact * env.ncon_max; }
  DS_HD int size() const { return count() + env.t.n.nv; }
  DS_HD Real& operator[](int i) const {
    const auto& n = env.t.n;
    if (i < 2 * n.nlim) return env.lim_lambda()[i];
    i -= 2 * n.nlim;
    if (i < n.nloss) return env.loss_lambda()[i];
    i -= n.nloss;
    if (i < n.ndense) return env.dense_lambda()[i];
    i -= n.ndense;
    if (i < kPerContact * env.ncon_max) return env.con_lambda()[i];
    return env.w()[i - kPerContact * env.ncon_max];
  }

  // sum of f(i, R, y0) over the forces of rows that are there
  template <class F>
  DS_HD Real sum(F f) const {
    const auto& n = env.t.n;
    const Real zero(0), one(1);
    const auto row = [&](const Real& s, int i, const Real& D, const Real& y0) {
      return s + select(D > zero, f(i, one / select(D > zero, D, one), y0), zero);
    };
    const auto limits = env.accumulate(
        2 * n.nlim, [&](int i, const Real& s) { return row(s, i, env.lim_D()[i], env.lim_y0()[i]); });
    const auto losses = env.accumulate(n.nloss, [&](int k, const Real& s) {
      return s + f(2 * n.nlim + k, env.loss_param(3 * k + 1), env.loss_y0()[k]);
    });
    const auto general = env.accumulate(n.ndense, [&](int g, const Real& s) {
      return row(s, 2 * n.nlim + n.nloss + g, env.dense_D()[g], env.dense_y0()[g]);
    });
    const auto contacts = env.accumulate(env.ncon_max, [&](int slot, const Real& s) {
      const auto p = cone_params<kDim>(env, slot);
      const Real normal = env.con_y0()[kDim * slot];
      const int at = n.nrow1 + kPerContact * slot;
      Real sum = s;
      if constexpr (kElliptic) {
        sum = row(sum, at, p.D, normal);
        for (int r = 1; r < kDim; r++) {
          // R_i mu_i^2 is one number for all tangents
          const auto rubs = mask_and(p.dim > Real(r), mask_and(p.mu[r - 1] > zero, p.cone_mu > zero));
          const Real ratio = select(rubs, p.mu[r - 1] / select(rubs, p.cone_mu, one), zero);
          sum = row(sum, at + r, p.D * ratio * ratio, env.con_y0()[kDim * slot + r]);
        }
      } else {
        for (int i = 0; i < kDim - 1; i++)
          for (int minus = 0; minus < 2; minus++) {
            const Real mu = minus ? -p.mu[i] : p.mu[i];
            sum = row(sum, at + 2 * i + minus, edge_D(p, i, minus),
                      fma(mu, env.con_y0()[kDim * slot + i + 1], normal));
          }
      }
      return sum;
    });
    return (limits + losses) + (general + contacts);
  }
  // the same over w
  template <class F>
  DS_HD Real sum_w(F f) const {
    const int behind = count();
    return env.accumulate(env.t.n.nv, [&](int d, const Real& s) { return s + f(behind + d); });
  }
};

// w <- Z l, for a run of forces with w behind them
template <int kDim, bool kElliptic, class E, class F>
DS_STAGE void whiten_forces(E& env, const F& l) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Forces<kDim, kElliptic, E> forces{env};
  const auto w = l.from(forces.count());
  env.each(t.n.nv, [&](int d) { w[d] = Real(0); });
  env.sync();
  each_limit(env, [&](int s, int dof) {
    if (any(l[s] != Real(0))) single_axpy(env, dof, s & 1 ? -l[s] : l[s], w);
  });
  int at = 2 * t.n.nlim;
  for (int k = 0; k < t.n.nloss; k++, at++) single_axpy(env, t.loss_dof[k], l[at], w);
  for (int g = 0; g < t.n.ndense; g++, at++) {
    const Real f = l[at];
    add_rows<1>(env, dense_support(env, g), g, &f, w);  // every lane has dofs of its own
  }
  for (int slot = 0; slot < env.ncon_max; slot++, at += forces.kPerContact) {
    Real f[kDim];
    if constexpr (kElliptic) {
      DS_UNROLL
      for (int r = 0; r < kDim; r++) f[r] = l[at + r];
    } else {
      const auto p = cone_params<kDim>(env, slot);
      f[0] = Real(0);
      DS_UNROLL
      for (int i = 0; i < kDim - 1; i++) {
        f[0] = f[0] + (l[at + 2 * i] + l[at + 2 * i + 1]);
        f[i + 1] = p.mu[i] * (l[at + 2 * i] - l[at + 2 * i + 1]);
      }
    }
    add_rows<kDim>(env, slot_support(env, slot), t.n.ndense + kDim * slot, f, w);
  }
  env.done();
}

// after a sweep; least: the dual of the best sweep so far
template <int kDim, bool kElliptic, class E>
DS_STAGE void accelerate(E& env, int sweep, bool last, typename E::Real* least) {
  using Real = typename E::Real;
  const Forces<kDim, kElliptic, E> l{env};
  const Real zero(0), one(1), half(0.5);
  const int stride = env.t.n.nhistory;
  const auto before = env.anderson_history(), d1 = before.from(stride), d2 = d1.from(stride);
  const Real dual = l.sum([&](int i, const Real& R, const Real& y0) {
    return (half * R * l[i] + y0) * l[i];
  }) + half * l.sum_w([&](int i) { return l[i] * l[i]; });
  // by more than its rounding
  const Real noise = Real(sizeof(ScalarOf<Real>) == 4 ? 1e-6 : 1e-15) * abs(*least);
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
  whiten_forces<kDim, kElliptic>(env, d1);
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
  const auto plane = det > Real(1e-4) * h11 * h22, line = h11 > zero;
  const Real safe_det = select(plane, det, one), safe_bend = select(line, h11, one);
  const Real a = select(plane, (h12 * g2 - h22 * g1) / safe_det, select(line, -(g1 / safe_bend), zero));
  const Real b = select(plane, (h12 * g1 - h11 * g2) / safe_det, zero);
  env.sync();
  env.each(l.size(), [&](int i) { l[i] = l[i] + (a * d1[i] + b * d2[i]); });
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
