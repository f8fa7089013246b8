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
  return max(env.act_dynprm(a), Real(1e-15));
}
template <class E>
DS_HD typename E::Real euler_activation(const E& env, const typename E::Real& act,
                                        const typename E::Real& rate) {
  return fma(rate, typename E::Real(env.t.o.timestep), act);
}

// an actuator without activation is asked for neither
struct NoDynamics {
  DS_HD static constexpr bool serves(int code) { return code == kDynNone; }
  template <class E, class Real = typename E::Real>
  DS_HD static Real rate(const E&, int, const Real&, const Real&) {
    return Real(0);
  }
  template <class E, class Real = typename E::Real>
  DS_HD static Real next(const E&, int, const Real& act, const Real&) {
    return act;
  }
};
struct IntegratorDynamics {
  DS_HD static constexpr bool serves(int code) { return code == kDynIntegrator; }
  template <class E, class Real = typename E::Real>
  DS_HD static Real rate(const E&, int, const Real& u, const Real&) {
    return u;
  }
  template <class E, class Real = typename E::Real>
  DS_HD static Real next(const E& env, int, const Real& act, const Real& rate) {
    return euler_activation(env, act, rate);
  }
};
struct FilterDynamics {
  DS_HD static constexpr bool serves(int code) { return code == kDynFilter; }
  template <class E, class Real = typename E::Real>
  DS_HD static Real rate(const E& env, int a, const Real& u, const Real& act) {
    return (u - act) / time_constant(env, a);
  }
  template <class E, class Real = typename E::Real>
  DS_HD static Real next(const E& env, int, const Real& act, const Real& rate) {
    return euler_activation(env, act, rate);
  }
};
struct ExactFilterDynamics {
  DS_HD static constexpr bool serves(int code) { return code == kDynFilterExact; }
  template <class E, class Real = typename E::Real>
  DS_HD static Real rate(const E& env, int a, const Real& u, const Real& act) {
    return (u - act) / time_constant(env, a);
  }
  template <class E, class Real = typename E::Real>
  DS_HD static Real next(const E& env, int a, const Real& act, const Real& rate) {
    const Real tau = time_constant(env, a);
    return fma(rate * tau, Real(1) - exp(-Real(env.t.o.timestep) / tau), act);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
