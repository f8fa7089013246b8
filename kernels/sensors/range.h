// Rangefinders: how far away the nearest geom is along the z axis of a site, and what way its surface faces there.
//
// solves    rangefinder
// equation  the least of the distances to the geoms that a ray sees: those of other bodies, if they are visible
// source    MuJoCo's documentation, "Sensors" and mj_ray
// deviation none; MuJoCo's cutoff bounds the -1 of a miss too
// reads     xpos, xquat
// writes    sensordata
// cost      O(geoms, triangles of meshes, and cells of height fields that a ray passes)
#pragma once

#include "kernels/collide/shapes/shapes.h"
#include "kernels/sensors/sensor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// distance to geom g along a ray of the world, -1 where it is missed
template <class E, class Real = typename E::Real>
DS_FN Real ray_geom(const E& env, int g, const Vec3<Real>& point, const Vec3<Real>& direction) {
  const auto& t = env.t;
  const auto frame = object_frame(env, kObjGeom, g);
  const Vec3<Real> p = into(frame, point - frame.pos), v = into(frame, direction);
  return with_shape(t.allgeom_type[g], [&](auto shape) { return shape.ray_to_geom(env, g, p, v); });
}

// the normal of geom g, in the world, where a ray meets it at t
template <class E, class Real = typename E::Real>
DS_STAGE Vec3<Real> ray_normal(const E& env, int g, const Vec3<Real>& point, const Vec3<Real>& direction,
                               const Real& t) {
  const auto frame = object_frame(env, kObjGeom, g);
  const Vec3<Real> p = into(frame, point - frame.pos), v = into(frame, direction);
  return rotate(frame.quat, with_shape(env.t.allgeom_type[g],
                                       [&](auto shape) { return shape.geom_normal(env, g, p, v, t); }));
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
    [[maybe_unused]] Real geom(-1);
    const auto seen = [&](int g) { return t.allgeom_visible[g] && t.allgeom_body[g] != site.body; };
    for (int g = 0; g < t.n.nallgeom; g++) {
      if (!seen(g)) continue;
      [[maybe_unused]] const Real before = hit.t;
      hit.offer(ray_geom(env, g, site.pos, axis), all_true<Real>());
      if constexpr (kRareReadingsCompiled<StepTables<typename E::Scalar>>)
        geom = select(hit.t == before, geom, Real(g));
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
    if constexpr (kRareReadingsCompiled<StepTables<typename E::Scalar>>)
      if (data & kRayNormal) {
        Vec3<Real> normal = zero;
        for (int g = 0; g < t.n.nallgeom; g++)
          if (const auto here = geom == Real(g); seen(g) && any(here))
            normal = select3(here, ray_normal(env, g, site.pos, axis, hit.t), normal);
        put(normal);
      }
    if (data & kRayDepth) out[next++] = hit.t;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
