// Activation dynamics: the rate of an activation, and the activation one step on.
//
// solves    d act/dt, act'
// equation  integrator      rate = u,               act' = act + h rate
//           filter          rate = (u - act) / tau, act' = act + h rate
//           exact filter    rate likewise,          act' = act + rate tau (1 - exp(-h / tau))
// source    MuJoCo's documentation, "Actuation model", "Activation dynamics"
// deviation none
// reads     act_dynprm
// writes    none
// cost      O(1)
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class E>
DS_HD typename E::Real time_constant(const E& env, int a) {
  using Real = typename E::Real;
  return max(env.act_time_constant(a), Real(kMinVal));
}

// an actuator without activation is asked for neither
struct NoDynamics {
  template <class E, class Real = typename E::Real>
  DS_HD static Real rate(const E&, int, const Real&, const Real&) {
    return Real(0);
  }
  template <class E, class Real = typename E::Real>
  DS_HD static Real next(const E&, int, const Real& act, const Real&) {
    return act;
  }
};
// act' = act + h rate
struct EulerStep {
  template <class E, class Real = typename E::Real>
  DS_HD static Real next(const E& env, int, const Real& act, const Real& rate) {
    return fma(rate, Real(env.t.o.timestep), act);
  }
};
// rate = (u - act) / tau
struct FilterRate {
  static constexpr bool kShorterWay = true;  // round a circle
  template <class E, class Real = typename E::Real>
  DS_HD static Real rate(const E& env, int a, const Real& u, const Real& act) {
    return (u - act) / time_constant(env, a);
  }
};
struct IntegratorDynamics : EulerStep {
  template <class E, class Real = typename E::Real>
  DS_HD static Real rate(const E&, int, const Real& u, const Real&) {
    return u;
  }
};
struct FilterDynamics : FilterRate, EulerStep {};
struct ExactFilterDynamics : FilterRate {
  template <class E, class Real = typename E::Real>
  DS_HD static Real next(const E& env, int a, const Real& act, const Real& rate) {
    const Real tau = time_constant(env, a);
    return fma(rate * tau, Real(1) - exp(-Real(env.t.o.timestep) / tau), act);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
