// A height field: a solid between its base and the surface over a grid (kernels/collide/hfield/grid.h).
//
// solves    the hooks of hooks.h
// equation  a sphere may reach it where it meets the box from its base to its highest point
// source    MuJoCo's documentation, "hfield" and mj_ray
// deviation none
// reads     geom_xmat, geom_hull, allgeom_hfield, hfield_* of the tables
// writes    none
// cost      O(1); of a ray the cells that it passes (kernels/collide/hfield/ray.h)
#pragma once

#include "kernels/collide/hfield/grid.h"
#include "kernels/collide/hfield/ray.h"
#include "kernels/collide/shapes/hooks.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <>
struct ShapeHooks<kHfield> : ShapeDefaults<kHfield> {
  template <class Real>
  using InWorld = FieldShape<Real>;
  template <class E, class Real = typename E::Real>
  DS_HD static FieldShape<Real> in_world(const E& env, int g, const Shape<Real>& shape) {
    return {shape, height_grid<typename E::Scalar>(env.t, env.t.geom_hull[g])};
  }

  template <class E, class Real = typename E::Real>
  DS_HD static MaskOf<Real> may_reach(const E& env, int g, const Vec3<Real>& d, const Real& reach) {
    const auto extent = field_extent<typename E::Scalar>(env.t, env.t.geom_hull[g]);
    const Vec3<Real> p = rotate_transposed(env.geom_xmat().mat(g), d);
    const Real far = reach * Real(kWiderSphere);
    const auto high = mask_and(p.z - far < Real(extent.top), -p.z - far < Real(extent.base));
    return mask_and(high,
                    mask_and(abs(p.x) - far < Real(extent.half_x), abs(p.y) - far < Real(extent.half_y)));
  }

  template <class E, class Real = typename E::Real>
  DS_HD static Real ray_to_geom(const E& env, int g, const Vec3<Real>& p, const Vec3<Real>& v) {
    return ray_grid(height_grid<typename E::Scalar>(env.t, env.t.allgeom_hfield[g]), p, v);
  }
  template <class E, class Real = typename E::Real>
  DS_HD static Vec3<Real> geom_normal(const E& env, int g, const Vec3<Real>& p, const Vec3<Real>& v,
                                      const Real& t) {
    return grid_normal(height_grid<typename E::Scalar>(env.t, env.t.allgeom_hfield[g]), axpy(v, t, p));
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
