// Limits and friction losses of tendons: dense scalar rows, two a limited tendon and one with friction loss.
//
// solves    J, y0 and D of these rows
// equation  limit          r = +-(L - bound) - margin,   J = +-dL/dq,   aref = -B J v - K imp(r) r,   l >= 0
//           friction loss  J = dL/dq,   aref = -B J v,   |l| <= f,   R fixed at load
// source    MuJoCo's documentation, "Constraint model"
// deviation none
// reads     ten_length, ten_J, qvel, qacc_smooth, LD, Dscale, tenlim_param, tenloss_param
// writes    their rows of Z, dense_y0, dense_D
// cost      O(rows (nv + the M entries of the dofs that move the tendon))
#pragma once

#include "kernels/rows/kinds/dense_scalar.h"
#include "kernels/rows/kinds/limit_reading.h"
#include "kernels/rows/step_end.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// adds scale J of a tendon to row g of Z
template <class E, class Real = typename E::Real>
DS_HD void add_tendon_row(E& env, int g, int ten, const Real& scale) {
  const auto& t = env.t;
  const auto z = env.Z().from(g * t.n.nv);
  for (int e = t.ten_adr[ten]; e < t.ten_adr[ten + 1]; e++)
    z[t.ten_dof[e]] = fma(scale, env.ten_J()[e], z[t.ten_dof[e]]);
}
template <class E>
DS_HD void clear_row(E& env, int g) {
  using Real = typename E::Real;
  for (int d = 0; d < env.t.n.nv; d++) env.Z()[g * env.t.n.nv + d] = Real(0);
}
// J x of a tendon
template <class E, class F, class Real = typename E::Real>
DS_HD Real tendon_product(const E& env, int ten, const F& x) {
  const auto& t = env.t;
  Real sum(0);
  for (int e = t.ten_adr[ten]; e < t.ten_adr[ten + 1]; e++) sum = fma(env.ten_J()[e], x[t.ten_dof[e]], sum);
  return sum;
}
// J (B v + qacc_smooth) of a tendon
template <class E, class Real = typename E::Real>
DS_HD Real tendon_rate(const E& env, int ten, const Real& B) {
  const auto& t = env.t;
  Real sum(0);
  for (int e = t.ten_adr[ten]; e < t.ten_adr[ten + 1]; e++) {
    const int d = t.ten_dof[e];
    sum = fma(env.ten_J()[e], fma(B, env.qvel()[d], env.qacc_smooth()[d]), sum);
  }
  return sum;
}

// kinds of dense scalar rows
struct TendonLimits {
  template <class E>
  DS_HD static int count(const E& env) {
    return kLimitSides * env.t.n.ntenlim;
  }
  template <class E>
  DS_HD static OneSided law(const E&, int, int) {
    return {};
  }
  template <class Real>
  DS_HD static Real sign(int s) {
    return Real(is_upper(s) ? -1 : 1);
  }
  // to the bound, less the margin
  template <class E, class Real = typename E::Real>
  DS_HD static Real distance(const E& env, int s) {
    const int k = limit_of(s);
    const Real bound = is_upper(s) ? env.tenlim_upper(k) : env.tenlim_lower(k);
    return sign<Real>(s) * (env.ten_length()[env.t.tenlim_ten[k]] - bound) - env.tenlim_margin(k);
  }
  template <class E, class Real = typename E::Real>
  DS_HD static LimitReading<Real> reading(const E& env, int first, int s) {
    const Real D = env.dense_D()[first + s], rate = env.ten_velocity()[env.t.tenlim_ten[limit_of(s)]];
    return {D, distance(env, s), sign<Real>(s) * rate, OneSided::force(Real(env.dense_y()[first + s]), D)};
  }
  template <class E>
  DS_STAGE static void make(E& env, int first) {
    using Real = typename E::Real;
    const auto y0 = env.dense_y0(), D = env.dense_D();
    env.each(count(env), [&](int s) {
      const int k = limit_of(s), ten = env.t.tenlim_ten[k], g = first + s;
      const Real side = sign<Real>(s), r = distance(env, s);
      const auto active = r < Real(0);
      clear_row(env, g);
      y0[g] = Real(0);
      D[g] = Real(0);
      if (!any(active)) return;
      const Real imp = impedance(r, [&](int c) { return env.tenlim_solimp(k, c); });
      const auto end = row_end(env, imp, Real(env.tenlim_K(k)), Real(env.tenlim_B(k)),
                               [&] { return Real(env.tenlim_stiffest(k)); });
      const Real rate = tendon_rate(env, ten, end.B);
      y0[g] = select(active, fma(side, rate, end.K * r), Real(0));
      D[g] = select(active, Real(1) / regularizer(imp, env.tenlim_approx_A(k)), Real(0));
      add_tendon_row(env, g, ten, select(active, side, Real(0)));
      weigh_dense_row(env, g, end.weight);
      whiten<1>(env, env.Z(), g, dense_support(env, g));
    });
  }
  template <class E, class Real = typename E::Real>
  DS_HD static Real add_pull(const E& env, int first, int ten, Real f) {
    const auto push = [&](int k, int side) {
      return force_of_row(env, OneSided{}, first + side_of_limit(k, side));
    };
    for (int k = 0; k < env.t.n.ntenlim; k++)
      if (env.t.tenlim_ten[k] == ten) f = f + (push(k, kLowerSide) - push(k, kUpperSide));
    return f;
  }
};

struct TendonLosses {
  template <class E>
  DS_HD static int count(const E& env) {
    return env.t.n.ntenloss;
  }
  template <class E>
  DS_HD static Huber<typename E::Real> law(const E& env, int g, int first) {
    const int k = g - first;
    const bool discrete = env.t.o.integrator == kDiscrete;
    return {env.tenloss_friction(k), discrete ? typename E::Real(1) / env.dense_D()[g] : env.tenloss_R(k)};
  }
  template <class E>
  DS_STAGE static void make(E& env, int first) {
    using Real = typename E::Real;
    const auto& t = env.t;
    env.each(count(env), [&](int k) {
      const int ten = t.tenloss_ten[k], g = first + k;
      const auto end = row_end(env, Real(env.tenloss_B(k)));
      env.dense_y0()[g] = tendon_rate(env, ten, end.B);
      env.dense_D()[g] = Real(1) / env.tenloss_R(k);
      clear_row(env, g);
      add_tendon_row(env, g, ten, Real(1));
      weigh_dense_row(env, g, end.weight);
      whiten<1>(env, env.Z(), g, dense_support(env, g));
    });
  }
  template <class E, class Real = typename E::Real>
  DS_HD static Real add_pull(const E& env, int first, int ten, Real f) {
    for (int k = 0; k < env.t.n.ntenloss; k++)
      if (env.t.tenloss_ten[k] == ten) f = f + force_of_row(env, law(env, first + k, first), first + k);
    return f;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
