// Sensors of frames: of bodies, geoms and sites, in the world or seen from another frame.
//
// solves    framepos, framequat, frame{x,y,z}axis; framelinvel, frameangvel; framelinacc, frameangacc
// equation  seen from a frame (p0, R0) that moves with (w0, v0):
//             R0' (p - p0),   R0' (w - w0),   R0' (v - v0 - w0 x (p - p0))
// source    MuJoCo's documentation, "Sensors"
// deviation none
// reads     as motion.h
// writes    sensordata
// cost      O(1), of an acceleration O(dofs that move the body)
#pragma once

#include "kernels/sensors/sensor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct FramePoses {
  DS_HD static constexpr bool serves(int type) { return type >= kFramePos && type <= kFrameZAxis; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const int type = env.t.sensor_type[s];
    auto frame = sensor_frame(env, s);
    if (has_reference(env, s)) {
      const auto from = sensor_reference(env, s);
      frame.pos = into(from, frame.pos - from.pos);
      frame.quat = mul(conjugate(from.quat), frame.quat);
    }
    if (type == kFramePos)
      put_reading(out, 0, frame.pos);
    else if (type == kFrameQuat)
      out.set_at(0, frame.quat);
    else
      put_reading(out, 0, column(to_matrix(frame.quat), type - kFrameXAxis));
  }
};

struct FrameVelocities {
  DS_HD static constexpr bool serves(int type) { return type == kFrameLinVel || type == kFrameAngVel; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto frame = sensor_frame(env, s);
    const Spatial<Real> v = point_velocity(env, frame.body, frame.pos);
    const bool linear = env.t.sensor_type[s] == kFrameLinVel;
    Vec3<Real> seen = linear ? v.lin : v.ang;
    if (has_reference(env, s)) {
      const auto from = sensor_reference(env, s);
      const Spatial<Real> moving = point_velocity(env, from.body, frame.pos);
      seen = into(from, seen - (linear ? moving.lin : moving.ang));
    }
    put_reading(out, 0, seen);
  }
};

struct FrameAccelerations {
  DS_HD static constexpr bool serves(int type) { return type == kFrameLinAcc || type == kFrameAngAcc; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto frame = sensor_frame(env, s);
    const Spatial<Real> a = point_acceleration(env, frame.body, frame.pos);
    put_reading(out, 0, env.t.sensor_type[s] == kFrameLinAcc ? a.lin : a.ang);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
