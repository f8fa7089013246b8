// Where a ray first meets a shape, what way the surface faces there, and whether a point is inside one.
//
// solves    the least t >= 0 with p + t v on the surface of a shape at the origin; -1 where there is none. Of a point of the
//           surface the normal, outwards
// equation  roots of quadratics; planes of boxes and caps. A ray from inside meets the far wall
// source    MuJoCo's documentation, mj_ray; a triangle after Moller and Trumbore 1997
// deviation none
// reads     none
// writes    none
// cost      O(1)
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the least number that is not negative, of those offered
template <class Real>
struct NearestHit {
  using Mask = MaskOf<Real>;
  Real t = Real(-1);
  DS_HD void offer(const Real& x, const Mask& valid) {
    const auto nearer = mask_or(t < Real(0), x < t);
    t = select(mask_and(mask_and(valid, x >= Real(0)), nearer), x, t);
  }
  // roots of a x^2 + 2 b x + c of which keep(x) holds
  template <class Keep>
  DS_HD void offer_roots(const Real& a, const Real& b, const Real& c, Keep keep) {
    const Real det = fma(b, b, -(a * c));
    const auto real = mask_and(det >= Real(0), a >= Real(kMinVal));
    const Real root = sqrt(select(real, det, Real(0))), inverse = Real(1) / select(real, a, Real(1));
    const Real near = (-b - root) * inverse, far = (-b + root) * inverse;
    offer(near, mask_and(real, keep(near)));
    offer(far, mask_and(real, keep(far)));
  }
};

template <class Real>
DS_FN void offer_box(const Vec3<Real>& size, const Vec3<Real>& p, const Vec3<Real>& v,
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

template <class Real>
DS_FN void offer_capsule(const Vec3<Real>& size, const Vec3<Real>& p, const Vec3<Real>& v, bool capped,
                         NearestHit<Real>* hit) {
  const Real radius2 = size.x * size.x, half = size.y;
  hit->offer_roots(fma(v.x, v.x, v.y * v.y), fma(v.x, p.x, v.y * p.y), fma(p.x, p.x, p.y * p.y) - radius2,
                   [&](const Real& x) { return abs(fma(x, v.z, p.z)) <= half; });
  const auto crosses = abs(v.z) > Real(kMinVal);
  const Real inverse = Real(1) / select(crosses, v.z, Real(1));
  for (int side = -1; side <= 1; side += 2) {
    const Real end = Real(side) * half;
    if (capped) {
      const Vec3<Real> d{p.x, p.y, p.z - end};
      hit->offer_roots(dot(v, v), dot(v, d), dot(d, d) - radius2,
                       [&](const Real& x) { return (fma(x, v.z, p.z) - end) * Real(side) >= Real(0); });
    } else {
      const Real x = (end - p.z) * inverse, hx = fma(x, v.x, p.x), hy = fma(x, v.y, p.y);
      hit->offer(x, mask_and(crosses, fma(hx, hx, hy * hy) <= radius2));
    }
  }
}

// six times the volume between a triangle and a ray of unit length below which the ray lies in its plane
constexpr double kLevelTriangle = 1e-20;
// a triangle of corners a, b, c, from either side
template <class Real>
DS_FN void offer_triangle(const Vec3<Real>& a, const Vec3<Real>& b, const Vec3<Real>& c, const Vec3<Real>& p,
                          const Vec3<Real>& v, NearestHit<Real>* hit) {
  const Vec3<Real> ab = b - a, ac = c - a, s = p - a, h = cross(v, ac), q = cross(s, ab);
  const Real det = dot(ab, h), zero(0), one(1);
  const auto crosses = abs(det) > Real(kLevelTriangle);
  const Real inverse = one / select(crosses, det, one);
  const Real u = dot(s, h) * inverse, w = dot(v, q) * inverse;
  const auto within = mask_and(u >= zero, mask_and(w >= zero, u + w <= one));
  hit->offer(dot(ac, q) * inverse, mask_and(crosses, within));
}

// p and v in the shape's frame; planes are met from above alone, and where their size is not zero within it
template <class Real>
DS_FN Real ray_shape(int type, const Vec3<Real>& size, const Vec3<Real>& p, const Vec3<Real>& v) {
  NearestHit<Real> hit;
  const auto any_root = [](const Real&) { return all_true<Real>(); };
  if (type == kSphere) {
    hit.offer_roots(dot(v, v), dot(v, p), dot(p, p) - size.x * size.x, any_root);
  } else if (type == kEllipsoid) {
    const Vec3<Real> ps{p.x / size.x, p.y / size.y, p.z / size.z};
    const Vec3<Real> vs{v.x / size.x, v.y / size.y, v.z / size.z};
    hit.offer_roots(dot(vs, vs), dot(vs, ps), dot(ps, ps) - Real(1), any_root);
  } else if (type == kCapsule || type == kCylinder) {
    offer_capsule(size, p, v, type == kCapsule, &hit);
  } else if (type == kBox) {
    offer_box(size, p, v, &hit);
  } else if (type == kPlane) {
    const auto down = v.z < Real(-kMinVal);
    const Real x = -p.z / select(down, v.z, Real(1)), zero(0);
    const auto wide = mask_or(size.x <= zero, abs(fma(x, v.x, p.x)) <= size.x);
    const auto deep = mask_or(size.y <= zero, abs(fma(x, v.y, p.y)) <= size.y);
    hit.offer(x, mask_and(down, mask_and(wide, deep)));
  }
  return hit.t;
}

// at a point of the surface, in the shape's frame; of edges that of either side
template <class Real>
DS_FN Vec3<Real> shape_normal(int type, const Vec3<Real>& size, const Vec3<Real>& x) {
  const Real zero(0), one(1);
  const Vec3<Real> up{zero, zero, one};
  Real length;
  if (type == kSphere) return normalize(x, up, &length);
  if (type == kEllipsoid)
    return normalize(Vec3<Real>{x.x / (size.x * size.x), x.y / (size.y * size.y), x.z / (size.z * size.z)},
                     up, &length);
  if (type == kCapsule)
    return normalize(Vec3<Real>{x.x, x.y, x.z - clamp(x.z, -size.y, size.y)}, up, &length);
  if (type == kCylinder) {
    const Vec3<Real> round = normalize(Vec3<Real>{x.x, x.y, zero}, up, &length);
    return select3(abs(x.z) - size.y > length - size.x, Vec3<Real>{zero, zero, sign_nonzero(x.z)}, round);
  }
  if (type != kBox) return up;
  const Real a = abs(x.x) - size.x, b = abs(x.y) - size.y, c = abs(x.z) - size.z;
  const auto by_x = mask_and(a >= b, a >= c), by_y = mask_and(mask_not(by_x), b >= c);
  return {select(by_x, sign_nonzero(x.x), zero), select(by_y, sign_nonzero(x.y), zero),
          select(mask_or(by_x, by_y), zero, sign_nonzero(x.z))};
}

// whether a point, in the shape's frame, is inside it
template <class Real>
DS_FN MaskOf<Real> inside_shape(int type, const Vec3<Real>& size, const Vec3<Real>& p) {
  const Real one(1);
  if (type == kSphere) return norm(p) <= size.x;
  if (type == kCapsule) return norm(Vec3<Real>{p.x, p.y, p.z - clamp(p.z, -size.y, size.y)}) <= size.x;
  if (type == kEllipsoid) return norm(Vec3<Real>{p.x / size.x, p.y / size.y, p.z / size.z}) <= one;
  if (type == kCylinder) return mask_and(sqrt(fma(p.x, p.x, p.y * p.y)) <= size.x, abs(p.z) <= size.y);
  return mask_and(abs(p.x) <= size.x, mask_and(abs(p.y) <= size.y, abs(p.z) <= size.z));
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
