// The inertia of a step whose forces are taken at its end: what they add to M.
//
// solves    what implicit, implicitfast and discrete factorize in the place of M
// equation  M^ = M - h d(forces)/dv, of joint dampers, actuators, tendons and fluid
//           discrete  M^ = M + h D + h^2 K,   D and K minus the derivatives by velocity and by position, the moments of
//                     tendons and actuators held; its smooth force is at the velocity of the start, qfrc_smooth - h K v
// source    MuJoCo's documentation, "Numerical integration", and its notes on discrete (3.13)
// deviation of a body that slides along three axes and turns in a ball joint, and of others that MuJoCo calls simple, it takes
//           the diagonal of implicitfast alone. Entries between dofs of different branches are left out, as in MuJoCo; under
//           discrete, which has them there, host code refuses models that would need any
// reads     M, actuator_vel_gain, actuator_pos_gain, cdof, cvel, xpos, xquat, xipos, tree_com, ten_J, ten_length
// writes    LD; discrete: Dinv, Dscale, step_diagonal
// cost      O(nv depth), with fluid O(nbody depth^2)
#pragma once

#include "kernels/smooth/actuation.h"
#include "kernels/smooth/factorize.h"
#include "kernels/smooth/fluid.h"
#include "kernels/smooth/tendons.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// whether all forces that the velocity changes are taken at the end of the step, not those of joint dampers alone
template <class Options>
DS_HD bool has_velocity_derivatives(const Options& o) {
  return o.integrator == kImplicitFast || o.integrator == kImplicit || o.integrator == kDiscrete;
}

// the derivative of an actuator's force that the step takes at its end. discrete: of what brakes and holds alone, by
// velocity, and by length over a time step
template <class E, class Real = typename E::Real>
DS_HD Real actuator_slope(const E& env, int a) {
  const Real by_velocity = env.actuator_vel_gain()[a];
  if (env.t.o.integrator != kDiscrete) return by_velocity;
  return fma(Real(env.t.o.timestep), negative_part(env.actuator_pos_gain()[a]), negative_part(by_velocity));
}
// discrete: the stiffness of joint springs at dof i
template <class E, class Real = typename E::Real>
DS_HD Real spring_of_dof(const E& env, int i) {
  const auto& t = env.t;
  return t.o.has_spring && !disabled(t.o, kDisableSpring) ? max(env.jnt_stiffness(t.dof_jnt[i]), Real(0))
                                                          : Real(0);
}
// likewise of a tendon, none within the range in which it is relaxed
template <class E, class Real = typename E::Real>
DS_HD Real spring_of_tendon(const E& env, int ten) {
  if (disabled(env.t.o, kDisableSpring)) return Real(0);
  const Real length = env.ten_length()[ten];
  const auto relaxed = mask_and(length >= env.ten_spring_lower(ten), length <= env.ten_spring_upper(ten));
  return select(relaxed, Real(0), env.ten_stiffness(ten));
}

// minus the velocity derivative of the forces of joint dampers and actuators: diagonal entry of dof i
template <class E>
DS_FN typename E::Real damping_of_dof(const E& env, int i) {
  using Real = typename E::Real;
  const auto& t = env.t;
  Real d = disabled(t.o, kDisableDamper) ? Real(0) : env.dof_damping(i);
  if (t.o.integrator == kDiscrete) d = fma(Real(t.o.timestep), spring_of_dof(env, i), d);
  if (has_velocity_derivatives(t.o))
    for (int k = t.dof_act_adr[i]; k < t.dof_act_adr[i + 1]; k++) {
      const Real m = moment(env, t.dof_act[k], t.dof_act_component[k]);
      d = fma(-(m * m), actuator_slope(env, t.dof_act[k]), d);
    }
  return d;
}

// likewise of ellipsoids in a medium, of which this is the symmetric part: row i
template <class E>
DS_STAGE void add_ellipsoid_derivatives(E& env, int i) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD();
  const Real less(-t.o.timestep);
  each_ellipsoid_slope(env, i, [&](int b, const Flow<Real>& flow, const Spatial<Real>& slope, const auto&) {
    for (int e = t.M_rowadr[i]; e < t.M_rowadr[i + 1]; e++)
      LD[e] = fma(less, dot(slope, motion_in(env, b, flow, t.M_col[e])), LD[e]);
  });
}

// the rest of the symmetric matrix of implicit, implicitfast and discrete: LD - h d(force)/d(velocity), beyond the diagonal
// of joints
template <class E>
DS_STAGE void add_velocity_derivatives(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD();
  const Real h(t.o.timestep), two(2);
  env.each(t.n.nv, [&](int i) {
    const int row = t.M_rowadr[i];
    // an actuator on a ball or free joint couples the joint's dofs, which follow each other in the row, one on a
    // tendon or site those of a branch
    for (int k = t.dof_act_adr[i]; k < t.dof_act_adr[i + 1]; k++) {
      const int a = t.dof_act[k], c = t.dof_act_component[k];
      const Real gain = -(h * actuator_slope(env, a));
      if (const int ten = tendon_of(t, a); ten >= 0) {
        const int first = t.ten_adr[ten];
        each_in_row(env, i, ten, first + c, [&](int m, int e) {
          if (m > row) LD[m] = fma(gain, moment(env, a, c) * moment(env, a, e - first), LD[m]);
        });
        continue;
      }
      if (!acts_on<kOnJoint>(t.act_trn[a])) {
        const int first = t.trn_adr[a];
        const auto dof_of = [&](int e) { return t.trn_dof[e]; };
        each_in_row(env, i, first, first + c, dof_of, [&](int m, int e) {
          if (m > row) LD[m] = fma(gain, moment(env, a, c) * moment(env, a, e - first), LD[m]);
        });
        continue;
      }
      for (int e = 1; e <= c; e++)
        LD[row + e] = fma(gain, moment(env, a, c) * moment(env, a, c - e), LD[row + e]);
    }
    const bool dampers = !disabled(t.o, kDisableDamper), discrete = t.o.integrator == kDiscrete;
    if (t.o.has_ten_passive && (dampers || discrete))
      each_tendon_of(env, i, [&](int ten, int e) {
        Real slope = dampers ? env.ten_damping(ten) : Real(0);
        if (discrete) slope = fma(h, spring_of_tendon(env, ten), slope);
        const Real damping = h * slope * env.ten_J()[e];
        each_in_row(env, i, ten, e, [&](int m, int k) { LD[m] = fma(damping, env.ten_J()[k], LD[m]); });
      });
    if (!medium_acts(t.o)) return;
    for (int b = 1; b < t.n.nbody; b++) {
      if (t.body_tree[b] < 0 || has_ellipsoids(env, b) || !is_moved_by(t, b, i)) continue;
      // drag is diagonal in the body's inertial frame: -(viscous + 2 quadratic |v|)
      const Flow<Real> flow = flow_past_box(env, b);
      const auto slope = [&](const Real& x, const Real& quadratic, const Real& viscous) {
        return h * fma(two * quadratic, abs(x), viscous);
      };
      const Spatial<Real> c = of_each_axis(env, b, flow, slope);
      const Spatial<Real> si = motion_in(env, b, flow, i);
      const Spatial<Real> weighted{times(si.ang, c.ang), times(si.lin, c.lin)};
      for (int e = row; e < t.M_rowadr[i + 1]; e++)
        LD[e] = LD[e] + dot(weighted, motion_in(env, b, flow, t.M_col[e]));
    }
    if constexpr (kCompiledFor<StepTables<typename E::Scalar>, &Sizes::nfluid>)
      if (t.n.nfluid > 0) add_ellipsoid_derivatives(env, i);
  });
  env.done();
}

// LD <- M^
template <class E>
DS_FN void load_step_inertia(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD();
  const Real h(t.o.timestep);
  load_factor(env);
  env.each(t.n.nv, [&](int i) { LD[t.M_rowadr[i]] = fma(h, damping_of_dof(env, i), LD[t.M_rowadr[i]]); });
  env.sync();
  if (has_velocity_derivatives(t.o)) add_velocity_derivatives(env);
}

// discrete: the factor of M^, on which constraints stand too
template <class E>
DS_STAGE void factorize_step(E& env) {
  const auto& t = env.t;
  load_step_inertia(env);
  env.each(t.n.nv, [&](int i) { env.step_diagonal()[i] = env.LD()[t.M_rowadr[i]]; });
  env.sync();
  eliminate_to_whiten(env);
}

// discrete: h K v of dof i, which springs gain on the way at the velocity of the start
template <class E, class Real = typename E::Real>
DS_FN Real stiffness_on_the_way(const E& env, int i) {
  const auto& t = env.t;
  Real sum = spring_of_dof(env, i) * env.qvel()[i];
  for (int k = t.dof_act_adr[i]; k < t.dof_act_adr[i + 1]; k++) {
    const int a = t.dof_act[k];
    Real length, velocity;
    transmission(env, a, &length, &velocity);
    const Real holds = negative_part(env.actuator_pos_gain()[a]);
    sum = fma(-(moment(env, a, t.dof_act_component[k]) * holds), velocity, sum);
  }
  if (t.o.has_ten_passive)
    each_tendon_of(env, i, [&](int ten, int e) {
      sum = fma(env.ten_J()[e] * spring_of_tendon(env, ten), env.ten_velocity()[ten], sum);
    });
  return Real(t.o.timestep) * sum;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
