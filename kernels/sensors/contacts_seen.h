// The contacts that a sensor looks at, and what they push with.
//
// solves    in which environments a sensor sees the contact of a slot, and from which side; its wrench and axes
// equation  whether it is seen depends on the pair alone: sensor_pairs has, of each sensor that looks at contacts and
//           each pair of the model, SideBits of the geoms from which it is seen
// source    MuJoCo's documentation, "Sensors"
// deviation none. The environments of a pack may have contacts of different pairs in one slot
// reads     con_dim, con_pair, con_frame, con_f
// writes    none
// cost      O(1) a slot, and as many steps as its environments have pairs
#pragma once

#include "kernels/rows/kinds/contact_rows.h"
#include "kernels/rows/support.h"
#include "kernels/sensors/sensor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// environments whose contact in a slot the sensor sees from its first geom, from its second
template <class E>
struct SeenContact {
  typename E::Mask first, second;
};
template <class E>
DS_FN SeenContact<E> seen_contact(const E& env, int s, int slot) {
  using Real = typename E::Real;
  const auto& t = env.t;
  SeenContact<E> seen{all_false<Real>(), all_false<Real>()};
  const int* const bits = t.sensor_pairs + static_cast<long>(t.sensor_pairadr[s]) * t.n.npair;
  each_pair_in(env, slot, [&](int pair, const auto& here) {
    if (bits[pair] & kFirstSide) seen.first = mask_or(seen.first, here);
    if (bits[pair] & kSecondSide) seen.second = mask_or(seen.second, here);
  });
  return seen;
}

// force and torque of a contact in its frame; rows that a slot does not have are zero
template <class E, class Real = typename E::Real>
DS_HD Spatial<Real> contact_wrench(const E& env, int slot) {
  const int kdim = env.t.n.kdim;
  const auto f = env.con_f().from(kdim * slot);
  const Real zero(0);
  if (kdim == 3) return {{zero, zero, zero}, {f[0], f[1], f[2]}};
  return {{f[3], f[4], f[5]}, {f[0], f[1], f[2]}};
}
// axes n, t1, t2 of a contact
template <class E, class Real = typename E::Real>
DS_HD void contact_axes(const E& env, int slot, Vec3<Real>* axis) {
  axis[0] = contact_normal(env, slot);
  contact_frame(axis[0], contact_tangent(env, slot), &axis[1], &axis[2]);
}
// a vector of the contact's frame in world axes
template <class Real>
DS_HD Vec3<Real> from_axes(const Vec3<Real>* axis, const Vec3<Real>& v) {
  return axpy(axis[2], v.z, axpy(axis[1], v.y, axis[0] * v.x));
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
