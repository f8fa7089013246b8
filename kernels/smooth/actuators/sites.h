// Actuators on sites: their lengths and moments, once a step.
//
// solves    l and m = dl/dq (of a site alone the work of its wrench) of actuators on sites and slider-cranks, gear g
// equation  site               l = 0,  m_i = f . (S_i at x) + n . (S_i turning),  f and n: g in the site's frame
//           site seen from another   l = g . (position, rotation vector) in the other's frame, m likewise with f and n
//                              along the other's axes; dofs that move both sites have no part
//           slider-crank       a the slider's axis, v from the slider's site to the crank's, r the rod:
//                              l = g (a.v - sqrt((a.v)^2 + r^2 - v.v)),  of a rod too short l = g a.v
// source    MuJoCo's documentation, "Actuation model", "Transmission"
// deviation none
// reads     qpos, xpos, xquat, tree_com, cdof
// writes    trn_length, trn_J
// cost      O(dofs that move the sites)
#pragma once

#include "kernels/data/acts_on.h"
#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class E>
DS_FN Quat<typename E::Real> site_turn(const E& env, int site) {
  return mul(env.xquat().quat(env.t.site_body[site]), env.quat(env.t.site_quat, site));
}

// what a unit of force does: force at the first site and its opposite at the second, and a torque on each
template <class Real>
struct SiteWrench {
  Real length;
  Vec3<Real> force, torque, torque_ref;
};

template <class E, class Real = typename E::Real>
DS_FN SiteWrench<Real> slider_crank(const E& env, int a, const Vec3<Real>& v) {
  const Real zero(0), one(1), gear = env.act_gear(a), rod = env.act_rod(a);
  const Vec3<Real> axis = rotate(site_turn(env, env.t.act_ref[a]), Vec3<Real>{zero, zero, one});
  const Real along = dot(axis, v), det = fma(along, along, fma(rod, rod, -dot(v, v)));
  const auto reaches = det > zero;
  const Real root = sqrt(select(reaches, det, one)), per = select(reaches, one / root, zero);
  const Real share = fma(-along, per, one);
  const Vec3<Real> force = axis * (gear * share) + v * (gear * per);
  return {gear * (along - select(reaches, root, zero)),
          force,
          {zero, zero, zero},
          cross(axis, v * (gear * share))};
}

template <class E, class Real = typename E::Real>
DS_FN SiteWrench<Real> site_wrench(const E& env, int a, const Vec3<Real>& v) {
  const auto& t = env.t;
  const int ref = t.act_ref[a];
  const Vec3<Real> push{env.act_gear(a), env.act_gear(a, 1), env.act_gear(a, 2)},
      turn{env.act_gear(a, 3), env.act_gear(a, 4), env.act_gear(a, 5)};
  const Quat<Real> own = site_turn(env, t.act_id[a]), frame = ref >= 0 ? site_turn(env, ref) : own;
  Real length(0);
  if (ref >= 0) {
    length = dot(push, rotate(conjugate(frame), v));
    length = length + dot(turn, rotation_vector(normalize(mul(conjugate(frame), own))));
  }
  const Vec3<Real> torque = rotate(frame, turn);
  return {length, rotate(frame, push), torque, -torque};
}

template <class E>
DS_STAGE void site_transmissions(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  if (t.n.nsitetrn == 0) return;
  const auto J = env.trn_J(), length = env.trn_length(), cdof = env.cdof(), com = env.tree_com();
  env.each(t.n.nsitetrn, [&](int a) {
    const int trn = t.act_trn[a], ref = t.act_ref[a];
    if (!acts_on<kOnSite>(trn)) {
      length[a] = Real(0);
      return;
    }
    const Vec3<Real> x = site_xpos(env, t.act_id[a]), y = ref >= 0 ? site_xpos(env, ref) : x;
    const SiteWrench<Real> w = trn == kTrnSite ? site_wrench(env, a, x - y) : slider_crank(env, a, x - y);
    length[a] = w.length;
    for (int e = t.trn_adr[a]; e < t.trn_adr[a + 1]; e++) {
      const int dof = t.trn_dof[e], side = t.trn_side[e];
      const Spatial<Real> s = cdof.spatial(dof);
      const Vec3<Real> origin = com.vec(t.body_tree[t.dof_body[dof]]);
      Real sum(0);
      if (side & kFirstSide) sum = dot(w.force, s.lin + cross(s.ang, x - origin)) + dot(w.torque, s.ang);
      if (side & kSecondSide)
        sum = sum + (dot(w.torque_ref, s.ang) - dot(w.force, s.lin + cross(s.ang, y - origin)));
      J[e] = sum;
    }
  });
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
