// Sensors of distances: how far two geoms are apart, or the nearest geoms of two bodies.
//
// solves    distance, normal, fromto
// equation  over the pairs of geoms the least signed distance below the cutoff, of equals the first; negative where
//           they overlap, minus the depth. normal points from the first geom to the second, fromto are the nearest
//           points. Without a pair below the cutoff the distance is the cutoff, and the others are zero
// source    MuJoCo's documentation, "Sensors" and mj_geomDistance
// deviation where several points are nearest fromto is one of them, not always MuJoCo's. Two planes have no distance,
//           as in MuJoCo
// reads     xpos, xquat
// writes    sensordata
// cost      O(pairs of geoms), each that of a pair of shapes (kernels/collide/)
#pragma once

#include "kernels/collide/table.h"
#include "kernels/sensors/sensor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a pair's signed distance along the normal, and the nearest points; `found` where it is less than what was asked for
template <class Real>
struct NearestPoints {
  Real dist;
  Vec3<Real> from, to;
  MaskOf<Real> found;
};

// geom g in the world, and what a search sees of it
template <class E, class Real = typename E::Real>
DS_FN Shape<Real> shape_in_world(const E& env, int g) {
  const auto frame = object_frame(env, kObjGeom, g);
  return {frame.pos, to_matrix(frame.quat), env.vec(env.t.allgeom_size, g)};
}
template <class E, class Real = typename E::Real>
DS_FN ConvexCore<Real> core_of_geom(const E& env, int g, const Shape<Real>& shape) {
  return with_shape(env.t.allgeom_type[g],
                    [&](auto hooks) { return hooks.core_of_geom(env, g, shape.size); });
}

template <class Real, int K>
DS_HD NearestPoints<Real> least_of(const Manifold<Real, K>& m, const Real& below) {
  const Vec3<Real> zero{Real(0), Real(0), Real(0)};
  NearestPoints<Real> out{below, zero, zero, all_false<Real>()};
  for (int k = 0; k < K; k++) {
    const auto less = mask_and(m.hit[k], m.dist[k] < out.dist);
    out.dist = select(less, m.dist[k], out.dist);
    out.from = select3(less, axpy(m.normal[k], m.dist[k] * Real(-0.5), m.pos[k]), out.from);
    out.to = select3(less, axpy(m.normal[k], m.dist[k] * Real(0.5), m.pos[k]), out.to);
    out.found = mask_or(out.found, less);
  }
  return out;
}

// pairs whose function has the distance exactly, however far the shapes are apart. Pairs with a plane and those that are
// kPairByCorners have that of a corner
constexpr bool has_exact_function(int type1, int type2, unsigned traits) {
  const auto plain = [](int type) {
    return !shape_is(type, kShapeUntouched | kShapeSurface | kShapeSearched);
  };
  return plain(type1) && plain(type2) && (traits & kPairByCorners) == 0;
}

// shapes in the order of their types, less than `below` apart
template <class E, class Real = typename E::Real>
DS_STAGE NearestPoints<Real> nearest_points(const E& env, int g1, int g2, const Real& below) {
  const int type1 = env.t.allgeom_type[g1], type2 = env.t.allgeom_type[g2];
  const Shape<Real> a = shape_in_world(env, g1), b = shape_in_world(env, g2);
#define DS_MEASURE(first, second, function, capacity, traits) \
  if constexpr (has_exact_function(first, second, traits)) {  \
    if (type1 == first && type2 == second) {                  \
      Manifold<Real, capacity> m;                             \
      function(a, b, below, &m);                              \
      return least_of(m, below);                              \
    }                                                         \
  }
  DS_PAIRS(DS_MEASURE)
#undef DS_MEASURE
  const ConvexCore<Real> core = core_of_geom(env, g2, b);
  if (type1 == kPlane) {
    const Vec3<Real> n = column(a.rot, 2);
    const Vec3<Real> lowest =
        axpy(n, -core_radius(core), b.pos + rotate(b.rot, core_support(core, -rotate_transposed(b.rot, n))));
    const Real dist = dot(lowest - a.pos, n);
    return {dist, axpy(n, -dist, lowest), lowest, dist < below};
  }
  Separation<Real> s;
  convex_separation(make_convex_pair(a, core_of_geom(env, g1, a), b, core), below, &s);
  return {s.dist, a.pos + rotate(a.rot, s.on_a), a.pos + rotate(a.rot, s.on_b), s.dist < below};
}

struct DistanceSensors {
  DS_HD static constexpr bool serves(int type) { return type >= kGeomDist && type <= kGeomFromTo; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    if constexpr (kRareReadingsCompiled<StepTables<typename E::Scalar>>) measure(at, s, out);
  }
  template <class E, class F, class Real = typename E::Real>
  DS_HD static void measure(const SensorView<E>& at, int s, const F& out) {
    const auto& t = at.env.t;
    const Vec3<Real> zero{Real(0), Real(0), Real(0)};
    NearestPoints<Real> best{at.env.sensor_cutoff(s), zero, zero, all_false<Real>()};
    for (int g1 = t.sensor_geomadr1[s]; g1 < t.sensor_geomend1[s]; g1++) {
      for (int g2 = t.sensor_geomadr2[s]; g2 < t.sensor_geomend2[s]; g2++) {
        const int type1 = t.allgeom_type[g1], type2 = t.allgeom_type[g2];
        if (type1 == kPlane && type2 == kPlane) continue;
        const bool turned = type1 > type2;
        const auto found =
            turned ? nearest_points(at.env, g2, g1, best.dist) : nearest_points(at.env, g1, g2, best.dist);
        best.dist = select(found.found, found.dist, best.dist);
        best.from = select3(found.found, turned ? found.to : found.from, best.from);
        best.to = select3(found.found, turned ? found.from : found.to, best.to);
      }
    }
    if (t.sensor_type[s] == kGeomDist) {
      out[0] = best.dist;
    } else if (t.sensor_type[s] == kGeomNormal) {
      Real length;
      put_reading(out, 0, normalize(best.to - best.from, zero, &length));
    } else {
      put_reading(out, 0, best.from);
      put_reading(out, 3, best.to);
    }
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
