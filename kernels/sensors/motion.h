// Frames of objects, and how points of bodies move: what most sensors are made of.
//
// solves    pose, velocity and acceleration of a body, geom or site
// equation  of a point at r from the tree's centre of mass, on a body with spatial velocity (w, v) there:
//             v_p = v + w x r
//             a_p = a + alpha x r + w x v_p,   (alpha, a) = cacc + sum of S qacc over the dofs that move the body
// source    Featherstone 2008, sections 2.8 and 2.11
// deviation none. cacc holds -gravity at the root, so that accelerometers feel it
// reads     xpos, xquat, xipos, tree_com, cdof, cvel, cacc, qacc
// writes    none
// cost      O(1), of an acceleration O(dofs that move the body)
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
struct ObjectFrame {
  int body;
  Vec3<Real> pos;
  Quat<Real> quat;
};

template <class E, class Real = typename E::Real>
DS_FN ObjectFrame<Real> object_frame(const E& env, int type, int id) {
  const auto& t = env.t;
  const auto fixed = [&](int body, const Param<typename E::Scalar>& pos,
                         const Param<typename E::Scalar>& quat) -> ObjectFrame<Real> {
    const Quat<Real> q = env.xquat().quat(body);
    return {body, env.xpos().vec(body) + rotate(q, env.vec(pos, id)), mul(q, env.quat(quat, id))};
  };
  if (type == kObjSite) return fixed(t.site_body[id], t.site_pos, t.site_quat);
  if (type == kObjGeom) return fixed(t.allgeom_body[id], t.allgeom_pos, t.allgeom_quat);
  const Quat<Real> q = env.xquat().quat(id);
  if (type == kObjBody) return {id, env.xipos().vec(id), mul(q, env.quat(t.body_iquat, id))};
  return {id, env.xpos().vec(id), q};
}
// the frame of a sensor's object, and of its reference
template <class E>
DS_HD auto sensor_frame(const E& env, int s) {
  return object_frame(env, env.t.sensor_objtype[s], env.t.sensor_objid[s]);
}
template <class E>
DS_HD auto sensor_reference(const E& env, int s) {
  return object_frame(env, env.t.sensor_reftype[s], env.t.sensor_refid[s]);
}
template <class E>
DS_HD bool has_reference(const E& env, int s) {
  return env.t.sensor_refid[s] >= 0;
}

// velocity of a point of a body: angular, and linear of the point
template <class E, class Real = typename E::Real>
DS_FN Spatial<Real> point_velocity(const E& env, int body, const Vec3<Real>& point) {
  const int tree = env.t.body_tree[body];
  const Vec3<Real> zero{Real(0), Real(0), Real(0)};
  if (tree < 0) return {zero, zero};
  const Spatial<Real> v = env.cvel().spatial(body);
  return {v.ang, v.lin + cross(v.ang, point - env.tree_com().vec(tree))};
}

// spatial acceleration of a body about its tree's centre of mass, less gravity
template <class E, class Real = typename E::Real>
DS_FN Spatial<Real> body_acceleration(const E& env, int body) {
  const auto& t = env.t;
  Spatial<Real> a = env.cacc().spatial(body);
  const int last = t.body_lastdof[body];
  if (last < 0) return a;
  for (int e = t.M_rowadr[last]; e < t.M_rowadr[last + 1]; e++)
    a = axpy(env.cdof().spatial(t.M_col[e]), Real(env.qacc()[t.M_col[e]]), a);
  return a;
}

// acceleration of a point of a body, less gravity, likewise
template <class E, class Real = typename E::Real>
DS_FN Spatial<Real> point_acceleration(const E& env, int body, const Vec3<Real>& point) {
  const int tree = env.t.body_tree[body];
  const Spatial<Real> a = body_acceleration(env, body);
  if (tree < 0) return a;
  const Spatial<Real> v = point_velocity(env, body, point);
  const Vec3<Real> arm = point - env.tree_com().vec(tree);
  return {a.ang, a.lin + cross(a.ang, arm) + cross(v.ang, v.lin)};
}

// what an object's frame turns a vector into
template <class Real>
DS_HD Vec3<Real> into(const ObjectFrame<Real>& frame, const Vec3<Real>& v) {
  return rotate(conjugate(frame.quat), v);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
