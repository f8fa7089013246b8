// Set points: what the controls of a DC motor or a PID servo ask for, how fast, and what is left of it.
//
// solves    set points u_l, u_ld, u_f and u_V, those that are no control 0; the rate of the integral of the error
// equation  with the activations slew, u', and integral, x:
//             slew      the first set point as it was applied: it moves at most at the rate s
//             integral  x' = e, the error of the length; at the bound Imax inwards alone
// source    MuJoCo's documentation of dcmotor and pid, and its technical note on the former
// deviation none
// reads     act_motor, act_ctrl, act_setpoint, and as controls.h
// writes    act_dot
// cost      O(1)
#pragma once

#include "kernels/smooth/actuators/controls.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Tables>
DS_HD bool is_motor(const Tables& t, int a) {
  return t.n.nmotor > 0 && t.act_motor[a] != 0;
}

// where the activations of a motor stand, -1 those that it has not
struct MotorActivations {
  int slew, integral, temperature, bristle, current;

  template <class Tables>
  DS_HD static MotorActivations of(const Tables& t, int a) {
    const int bits = t.act_motor[a];
    int next = t.act_adr[a];
    const auto take = [&](int bit) { return bits & bit ? next++ : -1; };
    MotorActivations s;
    s.slew = take(kMotorSlew);
    s.integral = take(kMotorIntegral);
    s.temperature = take(kMotorTemperature);
    s.bristle = take(kMotorBristle);
    s.current = take(kMotorCurrent);
    return s;
  }
};

// of the length, its velocity, the torque or force, and the voltage
template <class Real>
struct SetPoints {
  Real length, velocity, force, voltage;
  DS_HD Real& first(int bits) { return bits & kInputPos ? length : bits & kInputVel ? velocity : force; }
};
template <class E, class Real = typename E::Real>
DS_FN SetPoints<Real> set_points(const E& env, int a) {
  const int bits = env.t.act_motor[a];
  int next = env.t.act_ctrl[a];
  const auto take = [&](int bit) { return bits & bit ? acting_control(env, next++) : Real(0); };
  SetPoints<Real> u;
  u.length = take(kInputPos);
  u.velocity = take(kInputVel);
  u.force = take(kInputForce);
  u.voltage = take(kInputVoltage);
  return u;
}
// how a set point is applied whose rate is bounded, after act[slew]
template <class E, class Real>
DS_FN Real slewed(E& env, int a, int slew, const Real& u) {
  const Real h(env.t.o.timestep), last = env.act()[slew], way = env.setpoint_slew(a) * h;
  const Real applied = clamp(u, last - way, last + way);
  env.act_dot()[slew] = (applied - last) / h;
  return applied;
}
template <class E, class Real>
DS_FN void integrate_error(E& env, int a, int integral, const Real& error) {
  const Real zero(0), x = env.act()[integral], most = env.setpoint_integral_bound(a);
  const Real inwards = select(x >= most, negative_part(error), select(x <= -most, max(error, zero), error));
  env.act_dot()[integral] = select(most > zero, inwards, error);
}
// of one that is off
template <class E>
DS_FN void rest_activations(E& env, int a) {
  for (int k = 0; k < env.t.act_num[a]; k++) env.act_dot()[env.t.act_adr[a] + k] = typename E::Real(0);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
