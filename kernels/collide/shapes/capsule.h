// A capsule: a segment along z, from -half to half, with a radius around it.
//
// solves    the hooks of hooks.h
// equation  its core's farthest point is an end of the segment; it shows its line where n is across z
//           a ray meets its side, or the ball at an end beyond the side
// source    van den Bergen 2001; MuJoCo's documentation, mj_ray
// deviation none
// reads     its arguments
// writes    its arguments
// cost      O(1)
#pragma once

#include "kernels/collide/shapes/hooks.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <>
struct ShapeHooks<kCapsule> : ShapeDefaults<kCapsule> {
  template <class Real>
  DS_HD static Vec3<Real> support(const ConvexCore<Real>& c, const Vec3<Real>& n, unsigned) {
    const Real zero(0);
    return {zero, zero, select(n.z < zero, -c.size.y, c.size.y)};
  }
  template <class Real>
  DS_HD static void show(const ConvexCore<Real>& c, const Vec3<Real>& n, const MaskOf<Real>&,
                         ShownFace<Real>* out) {
    const Real scale = c.size.x;
    show_side(c.size.y, scale, n.z * scale, n, out);
  }
  template <class Real>
  DS_HD static LevelEdge<Real> level_edge(const ConvexCore<Real>&, const Vec3<Real>& n,
                                          const MaskOf<Real>& wanted) {
    return axis_edge(n, wanted);
  }

  template <class Real>
  DS_HD static void offer_ray(const Vec3<Real>& size, const Vec3<Real>& p, const Vec3<Real>& v,
                              NearestHit<Real>* hit) {
    const Real radius2 = size.x * size.x, half = size.y;
    offer_side(radius2, half, p, v, hit);
    for (int side = -1; side <= 1; side += 2) {
      const Real end = Real(side) * half;
      const Vec3<Real> d{p.x, p.y, p.z - end};
      hit->offer_roots(dot(v, v), dot(v, d), dot(d, d) - radius2,
                       [&](const Real& x) { return (fma(x, v.z, p.z) - end) * Real(side) >= Real(0); });
    }
  }
  // from the nearest point of the segment
  template <class Real>
  DS_HD static Vec3<Real> off_axis(const Vec3<Real>& size, const Vec3<Real>& x) {
    return {x.x, x.y, x.z - clamp(x.z, -size.y, size.y)};
  }
  template <class Real>
  DS_HD static Vec3<Real> surface_normal(const Vec3<Real>& size, const Vec3<Real>& x) {
    Real length;
    return normalize(off_axis(size, x), Vec3<Real>{Real(0), Real(0), Real(1)}, &length);
  }
  template <class Real>
  DS_HD static MaskOf<Real> holds(const Vec3<Real>& size, const Vec3<Real>& p) {
    return norm(off_axis(size, p)) <= size.x;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
