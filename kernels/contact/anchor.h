// Anchors of contacts: the springs along the plane that soft_anchor keeps from step to step.
//
// solves    nothing; sliding friction of a contact in touch, and the stretch that it leaves
// equation  first touch      s = 0
//           step to step     s <- (I - n n') s + h u_t, with the contact's present frame and velocity
//           force            f_t = -k_t s - d_t u_t, cut to the circle mu f_n;
//                            where cut, s = -(f_t + d_t u_t) / k_t
//           a contact carries on the anchor of the last step that is nearest on the second geom's body, of
//           the same pair of geoms and within a quarter of the smaller bounding radius, if it is also the
//           contact nearest to that anchor
// layout    of AnchorNumber: pair + 1 (-1 where the contact is apart, 0 where the slot is empty), position on the body,
//           stretch in the world
// source    lecture notes on soft contact with friction adjust and slide; Cundall & Strack 1979 for the
//           same bristle
// deviation the anchor is kept as a stretch s, not as a point, so that rolling does not load it
// reads     con_*, con_velocity, anchors, xpos, xquat
// writes    next_anchors
// cost      O(contacts^2) comparisons
#pragma once

#include "kernels/rows/rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// how far from the last step's an anchor may be found, of the smaller bounding radius
constexpr double kAnchorReach = 0.25;
static_assert(kAnchorNumbers == 7, "as the field table has it");
template <class Run>
DS_HD Run anchor_of(const Run& anchors, int k) {
  return anchors.from(kAnchorNumbers * k);
}

// key and position of each contact of this step; the square of its reach waits where its stretch will be
template <class E>
DS_STAGE void mark_contacts(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto marks = env.next_anchors(), xpos = env.xpos(), xquat = env.xquat();
  const Real zero(0), one(1);
  env.each(t.n.nanchor, [&](int slot) {
    const auto mark = anchor_of(marks, slot);
    for (int k = 0; k < kAnchorNumbers; k++) mark[k] = zero;
    if (slot >= env.ncon_max) return;
    const auto used = env.con_dim()[slot] > zero;
    const auto touching = mask_and(used, env.con_dist()[slot] < zero);
    Real key = zero, reach = zero;
    Vec3<Real> centre{zero, zero, zero};
    Quat<Real> turn{one, zero, zero, zero};
    for (int l = 0; l < E::kPack; l++) {
      if (!mask_bit(touching, l)) continue;
      const int pair = pair_of(env, slot, l);
      const int geom1 = geom_of_pair(t, pair, 0), geom2 = geom_of_pair(t, pair, 1), body = t.geom_body[geom2];
      const auto put = [&](Real& x, const Real& v) { set_lane(x, l, lane_of(v, l)); };
      put(key, Real(pair + 1));
      const Vec3<Real> p = xpos.vec(body);
      const Quat<Real> q = xquat.quat(body);
      put(centre.x, p.x), put(centre.y, p.y), put(centre.z, p.z);
      put(turn.w, q.w), put(turn.x, q.x), put(turn.y, q.y), put(turn.z, q.z);
      const Real r1 = env.geom_rbound(geom1), r2 = env.geom_rbound(geom2);
      put(reach, Real(kAnchorReach) * select(r1 > zero, select(r2 > zero, min(r1, r2), r1), r2));
    }
    const Vec3<Real> pos = rotate(conjugate(turn), env.con_pos().vec(slot) - centre);
    mark[kAnchorPair] = select(touching, key, select(used, -one, zero));
    mark.set_at(kAnchorPos, select3(touching, pos, {zero, zero, zero}));
    mark[kAnchorStretch] = reach * reach;
  });
  env.sync();
}

// the stretch of each contact at this step's start
template <int kDim, class E>
DS_STAGE void match_anchors(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto before = env.anchors(), now = env.next_anchors(), velocity = env.con_velocity();
  const Real zero(0), none(-1), far(kVast);
  mark_contacts(env);
  env.each(env.ncon_max, [&](int slot) {
    const auto own = anchor_of(now, slot);
    const Real key = own[kAnchorPair], reach2 = own[kAnchorStretch];
    // the first of the nearest to a position, among marks of the same pair
    Real nearest, least;
    const auto look = [&](const auto& marks, int k, const Vec3<Real>& pos) {
      const auto mark = anchor_of(marks, k);
      const Vec3<Real> apart = mark.vec_at(kAnchorPos) - pos;
      const Real d2 = dot(apart, apart);
      const auto nearer =
          mask_and(mask_and(mark[kAnchorPair] == key, key > zero), mask_and(d2 <= reach2, d2 < least));
      least = select(nearer, d2, least);
      nearest = select(nearer, Real(k), nearest);
      return nearer;
    };
    const Vec3<Real> here = own.vec_at(kAnchorPos);
    Vec3<Real> there{zero, zero, zero}, stretch = there;
    nearest = none;
    least = far;
    for (int k = 0; k < t.n.nanchor; k++) {
      const auto last = anchor_of(before, k);
      if (!any(last[kAnchorPair] != zero)) break;  // the rest are empty
      const auto nearer = look(before, k, here);
      there = select3(nearer, last.vec_at(kAnchorPos), there);
      stretch = select3(nearer, last.vec_at(kAnchorStretch), stretch);
    }
    const auto found = nearest >= zero;
    nearest = none;
    least = far;
    for (int k = 0; k < env.ncon_max; k++) look(now, k, there);
    const auto carried = mask_and(found, nearest == Real(slot));
    const Vec3<Real> n = contact_normal(env, slot), t1 = contact_tangent(env, slot);
    const auto u = rows_of_slot<kDim>(velocity, slot);
    const Vec3<Real> slid = t1 * u[1] + cross(n, t1) * u[2];
    const Vec3<Real> moved = axpy(slid, Real(t.o.timestep), stretch - n * dot(n, stretch));
    own.set_at(kAnchorStretch, select3(carried, moved, {zero, zero, zero}));
  });
  env.done();
}

// sliding friction f[1], f[2] of a contact by its anchor, which it moves where it slides
template <int kDim, class E, class Mask>
DS_HD void anchored_friction(const E& env, int slot, const Mask& touching, const typename E::Real* u,
                             typename E::Real* f) {
  using Real = typename E::Real;
  const auto& o = env.t.o;
  const auto anchor = anchor_of(env.next_anchors(), slot);
  const Real zero(0), one(1), k(o.tangent_stiffness), d(o.tangent_damping);
  const Vec3<Real> n = contact_normal(env, slot), t1 = contact_tangent(env, slot), t2 = cross(n, t1);
  const Vec3<Real> stretch = anchor.vec_at(kAnchorStretch);
  f[1] = -fma(d, u[1], k * dot(t1, stretch));
  f[2] = -fma(d, u[2], k * dot(t2, stretch));
  const Real limit = friction_of(env, slot)[kSlide1] * f[0], size = sqrt(fma(f[1], f[1], f[2] * f[2]));
  const auto slides = size > limit;
  const Real cut = select(slides, limit / select(slides, size, one), one);
  f[1] = f[1] * cut;
  f[2] = f[2] * cut;
  Vec3<Real> left = stretch;
  if (o.tangent_stiffness > 0) {
    const Vec3<Real> pulled = t1 * (-fma(d, u[1], f[1]) / k) + t2 * (-fma(d, u[2], f[2]) / k);
    left = select3(slides, pulled, left);
  }
  anchor.set_at(kAnchorStretch, select3(touching, left, {zero, zero, zero}));
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
