// PID servos: a force by the errors of position and velocity, by the integral of the former, and a feedforward.
//
// solves    force, df/dld, df/dl, and the rates of a servo's activations
// equation  with l and ld of the actuator, its bias b_0 + b_1 l + b_2 ld, and its set points (setpoints.h):
//             force   b_0 - b_1 (u_l - l) - b_2 (u_ld - ld) + ki x + u_f, so kp = -b_1 and kv = -b_2
//           activations, in this order, those that the servo has: slew u', integral x' = u_l - l, which the bound stops but
//           for a step; act + h rate one step on
// source    MuJoCo's documentation of pid, and its forces
// deviation none; as in MuJoCo its slopes are those of the bias alone, and on a circle u_l is brought nearest to what it
//           moves from, then to l
// reads     act, act_biasprm, act_actrange, and as setpoints.h
// writes    act_dot, motor_speed, motor_drag, motor_drag_slope
// cost      O(1); nothing in models without motors
#pragma once

#include "kernels/smooth/actuators/force.h"
#include "kernels/smooth/actuators/setpoints.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct PidServo {
  // the activation at adr one step on
  template <class E, class Real = typename E::Real>
  DS_FN static Real next(const E& env, int a, int, const Real& act, const Real& rate) {
    const Real euler = fma(rate, Real(env.t.o.timestep), act);
    if (!(env.t.act_flags[a] & kActLimited)) return euler;
    return clamp(euler, env.act_act_lower(a), env.act_act_upper(a));
  }

  // the rates of its activations; its force and slopes before their limits
  template <class E, class Real>
  DS_STAGE static void apply(E& env, int a, bool off, ActuatorForce<Real>* f) {
    const auto& t = env.t;
    const Real zero(0);
    // it drags nothing
    env.motor_speed()[a] = f->velocity;
    env.motor_drag()[a] = zero;
    if (t.o.integrator == kDiscrete) env.motor_drag_slope()[a] = zero;
    if (off) return rest_activations(env, a);
    const MotorActivations s = MotorActivations::of(t, a);
    const bool circle = (t.act_flags[a] & kActCircle) != 0;
    SetPoints<Real> u = set_points(env, a);
    if (s.slew >= 0) {
      if (circle) u.length = nearest_setpoint(env, a, u.length, Real(env.act()[s.slew]));
      u.length = slewed(env, a, s.slew, u.length);
    }
    if (circle) u.length = nearest_setpoint(env, a, u.length, f->length);
    f->force = fma(-env.act_bias_length(a), u.length, fma(-env.act_bias_velocity(a), u.velocity, u.force));
    if (s.integral >= 0) {
      integrate_error(env, a, s.integral, u.length - f->length);
      const Real now = env.act()[s.integral], rate = env.act_dot()[s.integral];
      const Real x = t.act_flags[a] & kActEarly ? next(env, a, s.integral, now, rate) : now;
      f->force = fma(env.setpoint_integral_gain(a), x, f->force);
    }
    AffineBias::apply(env, a, f);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
