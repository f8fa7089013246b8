// Sensors of places: whether an object is inside the volume of a site.
//
// solves    insidesite
// equation  1 where the object's position is within the site's shape, else 0
// source    MuJoCo's documentation, "Sensors"
// deviation none
// reads     xpos, xquat, xipos
// writes    sensordata
// cost      O(1)
#pragma once

#include "kernels/collide/shapes/shapes.h"
#include "kernels/sensors/sensor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct InsideSensors {
  DS_HD static constexpr bool serves(int type) { return type == kInsideSite; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto& t = env.t;
    const int id = t.sensor_refid[s];
    const auto object = sensor_frame(env, s), site = sensor_reference(env, s);
    const auto inside =
        inside_shape(t.site_type[id], env.vec(t.site_size, id), into(site, object.pos - site.pos));
    out[0] = select(inside, Real(1), Real(0));
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
