// The smooth forces: springs, dampers, gravity compensation, fluid, actuators, the user's; and M^-1 of their
// sum.
//
// solves    qacc_smooth, the acceleration without constraints
// equation  qfrc_smooth = qfrc_passive - qfrc_bias + qfrc_applied + J' xfrc_applied + qfrc_actuator
//           qacc_smooth = M^-1 qfrc_smooth
//           actuator a, of length l and velocity ld, u its control or activation, m its moment:
//             force = clip(gain(l, ld) u + bias(l, ld)),   qfrc_actuator += m' force
//           fluid, a box with the body's inertia, w and u its velocities in its own frame:
//             torque_k = -(viscous + quadratic_k |w_k|) w_k,   force_k = -(viscous + quadratic_k |u_k|) u_k
// source    MuJoCo's documentation, "Passive forces" and "Actuation model"
// deviation none. Forces on bodies (user, gravity compensation, fluid) are summed per body as spatial forces
//           about the tree's centre of mass and mapped to joints in one sweep to the root
// reads     qpos, qvel, act, ctrl, qfrc_applied, xfrc_applied, xpos, xquat, xipos, tree_com, cdof, cvel,
//           qfrc_bias, LD, Dinv
// writes    qfrc_passive, qfrc_gravcomp, actuator_force, actuator_vel_gain, act_dot, qfrc_actuator,
//           qfrc_smooth, qacc_smooth; cfrc is scratch
// cost      O(nbody + nv + nu), and a solve with M
#pragma once

#include "kernels/smooth/bias.h"
#include "kernels/smooth/factorize.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a world force at a body's centre of mass, as a spatial force about its tree's centre of mass
template <class E, class Real = typename E::Real>
DS_HD Spatial<Real> at_tree_centre(const E& env, int b, const Vec3<Real>& force, const Vec3<Real>& torque) {
  const Vec3<Real> arm = env.xipos().vec(b) - env.tree_com().vec(env.t.body_tree[b]);
  return {torque + cross(arm, force), force};
}

// quadratic and viscous drag of the inertia box of body b
template <class E>
DS_FN Spatial<typename E::Real> fluid_force(const E& env, int b) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Spatial<Real> v = env.cvel().spatial(b);
  const Vec3<Real> arm = env.xipos().vec(b) - env.tree_com().vec(t.body_tree[b]);
  const Vec3<Real> wind{Real(t.o.wind[0]), Real(t.o.wind[1]), Real(t.o.wind[2])};
  const Mat3<Real> r = to_matrix(mul(env.xquat().quat(b), env.quat(t.body_iquat, b)));
  const Vec3<Real> w = rotate_transposed(r, v.ang);
  const Vec3<Real> u = rotate_transposed(r, v.lin + cross(v.ang, arm) - wind);
  const auto drag = [](const Real& x, const Real& quadratic, const Real& viscous) {
    return -(x * fma(quadratic, abs(x), viscous));
  };
  const Real turning = env.fluid_viscous_torque(b), moving = env.fluid_viscous_force(b);
  const Vec3<Real> torque{drag(w.x, env.fluid_quadratic_torque(b, 0), turning),
                          drag(w.y, env.fluid_quadratic_torque(b, 1), turning),
                          drag(w.z, env.fluid_quadratic_torque(b, 2), turning)};
  const Vec3<Real> force{drag(u.x, env.fluid_quadratic_force(b, 0), moving),
                         drag(u.y, env.fluid_quadratic_force(b, 1), moving),
                         drag(u.z, env.fluid_quadratic_force(b, 2), moving)};
  return {rotate(r, torque), rotate(r, force)};
}

// spring force of joint j, added to qfrc_passive
template <class E>
DS_FN void joint_spring(E& env, int j) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qpos = env.qpos(), out = env.qfrc_passive();
  const Real k = env.jnt_stiffness(j);
  int adr = t.jnt_qposadr[j], dof = t.jnt_dofadr[j];
  const int type = t.jnt_type[j];
  if (type == kFree) {
    for (int i = 0; i < 3; i++) out[dof + i] = out[dof + i] - k * (qpos[adr + i] - env.qpos_spring(adr + i));
    adr += 3;
    dof += 3;
  }
  if (!is_scalar_joint(type)) {
    const Quat<Real> rest{env.qpos_spring(adr), env.qpos_spring(adr + 1), env.qpos_spring(adr + 2),
                          env.qpos_spring(adr + 3)};
    const Vec3<Real> d = rotation_vector(mul(conjugate(rest), normalize(qpos.quat_at(adr))));
    out[dof] = out[dof] - k * d.x;
    out[dof + 1] = out[dof + 1] - k * d.y;
    out[dof + 2] = out[dof + 2] - k * d.z;
  } else {
    out[dof] = out[dof] - k * (qpos[adr] - env.qpos_spring(adr));
  }
}

// maps the body forces in cfrc to joints and adds them: out += S' (sum of cfrc over the subtree) where
// keep(dof)
template <class E, class F, class Keep>
DS_FN void add_body_forces(E& env, const F& out, Keep keep) {
  const auto& t = env.t;
  const auto cfrc = env.cfrc(), cdof = env.cdof();
  sum_to_root(env, cfrc);
  env.each(t.n.nv, [&](int i) {
    if (keep(i)) out[i] = out[i] + dot(cdof.spatial(i), cfrc.spatial(t.dof_body[i]));
  });
  env.sync();
}

template <class E>
DS_STAGE void passive(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qvel = env.qvel(), out = env.qfrc_passive(), cfrc = env.cfrc();
  const bool springs = !disabled(t.o, kDisableSpring), dampers = !disabled(t.o, kDisableDamper);
  env.each(t.n.nv,
           [&](int i) { out[i] = dampers && t.o.has_damping ? -(env.dof_damping(i) * qvel[i]) : Real(0); });
  env.sync();
  if (springs && t.o.has_spring) {
    env.each(t.n.njnt, [&](int j) { joint_spring(env, j); });
  }
  const Vec3<Real> g = gravity_of(env), zero{Real(0), Real(0), Real(0)};
  const auto everywhere = [](int) { return true; };
  if (t.o.has_fluid && (springs || dampers)) {
    env.each(t.n.nbody, [&](int b) {
      Spatial<Real> f{zero, zero};
      if (t.body_tree[b] >= 0) {
        const Spatial<Real> drag = fluid_force(env, b);
        f = at_tree_centre(env, b, drag.lin, drag.ang);
      }
      cfrc.set(b, f);
    });
    add_body_forces(env, out, everywhere);
  }
  const auto through = env.qfrc_gravcomp();
  if (t.o.has_actgravcomp) {
    env.each(t.n.nv, [&](int i) { through[i] = Real(0); });
  }
  if (t.o.has_gravcomp && (springs || dampers)) {
    env.each(t.n.nbody, [&](int b) {
      Spatial<Real> f{zero, zero};
      if (t.body_tree[b] >= 0)
        f = at_tree_centre(env, b, g * -(env.body_mass(b) * env.body_gravcomp(b)), zero);
      cfrc.set(b, f);
    });
    add_body_forces(env, out, [&](int i) { return t.jnt_actgravcomp[t.dof_jnt[i]] == 0; });
    if (t.o.has_actgravcomp) {
      const auto cdof = env.cdof();
      env.each(t.n.nv, [&](int i) {
        if (t.jnt_actgravcomp[t.dof_jnt[i]]) through[i] = dot(cdof.spatial(i), cfrc.spatial(t.dof_body[i]));
      });
    }
  }
  env.done();
}

// length and velocity of the transmission of actuator a; a free or ball joint's moment is its gear
template <class E, class Real = typename E::Real>
DS_FN void transmission(const E& env, int a, Real* length, Real* velocity) {
  const auto& t = env.t;
  const auto qpos = env.qpos(), qvel = env.qvel();
  *length = Real(0);
  *velocity = Real(0);
  if (t.act_trn[a] == kTrnTendon) {
    const int ten = t.act_id[a];
    for (int k = t.ten_adr[ten]; k < t.ten_adr[ten + 1]; k++) {
      *length = fma(env.ten_coef(k), qpos[t.ten_dof[2 * k + 1]], *length);
      *velocity = fma(env.ten_coef(k), qvel[t.ten_dof[2 * k]], *velocity);
    }
    *length = *length * env.act_gear(a);
    *velocity = *velocity * env.act_gear(a);
    return;
  }
  const int j = t.act_id[a], type = t.jnt_type[j], dof = t.jnt_dofadr[j], adr = t.jnt_qposadr[j];
  if (is_scalar_joint(type)) {
    *length = qpos[adr] * env.act_gear(a);
    *velocity = qvel[dof] * env.act_gear(a);
    return;
  }
  const int rot = type == kFree ? 3 : 0;
  Vec3<Real> gear{env.act_gear(a, rot), env.act_gear(a, rot + 1), env.act_gear(a, rot + 2)};
  const Quat<Real> q = normalize(qpos.quat_at(adr + rot));
  if (type == kBall) {
    const Vec3<Real> turn = rotation_vector(q);
    *length = dot(turn, gear);
  }
  if (t.act_trn[a] == kTrnJointInParent) gear = rotate(conjugate(q), gear);
  *velocity = dot(gear, qvel.vec_at(dof + rot));
  if (type == kFree)
    for (int i = 0; i < 3; i++) *velocity = fma(env.act_gear(a, i), qvel[dof + i], *velocity);
}

// component c of the moment of actuator a (c counts the dofs of its joint, or the joints of its tendon)
template <class E>
DS_FN typename E::Real moment(const E& env, int a, int c) {
  using Real = typename E::Real;
  const auto& t = env.t;
  if (t.act_trn[a] == kTrnTendon) return env.ten_coef(t.ten_adr[t.act_id[a]] + c) * env.act_gear(a);
  const int j = t.act_id[a], type = t.jnt_type[j], rot = type == kFree ? 3 : 0;
  if (is_scalar_joint(type) || c < rot || t.act_trn[a] == kTrnJoint) return env.act_gear(a, c);
  const Vec3<Real> gear{env.act_gear(a, rot), env.act_gear(a, rot + 1), env.act_gear(a, rot + 2)};
  const Vec3<Real> g = rotate(conjugate(normalize(env.qpos().quat_at(t.jnt_qposadr[j] + rot))), gear);
  return c - rot == 0 ? g.x : c - rot == 1 ? g.y : g.z;
}

// the activation one step on; the exact filter decays by exp(-h / tau)
template <class E, class Real = typename E::Real>
DS_HD Real next_activation(const E& env, int a, const Real& act, const Real& rate) {
  const auto& t = env.t;
  Real next = fma(rate, Real(t.o.timestep), act);
  if (t.act_dyn[a] == kDynFilterExact) {
    const Real tau = max(env.act_dynprm(a), Real(1e-15));
    next = fma(rate * tau, Real(1) - exp(-Real(t.o.timestep) / tau), act);
  }
  if (t.act_flags[a] & kActLimited) next = clamp(next, env.act_act_lower(a), env.act_act_upper(a));
  return next;
}

// the setpoint of a servo on a ball joint, brought within half a turn of the joint's length
template <class E, class Real = typename E::Real>
DS_FN Real nearest_setpoint(const E& env, int a, const Real& u, const Real& length) {
  const Vec3<Real> gear{env.act_gear(a), env.act_gear(a, 1), env.act_gear(a, 2)};
  const Real period = Real(6.28318530717958647692) * norm(gear);
  return u - period * round_nearest((u - length) / period);
}

template <class E>
DS_STAGE void actuation(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto act = env.act(), ctrl = env.ctrl(), force = env.actuator_force(), rate = env.act_dot();
  const auto vel_gain = env.actuator_vel_gain(), out = env.qfrc_actuator();
  const bool off = disabled(t.o, kDisableActuation);
  env.each(t.n.nu, [&](int a) {
    const int flags = t.act_flags[a];
    Real u = ctrl[a];
    if ((flags & kCtrlLimited) && !disabled(t.o, kDisableClampCtrl))
      u = clamp(u, env.act_ctrl_lower(a), env.act_ctrl_upper(a));
    if (t.act_adr[a] >= 0) {
      const int adr = t.act_adr[a];
      rate[adr] = off || (flags & kActDisabled)    ? Real(0)
                  : t.act_dyn[a] == kDynIntegrator ? u
                                                   : (u - act[adr]) / max(env.act_dynprm(a), Real(1e-15));
      u = flags & kActEarly ? next_activation(env, a, Real(act[adr]), Real(rate[adr])) : Real(act[adr]);
    }
    Real f(0), slope(0);
    if (!off && (flags & kActDisabled) == 0) {
      Real length, velocity;
      transmission(env, a, &length, &velocity);
      if (flags & kActCircle) u = nearest_setpoint(env, a, u, length);
      Real gain = env.act_gain_constant(a);
      if (t.act_gain[a] == kGainAffine) {
        gain = fma(env.act_gain_velocity(a), velocity, fma(env.act_gain_length(a), length, gain));
        slope = env.act_gain_velocity(a) * u;
      }
      f = gain * u;
      if (t.act_bias[a] == kBiasAffine) {
        const Real bias = fma(env.act_bias_velocity(a), velocity,
                              fma(env.act_bias_length(a), length, env.act_bias_constant(a)));
        f = f + bias;
        slope = slope + env.act_bias_velocity(a);
      }
      if (flags & kForceLimited) {
        const Real lo = env.act_force_lower(a), hi = env.act_force_upper(a);
        f = clamp(f, lo, hi);
        slope = select(mask_or(f <= lo, f >= hi), Real(0), slope);
      }
    }
    force[a] = f;
    vel_gain[a] = slope;
  });
  env.sync();
  env.each(t.n.nv, [&](int i) {
    const int j = t.dof_jnt[i];
    Real sum = t.o.has_actgravcomp && t.jnt_actgravcomp[j] ? Real(env.qfrc_gravcomp()[i]) : Real(0);
    for (int k = t.dofact_adr[i]; k < t.dofact_adr[i + 1]; k++)
      sum = fma(moment(env, t.dofact[2 * k], t.dofact[2 * k + 1]), force[t.dofact[2 * k]], sum);
    if (t.jnt_actfrclimited[j]) sum = clamp(sum, env.jnt_actfrc_lower(j), env.jnt_actfrc_upper(j));
    out[i] = sum;
  });
  env.sync();
  // an actuator on a joint at its limit of force gains nothing by speed
  env.each(t.n.nu, [&](int a) {
    const int j = t.act_id[a];
    if (t.act_trn[a] == kTrnTendon || !t.jnt_actfrclimited[j]) return;
    const Real total = out[t.jnt_dofadr[j]];
    const auto limited = mask_or(total <= env.jnt_actfrc_lower(j), total >= env.jnt_actfrc_upper(j));
    vel_gain[a] = select(limited, Real(0), vel_gain[a]);
  });
  env.done();
}

// reads qfrc_passive, qfrc_bias, qfrc_actuator, qfrc_applied; xfrc(b) is the user's (force, torque) on body b
template <class E, class Xfrc>
DS_STAGE void smooth_acceleration(E& env, bool any_xfrc, Xfrc xfrc) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto out = env.qfrc_smooth(), qacc = env.qacc_smooth();
  const auto passive = env.qfrc_passive(), bias = env.qfrc_bias(), applied = env.qfrc_applied();
  const auto actuator = env.qfrc_actuator();
  env.each(t.n.nv, [&](int i) { out[i] = (passive[i] - bias[i]) + (applied[i] + actuator[i]); });
  if (any_xfrc) {
    const auto cfrc = env.cfrc();
    const Vec3<Real> zero{Real(0), Real(0), Real(0)};
    env.each(t.n.nbody, [&](int b) {
      if (t.body_tree[b] < 0) {
        cfrc.set(b, Spatial<Real>{zero, zero});
        return;
      }
      const Spatial<Real> f = xfrc(b);
      cfrc.set(b, at_tree_centre(env, b, f.lin, f.ang));
    });
    add_body_forces(env, out, [&](int) { return true; });
  }
  env.each(t.n.nv, [&](int i) { qacc[i] = out[i]; });
  env.sync();
  solve_M(env, qacc);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
