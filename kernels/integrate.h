// From accelerations to the next state.
//
//   Euler:         v' = v + h (M + h D)^-1 (qfrc_smooth + qfrc_constraint),  q' = q (+) h v'   (D: joint
//   damping) implicitfast:  the same with D + (minus) the velocity derivatives of actuators RK4: the
//   classical tableau on (q, v, act), q advanced on the manifold
//
// Quaternions advance by the exponential of h omega / 2 and are normalized (Underactuated Robotics,
// "Multi-body dynamics"; MuJoCo's documentation, "Numerical integration"). A diverged environment keeps its
// old state. Reads qacc, qfrc_*, act_dot. Writes qpos, qvel, act.
#pragma once

#include "kernels/forces.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// q <- q (+) h v for every joint, where move holds
template <class E, class F, class Mask>
DS_FN void advance_positions(E& env, const F& from, const F& vel, typename E::Real h, const Mask& move) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qpos = env.qpos();
  env.each(t.n.njnt, [&](int j) {
    int adr = t.jnt_qposadr[j], dof = t.jnt_dofadr[j];
    const int type = t.jnt_type[j];
    const auto put = [&](int i, const Real& x) { qpos[i] = select(move, x, qpos[i]); };
    if (type >= 2) {
      put(adr, fma(h, vel[dof], from[adr]));
      return;
    }
    if (type == 0) {
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
DS_FN void advance_activations(E& env, const Mask& move) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto act = env.act(), rate = env.act_dot();
  env.each(t.n.nu, [&](int a) {
    const int adr = t.act_adr[a];
    if (adr < 0) return;
    act[adr] = select(move, next_activation(env, a, Real(act[adr]), Real(rate[adr])), act[adr]);
  });
}

// true where every number of a field is finite and below 1e10
template <class E, class F>
DS_FN typename E::Mask well_behaved(const E& env, const F& x, int n) {
  using Real = typename E::Real;
  const Real bound(1e10);
  const Real bad = env.accumulate(
      n, [&](int i, const Real& s) { return s + select(abs(x[i]) < bound, Real(0), Real(1)); });
  return bad == Real(0);
}

// velocity derivative of the forces on the diagonal: joint damping, and actuators on slides and hinges
template <class E>
DS_FN typename E::Real damping_of_dof(const E& env, int i) {
  using Real = typename E::Real;
  const auto& t = env.t;
  Real d = (t.o.disableflags & (1 << 6)) ? Real(0) : env.dof_damping(i);
  if (t.o.integrator == 3)
    for (int k = t.dofact_adr[i]; k < t.dofact_adr[i + 1]; k++) {
      const int a = t.dofact[2 * k];
      const Real m = moment(env, a, t.dofact[2 * k + 1]);
      d = d - m * m * env.actuator_vel_gain()[a];
    }
  return d;
}

template <class E>
DS_FN void integrate_euler(E& env, const typename E::Mask& live) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real h(t.o.timestep);
  const auto x = env.dw(), qvel = env.qvel(), act = env.act();
  const bool eulerdamp = t.o.has_damping && (t.o.disableflags & ((1 << 15) | (1 << 6))) == 0;
  const bool implicit = t.o.integrator == 3 || eulerdamp;
  if (implicit) {
    const auto smooth = env.qfrc_smooth(), constraint = env.qfrc_constraint();
    env.each(t.n.nv, [&](int i) { x[i] = smooth[i] + constraint[i]; });
    env.sync();
    factorize(env, [&](int i) { return h * damping_of_dof(env, i); });
    solve_M(env, x);
  } else {
    env.each(t.n.nv, [&](int i) { x[i] = env.qacc()[i]; });
    env.sync();
  }
  // the new velocity, checked before anything is overwritten
  const auto next = env.grad();
  env.each(t.n.nv, [&](int i) { next[i] = fma(h, x[i], qvel[i]); });
  env.sync();
  auto good = mask_and(well_behaved(env, next, t.n.nv), well_behaved(env, x, t.n.nv));
  if (t.n.na > 0) good = mask_and(good, well_behaved(env, env.act_dot(), t.n.na));
  const auto move = mask_and(live, good);
  env.diverged = mask_or(env.diverged, mask_and(live, mask_not(good)));
  env.sync();
  env.each(t.n.nv, [&](int i) { qvel[i] = select(move, next[i], qvel[i]); });
  advance_activations(env, move);
  env.sync();
  advance_positions(env, env.qpos(), qvel, h, move);
  env.sync();
  (void)act;
}

// d/dt of the displacement s with q = q0 (+) s at angular velocity w (body axes): the inverse of the
// exponential's derivative (Munthe-Kaas 1998), w + s x w / 2 + (1 - a/2 cot(a/2)) / a^2 s x (s x w), a = |s|
template <class Real>
DS_FN Vec3<Real> displacement_rate(const Vec3<Real>& s, const Vec3<Real>& w) {
  const Real a2 = dot(s, s), a = sqrt(a2);
  const auto small = a < Real(0.1);
  Real sine, cosine;
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
  DS_HD auto part(int offset) const {
    auto f = env.rk();
    f.p += offset * (E::kUnit ? 1 : env.stride);
    return f;
  }
  DS_HD auto q0() const { return part(0); }
  DS_HD auto v0() const { return part(env.t.n.nq); }
  DS_HD auto a0() const { return part(env.t.n.nq + env.t.n.nv); }
  DS_HD auto sum_v() const { return part(env.t.n.nq + env.t.n.nv + env.t.n.na); }
  DS_HD auto sum_a() const { return part(env.t.n.nq + 2 * env.t.n.nv + env.t.n.na); }
  DS_HD auto sum_act() const { return part(env.t.n.nq + 3 * env.t.n.nv + env.t.n.na); }
  DS_HD auto rate() const { return part(env.t.n.nq + 3 * env.t.n.nv + 2 * env.t.n.na); }

  // how fast the displacement from the step's start grows at stage k
  DS_FN void position_rate(int k) const {
    const auto& t = env.t;
    const auto qvel = env.qvel(), out = rate();
    const Real reach(k == 0 ? 0 : k == 3 ? t.o.timestep : t.o.timestep / 2);
    env.each(t.n.njnt, [&](int j) {
      int dof = t.jnt_dofadr[j];
      const int type = t.jnt_type[j];
      if (type >= 2) {
        out[dof] = qvel[dof];
        return;
      }
      if (type == 0) {
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
  DS_FN void stage(int k) const {
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
      env.sync();
    }
    position_rate(k);
    const auto velocity = rate();
    env.each(t.n.nv, [&](int i) {
      sv[i] = fma(weight, velocity[i], sv[i]);
      sa[i] = fma(weight, qacc[i], sa[i]);
    });
    env.each(t.n.na, [&](int i) { sact[i] = fma(weight, act_dot[i], sact[i]); });
    env.sync();
    if (k == 3) return;
    const Real step = k == 2 ? h : Real(0.5) * h;
    const auto all_on = Real(0) == Real(0);
    advance_positions(env, q, velocity, step, all_on);
    env.sync();
    env.each(t.n.nv, [&](int i) { qvel[i] = fma(step, qacc[i], v[i]); });
    env.each(t.n.na, [&](int i) { act[i] = fma(step, act_dot[i], a[i]); });
    env.sync();
  }
  DS_FN void finish(const typename E::Mask& live) const {
    const auto& t = env.t;
    const auto qvel = env.qvel(), act = env.act(), rate = env.act_dot();
    const Real h(t.o.timestep);
    const auto q = q0(), v = v0(), a = a0(), sv = sum_v(), sa = sum_a(), sact = sum_act();
    const auto next = env.grad();
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
    env.sync();
    advance_activations(env, move);
    advance_positions(env, q, sv, h, move);
    env.sync();
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
