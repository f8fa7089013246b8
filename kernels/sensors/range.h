// Rangefinders: how far away the nearest geom is, along the z axis of a site.
//
// solves    rangefinder
// equation  the least of the distances to the geoms that a ray sees: those of other bodies, if they are visible
// source    MuJoCo's documentation, "Sensors" and mj_ray
// deviation none; MuJoCo's cutoff bounds the -1 of a miss too
// reads     xpos, xquat
// writes    sensordata
// cost      O(geoms, triangles of meshes, and cells of height fields that a ray passes)
#pragma once

#include "kernels/sensors/ray_grid.h"
#include "kernels/sensors/sensor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// distance to geom g along a ray of the world, -1 where it is missed
template <class E, class Real = typename E::Real>
DS_FN Real ray_geom(const E& env, int g, const Vec3<Real>& point, const Vec3<Real>& direction) {
  const auto& t = env.t;
  const auto frame = object_frame(env, kObjGeom, g);
  if (t.allgeom_type[g] == kMesh) {
    NearestHit<Real> hit;
    const Vec3<Real> p = into(frame, point - frame.pos), v = into(frame, direction);
    const int first = t.allgeom_triangleadr[g];
    for (int k = first; k < first + t.allgeom_trianglenum[g]; k++) {
      const auto corner = [&](int i) { return env.vec(t.ray_triangle, 3 * k + i); };
      offer_triangle(corner(0), corner(1), corner(2), p, v, &hit);
    }
    return hit.t;
  }
  if (t.allgeom_type[g] == kHfield)
    return ray_grid(height_grid<typename E::Scalar>(t, t.allgeom_hfield[g]), into(frame, point - frame.pos),
                    into(frame, direction));
  return ray_shape(t.allgeom_type[g], env.vec(t.allgeom_size, g), into(frame, point - frame.pos),
                   into(frame, direction));
}

struct RangefinderSensors {
  DS_HD static constexpr bool serves(int type) { return type == kRangefinder; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto& t = env.t;
    const auto site = sensor_frame(env, s);
    const Vec3<Real> axis = column(to_matrix(site.quat), 2), zero{Real(0), Real(0), Real(0)};
    NearestHit<Real> hit;
    for (int g = 0; g < t.n.nallgeom; g++) {
      if (!t.allgeom_visible[g] || t.allgeom_body[g] == site.body) continue;
      hit.offer(ray_geom(env, g, site.pos, axis), all_true<Real>());
    }
    const auto met = hit.t >= Real(0);
    const int data = t.sensor_data[s];
    int next = 0;
    const auto put = [&](const Vec3<Real>& v) {
      put_reading(out, next, v);
      next += 3;
    };
    if (data & kRayDist) out[next++] = hit.t;
    if (data & kRayDir) put(select3(met, axis, zero));
    if (data & kRayOrigin) put(site.pos);
    if (data & kRayPoint) put(select3(met, axpy(axis, hit.t, site.pos), zero));
    if (data & kRayDepth) out[next++] = hit.t;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
