// Actuators: from controls and activations to forces on the joints.
//
// solves    actuator_force, act_dot, qfrc_actuator
// equation  actuator a, of length l and velocity ld, u its control or activation, m its moment:
//             force = clip(gain(l, ld) u + bias(l, ld)),   qfrc_actuator += m' force
// source    MuJoCo's documentation, "Actuation model"; the kinds stand in actuators/
// deviation none
// reads     qpos, qvel, act, ctrl, ctrl_history, qfrc_gravcomp, ten_length, ten_velocity, ten_J, trn_length, trn_J
// writes    actuator_force, actuator_vel_gain, actuator_pos_gain, act_dot, qfrc_actuator; motor_speed, motor_drag (dcmotor.h)
// cost      O(nactuator + nv)
#pragma once

#include "kernels/smooth/actuators/kinds.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// length and velocity of the transmission of actuator a
template <class E, class Real = typename E::Real>
DS_FN void transmission(const E& env, int a, Real* length, Real* velocity) {
  *length = Real(0);
  *velocity = Real(0);
  Transmissions::with(env.t.act_trn[a], [&](auto kind) { kind.motion(env, a, length, velocity); });
}
// component c of its moment, as the list `dof_act` counts them
template <class E, class Real = typename E::Real>
DS_FN Real moment(const E& env, int a, int c) {
  Real found(0);
  Transmissions::with(env.t.act_trn[a], [&](auto kind) { found = kind.moment(env, a, c); });
  return found;
}

// the activation at adr one step on
template <class E, class Real = typename E::Real>
DS_HD Real next_activation(const E& env, int a, int adr, const Real& act, const Real& rate) {
  const auto& t = env.t;
  Real next(0);
  if (is_motor(t, a)) {
    Motors::with(t.act_gain[a], [&](auto kind) { next = kind.next(env, a, adr, act, rate); });
    return next;
  }
  Dynamics::with(t.act_dyn[a], [&](auto kind) { next = kind.next(env, a, act, rate); });
  if (t.act_flags[a] & kActLimited) next = clamp(next, env.act_act_lower(a), env.act_act_upper(a));
  return next;
}

// the setpoint of a servo on a ball joint, or on the turn of a site, brought within half a turn of the length
template <class E, class Real = typename E::Real>
DS_FN Real nearest_setpoint(const E& env, int a, const Real& u, const Real& length) {
  int turn = 0;
  Transmissions::with(env.t.act_trn[a], [&](auto kind) {
    if constexpr (requires { kind.kTurn; }) turn = kind.kTurn;
  });
  const Vec3<Real> gear{env.act_gear(a, turn), env.act_gear(a, turn + 1), env.act_gear(a, turn + 2)};
  const Real period = Real(6.28318530717958647692) * norm(gear);
  return u - period * round_nearest((u - length) / period);
}

// what drives the force of actuator a: its control, or its activation, whose rate is written
template <class E>
DS_HD typename E::Real drive(E& env, int a, bool off) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const int flags = t.act_flags[a], adr = t.act_adr[a];
  Real u = acting_control(env, t.act_ctrl[a]);
  if (adr < 0) return u;
  const Real act = env.act()[adr];
  Real rate(0);
  bool shorter_way = false;
  Dynamics::with(t.act_dyn[a], [&](auto kind) {
    shorter_way = requires { kind.kShorterWay; };
  });
  if ((flags & kActCircle) && shorter_way) u = nearest_setpoint(env, a, u, act);
  if (!off) Dynamics::with(t.act_dyn[a], [&](auto kind) { rate = kind.rate(env, a, u, act); });
  env.act_dot()[adr] = rate;
  return flags & kActEarly ? next_activation(env, a, adr, act, rate) : act;
}

// the force of actuator a within its range; returns where it is at its ends, and gains nothing by speed and length
template <class E, class Real = typename E::Real>
DS_HD auto limit_force(const E& env, int a, Real* force) {
  const Real lo = env.act_force_lower(a), hi = env.act_force_upper(a);
  *force = clamp(*force, lo, hi);
  return mask_or(*force <= lo, *force >= hi);
}
template <class E, class Real = typename E::Real>
DS_HD void limit_force(const E& env, int a, ActuatorForce<Real>* f) {
  const auto at = limit_force(env, a, &f->force);
  f->slope = select(at, Real(0), f->slope);
  f->by_length = select(at, Real(0), f->by_length);
}
template <class E, class Mask>
DS_HD void gain_nothing(const E& env, int a, const Mask& where) {
  using Real = typename E::Real;
  const auto clear = [&](Real& gain) { gain = select(where, Real(0), gain); };
  clear(env.actuator_vel_gain()[a]);
  if (env.t.o.integrator == kDiscrete) clear(env.actuator_pos_gain()[a]);
}

// the drag of a motor, which neither its range nor its tendon's bounds
template <class E>
DS_HD void add_drag(const E& env, int a) {
  if (!is_motor(env.t, a) || (env.t.act_flags[a] & kActDisabled)) return;
  const auto force = env.actuator_force(), slope = env.actuator_vel_gain();
  force[a] = force[a] + env.motor_drag()[a];
  if (env.t.act_motor[a] & kMotorBristle) slope[a] = slope[a] - env.motor_bristle_damping(a);
  if (env.t.o.integrator == kDiscrete)
    env.actuator_pos_gain()[a] = env.actuator_pos_gain()[a] + env.motor_drag_slope()[a];
}

// actuators of a tendon whose total force is limited are scaled together, before their own ranges
template <class E>
DS_STAGE void limit_tendon_forces(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto force = env.actuator_force(), total = env.ten_force();
  const auto put_totals = [&] {
    env.each(t.n.ntendon, [&](int ten) {
      Real sum(0);
      for (int a = 0; a < t.n.nactuator; a++)
        if (tendon_of(t, a) == ten) sum = sum + force[a];
      total[ten] = sum;
    });
    env.sync();
  };
  const auto on_limited = [&](int a) {
    const int ten = tendon_of(t, a);
    return ten >= 0 && t.ten_actfrclimited[ten] != 0;
  };
  put_totals();
  env.each(t.n.nactuator, [&](int a) {
    Real f = force[a];
    if (on_limited(a)) {
      const int ten = t.act_id[a];
      const Real sum = total[ten], bound = clamp(sum, env.ten_actfrc_lower(ten), env.ten_actfrc_upper(ten));
      const auto within = bound == sum;
      f = select(within, f, f * (bound / select(within, Real(1), sum)));
    }
    if (t.act_flags[a] & kForceLimited) gain_nothing(env, a, limit_force(env, a, &f));
    force[a] = f;
  });
  env.sync();
  // at the limit of the sum they gain nothing by speed; a sum that was scaled is there but for rounding
  put_totals();
  const Real rounding(kSingle<typename E::Scalar> ? 1e-6 : 1e-12);
  env.each(t.n.nactuator, [&](int a) {
    if (!on_limited(a)) return;
    const int ten = t.act_id[a];
    const Real sum = total[ten], lo = env.ten_actfrc_lower(ten), hi = env.ten_actfrc_upper(ten);
    const auto at = mask_or(sum <= fma(rounding, abs(lo), lo), sum >= fma(-rounding, abs(hi), hi));
    gain_nothing(env, a, at);
  });
  if (t.n.nmotor == 0) return;
  env.each(t.n.nactuator, [&](int a) { add_drag(env, a); });
  env.sync();
}

// an actuator on a joint at its limit of force gains nothing by speed
template <class E>
DS_HD void limit_joint_gains(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto out = env.qfrc_actuator();
  env.each(t.n.nactuator, [&](int a) {
    const int j = t.act_id[a];
    if (!acts_on<kOnJoint>(t.act_trn[a]) || !t.jnt_actfrclimited[j]) return;
    const Real total = out[t.jnt_dofadr[j]];
    const auto limited = mask_or(total <= env.jnt_actfrc_lower(j), total >= env.jnt_actfrc_upper(j));
    gain_nothing(env, a, limited);
  });
}
// the total forces of the joints within their limits, where they are found after `actuation`
template <class E>
DS_STAGE void limit_joint_forces(E& env) {
  const auto& t = env.t;
  const auto out = env.qfrc_actuator();
  env.each(t.n.nv, [&](int i) {
    const int j = t.dof_jnt[i];
    if (t.jnt_actfrclimited[j]) out[i] = clamp(out[i], env.jnt_actfrc_lower(j), env.jnt_actfrc_upper(j));
  });
  env.sync();
  limit_joint_gains(env);
}

template <class E>
DS_STAGE void actuation(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto force = env.actuator_force(), vel_gain = env.actuator_vel_gain(), out = env.qfrc_actuator();
  env.each(t.n.nactuator, [&](int a) {
    const int flags = t.act_flags[a];
    const bool off = disabled(t.o, kDisableActuation) || (flags & kActDisabled) != 0;
    const bool motor = is_motor(t, a), limited = (flags & kForceLimited) && !t.o.has_ten_actfrc;
    const Real zero(0);
    ActuatorForce<Real> f{
        .u = zero, .length = zero, .velocity = zero, .force = zero, .slope = zero, .by_length = zero};
    if (motor) {
      transmission(env, a, &f.length, &f.velocity);
      Motors::with(t.act_gain[a], [&](auto kind) { kind.apply(env, a, off, &f); });
    } else {
      f.u = drive(env, a, off);
    }
    if (!off && !motor) {
      transmission(env, a, &f.length, &f.velocity);
      if (flags & kActCircle) f.u = nearest_setpoint(env, a, f.u, f.length);
      Gains::with(t.act_gain[a], [&](auto kind) { kind.apply(env, a, &f); });
      Biases::with(t.act_bias[a], [&](auto kind) { kind.apply(env, a, &f); });
    }
    // that of an actuator whose group is off too, as MuJoCo does
    if (limited) limit_force(env, a, &f);
    force[a] = f.force;
    vel_gain[a] = f.slope;
    if (t.o.integrator == kDiscrete) env.actuator_pos_gain()[a] = f.by_length;
    if (!off && !t.o.has_ten_actfrc) add_drag(env, a);
  });
  env.sync();
  if (t.o.has_ten_actfrc) limit_tendon_forces(env);
  env.each(t.n.nv, [&](int i) {
    const int j = t.dof_jnt[i];
    Real sum = t.o.has_actgravcomp && t.jnt_actgravcomp[j] ? Real(env.qfrc_gravcomp()[i]) : Real(0);
    for (int k = t.dof_act_adr[i]; k < t.dof_act_adr[i + 1]; k++)
      sum = fma(moment(env, t.dof_act[k], t.dof_act_component[k]), force[t.dof_act[k]], sum);
    if (t.jnt_actfrclimited[j] && !t.o.has_adhesion)
      sum = clamp(sum, env.jnt_actfrc_lower(j), env.jnt_actfrc_upper(j));
    out[i] = sum;
  });
  env.sync();
  if (!t.o.has_adhesion) limit_joint_gains(env);
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
