// Passive forces: springs, dampers, fluid, gravity compensation.
//
// solves    qfrc_passive, and qfrc_gravcomp for what acts through actuators
// equation  spring of a joint: -stiffness (q - q_spring); damper: -damping v
//           of a tendon likewise, with a dead band (tendons.h)
//           gravity compensation of a body: -gravcomp m g at its centre of mass
//           of a medium: fluid.h
// source    MuJoCo's documentation, "Passive forces"
// deviation none. Forces on bodies are summed per body as spatial forces about the tree's centre of mass and
//           mapped to joints in one sweep to the root
// reads     qpos, qvel, xpos, xquat, xipos, tree_com, cdof, cvel
// writes    qfrc_passive, qfrc_gravcomp; body_force is scratch
// cost      O(nbody + nv)
#pragma once

#include "kernels/smooth/bias.h"
#include "kernels/smooth/fluid.h"
#include "kernels/smooth/tendons.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a world force at a body's centre of mass, as a spatial force about its tree's centre of mass
template <class E, class Real = typename E::Real>
DS_HD Spatial<Real> at_tree_centre(const E& env, int b, const Vec3<Real>& force, const Vec3<Real>& torque) {
  const Vec3<Real> arm = env.xipos().vec(b) - env.tree_com().vec(env.t.body_tree[b]);
  return {torque + cross(arm, force), force};
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

// maps body_force to joints and adds it: out += S' (its sum over the subtree) where
// keep(dof)
template <class E, class F, class Keep>
DS_FN void add_body_forces(E& env, const F& out, Keep keep) {
  const auto& t = env.t;
  const auto force = env.body_force(), cdof = env.cdof();
  sum_to_root(env, force);
  env.each(t.n.nv, [&](int i) {
    if (keep(i)) out[i] = out[i] + dot(cdof.spatial(i), force.spatial(t.dof_body[i]));
  });
  env.sync();
}

template <class E>
DS_STAGE void passive(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qvel = env.qvel(), out = env.qfrc_passive(), force = env.body_force();
  const bool springs = !disabled(t.o, kDisableSpring), dampers = !disabled(t.o, kDisableDamper);
  env.each(t.n.nv,
           [&](int i) { out[i] = dampers && t.o.has_damping ? -(env.dof_damping(i) * qvel[i]) : Real(0); });
  env.sync();
  if (springs && t.o.has_spring) {
    env.each(t.n.njnt, [&](int j) { joint_spring(env, j); });
  }
  add_tendon_passive(env);
  const Vec3<Real> g = gravity_of(env), zero{Real(0), Real(0), Real(0)};
  const auto everywhere = [](int) { return true; };
  if (medium_acts(t.o)) {
    env.each(t.n.nbody, [&](int b) {
      Spatial<Real> f{zero, zero};
      if (t.body_tree[b] >= 0) {
        if constexpr (kCompiledFor<StepTables<typename E::Scalar>, &Sizes::nfluid>)
          f = has_ellipsoids(env, b) ? ellipsoid_forces(env, b) : box_force(env, b);
        else
          f = box_force(env, b);
      }
      force.set(b, f);
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
      force.set(b, f);
    });
    add_body_forces(env, out, [&](int i) { return t.jnt_actgravcomp[t.dof_jnt[i]] == 0; });
    if (t.o.has_actgravcomp) {
      const auto cdof = env.cdof();
      env.each(t.n.nv, [&](int i) {
        if (t.jnt_actgravcomp[t.dof_jnt[i]]) through[i] = dot(cdof.spatial(i), force.spatial(t.dof_body[i]));
      });
    }
  }
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
