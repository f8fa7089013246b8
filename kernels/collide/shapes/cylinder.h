// A cylinder about z: flat at its caps, curved around its side.
//
// solves    the hooks of hooks.h
// equation  the farthest point is one of a rim;  of the rim u'H v = r (t.u)(t.v) / |m_xy|, t the unit tangent at m
//           it shows a cap, or the line of its side where n is across z
//           a ray meets its side, or a cap within the rim
// source    van den Bergen 2001; MuJoCo's documentation, mj_ray
// deviation a cap that is shown has eight corners
// reads     its arguments
// writes    its arguments
// cost      O(1)
#pragma once

#include "kernels/collide/shapes/hooks.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// squared sine between a direction and a cylinder's axis: what is divided by is no smaller
constexpr double kLeastAcrossAxis = 1e-6;

template <class Real>
DS_FN void show_cap(const Vec3<Real>& size, const Vec3<Real>& n, ShownFace<Real>* out) {
  const Real zero(0), side = sign_nonzero(n.z);
  const double c = 0.70710678118654752440, cosine[8] = {1, c, 0, -c, -1, -c, 0, c};
  out->there = abs(n.z) >= Real(kAlignedCosine);
  out->normal = {zero, zero, side};
  for (int k = 0; k < 8; k++) {
    const Real y = size.x * Real(cosine[(k + 6) % 8]);
    out->corner[k] = {size.x * Real(cosine[k]), y * side, size.y * side};
  }
  out->count = IntOf<Real>(8);
  out->count_max = 8;
}

template <>
struct ShapeHooks<kCylinder> : ShapeDefaults<kCylinder> {
  template <class Real>
  DS_HD static Vec3<Real> support(const ConvexCore<Real>& c, const Vec3<Real>& n, unsigned) {
    const Real across = fma(n.x, n.x, n.y * n.y);
    const Real scale = c.size.x / sqrt(max(across, Real(kFiniteInverse)));
    return {n.x * scale, n.y * scale, select(n.z < Real(0), -c.size.y, c.size.y)};
  }
  template <class Real>
  DS_HD static Vec3<Real> nearest_normal(const ConvexCore<Real>&, const Vec3<Real>& n, const MaskOf<Real>&) {
    return {Real(0), Real(0), sign_nonzero(n.z)};
  }
  template <class Real>
  DS_FN static void show(const ConvexCore<Real>& c, const Vec3<Real>& n, const MaskOf<Real>&,
                         ShownFace<Real>* out) {
    const auto cap = abs(n.z) > Real(0.5);
    if (any(cap)) show_cap(c.size, n, out);
    if (all(cap)) return;
    ShownFace<Real> side;
    const Real square = fma(n.x, n.x, n.y * n.y);
    show_side(c.size.y, c.size.x / sqrt(max(square, Real(kLeastDivisor))), Real(0), n, &side);
    for (int k = 0; k < 2; k++) out->corner[k] = select3(cap, out->corner[k], side.corner[k]);
    out->normal = select3(cap, out->normal, side.normal);
    out->count = select(cap, out->count, side.count);
    out->count_max = out->count_max > 2 ? out->count_max : 2;
    out->line = mask_not(cap);
    out->there = select_mask(cap, out->there, side.there);
  }
  template <class Real>
  DS_HD static LevelEdge<Real> level_edge(const ConvexCore<Real>&, const Vec3<Real>& n,
                                          const MaskOf<Real>& wanted) {
    return axis_edge(n, wanted);
  }
  template <class Real>
  DS_HD static void add_curvature(const Vec3<Real>& size, const Vec3<Real>& m, const Vec3<Real>& u,
                                  const Vec3<Real>& v, Curvature<Real>* h) {
    const Real square = max(fma(m.x, m.x, m.y * m.y), Real(kLeastAcrossAxis)), inv = Real(1) / sqrt(square);
    const Real tu = fma(m.x, u.y, -(m.y * u.x)) * inv, tv = fma(m.x, v.y, -(m.y * v.x)) * inv;
    const Real k = size.x * inv;
    h->xx = fma(k * tu, tu, h->xx);
    h->xy = fma(k * tu, tv, h->xy);
    h->yy = fma(k * tv, tv, h->yy);
  }

  template <class Real>
  DS_HD static void offer_ray(const Vec3<Real>& size, const Vec3<Real>& p, const Vec3<Real>& v,
                              NearestHit<Real>* hit) {
    const Real radius2 = size.x * size.x, half = size.y;
    offer_side(radius2, half, p, v, hit);
    const auto crosses = abs(v.z) > Real(kMinVal);
    const Real inverse = Real(1) / select(crosses, v.z, Real(1));
    for (int side = -1; side <= 1; side += 2) {
      const Real end = Real(side) * half;
      const Real x = (end - p.z) * inverse, hx = fma(x, v.x, p.x), hy = fma(x, v.y, p.y);
      hit->offer(x, mask_and(crosses, fma(hx, hx, hy * hy) <= radius2));
    }
  }
  template <class Real>
  DS_HD static Vec3<Real> surface_normal(const Vec3<Real>& size, const Vec3<Real>& x) {
    const Real zero(0);
    Real length;
    const Vec3<Real> round = normalize(Vec3<Real>{x.x, x.y, zero}, Vec3<Real>{zero, zero, Real(1)}, &length);
    return select3(abs(x.z) - size.y > length - size.x, Vec3<Real>{zero, zero, sign_nonzero(x.z)}, round);
  }
  template <class Real>
  DS_HD static MaskOf<Real> holds(const Vec3<Real>& size, const Vec3<Real>& p) {
    return mask_and(sqrt(fma(p.x, p.x, p.y * p.y)) <= size.x, abs(p.z) <= size.y);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
