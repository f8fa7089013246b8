// What is done by shape, and what a shape does that says nothing else.
//
// A shape is a row of DS_SHAPES (kernels/data/shapes.h) and a specialisation of ShapeHooks in a file of this folder, which
// shapes.h includes. Points, directions and rays are in its frame, `size` is MuJoCo's. Its hooks are
//
//   in the world   InWorld, what its pair functions take, where that is not a Shape, and in_world, which makes it of one;
//                  Gathered, which fills in what InWorld has beside that where each element of a pack has another geom
//   far or near    may_reach: whether a sphere may touch it; box_about: the box along its axes that holds it
//   core           support: its core's farthest point along n. Where it has kShapeFaces nearest_normal, that of the face that
//                  looks most along n, and show, what it shows along n; level_edge, the edge across n there; where it has
//                  kShapeCurved add_curvature, that of its support function at m, for u and v across m. core_of_geom makes
//                  one of any geom of a model
//   rays           offer_ray: where a ray meets it; surface_normal at a point of its surface; holds: whether a point is inside.
//                  ray_to_geom and geom_normal, where it is more than its size
//
// What it does over terrain are the hooks of kernels/collide/hfield/hooks.h.
//
// solves    nothing by itself
// deviation none
// reads     geom_rbound (may_reach), allgeom_size (rays); its arguments
// writes    its arguments
// cost      that of the hook
#pragma once

#include "kernels/collide/convex/core.h"
#include "kernels/collide/ray_hit.h"
#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <int kType>
struct ShapeHooks;

// by this factor a bounding sphere is wider where it is compared with a box: more than what rounding could hide
constexpr double kWiderSphere = 1.001;
// the box about a geom along its axes, its centre from the geom's
template <class Real>
struct AxesBox {
  Vec3<Real> centre, half;
};

// the columns of DS_SHAPES for sizes x, y, z
template <class Real>
struct ShapeExtent {
  Real x, y, z;

  DS_HD static Real largest(const Real& a, const Real& b, const Real& c) { return max(a, max(b, c)); }
  DS_HD static Real hypot(const Real& a, const Real& b) { return sqrt(fma(a, a, b * b)); }
  DS_HD static Real hypot(const Real& a, const Real& b, const Real& c) { return norm(Vec3<Real>{a, b, c}); }

  // of the sphere about the centre
  template <int kType>
  DS_HD Real radius(const Real& given) const {
#define DS_RADIUS(type, word, sizes, touches, radius, half_x, half_y, half_z, traits) \
  if constexpr (kType == type) return radius;
    DS_SHAPES(DS_RADIUS)
#undef DS_RADIUS
    return given;
  }
  template <int kType>
  DS_HD Vec3<Real> half_lengths() const {
#define DS_BOX(type, word, sizes, touches, radius, half_x, half_y, half_z, traits) \
  if constexpr (kType == type) return {Real(half_x), Real(half_y), Real(half_z)};
    DS_SHAPES(DS_BOX)
#undef DS_BOX
    return {Real(0), Real(0), Real(0)};
  }
};

template <class Real, int kType>
DS_HD ConvexCore<Real> core_of_size(const Vec3<Real>& size) {
  return {kType, size, {}, ShapeExtent<Real>{size.x, size.y, size.z}.template radius<kType>(Real(0))};
}

template <int kType>
struct ShapeDefaults {
  // what pair functions take
  template <class Real>
  using InWorld = Shape<Real>;
  template <class E>
  struct Gathered {
    template <class Near, class Real = typename E::Real>
    DS_HD void fill(const E&, const Near&, int, Shape<Real>*) {}
  };

  // whether geom g may touch what is within `reach` of a point at d from it
  template <class E, class Real = typename E::Real>
  DS_HD static MaskOf<Real> may_reach(const E& env, int g, const Vec3<Real>& d, const Real& reach) {
    const Real sum = reach + env.geom_rbound(g);
    return dot(d, d) < sum * sum;
  }
  template <class E, class Real = typename E::Real>
  DS_HD static AxesBox<Real> box_about(const E& env, int g) {
    const Real zero(0);
    const auto [x, y, z] = env.vec(env.t.geom_size, g);
    return {{zero, zero, zero}, ShapeExtent<Real>{x, y, z}.template half_lengths<kType>()};
  }

  template <class Real>
  DS_HD static ConvexCore<Real> core_of(const Shape<Real>& shape) {
    return core_of_size<Real, kType>(shape.size);
  }
  template <class Real>
  DS_HD static Vec3<Real> support(const ConvexCore<Real>&, const Vec3<Real>&, unsigned) {
    return {Real(0), Real(0), Real(0)};
  }
  template <class Real>
  DS_HD static Vec3<Real> nearest_normal(const ConvexCore<Real>&, const Vec3<Real>& n, const MaskOf<Real>&) {
    return n;
  }
  template <class Real>
  DS_HD static void show(const ConvexCore<Real>&, const Vec3<Real>&, const MaskOf<Real>&, ShownFace<Real>*) {}
  template <class Real>
  DS_HD static LevelEdge<Real> level_edge(const ConvexCore<Real>&, const Vec3<Real>& n, const MaskOf<Real>&) {
    return {n, all_false<Real>()};
  }
  template <class Real>
  DS_HD static void add_curvature(const Vec3<Real>&, const Vec3<Real>&, const Vec3<Real>&, const Vec3<Real>&,
                                  Curvature<Real>*) {}
  template <class E, class Real = typename E::Real>
  DS_HD static ConvexCore<Real> core_of_geom(const E&, int, const Vec3<Real>& size) {
    return core_of_size<Real, kType>(size);
  }

  template <class Real>
  DS_HD static void offer_ray(const Vec3<Real>&, const Vec3<Real>&, const Vec3<Real>&, NearestHit<Real>*) {}
  template <class Real>
  DS_HD static Vec3<Real> surface_normal(const Vec3<Real>&, const Vec3<Real>&) {
    return {Real(0), Real(0), Real(1)};
  }
  template <class Real>
  DS_HD static MaskOf<Real> holds(const Vec3<Real>&, const Vec3<Real>&) {
    return all_false<Real>();
  }
  // the distance of geom g along a ray, -1 where it is missed
  template <class E, class Real = typename E::Real>
  DS_HD static Real ray_to_geom(const E& env, int g, const Vec3<Real>& p, const Vec3<Real>& v) {
    NearestHit<Real> hit;
    ShapeHooks<kType>::offer_ray(env.vec(env.t.allgeom_size, g), p, v, &hit);
    return hit.t;
  }
  // the normal of geom g where a ray has met it at t
  template <class E, class Real = typename E::Real>
  DS_HD static Vec3<Real> geom_normal(const E& env, int g, const Vec3<Real>& p, const Vec3<Real>& v,
                                      const Real& t) {
    return ShapeHooks<kType>::surface_normal(env.vec(env.t.allgeom_size, g), axpy(v, t, p));
  }
};

template <int kType>
struct ShapeHooks : ShapeDefaults<kType> {};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
