// Inertial sensors of a site, in its axes.
//
// solves    gyro, velocimeter, accelerometer, magnetometer
// equation  R'w,   R'v,   R'(a - g),   R'B
// source    MuJoCo's documentation, "Sensors"
// deviation none
// reads     as motion.h
// writes    sensordata
// cost      O(1), of an acceleration O(dofs that move the body)
#pragma once

#include "kernels/sensors/sensor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct InertialSensors {
  DS_HD static constexpr bool serves(int type) {
    return type == kGyro || type == kVelocimeter || type == kAccelerometer || type == kMagnetometer;
  }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto& o = env.t.o;
    const int type = env.t.sensor_type[s];
    const auto site = sensor_frame(env, s);
    Vec3<Real> x;
    if (type == kMagnetometer) {
      x = {Real(o.magnetic[0]), Real(o.magnetic[1]), Real(o.magnetic[2])};
    } else if (type == kAccelerometer) {
      x = point_acceleration(env, site.body, site.pos).lin;
    } else {
      const Spatial<Real> v = point_velocity(env, site.body, site.pos);
      x = type == kGyro ? v.ang : v.lin;
    }
    put_reading(out, 0, into(site, x));
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
