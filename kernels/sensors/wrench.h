// Force and torque sensors: what a body's parent does to it, at a site, in the site's axes.
//
// solves    force, torque
// equation  of the body and all that it carries, with x from the site to a centre of mass:
//             f = sum of m (a - g) - external forces
//             n = sum of I alpha + w x I w + x x m (a - g) - external moments
//           external are the user's forces, contacts with the rest of the world, connects and welds (subtract_wrench of
//           their kind of rows), and the pull of spatial tendons: a tendon of force f on its length pulls at the ends
//           of each of its pieces
// source    Featherstone 2008, section 5.3, summed over the subtree; MuJoCo's documentation, "Sensors"
// deviation summed about the site, body by body, instead of about the tree's centre of mass on the way to the root.
//           Contacts within the subtree cancel and are left out
// reads     xfrc_applied, con_*, dense_y, dense_D, actuator_force, qacc, ten_*, and as motion.h and subtree.h
// writes    sensordata
// cost      O(bodies of the subtree x dofs that move them + contacts + equalities)
#pragma once

#include "kernels/rows/kinds/kinds.h"
#include "kernels/sensors/contacts_seen.h"
#include "kernels/sensors/subtree.h"
#include "kernels/smooth/actuators/transmission.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a force and its moment about a point
template <class Real>
struct WrenchSum {
  Vec3<Real> point;
  Spatial<Real> sum;
  DS_HD void add(const Vec3<Real>& force, const Vec3<Real>& torque, const Vec3<Real>& at) {
    sum.lin = sum.lin + force;
    sum.ang = sum.ang + torque + cross(at - point, force);
  }
};

// what moves the bodies, less what the user does to them
template <class E, class Real = typename E::Real>
DS_STAGE void add_inertial_wrench(const SensorView<E>& at, int root, WrenchSum<Real>* wrench) {
  const E& env = at.env;
  const auto& t = env.t;
  for (int b = root > 0 ? root : 1; b < t.body_end[root]; b++) {
    const Vec3<Real> x = env.xipos().vec(b);
    const Spatial<Real> v = point_velocity(env, b, x), a = point_acceleration(env, b, x);
    Vec3<Real> force = a.lin * env.body_mass(b);
    Vec3<Real> torque = inertia_times(env, b, a.ang) + cross(v.ang, inertia_times(env, b, v.ang));
    if (env.any_xfrc) {
      const Spatial<Real> user = at.in.xfrc(b);
      force = force - user.lin;
      torque = torque - user.ang;
    }
    wrench->add(force, torque, x);
  }
}

// adds the force and torque of the contact of a slot where `here` holds; turned(v): v as it acts on the body
template <class E, class F, class Real = typename E::Real>
DS_HD void add_contact(const E& env, int slot, const typename E::Mask& here, WrenchSum<Real>* wrench,
                       F turned) {
  const Vec3<Real> zero{Real(0), Real(0), Real(0)};
  const Spatial<Real> f = contact_wrench(env, slot);
  Vec3<Real> axis[3];
  contact_axes(env, slot, axis);
  const auto held = [&](const Vec3<Real>& v) { return select3(here, turned(from_axes(axis, v)), zero); };
  wrench->add(held(f.lin), held(f.ang), env.con_pos().vec(slot));
}

template <class E, class Real = typename E::Real>
DS_STAGE void subtract_contacts(const E& env, int s, WrenchSum<Real>* wrench) {
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const auto seen = seen_contact(env, s, slot);
    const auto here = mask_or(seen.first, seen.second);
    if (!any(here)) continue;
    // on the second geom's body it acts as it is, on the first's the other way; it is taken away
    const Real sign = select(seen.first, Real(1), select(seen.second, Real(-1), Real(0)));
    add_contact(env, slot, here, wrench, [&](const Vec3<Real>& v) { return v * sign; });
  }
}

// the bodies from `first` on and before `end`, without the world
struct BodyRange {
  int first, end;
  DS_HD bool has(int b) const { return b > 0 && b >= first && b < end; }
};

// takes away what constraint rows do to some bodies from outside their joints
template <class E, class Real = typename E::Real>
DS_STAGE void subtract_rows(const E& env, const BodyRange& bodies, WrenchSum<Real>* wrench) {
  DenseKinds::each(env, [&](const auto& kind, int first) {
    if constexpr (requires { kind.subtract_wrench(env, first, bodies, wrench); })
      kind.subtract_wrench(env, first, bodies, wrench);
  });
}

// the force of a tendon on its length: of armature, passive, of actuators, of constraints
template <class E, class Real = typename E::Real>
DS_STAGE Real tendon_force(const E& env, int ten) {
  const auto& t = env.t;
  Real f = -(env.ten_armature(ten) * (tendon_acceleration(env, ten) + tendon_product(env, ten, env.qacc())));
  if (t.o.has_ten_passive) f = f + passive_tendon_force(env, ten);
  for (int a = 0; a < t.n.nactuator; a++)
    if (tendon_of(t, a) == ten) f = fma(env.act_gear(a), env.actuator_force()[a], f);
  DenseKinds::each(env, [&](const auto& kind, int first) {
    if constexpr (requires { kind.add_pull(env, first, ten, f); }) f = kind.add_pull(env, first, ten, f);
  });
  return f;
}

// whether a tendon may pull at some bodies from others
template <class AnyTables>
DS_HD bool pulls_at(const AnyTables& t, int ten, const BodyRange& bodies) {
  bool some = false;
  for (int k = t.path_adr[ten]; k < t.path_adr[ten + 1]; k++) {
    const bool first = bodies.has(t.site_body[t.path_site1[k]]);
    some |= first != bodies.has(t.site_body[t.path_site2[k]]);
    if (t.path_geom[k] >= 0) some |= first != bodies.has(t.allgeom_body[t.path_geom[k]]);
  }
  return some;
}

template <class E, class Real = typename E::Real>
DS_STAGE void subtract_tendons(const E& env, const BodyRange& bodies, WrenchSum<Real>* wrench) {
  const auto& t = env.t;
  const Vec3<Real> zero{Real(0), Real(0), Real(0)};
  for (int ten = 0; ten < t.n.ntendon; ten++) {
    if (!pulls_at(t, ten, bodies)) continue;
    const Real tension = tendon_force(env, ten);
    for (int k = t.path_adr[ten]; k < t.path_adr[ten + 1]; k++) {
      const Real f = tension * env.path_scale(k);
      each_piece(env, k, [&](int a, const Vec3<Real>& x, int b, const Vec3<Real>& y, const auto& here) {
        if (bodies.has(a) == bodies.has(b)) return;
        const Vec3<Real> pull = select3(here, direction(x, y) * f, zero);
        if (bodies.has(a)) wrench->add(pull, zero, select3(here, x, zero));
        if (bodies.has(b)) wrench->add(-pull, zero, select3(here, y, zero));
      });
    }
  }
}

struct WrenchSensors {
  DS_HD static constexpr bool serves(int type) { return type == kForce || type == kTorque; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto site = sensor_frame(env, s);
    const Vec3<Real> zero{Real(0), Real(0), Real(0)};
    WrenchSum<Real> wrench{site.pos, {zero, zero}};
    add_inertial_wrench(at, site.body, &wrench);
    subtract_contacts(env, s, &wrench);
    const BodyRange carried{site.body, env.t.body_end[site.body]};
    subtract_rows(env, carried, &wrench);
    if (env.t.n.ntendon > 0) subtract_tendons(env, carried, &wrench);
    put_reading(out, 0, into(site, env.t.sensor_type[s] == kForce ? wrench.sum.lin : wrench.sum.ang));
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
