// From accelerations to the next state.
//
// solves    q', v', act' at the end of a step of length h
// equation  euler:         v' = v + h (M + h D)^-1 (qfrc_smooth + qfrc_constraint)
//                          D = diag(joint damping)
//           implicitfast:  the same with D = diag(joint damping) - d(actuators + tendons + fluid)/dv,
//                          and for a free body that is a tree of its own also + d(bias)/dv
//           implicit:      the same with D = - d(actuators + tendons + fluid - bias)/dv of all bodies (implicit.h)
//           all three:     q' = q (+) h v'
//           discrete:      v' = v + h qacc, which is that of the step (smooth/step_inertia.h, rows/step_end.h)
//           rk4:           the classical tableau on (q, v, act), q advanced on the manifold
//           (+) on quaternions is the exponential of h omega / 2, normalized afterwards
// source    MuJoCo's documentation, "Numerical integration"; Tedrake, Underactuated Robotics, "Multi-body
//           dynamics"; Munthe-Kaas 1998 (stages of rk4 on rotations)
// deviation without damping, or under contact laws of a whole step, v' = v + h qacc; an environment that
//           diverges keeps its old state
// reads     motor_speed, qacc, qfrc_smooth, qfrc_constraint, act_dot, actuator_vel_gain, M, cdof, cvel, xquat, xipos,
//           tree_com
// writes    qpos, qvel, act, diverged; rk between the stages of rk4; step_qacc, lone_qacc, next_qvel, LD, Dinv are scratch
// cost      O(nv); a factorization and a solve more where damping is implicit
#pragma once

#include "kernels/data/law_has.h"
#include "kernels/integrate/implicit.h"
#include "kernels/rows/kinds/kinds.h"
#include "kernels/smooth/actuators/transmission.h"
#include "kernels/smooth/smooth_acceleration.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// q <- q (+) h v for every joint, where move holds
template <class E, class F, class Mask>
DS_STAGE void advance_positions(E& env, const F& from, const F& vel, typename E::Real h, const Mask& move) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qpos = env.qpos();
  env.each(t.n.njnt, [&](int j) {
    int adr = t.jnt_qposadr[j], dof = t.jnt_dofadr[j];
    const int type = t.jnt_type[j];
    const auto put = [&](int i, const Real& x) { qpos[i] = select(move, x, qpos[i]); };
    if (is_scalar_joint(type)) {
      put(adr, fma(h, vel[dof], from[adr]));
      return;
    }
    if (type == kFree) {
      for (int i = 0; i < 3; i++) put(adr + i, fma(h, vel[dof + i], from[adr + i]));
      adr += 3;
      dof += 3;
    }
    const Vec3<Real> turn{h * vel[dof], h * vel[dof + 1], h * vel[dof + 2]};
    const Quat<Real> q = normalize(mul(normalize(from.quat_at(adr)), quat_from_rotation_vector(turn)));
    put(adr, q.w), put(adr + 1, q.x), put(adr + 2, q.y), put(adr + 3, q.z);
  });
}

template <class E, class Mask>
DS_STAGE void advance_activations(E& env, const Mask& move) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto act = env.act(), rate = env.act_dot();
  keep_controls(env, move);
  env.each(t.n.nactuator, [&](int a) {
    const int adr = t.act_adr[a];
    if (adr < 0 || disabled(t.o, kDisableActuation)) return;
    for (int k = adr; is_motor(t, a) && k < adr + t.act_num[a]; k++)
      act[k] = select(move, next_activation(env, a, k, Real(act[k]), Real(rate[k])), act[k]);
    if (is_motor(t, a)) return;
    Real next = next_activation(env, a, adr, Real(act[adr]), Real(rate[adr]));
    if (t.act_flags[a] & kActCircle) {
      Real length, velocity;
      transmission(env, a, &length, &velocity);
      next = nearest_setpoint(env, a, next, length);
    }
    act[adr] = select(move, next, act[adr]);
  });
}

// true where every number of a field is below a bound, so finite
template <class E, class F>
DS_FN typename E::Mask well_behaved(const E& env, const F& x, int n, double most = kMaxVal) {
  using Real = typename E::Real;
  const Real bound(most);
  const Real bad = env.accumulate(
      n, [&](int i, const Real& s) { return s + select(abs(x[i]) < bound, Real(0), Real(1)); });
  return bad == Real(0);
}

// where no step is taken: accelerations that are no numbers, of a mass matrix that is singular, are not solved. A step that
// has such diverges
template <class E>
DS_STAGE void flag_no_numbers(E& env) {
  env.unsolved = mask_or(env.unsolved, mask_not(well_behaved(env, env.qacc(), env.t.n.nv, kVast)));
}

// what the medium adds to the system of such a body beside the symmetric part in LD (fluid.h)
template <class E, class Real = typename E::Real>
DS_STAGE void add_lone_ellipsoids(const E& env, int dof, Real (*A)[7]) {
  for (int i = 0; i < 6; i++)
    each_ellipsoid_slope(
        env, dof + i, [&](int b, const Flow<Real>& flow, const auto&, const Spatial<Real>& slope) {
          for (int k = 0; k < 6; k++)
            A[i][k] = fma(-Real(env.t.o.timestep), dot(slope, motion_in(env, b, flow, dof + k)), A[i][k]);
        });
}

// x of a free body whose tree has no other joint, with the velocity derivative of its bias: a 6 x 6 system of its
// own, not symmetric. b(w) = (F, R'(arm x F + w x I w)), F = m w x (w x arm), is quadratic in w; bodies that are fixed to
// it add theirs.
template <class E, class F>
DS_STAGE void solve_lone_body(E& env, int j, const F& x) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD();
  const int b = t.jnt_body[j], dof = t.jnt_dofadr[j];
  const Real h(t.o.timestep);
  const Mat3<Real> r = to_matrix(env.xquat().quat(b));
  const Vec3<Real> w = rotate(r, env.qvel().vec_at(dof + 3));
  Real A[6][7];
  for (int i = 0; i < 6; i++) {
    for (int e = 0; e <= i; e++) A[i][i - e] = A[i - e][i] = LD[t.M_rowadr[dof + i] + e];
    A[i][6] = x[dof + i];
  }
  for (int c = b; c < t.n.nbody && t.body_tree[c] == t.body_tree[b]; c++) {
    const Real m = env.body_mass(c);
    const Mat3<Real> ri = to_matrix(mul(env.xquat().quat(c), env.quat(t.body_iquat, c)));
    const Vec3<Real> arm = env.xipos().vec(c) - env.xpos().vec(b), moments = env.vec(t.body_inertia, c);
    const auto inertia_times = [&](const Vec3<Real>& v) {
      const Vec3<Real> local = rotate_transposed(ri, v);
      return rotate(ri, Vec3<Real>{local.x * moments.x, local.y * moments.y, local.z * moments.z});
    };
    for (int k = 0; k < 3; k++) {
      const Vec3<Real> e = column(r, k);
      const Vec3<Real> force = (cross(e, cross(w, arm)) + cross(w, cross(e, arm))) * m;
      const Vec3<Real> torque =
          rotate_transposed(r, cross(arm, force) + cross(e, inertia_times(w)) + cross(w, inertia_times(e)));
      const Real slope[6] = {force.x, force.y, force.z, torque.x, torque.y, torque.z};
      for (int i = 0; i < 6; i++) A[i][3 + k] = fma(h, slope[i], A[i][3 + k]);
    }
  }
  if constexpr (kCompiledFor<StepTables<typename E::Scalar>, &Sizes::nfluid>)
    if (t.n.nfluid > 0 && medium_acts(t.o)) add_lone_ellipsoids(env, dof, A);
  // elimination without pivoting: a small step leaves the matrix close to a positive definite one
  for (int k = 0; k < 6; k++) {
    const Real inv = Real(1) / A[k][k];
    for (int i = k + 1; i < 6; i++) {
      const Real l = A[i][k] * inv;
      for (int c = k + 1; c < 7; c++) A[i][c] = fma(-l, A[k][c], A[i][c]);
    }
  }
  for (int i = 5; i >= 0; i--) {
    Real s = A[i][6];
    for (int c = i + 1; c < 6; c++) s = fma(-A[i][c], x[dof + c], s);
    x[dof + i] = s / A[i][i];
  }
}

// discrete: where a tendon or an actuator adds to the inertia of the step at dof i
template <class E>
DS_FN typename E::Mask is_pulled(const E& env, int i) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real h(t.o.timestep), zero(0);
  auto pulled = all_false<Real>();
  const auto add = [&](const Real& slope, const Real& moment) {
    pulled = mask_or(pulled, mask_and(slope != zero, moment != zero));
  };
  for (int k = t.dof_act_adr[i]; k < t.dof_act_adr[i + 1]; k++)
    add(actuator_slope(env, t.dof_act[k]), moment(env, t.dof_act[k], t.dof_act_component[k]));
  if (t.o.has_ten_passive)
    each_tendon_of(env, i, [&](int ten, int e) {
      const Real damping = disabled(t.o, kDisableDamper) ? zero : Real(env.ten_damping(ten));
      add(fma(h, spring_of_tendon(env, ten), damping), env.ten_J()[e]);
    });
  return pulled;
}

// discrete: accelerations of free bodies that are alone in their trees and that no row holds, with the velocity derivative
// of their bias. Those that a tendon or an actuator damps or holds go without it, as in MuJoCo
template <class E>
DS_STAGE void turn_free_bodies(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto x = env.step_qacc(), qacc = env.qacc();
  load_step_inertia(env);
  env.each(t.n.nfree, [&](int k) {
    const int j = t.free_jnt[k], dof = t.jnt_dofadr[j];
    for (int i = dof; i < dof + 6; i++) x[i] = env.qfrc_smooth()[i] - stiffness_on_the_way(env, i);
    solve_lone_body(env, j, x);
    auto held = all_false<Real>();
    each_scalar_kind(env, [&](const auto& kind) {
      for (int i = 0; i < kind.count(); i++)
        kind.each_dof(i, [&](int d) {
          if (t.dof_jnt[d] == j) held = mask_or(held, kind.used(i));
        });
    });
    each_contact(env, [&](int, int pair, const auto& here) {
      if (signs_of(env, pair)[dof] != 0) held = mask_or(held, here);
    });
    for (int i = dof; i < dof + 6; i++) held = mask_or(held, is_pulled(env, i));
    for (int i = dof; i < dof + 6; i++) qacc[i] = select(held, qacc[i], x[i]);
  });
  env.done();
}

// whether the step of the velocity has the damping of M + h D
template <class Options>
DS_HD bool is_implicit(const Options& o) {
  // constraints stand on it already
  if (o.integrator == kDiscrete || law_has<kLawStepInertia>(o)) return false;
  const bool eulerdamp =
      o.integrator != kRk4 && o.has_damping && !disabled(o, kDisableEulerDamp | kDisableDamper);
  return has_velocity_derivatives(o) || eulerdamp;
}

template <class E>
DS_STAGE void integrate_euler(E& env, const typename E::Mask& live) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real h(t.o.timestep);
  const auto x = env.step_qacc(), qvel = env.qvel();
  if (is_implicit(t.o)) {
    const auto smooth = env.qfrc_smooth(), constraint = env.qfrc_constraint();
    env.each(t.n.nv, [&](int i) { x[i] = smooth[i] + constraint[i]; });
    load_step_inertia(env);
    if (t.o.integrator == kImplicitFast) {
      // bodies of their own are solved apart; their rows of x must survive the solve of the others
      const auto apart = env.lone_qacc();
      env.each(t.n.nfree, [&](int k) {
        const int dof = t.jnt_dofadr[t.free_jnt[k]];
        for (int i = dof; i < dof + 6; i++) apart[i] = x[i];
        solve_lone_body(env, t.free_jnt[k], apart);
      });
      env.sync();
    }
    if (t.o.integrator == kImplicit) {
      solve_implicit(env, x);
    } else {
      eliminate(env);
      solve_M(env, x);
    }
    if (t.o.integrator == kImplicitFast) {
      env.each(t.n.nfree, [&](int k) {
        const int dof = t.jnt_dofadr[t.free_jnt[k]];
        for (int i = dof; i < dof + 6; i++) x[i] = env.lone_qacc()[i];
      });
      env.sync();
    }
  } else {
    env.each(t.n.nv, [&](int i) { x[i] = env.qacc()[i]; });
  }
  // the new velocity, checked before anything is overwritten
  const auto next = env.next_qvel();
  env.each(t.n.nv, [&](int i) { next[i] = fma(h, x[i], qvel[i]); });
  env.sync();
  auto good = mask_and(well_behaved(env, next, t.n.nv), well_behaved(env, x, t.n.nv));
  // a filter of a tiny time constant has a great rate
  if (t.n.na > 0) good = mask_and(good, well_behaved(env, env.act_dot(), t.n.na, kVast));
  const auto move = mask_and(live, good);
  env.diverged = mask_or(env.diverged, mask_and(live, mask_not(good)));
  env.each(t.n.nv, [&](int i) { qvel[i] = select(move, next[i], qvel[i]); });
  advance_activations(env, move);
  env.sync();
  advance_positions(env, env.qpos(), qvel, h, move);
  env.done();
}

// [rad] a whole turn; the angle below which displacement_rate takes its series, exact to rounding, for the quotient that
// loses digits there
constexpr double kRevolution = 6.28318530717958647693, kSeriesAngle = 0.1;
// d/dt of the displacement s with q = q0 (+) s at angular velocity w (body axes): the inverse of the
// exponential's derivative (Munthe-Kaas 1998), w + s x w / 2 + (1 - a/2 cot(a/2)) / a^2 s x (s x w), a = |s|.
// A turn by more than half a revolution is the shorter one to the same place, as in MuJoCo
template <class Real>
DS_FN Vec3<Real> displacement_rate(const Vec3<Real>& turn, const Vec3<Real>& w) {
  const Real turn2 = dot(turn, turn), length = sqrt(turn2);
  const Real turns = round_nearest(length * Real(1 / kRevolution));
  const auto shortest = turns < Real(0.5);
  const Real a = fma(turns, Real(-kRevolution), length), a2 = select(shortest, turn2, a * a);
  const Vec3<Real> s = turn * select(shortest, Real(1), a / select(shortest, Real(1), length));
  const auto small = abs(a) < Real(kSeriesAngle);
  Real sine, cosine;
  // the cotangent repeats with every turn
  sincos(Real(0.5) * a, &sine, &cosine);
  const Real series = fma(a2, fma(a2, Real(1.0 / 30240), Real(1.0 / 720)), Real(1.0 / 12));
  const Real exact =
      (Real(1) - Real(0.5) * a * cosine / select(small, Real(1), sine)) / select(small, Real(1), a2);
  const Vec3<Real> t = cross(s, w);
  return axpy(cross(s, t), select(small, series, exact), axpy(t, Real(0.5), w));
}

// storage of RK4 in `rk`: q0, v0, act0, sum of rates, sum of a, sum of act_dot, the last stage's rate
template <class E>
struct RungeKutta {
  using Real = typename E::Real;
  E& env;
  DS_HD auto part(int offset) const { return env.rk().from(offset); }
  DS_HD auto q0() const { return part(0); }
  DS_HD auto v0() const { return part(env.t.n.nq); }
  DS_HD auto a0() const { return part(env.t.n.nq + env.t.n.nv); }
  DS_HD auto sum_v() const { return part(env.t.n.nq + env.t.n.nv + env.t.n.na); }
  DS_HD auto sum_a() const { return part(env.t.n.nq + 2 * env.t.n.nv + env.t.n.na); }
  DS_HD auto sum_act() const { return part(env.t.n.nq + 3 * env.t.n.nv + env.t.n.na); }
  DS_HD auto rate() const { return part(env.t.n.nq + 3 * env.t.n.nv + 2 * env.t.n.na); }

  // how fast the displacement from the step's start grows at stage k
  DS_STAGE void position_rate(int k) const {
    const auto& t = env.t;
    const auto qvel = env.qvel(), out = rate();
    const Real reach(k == 0 ? 0 : k == 3 ? t.o.timestep : t.o.timestep / 2);
    env.each(t.n.njnt, [&](int j) {
      int dof = t.jnt_dofadr[j];
      const int type = t.jnt_type[j];
      if (is_scalar_joint(type)) {
        out[dof] = qvel[dof];
        return;
      }
      if (type == kFree) {
        for (int i = 0; i < 3; i++) out[dof + i] = qvel[dof + i];
        dof += 3;
      }
      const Vec3<Real> w = qvel.vec_at(dof);
      const Vec3<Real> r = k == 0 ? w : displacement_rate(out.vec_at(dof) * reach, w);
      out[dof] = r.x;
      out[dof + 1] = r.y;
      out[dof + 2] = r.z;
    });
    env.sync();
  }

  // after the evaluation of stage k (0..3): accumulate, and move to the next stage's state; true while there
  // is one
  DS_STAGE void stage(int k) const {
    const auto& t = env.t;
    const auto qvel = env.qvel(), act = env.act(), qacc = env.qacc(), act_dot = env.act_dot();
    const Real h(t.o.timestep), weight(k == 0 || k == 3 ? 1.0 / 6 : 1.0 / 3);
    const auto q = q0(), v = v0(), a = a0(), sv = sum_v(), sa = sum_a(), sact = sum_act();
    if (k == 0) {
      env.each(t.n.nq, [&](int i) { q[i] = env.qpos()[i]; });
      env.each(t.n.nv, [&](int i) {
        v[i] = qvel[i];
        sv[i] = Real(0);
        sa[i] = Real(0);
      });
      env.each(t.n.na, [&](int i) {
        a[i] = act[i];
        sact[i] = Real(0);
      });
      env.each(t.n.nmotor, [&](int i) { env.motor_start_speed()[i] = env.motor_speed()[i]; });
    }
    position_rate(k);
    const auto velocity = rate();
    env.each(t.n.nv, [&](int i) {
      sv[i] = fma(weight, velocity[i], sv[i]);
      sa[i] = fma(weight, qacc[i], sa[i]);
    });
    env.each(t.n.na, [&](int i) { sact[i] = fma(weight, act_dot[i], sact[i]); });
    if (k == 3) return;
    const Real step = k == 2 ? h : Real(0.5) * h;
    const auto all_on = all_true<Real>();
    advance_positions(env, q, velocity, step, all_on);
    env.each(t.n.nv, [&](int i) { qvel[i] = fma(step, qacc[i], v[i]); });
    env.each(t.n.na, [&](int i) { act[i] = fma(step, act_dot[i], a[i]); });
    env.done();
  }
  DS_STAGE void finish(const typename E::Mask& live) const {
    const auto& t = env.t;
    const auto qvel = env.qvel(), act = env.act(), rate = env.act_dot();
    const Real h(t.o.timestep);
    const auto q = q0(), v = v0(), a = a0(), sv = sum_v(), sa = sum_a(), sact = sum_act();
    const auto next = env.next_qvel();
    env.each(t.n.nv, [&](int i) { next[i] = fma(h, sa[i], v[i]); });
    env.sync();
    auto good = mask_and(well_behaved(env, next, t.n.nv), well_behaved(env, sv, t.n.nv));
    good = mask_and(good, well_behaved(env, sa, t.n.nv));
    if (t.n.na > 0) good = mask_and(good, well_behaved(env, sact, t.n.na));
    const auto move = mask_and(live, good);
    env.diverged = mask_or(env.diverged, mask_and(live, mask_not(good)));
    env.each(t.n.nq, [&](int i) { env.qpos()[i] = q[i]; });
    env.each(t.n.nv, [&](int i) { qvel[i] = select(move, next[i], v[i]); });
    env.each(t.n.na, [&](int i) {
      act[i] = a[i];
      rate[i] = sact[i];
    });
    env.each(t.n.nmotor, [&](int i) { env.motor_speed()[i] = env.motor_start_speed()[i]; });
    env.sync();
    advance_activations(env, move);
    advance_positions(env, q, sv, h, move);
    env.done();
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
