// DC motors: an on-board controller, a winding, heat, and what rubs on the shaft.
//
// solves    the rates of a motor's activations, each of them one step on, its force, df/dld
// equation  with l and ld of the actuator, and its set points (setpoints.h):
//             torque tau = kp (u_l - l) + kd (u_ld - ld) + ki x + u_f
//             voltage  V = clip(R tau / K + K ld, Vmax) + u_V;   without any of the first three, u_V alone
//           activations, in this order, those that the motor has:
//             slew         u'
//             integral     x' = u_l - l, at the bound Imax inwards alone; x stays within it
//             temperature  T' = (Rh i^2 - T / RT) / C above ambient; the winding has Rh = R (1 + alpha (T + Ta - T0))
//             bristle      z' = ld - sigma0 |ld| z / g,  g = Fc + (Fs - Fc) exp(-(ld / vs)^2)
//             current      i' = clip(((V - K ld) / Rh - i) / te, dimax)
//           force K i, of the current one step on; without a current K (V - K ld) / Rh. Its range bounds that alone, not
//             A sin(N l + phi) - sigma0 z - sigma1 z', cogging and friction, which are added after it
//           one step on: z and i in closed form at constant speed and voltage, the others act + h rate
// source    MuJoCo's technical note on its dcmotor; Canudas de Wit, Olsson, Astrom & Lischinsky 1995 (LuGre)
// deviation none; as in MuJoCo df/dld of the bristles is -sigma1 alone
// reads     act, act_dcmotor, motor_speed, and as setpoints.h
// writes    act_dot, motor_speed, motor_drag
// cost      O(1); nothing in models without motors
#pragma once

#include "kernels/smooth/actuators/dynamics.h"
#include "kernels/smooth/actuators/force.h"
#include "kernels/smooth/actuators/setpoints.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct DCMotor {
  DS_HD static constexpr int controller() { return kInputPos | kInputVel | kInputForce; }

  // V, and its slopes by velocity and by length
  template <class Real>
  struct Voltage {
    Real V, slope, by_length;
  };
  template <class E, class Real = typename E::Real>
  DS_FN static Voltage<Real> voltage(const E& env, int a, const SetPoints<Real>& u, const Real& integral,
                                     const Real& length, const Real& velocity) {
    const Real zero(0);
    if (!(env.t.act_motor[a] & controller())) return {.V = u.voltage, .slope = zero, .by_length = zero};
    const Real K = env.motor_constant(a), most = env.motor_voltage(a);
    Real torque = fma(env.motor_kd(a), u.velocity - velocity, env.motor_kp(a) * (u.length - length));
    torque = fma(env.setpoint_integral_gain(a), integral, torque) + u.force;
    const Real per_torque = env.motor_resistance(a) / K, v = fma(per_torque, torque, K * velocity);
    const auto clipped = mask_and(most > zero, abs(v) >= most);
    return {.V = select(most > zero, clamp(v, -most, most), v) + u.voltage,
            .slope = select(clipped, zero, fma(-env.motor_kd(a), per_torque, K)),
            .by_length = select(clipped, zero, -(env.motor_kp(a) * per_torque))};
  }
  // exp of minus this is zero in either precision
  static constexpr double kNothingLeft = 1e4;
  // how fast a bristle yields: z' = ld - yield z
  template <class E, class Real = typename E::Real>
  DS_FN static Real yield(const E& env, int a, const Real& velocity) {
    const Real coulomb = env.motor_coulomb(a), ratio = velocity / max(env.motor_stribeck(a), Real(kMinVal));
    const Real g = fma(env.motor_static(a) - coulomb, exp(-min(ratio * ratio, Real(kNothingLeft))), coulomb);
    return env.motor_bristle(a) * abs(velocity) / max(g, Real(kMinVal));
  }
  // share of the way to its goal that a current goes in a step
  template <class E, class Real = typename E::Real>
  DS_HD static Real charge(const E& env, int a) {
    return Real(1) - exp(-Real(env.t.o.timestep) / env.motor_time_constant(a));
  }

  // the activation at adr one step on
  template <class E, class Real = typename E::Real>
  DS_FN static Real next(const E& env, int a, int adr, const Real& act, const Real& rate) {
    const MotorActivations s = MotorActivations::of(env.t, a);
    const Real zero(0), one(1), h(env.t.o.timestep);
    if (adr == s.current) return fma(rate * env.motor_time_constant(a), charge(env, a), act);
    if (adr == s.bristle) {
      const Real velocity = env.motor_speed()[a], lost = yield(env, a, velocity), kept = exp(-(lost * h));
      const auto yields = lost > Real(kMinVal);
      const Real time = select(yields, (one - kept) / select(yields, lost, one), h);
      return fma(kept, act, time * velocity);
    }
    const Real euler = fma(rate, h, act), most = env.setpoint_integral_bound(a);
    if (adr != s.integral) return euler;
    return select(most > zero, clamp(euler, -most, most), euler);
  }

  // the rates of its activations; its force and slope before their limits, and the drag that none of those bounds
  template <class E, class Real>
  DS_STAGE static void apply(E& env, int a, bool off, ActuatorForce<Real>* f) {
    const MotorActivations s = MotorActivations::of(env.t, a);
    const auto act = env.act(), act_dot = env.act_dot();
    const Real zero(0), one(1), velocity = f->velocity;
    env.motor_speed()[a] = velocity;
    env.motor_drag()[a] = zero;
    if (off) return rest_activations(env, a);
    SetPoints<Real> u = set_points(env, a);
    if (s.slew >= 0) {
      Real& first = u.first(env.t.act_motor[a]);
      first = slewed(env, a, s.slew, first);
    }
    Real integral = zero;
    if (s.integral >= 0) {
      integral = act[s.integral];
      integrate_error(env, a, s.integral, u.length - f->length);
    }
    const auto [V, slope, by_length] = voltage(env, a, u, integral, f->length, velocity);
    const Real K = env.motor_constant(a), tiny(kMinVal);
    Real hot = env.motor_resistance(a);
    if (s.temperature >= 0) {
      const Real T = act[s.temperature];
      const Real rise = T + env.motor_ambient(a) - env.motor_reference(a);
      hot = hot * fma(env.motor_temperature_slope(a), rise, one);
      const Real current = s.current >= 0 ? Real(act[s.current]) : fma(-K, velocity, V) / hot;
      act_dot[s.temperature] =
          (hot * current * current - T / env.motor_heat_resistance(a)) / env.motor_heat_capacity(a);
    }
    if (s.current >= 0) {
      const Real i = act[s.current], most = env.motor_current_rate(a);
      const Real free = (fma(-K, velocity, V) / hot - i) / env.motor_time_constant(a);
      const Real rate = select(most > zero, clamp(free, -most, most), free);
      act_dot[s.current] = rate;
      f->force = K * next(env, a, s.current, i, rate);
      const auto clipped = mask_and(most > zero, abs(free) >= most);
      f->slope = select(clipped, zero, K * (slope - K) * charge(env, a) / hot);
      f->by_length = select(clipped, zero, K * by_length * charge(env, a) / hot);
    } else {
      f->force = K / max(hot, tiny) * fma(-K, velocity, V);
      f->slope = K / max(hot, tiny) * (slope - K);
      f->by_length = K / max(hot, tiny) * by_length;
    }
    Real sine, cosine;
    sincos(fma(env.motor_cogging_poles(a), f->length, env.motor_cogging_phase(a)), &sine, &cosine);
    Real drag = env.motor_cogging(a) * sine;
    if (env.t.o.integrator == kDiscrete)
      env.motor_drag_slope()[a] = env.motor_cogging(a) * (env.motor_cogging_poles(a) * cosine);
    if (s.bristle >= 0) {
      const Real z = act[s.bristle], rate = fma(-yield(env, a, velocity), z, velocity);
      act_dot[s.bristle] = rate;
      drag = fma(-env.motor_bristle(a), z, fma(-env.motor_bristle_damping(a), rate, drag));
    }
    env.motor_drag()[a] = drag;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
