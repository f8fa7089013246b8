// Transmissions: the length of an actuator, its velocity, and its moment on each dof.
//
// solves    l, ld = m v and m for actuator a with gear g
// equation  slide, hinge    l = g q,                  m = g
//           ball            l = g . log(quat),        m = g, or g turned into the child's frame (jointinparent)
//           free            l = 0,                    m = (g_1..3, g_4..6), the torque likewise
//           tendon          l = g L,                  m = g dL/dq (tendons.h)
//           site, slider-crank   sites.h;   body, which has no length: rows/adhesion.h
// source    MuJoCo's documentation, "Actuation model", "Transmission"
// deviation none
// reads     qpos, qvel, act_gear, act_id, ten_adr, ten_length, ten_velocity, ten_J, trn_adr, trn_length, trn_J
// writes    none
// cost      O(dofs it acts on)
#pragma once

#include "kernels/data/acts_on.h"
#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct TendonTransmission {
  template <class E, class Real = typename E::Real>
  DS_HD static void motion(const E& env, int a, Real* length, Real* velocity) {
    const int ten = env.t.act_id[a];
    *length = env.ten_length()[ten] * env.act_gear(a);
    *velocity = env.ten_velocity()[ten] * env.act_gear(a);
  }
  // component c counts the dofs that move the tendon
  template <class E>
  DS_HD static typename E::Real moment(const E& env, int a, int c) {
    return env.ten_J()[env.t.ten_adr[env.t.act_id[a]] + c] * env.act_gear(a);
  }
};
// the tendon that actuator a pulls, -1 where it acts on something else
template <class Tables>
DS_HD int tendon_of(const Tables& t, int a) {
  return acts_on<kOnTendon>(t.act_trn[a]) ? t.act_id[a] : -1;
}

// sites and slider-cranks
struct SiteTransmission {
  static constexpr int kTurn = 3;  // the gear has a push, then a turn

  template <class E, class Real = typename E::Real>
  DS_HD static void motion(const E& env, int a, Real* length, Real* velocity) {
    const auto& t = env.t;
    *length = env.trn_length()[a];
    for (int e = t.trn_adr[a]; e < t.trn_adr[a + 1]; e++)
      *velocity = fma(env.trn_J()[e], env.qvel()[t.trn_dof[e]], *velocity);
  }
  // component c counts the dofs that move the sites
  template <class E>
  DS_HD static typename E::Real moment(const E& env, int a, int c) {
    return env.trn_J()[env.t.trn_adr[a] + c];
  }
};

struct JointTransmission {
  template <class E, class Real = typename E::Real>
  DS_FN static void motion(const E& env, int a, Real* length, Real* velocity) {
    const auto& t = env.t;
    const auto qpos = env.qpos(), qvel = env.qvel();
    const int j = t.act_id[a], type = t.jnt_type[j], dof = t.jnt_dofadr[j], adr = t.jnt_qposadr[j];
    if (is_scalar_joint(type)) {
      *length = qpos[adr] * env.act_gear(a);
      *velocity = qvel[dof] * env.act_gear(a);
      return;
    }
    const int rot = type == kFree ? 3 : 0;
    Vec3<Real> gear{env.act_gear(a, rot), env.act_gear(a, rot + 1), env.act_gear(a, rot + 2)};
    const Quat<Real> q = normalize(qpos.quat_at(adr + rot));
    if (type == kBall) *length = dot(rotation_vector(q), gear);
    if (t.act_trn[a] == kTrnJointInParent) gear = rotate(conjugate(q), gear);
    *velocity = dot(gear, qvel.vec_at(dof + rot));
    if (type == kFree)
      for (int i = 0; i < 3; i++) *velocity = fma(env.act_gear(a, i), qvel[dof + i], *velocity);
  }
  // component c counts the dofs of the joint
  template <class E, class Real = typename E::Real>
  DS_FN static Real moment(const E& env, int a, int c) {
    const auto& t = env.t;
    const int j = t.act_id[a], type = t.jnt_type[j], rot = type == kFree ? 3 : 0;
    if (is_scalar_joint(type) || c < rot || t.act_trn[a] == kTrnJoint) return env.act_gear(a, c);
    const Vec3<Real> gear{env.act_gear(a, rot), env.act_gear(a, rot + 1), env.act_gear(a, rot + 2)};
    const Quat<Real> q = normalize(env.qpos().quat_at(t.jnt_qposadr[j] + rot));
    const Vec3<Real> g = rotate(conjugate(q), gear);
    return c - rot == 0 ? g.x : c - rot == 1 ? g.y : g.z;
  }
};

// adhesion: contacts, which are known after the forces, make its moment (rows/adhesion.h)
struct BodyTransmission {
  template <class E, class Real = typename E::Real>
  DS_HD static void motion(const E&, int, Real*, Real*) {}
  template <class E>
  DS_HD static typename E::Real moment(const E&, int, int) {
    return typename E::Real(0);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
