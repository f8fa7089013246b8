// Limits of slide and hinge joints: one row a side, with one entry of J.
//
// Its J stands in the row of Linv that all rows of the dof share (single_dof.h).
//
// solves    y0 and D of the rows of limits, and what the solver asks of them
// equation  r = +-(q - bound) - margin,   J = +-e_dof,   aref = -B J v - K imp(r) r,   l >= 0
//           under the spring-damper's parameters (k its time constant, r without the margin)
//             aref = -2 J v / k - r / k^2,   R = epsilon A
// source    MuJoCo's documentation, "Constraint model" and "Solver parameters"; Todorov 2014 for the spring-damper
// deviation outside MuJoCo's own law of contact, a margin of all contacts makes a row appear early, and has no other effect
// reads     qpos, qvel, qacc_smooth, the tables lim_*; Linv
// writes    lim_y0, lim_D, and as the solver asks lim_y, dy, lim_lambda
// cost      O(limits); of a product with J O(ancestors of the dof)
#pragma once

#include "kernels/data/law_has.h"
#include "kernels/rows/kinds/limit_reading.h"
#include "kernels/rows/kinds/scalar_law.h"
#include "kernels/rows/step_end.h"
#include "kernels/rows/whitened_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// calls f(s, dof) for both sides of every limit of the dof of a single-dof row
template <class E, class F>
DS_HD void each_limit_of(const E& env, int u, F f) {
  const auto& t = env.t;
  const int dof = t.single_dof[u];
  for (int k = t.single_lim[u]; k < t.single_lim[u + 1]; k++)
    for (int side = 0; side < kLimitSides; side++) f(side_of_limit(k, side), dof);
}
// calls f(s, dof) for those of all single-dof rows in use
template <class E, class F>
DS_HD void each_limit(const E& env, F f) {
  each_single(env, [&](int u) { each_limit_of(env, u, f); });
}

template <class E>
struct Limits {
  using Real = typename E::Real;
  const E& env;

  // sides of limits; where they stand among the scalar rows
  DS_HD int count() const { return kLimitSides * env.t.n.nlim; }
  DS_HD int first() const { return rows_before(SingleDofKind::kLimits, env.t.n); }
  DS_HD auto lambda() const { return env.lim_lambda(); }
  DS_HD auto change() const { return env.dy().from(first()); }
  DS_HD static Real sign(int s) { return Real(is_upper(s) ? -1 : 1); }
  DS_HD int joint(int s) const { return env.t.lim_jnt[limit_of(s)]; }
  DS_HD int dof(int s) const { return env.t.jnt_dofadr[joint(s)]; }
  template <class F>
  DS_HD auto with_law(int, F f) const {
    return f(OneSided{});
  }
  DS_HD auto y0() const { return env.lim_y0(); }
  DS_HD auto y() const { return env.lim_y(); }
  DS_HD auto& weight(int s) const { return env.lim_D()[s]; }
  DS_HD typename E::Mask used(int s) const { return weight(s) > Real(0); }
  template <class F>
  DS_HD void each_dof(int s, F f) const {
    f(dof(s));
  }
  // past the bound, r = q - bound
  DS_HD Real past(int s) const { return env.qpos()[env.t.jnt_qposadr[joint(s)]] - env.lim_range(s); }
  // how far from the bound, and less the margin; and J v
  DS_HD Real gap(int s) const { return sign(s) * past(s); }
  DS_HD Real distance(int s) const { return gap(s) - env.lim_margin(limit_of(s)); }
  DS_HD Real rate(int s) const {
    const auto v = env.qvel()[dof(s)];
    return is_upper(s) ? -v : v;
  }
  DS_HD LimitReading<Real> reading(int s) const {
    const Real D = weight(s);
    return {D, distance(s), rate(s), OneSided::force(Real(y()[s]), D)};
  }
  DS_HD Real likely() const {
    return env.accumulate(count(), [&](int s, const Real& sum) {
      const Real r = past(s), margin = env.lim_margin(limit_of(s));
      return sum + select(is_upper(s) ? r > -margin : r < margin, Real(1), Real(0));
    });
  }

  // J qacc_smooth - aref and the weight, of every side
  DS_HD void make() const {
    const auto& t = env.t;
    const auto qvel = env.qvel(), qacc = env.qacc_smooth(), y0 = env.lim_y0(), D = env.lim_D();
    env.each(count(), [&](int s) {
      const int k = limit_of(s), dof = this->dof(s);
      const Real side = sign(s), margin = env.lim_margin(k);
      if (t.o.spring_damper_rows) {
        // the spring-damper of Todorov 2014; its weight follows once the rows are whitened
        const Real phi = gap(s);
        const auto active = phi <= max(margin, Real(t.o.contact_margin));
        const Real rate = Real(1) / Real(t.o.kappa);
        const Real v = fma(Real(2) * rate, qvel[dof], qacc[dof]);
        y0[s] = select(active, fma(side, v, phi * rate * rate), Real(0));
        D[s] = select(active, Real(1), Real(0));
        return;
      }
      const Real r = distance(s);
      // elsewhere a margin of all contacts only says how early a row appears
      const bool own = law_has<kLawMujocoMargins>(t.o);
      const auto active = r < (own ? Real(0) : max(Real(t.o.contact_margin) - margin, Real(0)));
      y0[s] = Real(0);
      D[s] = Real(0);
      if (!any(active)) return;
      const Real imp = impedance(r, [&](int c) { return env.lim_solimp(k, c); });
      const auto end = row_end(env, imp, Real(env.lim_K(k)), Real(env.lim_B(k)),
                               [&] { return Real(env.lim_stiffest(k)); });
      const Real kterm = end.K * r;
      const Real v = fma(end.B, qvel[dof], qacc[dof]);
      y0[s] = select(active, fma(side, v, kterm), Real(0));
      D[s] = select(active, end.weight / regularizer(imp, env.lim_approx_A(k)), Real(0));
      if (t.o.integrator == kDiscrete) D[s] = D[s] * weight_of_dof(env, dof);
    });
  }
  // adds the environments in which a limit of a single-dof row's dof is in use
  DS_HD void add_users(int u, typename E::Mask* used) const {
    each_limit_of(env, u, [&](int s, int) { *used = mask_or(*used, env.lim_D()[s] > Real(0)); });
  }

  // x: the product of a single-dof row with w, or with dw
  DS_HD void put_residual(int u, const Real& x) const {
    each_limit_of(env, u, [&](int s, int) { env.lim_y()[s] = env.lim_y0()[s] + (is_upper(s) ? -x : x); });
  }
  DS_HD void put_change(int u, const Real& x) const {
    each_limit_of(env, u, [&](int s, int) { change()[s] = is_upper(s) ? -x : x; });
  }
  // y0 <- y0 + Z'w, w the whitened acceleration that forces from elsewhere give
  template <class F>
  DS_HD void lift(const F& w) const {
    each_limit(env, [&](int s, int dof) {
      const Real x = single_dot(env, dof, w);
      if (env.lanes.rank() != 0) return;
      Real& y = env.lim_y0()[s];
      y = select(env.lim_D()[s] > Real(0), fma(sign(s), x, y), y);
    });
  }
  // calls f(y, its change along dw) for every side in use
  template <class F>
  DS_HD void each_residual(F f) const {
    env.each(env.t.n.nsingle, [&](int u) {
      if (!in_set(single_rows_in_use(env), u)) return;
      each_limit_of(env, u, [&](int s, int) { f(env.lim_y()[s], change()[s]); });
    });
  }

  // y of a side in use. Of one that an environment does not use, no number gets any further, be it infinite
  DS_HD Real used_y(int s) const { return select(env.lim_D()[s] > Real(0), env.lim_y()[s], Real(0)); }

  DS_HD Real cost() const {
    return env.accumulate(count(), [&](int s, const Real& sum) {
      const Real D = env.lim_D()[s];
      return any(D > Real(0)) ? OneSided::add_cost(sum, used_y(s), D) : sum;
    });
  }
  // adds force, curvature and conditions of the sides of a single-dof row
  DS_HD void add_law(int u, Real* force, Real* curvature, Real* key) const {
    each_limit_of(env, u, [&](int s, int) {
      const Real y = used_y(s), h = OneSided::curvature(y, env.lim_D()[s]);
      *force = is_upper(s) ? fma(h, y, *force) : fma(-h, y, *force);
      *curvature = *curvature + h;
      *key = OneSided::add_conditions(*key, y, h, Condition::kLimit, s);
    });
  }
  DS_HD void add_along(const Real& alpha, Real* slope, Real* bend) const {
    each_limit(env, [&](int s, int) {
      OneSided::add_along(Real(env.lim_y()[s]), Real(change()[s]), alpha, Real(env.lim_D()[s]), slope, bend);
    });
  }

  DS_HD void add_diagonal(MeanDiagonal<Real>* diagonal) const {
    each_limit(env, [&](int s, int dof) {
      const Real D = env.lim_D()[s];
      const auto used = D > Real(0);
      if (!any(used)) return;
      const Real a = single_diag(env, dof);
      diagonal->add(used, a, Real(1) / select(used, D, Real(1)));
      const Real l = OneSided::force(used_y(s), D);
      diagonal->stiff.add(a, D, a * l * l);
    });
  }
  DS_HD void add_natural(NaturalResidual<Real>* residual) const {
    each_limit(env, [&](int s, int) {
      const Real D = env.lim_D()[s], y = used_y(s);
      const auto used = D > Real(0);
      if (!any(used)) return;
      residual->add_scalar(OneSided{}, used, y, Real(change()[s]), Real(1) / select(used, D, Real(1)),
                           OneSided::force(y, D));
    });
  }

  // projected Gauss-Seidel on the dual, w = Z l kept: l <- max(l - y / (A + R), 0)
  template <class F>
  DS_HD void sweep(const F& w) const {
    const Real zero(0), one(1);
    const auto l = lambda();
    each_limit(env, [&](int s, int dof) {
      const Real D = env.lim_D()[s];
      const auto live = D > zero;
      if (!any(live)) return;
      const Real R = one / select(live, D, one), before = l[s];
      Real dot, diag;
      single_dots(env, dof, w, &dot, &diag);
      const Real y = fma(sign(s), dot, env.lim_y0()[s]) + R * before;
      const Real next = select(live, OneSided::project(before - y / (diag + R)), zero);
      env.sync();
      if (env.lanes.rank() == 0) l[s] = next;
      single_axpy(env, dof, sign(s) * (next - before), w);
    });
  }

  // the sum of f(i, R, y0) over the sides in use, i the index of its force among all
  template <class F>
  DS_HD Real dual_sum(int at, F f) const {
    return env.accumulate(count(), [&](int s, const Real& sum) {
      return add_dual(sum, f, at + s, Real(env.lim_D()[s]), Real(env.lim_y0()[s]));
    });
  }
  // w <- w + Z l, of forces l
  template <class L, class F>
  DS_HD void add_forces(const L& l, const F& w) const {
    each_limit(env, [&](int s, int dof) {
      if (any(l[s] != Real(0))) single_axpy(env, dof, is_upper(s) ? -l[s] : l[s], w);
    });
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
