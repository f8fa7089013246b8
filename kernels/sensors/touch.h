// Touch sensors: the normal forces in a site's zone.
//
// solves    touch
// equation  sum of the normal forces of those contacts of the site's body whose ray, from the contact along the
//           normal into the body, meets the site's shape
// source    MuJoCo's documentation, "Sensors"
// deviation none
// reads     con_dim, con_pair, con_pos, con_frame, con_f, and as motion.h
// writes    sensordata
// cost      O(contacts)
#pragma once

#include "kernels/collide/shapes/shapes.h"
#include "kernels/sensors/contacts_seen.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct TouchSensors {
  DS_HD static constexpr bool serves(int type) { return type == kTouch; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto& t = env.t;
    const int id = t.sensor_objid[s];
    const auto site = sensor_frame(env, s);
    const Vec3<Real> size = env.vec(t.site_size, id);
    Real sum(0);
    for (int slot = 0; slot < env.ncon_max; slot++) {
      const auto seen = seen_contact(env, s, slot);
      const Real force = env.con_f()[t.n.kdim * slot];
      const auto pushes = mask_and(mask_or(seen.first, seen.second), force > Real(0));
      if (!any(pushes)) continue;
      const Vec3<Real> normal = contact_normal(env, slot), ray = select3(seen.second, -normal, normal);
      const Real hit =
          ray_shape(t.site_type[id], size, into(site, env.con_pos().vec(slot) - site.pos), into(site, ray));
      sum = sum + select(mask_and(pushes, hit >= Real(0)), force, Real(0));
    }
    out[0] = sum;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
