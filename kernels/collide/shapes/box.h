// A box: six faces, whose normals are its axes.
//
// solves    the hooks of hooks.h
// equation  the farthest point is the corner with the signs of n; the face that looks most along n is across its largest
//           entry, the edge at the farthest corner that is most across n along its least
//           a ray meets a face where it crosses its plane within the other two sizes
// source    van den Bergen 2001; MuJoCo's documentation, mj_ray
// deviation none
// reads     its arguments
// writes    its arguments
// cost      O(1)
#pragma once

#include "kernels/collide/shapes/hooks.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
DS_FN void box_face(const Vec3<Real>& size, const Vec3<Real>& n, ShownFace<Real>* out) {
  const LongestAxis<Real> axis(n);
  const Real along = axis.pick(n.x, n.y, n.z), side = sign_nonzero(along);
  out->normal = axis.along(side, side, side);
  out->there = abs(along) >= Real(kAlignedCosine);
  // the next two axes in turn; the other way round where the side is the negative one
  const Real first = axis.pick(size.y, size.z, size.x), second = axis.pick(size.z, size.x, size.y) * side;
  const Real depth = axis.pick(size.x, size.y, size.z) * side;
  for (int k = 0; k < 4; k++) {
    const Real p = first * Real(k == 0 || k == 3 ? 1 : -1), q = second * Real(k < 2 ? 1 : -1);
    out->corner[k] = {axis.pick(depth, q, p), axis.pick(p, depth, q), axis.pick(q, p, depth)};
  }
  out->count = IntOf<Real>(4);
  out->count_max = 4;
}

template <class Real>
DS_FN void box_edge(const Vec3<Real>& size, const Vec3<Real>& n, ShownFace<Real>* out) {
  if (all(out->there)) return;
  const Real zero(0);
  const Vec3<Real> top{select(n.x < zero, -size.x, size.x), select(n.y < zero, -size.y, size.y),
                       select(n.z < zero, -size.z, size.z)};
  const Real x = abs(n.x), y = abs(n.y), z = abs(n.z);
  const auto is_x = mask_and(x <= y, x <= z), is_y = mask_and(mask_not(is_x), y <= z);
  const auto is_z = mask_not(mask_or(is_x, is_y));
  const Vec3<Real> end{select(is_x, -top.x, top.x), select(is_y, -top.y, top.y), select(is_z, -top.z, top.z)};
  take_edge(top, end, min(x, min(y, z)) < Real(kAlignedSine), n, out);
}

template <>
struct ShapeHooks<kBox> : ShapeDefaults<kBox> {
  template <class Real>
  DS_HD static Vec3<Real> support(const ConvexCore<Real>& c, const Vec3<Real>& n, unsigned) {
    const Real zero(0);
    return {select(n.x < zero, -c.size.x, c.size.x), select(n.y < zero, -c.size.y, c.size.y),
            select(n.z < zero, -c.size.z, c.size.z)};
  }
  template <class Real>
  DS_HD static Vec3<Real> nearest_normal(const ConvexCore<Real>&, const Vec3<Real>& n, const MaskOf<Real>&) {
    return LongestAxis<Real>(n).along(sign_nonzero(n.x), sign_nonzero(n.y), sign_nonzero(n.z));
  }
  template <class Real>
  DS_HD static void show(const ConvexCore<Real>& c, const Vec3<Real>& n, const MaskOf<Real>&,
                         ShownFace<Real>* out) {
    box_face(c.size, n, out);
    box_edge(c.size, n, out);
  }
  template <class Real>
  DS_HD static LevelEdge<Real> level_edge(const ConvexCore<Real>& c, const Vec3<Real>& n,
                                          const MaskOf<Real>& wanted) {
    return shown_edge(n, wanted, [&](ShownFace<Real>* shown) { box_edge(c.size, n, shown); });
  }

  template <class Real>
  DS_FN static void offer_ray(const Vec3<Real>& size, const Vec3<Real>& p, const Vec3<Real>& v,
                              NearestHit<Real>* hit) {
    const Real ps[3] = {p.x, p.y, p.z}, vs[3] = {v.x, v.y, v.z}, half[3] = {size.x, size.y, size.z};
    for (int k = 0; k < 3; k++) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      const auto crosses = abs(vs[k]) > Real(kMinVal);
      const Real inverse = Real(1) / select(crosses, vs[k], Real(1));
      for (int side = -1; side <= 1; side += 2) {
        const Real x = (Real(side) * half[k] - ps[k]) * inverse;
        const auto within =
            mask_and(abs(fma(x, vs[i], ps[i])) <= half[i], abs(fma(x, vs[j], ps[j])) <= half[j]);
        hit->offer(x, mask_and(crosses, within));
      }
    }
  }
  // of edges that of either side
  template <class Real>
  DS_HD static Vec3<Real> surface_normal(const Vec3<Real>& size, const Vec3<Real>& x) {
    const Real a = abs(x.x) - size.x, b = abs(x.y) - size.y, c = abs(x.z) - size.z, zero(0);
    const auto by_x = mask_and(a >= b, a >= c), by_y = mask_and(mask_not(by_x), b >= c);
    return {select(by_x, sign_nonzero(x.x), zero), select(by_y, sign_nonzero(x.y), zero),
            select(mask_or(by_x, by_y), zero, sign_nonzero(x.z))};
  }
  template <class Real>
  DS_HD static MaskOf<Real> holds(const Vec3<Real>& size, const Vec3<Real>& p) {
    return mask_and(abs(p.x) <= size.x, mask_and(abs(p.y) <= size.y, abs(p.z) <= size.z));
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
