// Contact sensors: the contacts between two things, and what they are like.
//
// solves    contact
// equation  a contact that matches the other way round is seen from the other side: normal and first tangent turn,
//           and the force of the first thing on the second has components (f0, f1, -f2) there. Slots are filled in
//           the order of contacts, by distance, or by force; or one slot has the net wrench at the centroid of the
//           forces, in world axes
// source    MuJoCo's documentation, "contact sensor"
// deviation the k-th slot has the least contact after that of the slot before it, found by one more pass: nothing is
//           sorted, and each environment of a pack has an order of its own
// reads     con_dim, con_pair, con_dist, con_pos, con_frame, con_f, and as motion.h
// writes    sensordata
// cost      O(slots x contacts)
#pragma once

#include "kernels/collide/shapes/shapes.h"
#include "kernels/sensors/contacts_seen.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a contact as the sensor sees it
template <class Real>
struct ContactReading {
  Vec3<Real> force, torque, pos, normal, tangent;
  Real dist;
};

// a contact sensor in the environments of a pack
template <class E>
struct ContactSensorOf {
  using Real = typename E::Real;
  using Mask = typename E::Mask;
  const E& env;
  int s;

  // environments that count the contact of a slot, and those of them that see it from the other side
  DS_FN Mask counts(int slot, Mask* other_side) const {
    auto seen = seen_contact(env, s, slot);
    const int type = env.t.sensor_objtype[s], id = env.t.sensor_objid[s];
    if (type == kObjSite && any(mask_or(seen.first, seen.second))) {
      const auto site = sensor_frame(env, s);
      const Mask inside = inside_shape(env.t.site_type[id], env.vec(env.t.site_size, id),
                                       into(site, env.con_pos().vec(slot) - site.pos));
      seen.first = mask_and(seen.first, inside);
      seen.second = mask_and(seen.second, inside);
    }
    *other_side = mask_and(seen.second, mask_not(seen.first));
    return mask_or(seen.first, seen.second);
  }
  DS_FN ContactReading<Real> seen_from(int slot, const Mask& other_side) const {
    const Real turn = select(other_side, Real(-1), Real(1));
    Spatial<Real> f = contact_wrench(env, slot);
    f.lin.z = f.lin.z * turn;
    f.ang.z = f.ang.z * turn;
    Vec3<Real> axis[3];
    contact_axes(env, slot, axis);
    return {.force = f.lin,
            .torque = f.ang,
            .pos = env.con_pos().vec(slot),
            .normal = axis[0] * turn,
            .tangent = axis[1] * turn,
            .dist = env.con_dist()[slot]};
  }

  DS_FN Real count() const {
    Real n(0);
    Mask other;
    for (int slot = 0; slot < env.ncon_max; slot++) n = n + select(counts(slot, &other), Real(1), Real(0));
    return n;
  }

  // where the contact of a slot stands among all, in MuJoCo's order: slots are in the order of the pairs' kinds
  DS_FN Real place_of(int slot, const Mask& mine) const {
    Real place(0);
    each_pair_of(env, slot, mine, [&](int pair, const auto& here) {
      const Real shift(contact_id(env.t.pair_order[pair], 0) - contact_id(pair, 0));
      place = select(here, env.con_pair()[slot] + shift, place);
    });
    return place;
  }

  // the least contact by (key, place) above those of the last one, which moves to it. False where there is none
  DS_FN Mask next(int reduction, Real* last_key, Real* last_place, ContactReading<Real>* out) const {
    auto found = all_false<Real>();
    Real key(0), place(0);
    for (int slot = 0; slot < env.ncon_max; slot++) {
      Mask other;
      const Mask mine = counts(slot, &other);
      if (!any(mine)) continue;
      const Real k = reduction == kReduceMinDist    ? Real(env.con_dist()[slot])
                     : reduction == kReduceMaxForce ? -norm(contact_wrench(env, slot).lin)
                                                    : Real(0);
      const Real here = place_of(slot, mine);
      const auto follows = [&](const Real& by, const Real& at) {
        return mask_or(k > by, mask_and(k == by, here > at));
      };
      const Mask later = follows(*last_key, *last_place);
      const Mask better =
          mask_and(mask_and(mine, later), mask_or(mask_not(found), mask_not(follows(key, place))));
      if (!any(better)) continue;
      const ContactReading<Real> r = seen_from(slot, other);
      out->force = select3(better, r.force, out->force);
      out->torque = select3(better, r.torque, out->torque);
      out->pos = select3(better, r.pos, out->pos);
      out->normal = select3(better, r.normal, out->normal);
      out->tangent = select3(better, r.tangent, out->tangent);
      out->dist = select(better, r.dist, out->dist);
      key = select(better, k, key);
      place = select(better, here, place);
      found = mask_or(found, better);
    }
    *last_key = select(found, key, *last_key);
    *last_place = select(found, place, *last_place);
    return found;
  }

  // calls f(the wrench in world axes, the point, the size of the force, environments) for every contact
  template <class F>
  DS_HD void each_in_world(F f) const {
    for (int slot = 0; slot < env.ncon_max; slot++) {
      Mask other;
      const Mask mine = counts(slot, &other);
      if (!any(mine)) continue;
      const ContactReading<Real> r = seen_from(slot, other);
      const Vec3<Real> axis[3] = {r.normal, r.tangent, cross(r.normal, r.tangent)};
      f(Spatial<Real>{from_axes(axis, r.torque), from_axes(axis, r.force)}, r.pos, norm(r.force), mine);
    }
  }
  DS_FN ContactReading<Real> net() const {
    const Real zero(0), one(1);
    const Vec3<Real> none{zero, zero, zero};
    ContactReading<Real> sum{.force = none,
                             .torque = none,
                             .pos = none,
                             .normal = {one, zero, zero},
                             .tangent = {zero, one, zero},
                             .dist = zero};
    Real weight = zero;
    each_in_world([&](const Spatial<Real>&, const Vec3<Real>& pos, const Real& size, const Mask& mine) {
      sum.pos = select3(mine, axpy(pos, size, sum.pos), sum.pos);
      weight = weight + select(mine, size, zero);
    });
    sum.pos = weighted_mean(sum.pos, weight, sum.pos);
    each_in_world([&](const Spatial<Real>& f, const Vec3<Real>& pos, const Real&, const Mask& mine) {
      sum.force = select3(mine, sum.force + f.lin, sum.force);
      sum.torque = select3(mine, sum.torque + f.ang + cross(pos - sum.pos, f.lin), sum.torque);
    });
    return sum;
  }
};

struct ContactSensors {
  DS_HD static constexpr bool serves(int type) { return type == kContactSensor; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const auto& t = at.env.t;
    const ContactSensorOf<E> sensor{at.env, s};
    const int data = t.sensor_data[s], reduction = t.sensor_reduction[s], slots = t.sensor_slots[s];
    const Real count = sensor.count(), zero(0);
    Real key(-kVast), place(-1);
    int at_entry = 0;
    for (int k = 0; k < slots; k++) {
      ContactReading<Real> r{};
      auto found = all_false<Real>();
      if (reduction != kReduceNetForce) {
        found = sensor.next(reduction, &key, &place, &r);
      } else if (k == 0) {
        found = count > zero;
        r = sensor.net();
      }
      const auto put = [&](int bit, const Real& x) {
        if (data & bit) out[at_entry++] = select(found, x, zero);
      };
      const auto put_vec = [&](int bit, const Vec3<Real>& v) {
        put(bit, v.x);
        put(bit, v.y);
        put(bit, v.z);
      };
      put(kContactFound, count);
      put_vec(kContactForce, r.force);
      put_vec(kContactTorque, r.torque);
      put(kContactDist, r.dist);
      put_vec(kContactPos, r.pos);
      put_vec(kContactNormal, r.normal);
      put_vec(kContactTangent, r.tangent);
    }
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
