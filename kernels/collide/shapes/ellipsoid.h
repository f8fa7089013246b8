// An ellipsoid: curved everywhere, so that each direction has one farthest point.
//
// solves    the hooks of hooks.h
// equation  S = diag(half axes):  support S^2 n / |S n|;  u'H v = (Su.Sv - (Sm.Su)(Sm.Sv) / |Sm|^2) / |Sm|
//           a ray meets it where |S^-1 (p + t v)| = 1;  the normal is along S^-2 x
// source    van den Bergen 2001; own derivation for the curvature
// deviation none
// reads     its arguments
// writes    its arguments
// cost      O(1)
#pragma once

#include "kernels/collide/shapes/hooks.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <>
struct ShapeHooks<kEllipsoid> : ShapeDefaults<kEllipsoid> {
  template <class Real>
  DS_HD static Vec3<Real> support(const ConvexCore<Real>& c, const Vec3<Real>& n, unsigned) {
    const Vec3<Real> s{c.size.x * n.x, c.size.y * n.y, c.size.z * n.z};
    const Real inv = Real(1) / sqrt(max(dot(s, s), Real(kFiniteInverse)));
    return {c.size.x * s.x * inv, c.size.y * s.y * inv, c.size.z * s.z * inv};
  }
  template <class Real>
  DS_HD static void add_curvature(const Vec3<Real>& size, const Vec3<Real>& m, const Vec3<Real>& u,
                                  const Vec3<Real>& v, Curvature<Real>* h) {
    const auto scaled = [&](const Vec3<Real>& x) {
      return Vec3<Real>{size.x * x.x, size.y * x.y, size.z * x.z};
    };
    const Vec3<Real> sm = scaled(m), su = scaled(u), sv = scaled(v);
    const Real inv = Real(1) / sqrt(max(dot(sm, sm), Real(kFiniteInverse)));
    const Real mu = dot(sm, su) * inv, mv = dot(sm, sv) * inv;
    h->xx = fma(fma(-mu, mu, dot(su, su)), inv, h->xx);
    h->xy = fma(fma(-mu, mv, dot(su, sv)), inv, h->xy);
    h->yy = fma(fma(-mv, mv, dot(sv, sv)), inv, h->yy);
  }

  template <class Real>
  DS_HD static void offer_ray(const Vec3<Real>& size, const Vec3<Real>& p, const Vec3<Real>& v,
                              NearestHit<Real>* hit) {
    const Vec3<Real> ps{p.x / size.x, p.y / size.y, p.z / size.z};
    const Vec3<Real> vs{v.x / size.x, v.y / size.y, v.z / size.z};
    hit->offer_roots(dot(vs, vs), dot(vs, ps), dot(ps, ps) - Real(1));
  }
  template <class Real>
  DS_HD static Vec3<Real> surface_normal(const Vec3<Real>& size, const Vec3<Real>& x) {
    Real length;
    return normalize(Vec3<Real>{x.x / (size.x * size.x), x.y / (size.y * size.y), x.z / (size.z * size.z)},
                     Vec3<Real>{Real(0), Real(0), Real(1)}, &length);
  }
  template <class Real>
  DS_HD static MaskOf<Real> holds(const Vec3<Real>& size, const Vec3<Real>& p) {
    return norm(Vec3<Real>{p.x / size.x, p.y / size.y, p.z / size.z}) <= Real(1);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
