// Friction loss of dofs: one row each, with one entry of J.
//
// Its J stands in the row of Linv that all rows of the dof share (single_dof.h); always in use.
//
// solves    y0 of the rows of friction loss, and what the solver asks of them
// equation  J = e_dof,   aref = -B v,   |l| <= f,   R fixed at load
// source    MuJoCo's documentation, "Constraint model", friction loss
// deviation none
// reads     qvel, qacc_smooth, loss_param; Linv
// writes    loss_y0, and as the solver asks loss_y, dy, loss_lambda
// cost      O(friction losses); of a product with J O(ancestors of the dof)
#pragma once

#include "kernels/rows/kinds/scalar_law.h"
#include "kernels/rows/step_end.h"
#include "kernels/rows/whitened_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// calls f(k) for the friction loss of the dof of a single-dof row
template <class E, class F>
DS_HD void each_loss_of(const E& env, int u, F f) {
  const auto& t = env.t;
  for (int k = t.single_loss[u]; k < t.single_loss[u + 1]; k++) f(k);
}

template <class E>
struct FrictionLosses {
  using Real = typename E::Real;
  const E& env;

  // where they stand among the scalar rows
  DS_HD int count() const { return env.t.n.nloss; }
  DS_HD int first() const { return rows_before(SingleDofKind::kFrictionLosses, env.t.n); }
  DS_HD auto lambda() const { return env.loss_lambda(); }
  DS_HD auto change() const { return env.dy().from(first()); }
  DS_HD Huber<Real> law(int k) const { return {env.loss_friction(k), R(k)}; }
  DS_HD Real R(int k) const {
    if (env.t.o.integrator != kDiscrete) return env.loss_R(k);
    return env.loss_R(k) / (row_end(env, Real(env.loss_B(k))).weight * weight_of_dof(env, dof(k)));
  }
  DS_HD int dof(int k) const { return env.t.loss_dof[k]; }
  DS_HD static Real sign(int) { return Real(1); }
  template <class F>
  DS_HD auto with_law(int k, F f) const {
    return f(law(k));
  }
  DS_HD auto y0() const { return env.loss_y0(); }
  DS_HD auto y() const { return env.loss_y(); }
  DS_HD Real weight(int k) const { return Real(1) / R(k); }
  DS_HD static typename E::Mask used(int) { return all_true<Real>(); }
  template <class F>
  DS_HD void each_dof(int k, F f) const {
    f(dof(k));
  }
  DS_HD static Real likely() { return Real(0); }

  DS_HD void make() const {
    const auto qvel = env.qvel(), qacc = env.qacc_smooth(), y0 = env.loss_y0();
    env.each(count(), [&](int k) {
      const int i = dof(k);
      y0[k] = fma(row_end(env, Real(env.loss_B(k))).B, qvel[i], qacc[i]);
    });
  }
  // impacts know no bounded force: the rows ask for nothing
  DS_HD void rest_in_impact() const {
    env.each(count(), [&](int k) { env.loss_y0()[k] = Real(0); });
  }
  DS_HD void add_users(int u, typename E::Mask* used) const {
    each_loss_of(env, u, [&](int) { *used = all_true<Real>(); });
  }

  DS_HD void put_residual(int u, const Real& x) const {
    each_loss_of(env, u, [&](int k) { env.loss_y()[k] = env.loss_y0()[k] + x; });
  }
  DS_HD void put_change(int u, const Real& x) const {
    each_loss_of(env, u, [&](int k) { change()[k] = x; });
  }
  template <class F>
  DS_HD void lift(const F& w) const {
    for (int k = 0; k < count(); k++) {
      const Real x = single_dot(env, dof(k), w);
      if (env.lanes.rank() == 0) env.loss_y0()[k] = env.loss_y0()[k] + x;
    }
  }
  template <class F>
  DS_HD void each_residual(F f) const {
    env.each(count(), [&](int k) { f(env.loss_y()[k], change()[k]); });
  }

  DS_HD Real cost() const {
    return env.accumulate(count(), [&](int k, const Real& sum) {
      return law(k).add_cost(sum, Real(env.loss_y()[k]), Real(0));
    });
  }
  DS_HD void add_law(int u, Real* force, Real* curvature, Real* key) const {
    each_loss_of(env, u, [&](int k) {
      const Real y = env.loss_y()[k], none(0);
      const Huber<Real> huber = law(k);
      *force = *force + huber.force(y, none);
      *curvature = *curvature + huber.curvature(y, none);
      *key = huber.add_conditions(*key, y, none, Condition::kLoss, k);
    });
  }
  DS_HD void add_along(const Real& alpha, Real* slope, Real* bend) const {
    for (int k = 0; k < count(); k++)
      law(k).add_along(Real(env.loss_y()[k]), Real(change()[k]), alpha, Real(0), slope, bend);
  }

  DS_HD void add_diagonal(MeanDiagonal<Real>* diagonal) const {
    for (int k = 0; k < count(); k++) {
      const Huber<Real> huber = law(k);
      diagonal->add(huber.f == huber.f, single_diag(env, dof(k)), huber.R);
    }
  }
  DS_HD void add_natural(NaturalResidual<Real>* residual) const {
    for (int k = 0; k < count(); k++) {
      const Huber<Real> huber = law(k);
      const Real y = env.loss_y()[k];
      residual->add_scalar(huber, huber.f == huber.f, y, Real(change()[k]), huber.R, huber.force(y, Real(0)));
    }
  }

  // l <- clamp(l - y / (A + R), -f, f)
  template <class F>
  DS_HD void sweep(const F& w) const {
    const auto l = lambda();
    for (int k = 0; k < count(); k++) {
      const Huber<Real> huber = law(k);
      const Real R = huber.R, before = l[k];
      Real dot, diag;
      single_dots(env, dof(k), w, &dot, &diag);
      const Real y = env.loss_y0()[k] + dot + R * before;
      const Real next = huber.project(before - y / (diag + R));
      env.sync();
      if (env.lanes.rank() == 0) l[k] = next;
      single_axpy(env, dof(k), next - before, w);
    }
  }

  template <class F>
  DS_HD Real dual_sum(int at, F f) const {
    return env.accumulate(
        count(), [&](int k, const Real& sum) { return sum + f(at + k, R(k), Real(env.loss_y0()[k])); });
  }
  template <class L, class F>
  DS_HD void add_forces(const L& l, const F& w) const {
    for (int k = 0; k < count(); k++) single_axpy(env, dof(k), l[k], w);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
