// Hulls over height fields: four of their own corners, and vertices of the surface that are inside them.
//
// solves    the hooks of hooks.h
// equation  vertex  the face of the hull that looks down on it and is least deep
// source    Ericson 2005, section 5.1
// deviation as pairs.h; corners stay as in choose_four (convex/faces.h)
// reads     its arguments; what each_hull.h does
// writes    `found` of a FieldScene; a Manifold
// cost      20 operations a point, 15 a face for each vertex
#pragma once

#include "kernels/collide/hfield/hooks.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// `under`: the face under a point, as a FaceUnder
template <class Scene, class Under>
DS_STAGE void hull_corners(Scene* s, const Under& under, const decltype(Scene::margin)& ceiling) {
  using Real = decltype(s->margin);
  const auto& h = s->body.hull;
  const auto at = [&](int i) {
    const Vec3<Real> p = rotate(s->body.rot, broadcast_triple<Real>(h.points(), i));
    FlatPoint<Real> point{p.x, p.y, p.z, Real(0), p.z < ceiling};
    if (any(point.there)) {
      const FaceUnder<Real> f = under(p);
      point.dist = f.dist;
      point.there = mask_and(point.there, mask_and(f.there, f.dist < s->margin));
    }
    return point;
  };
  FlatPoint<Real> chosen[4];
  choose_four(h.npoint, at, s->size, chosen);
  for (const FlatPoint<Real>& c : chosen) {
    if (!any(c.there)) continue;
    const Vec3<Real> p{c.u, c.v, c.height};
    const FaceUnder<Real> f = under(p);
    keep_contact(s, c.there, f.dist, axpy(f.normal, f.dist * Real(-0.5), p), f.normal);
  }
}

template <>
struct OverField<kMesh> : FieldDefaults<kMesh> {
  template <class Scene, int K, class Real>
  DS_HD static void planar(Scene* s, const Vec3<Real>& point, const Vec3<Real>& n, const MaskOf<Real>& wanted,
                           Manifold<Real, K>* out) {
    clear(&s->found);
    hull_corners(
        s,
        [&](const Vec3<Real>& p) {
          return FaceUnder<Real>{dot(n, p - point), n, wanted};
        },
        Real(kVast));
    *out = s->found;
  }
  template <class Scene, class Real>
  DS_HD static void corners(Scene* s, const Real& ceiling, const MaskOf<Real>& wanted) {
    const auto under = [&](const Vec3<Real>& p) {
      FaceUnder<Real> f = face_under(s->view, p);
      f.there = mask_and(f.there, wanted);
      return f;
    };
    hull_corners(s, under, ceiling);
  }
  template <class Scene, class Real>
  DS_STAGE static void vertex(Scene* s, const FieldVertex<Real>& v, const MaskOf<Real>& wanted) {
    const Real zero(0);
    const auto& h = s->body.hull;
    const Vec3<Real> local = rotate_transposed(s->body.rot, v.at);
    Real best(-kVast), beyond(-kVast);
    Vec3<Real> n{zero, zero, zero};
    for (int f = 0; f < h.nface; f++) {
      const Vec3<Real> out = broadcast_triple<Real>(h.normals(), f);
      const Real height = dot(out, local - broadcast_triple<Real>(h.points(), h.corner[h.corner_adr[f]]));
      const Vec3<Real> m = -rotate(s->body.rot, out);
      auto allowed = mask_and(height > best, m.z >= zero);
      if (any(mask_and(allowed, wanted))) allowed = mask_and(allowed, v.allows(m));
      const auto taken = mask_and(allowed, wanted);
      beyond = max(beyond, select(taken, best, height));
      best = select(taken, height, best);
      n = select3(taken, m, n);
    }
    const auto found = mask_and(mask_and(best > Real(kSomeFound), best < s->margin), beyond <= zero);
    if (any(found)) keep_contact(s, found, best, axpy(n, best * Real(0.5), v.at), n);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
