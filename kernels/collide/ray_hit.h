// What shapes offer to a ray: where it may first meet them.
//
// solves    the least t >= 0 of those offered; -1 where there is none
// equation  roots of quadratics; a triangle's point a + u ab + w ac = p + t v with u, w >= 0 and u + w <= 1
// source    MuJoCo's documentation, mj_ray; a triangle after Moller and Trumbore 1997
// deviation none
// reads     its arguments
// writes    none
// cost      O(1)
#pragma once

#include "kernels/base/spatial.h"

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
  DS_HD void offer_roots(const Real& a, const Real& b, const Real& c) {
    offer_roots(a, b, c, [](const Real&) { return all_true<Real>(); });
  }
};

// the side of a cylinder about z, between -half and half; p and v in its frame
template <class Real>
DS_FN void offer_side(const Real& radius2, const Real& half, const Vec3<Real>& p, const Vec3<Real>& v,
                      NearestHit<Real>* hit) {
  hit->offer_roots(fma(v.x, v.x, v.y * v.y), fma(v.x, p.x, v.y * p.y), fma(p.x, p.x, p.y * p.y) - radius2,
                   [&](const Real& x) { return abs(fma(x, v.z, p.z)) <= half; });
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

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
