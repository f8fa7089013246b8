// A sphere: a point with a radius around it.
//
// solves    the hooks of hooks.h
// equation  |p + t v| = r;  the normal is x / |x|
// source    geometry
// deviation none
// reads     its arguments
// writes    its arguments
// cost      O(1)
#pragma once

#include "kernels/collide/shapes/hooks.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <>
struct ShapeHooks<kSphere> : ShapeDefaults<kSphere> {
  template <class Real>
  DS_HD static void offer_ray(const Vec3<Real>& size, const Vec3<Real>& p, const Vec3<Real>& v,
                              NearestHit<Real>* hit) {
    hit->offer_roots(dot(v, v), dot(v, p), dot(p, p) - size.x * size.x);
  }
  template <class Real>
  DS_HD static Vec3<Real> surface_normal(const Vec3<Real>&, const Vec3<Real>& x) {
    Real length;
    return normalize(x, Vec3<Real>{Real(0), Real(0), Real(1)}, &length);
  }
  template <class Real>
  DS_HD static MaskOf<Real> holds(const Vec3<Real>& size, const Vec3<Real>& p) {
    return norm(p) <= size.x;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
