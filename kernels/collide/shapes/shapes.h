// The shape of a geom in use at its places of the step: the one switch over shapes.
//
// solves    nothing; calls the hooks of hooks.h
// deviation none
// reads     its arguments
// writes    its arguments
// cost      a comparison for each shape, the same for all elements of a pack
#pragma once

#include "kernels/collide/shapes/box.h"
#include "kernels/collide/shapes/capsule.h"
#include "kernels/collide/shapes/cylinder.h"
#include "kernels/collide/shapes/ellipsoid.h"
#include "kernels/collide/shapes/hfield.h"
#include "kernels/collide/shapes/mesh.h"
#include "kernels/collide/shapes/plane.h"
#include "kernels/collide/shapes/sphere.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// calls f(hooks) for the shape of a type; those of what is no shape are the defaults
template <class F>
DS_HD auto with_shape(int type, const F& f) {
  switch (type) {
#define DS_CASE(type, ...) \
  case type:               \
    return f(ShapeHooks<type>());
    DS_SHAPES(DS_CASE)
#undef DS_CASE
    default:
      return f(ShapeHooks<kShapeTypes>());
  }
}

// a point of the core farthest along n, in the frame of the shape, in the elements of a set at least
template <class Real>
DS_FN Vec3<Real> core_support(const ConvexCore<Real>& c, const Vec3<Real>& n, unsigned wanted = ~0u) {
  return with_shape(c.type, [&](auto shape) { return shape.support(c, n, wanted); });
}
// around the core
template <class Real>
DS_HD Real core_radius(const ConvexCore<Real>& c) {
  return shape_among<kShapeRound>(c.type) ? c.size.x : Real(0);
}

// p and v in the shape's frame; -1 where the ray misses it
template <class Real>
DS_FN Real ray_shape(int type, const Vec3<Real>& size, const Vec3<Real>& p, const Vec3<Real>& v) {
  NearestHit<Real> hit;
  with_shape(type, [&](auto shape) { shape.offer_ray(size, p, v, &hit); });
  return hit.t;
}
// whether a point, in the shape's frame, is inside it
template <class Real>
DS_FN MaskOf<Real> inside_shape(int type, const Vec3<Real>& size, const Vec3<Real>& p) {
  return with_shape(type, [&](auto shape) { return shape.holds(size, p); });
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
