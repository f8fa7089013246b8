// A shape over a height field: the contacts that it keeps, those of the corners of boxes and hulls, and those with
// faces.
//
// solves    the contacts with faces of hfield.h
// equation  that of hfield.h under `face`
// source    as hfield.h
// deviation as hfield.h
// reads     its arguments; of the height field hfield_height; of a hull its points
// writes    `found` of a FieldScene; plane_contacts a Manifold
// cost      as hfield.h says of planar ground and of a cell
#pragma once

#include "kernels/collide/convex/pairs.h"
#include "kernels/collide/hfield_grid.h"
#include "kernels/collide/plane.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr double kFaceSlack = 1e-3;    // of the shape's size: by which a face is larger than its triangle
constexpr double kFieldSame = 0.9999;  // cosine of the normals of contacts that are one where they are close

// a shape over a grid, seen from its centre along the axes of the grid
template <class Real, class Body, int K>
struct FieldScene {
  GridView<Real> view;
  Body body;         // at the origin
  Vec3<Real> reach;  // half lengths of its bounding box, the margin included
  Real margin, size;
  Manifold<Real, K> found;
};

// one contact more. A contact at the same point with the same normal gives way if it is shallower; if all slots are taken,
// the shallowest does
template <class Scene, class Real>
DS_STAGE void keep_contact(Scene* s, const MaskOf<Real>& valid, const Real& dist, const Vec3<Real>& pos,
                           const Vec3<Real>& normal) {
  constexpr int K = decltype(s->found)::kCapacity;
  auto& m = s->found;
  const Real none(-1), zero(0), near = square(s->size * Real(kContactsApart));
  Real same = none, free = none, worst = none, same_dist(0), worst_dist(-kVast);
  for (int k = 0; k < K; k++) {
    const Vec3<Real> d = m.pos[k] - pos;
    const auto one = mask_and(mask_and(dot(d, d) <= near, dot(m.normal[k], normal) >= Real(kFieldSame)),
                              mask_and(m.hit[k], same < zero));
    same = select(one, Real(k), same);
    same_dist = select(one, m.dist[k], same_dist);
    free = select(mask_and(mask_not(m.hit[k]), free < zero), Real(k), free);
    const auto shallower = mask_and(m.hit[k], m.dist[k] >= worst_dist);
    worst = select(shallower, Real(k), worst);
    worst_dist = select(shallower, m.dist[k], worst_dist);
  }
  const Real other = select(free >= zero, free, select(dist < worst_dist, worst, none));
  const Real slot = select(same >= zero, select(dist < same_dist, same, none), other);
  for (int k = 0; k < K; k++) {
    const auto here = mask_and(valid, slot == Real(k));
    m.dist[k] = select(here, dist, m.dist[k]);
    m.pos[k] = select3(here, pos, m.pos[k]);
    m.normal[k] = select3(here, normal, m.normal[k]);
    m.hit[k] = mask_or(m.hit[k], here);
  }
}

// corners of boxes and hulls ---------------------------------------------------------------------------------

template <int kType, class Scene, class Real>
DS_STAGE void box_corners(Scene* s, const Real& ceiling, const MaskOf<Real>& wanted) {
  const auto& b = s->body;
  for (int k = 0; k < 8; k++) {
    const Vec3<Real> size{k & 1 ? b.size.x : -b.size.x, k & 2 ? b.size.y : -b.size.y,
                          k & 4 ? b.size.z : -b.size.z};
    const Vec3<Real> p = rotate(b.rot, size);
    const auto low = mask_and(wanted, p.z < ceiling);
    if (!any(low)) continue;
    const FaceUnder<Real> f = face_under(s->view, p);
    // four of them, as on a plane
    const auto valid =
        mask_and(mask_and(low, mask_and(f.there, f.dist < s->margin)), dot(f.normal, p) <= Real(0));
    if (any(valid)) keep_contact(s, valid, f.dist, axpy(f.normal, f.dist * Real(-0.5), p), f.normal);
  }
}

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

// faces ------------------------------------------------------------------------------------------------------

// a triangle of a cell: its corner (i, j), its slopes, and on which side of the diagonal it is
template <class Real>
struct FieldFace {
  Vec3<Real> corner;
  Real slope_x, slope_y;
  bool upper;
};

// whether a point is over the triangle or under it, or beside it by less than the slack
template <class Real>
DS_FN MaskOf<Real> over_face(const GridView<Real>& view, const FieldFace<Real>& t, const Vec3<Real>& p,
                             const Real& slack) {
  const Real u = (p.x - t.corner.x) / view.dx, w = (p.y - t.corner.y) / view.dy, one(1);
  const Real su = slack / view.dx, sw = slack / view.dy;
  const auto in_x = mask_and(u >= -su, u <= one + su), in_y = mask_and(w >= -sw, w <= one + sw);
  const Real side = t.upper ? w - u : u - w;
  return mask_and(mask_and(in_x, in_y), side >= -(su + sw));
}

// the pair function of two types, either way round; the normal points from a to b
template <int kA, int kB, class A, class B, class Real, int K>
DS_HD void collide_types(const A& a, const B& b, const Real& margin, Manifold<Real, K>* m) {
#define DS_CALL(first, second, function, capacity, traits)    \
  if constexpr (first == kA && second == kB)                  \
    function(a, b, margin, m);                                \
  else if constexpr (first == kB && second == kA) {           \
    function(b, a, margin, m);                                \
    for (int k = 0; k < K; k++) m->normal[k] = -m->normal[k]; \
  }
  DS_PAIRS(DS_CALL)
#undef DS_CALL
}

// the contacts of a plane through a point
template <int kType, class Body, class Real, int K>
DS_FN void plane_contacts(const Vec3<Real>& point, const Vec3<Real>& n, const Body& body, const Real& margin,
                          Manifold<Real, K>* m) {
  const Real zero(0);
  const Shape<Real> plane{point, {{zero, zero, n.x, zero, zero, n.y, zero, zero, n.z}}, {zero, zero, zero}};
  collide_types<kPlane, kType>(plane, body, margin, m);
}

template <int kType, class Scene, class Real>
DS_STAGE void face_contacts(Scene* s, const FieldFace<Real>& t, const MaskOf<Real>& wanted) {
  const Real zero(0), half(0.5);
  const Vec3<Real> n = slope_normal(t.slope_x, t.slope_y);
  constexpr int kMost = kPairCapacity<kPlane, kType>;
  Manifold<Real, kMost> m;
  plane_contacts<kType>(t.corner, n, s->body, s->margin, &m);
  auto some = m.hit[0];
  for (int k = 1; k < kMost; k++) some = mask_or(some, m.hit[k]);
  if (!any(mask_and(some, wanted))) return;
  const Real slack = (s->size + s->margin) * Real(kFaceSlack);
  const Vec3<Real> centre{zero, zero, zero};
  const auto below = dot(n, t.corner) > zero;
  const auto inside = mask_and(below, over_face(s->view, t, centre, slack));
  for (int k = 0; k < kMost; k++) {
    auto valid = mask_and(wanted, m.hit[k]);
    if (!any(valid)) continue;
    const Real reach = m.dist[k] * half;
    // the point of the plane, seen from above; or the point of the shape
    const auto above = kType == kCapsule ? m.dist[k] >= -s->body.size.x : mask_not(below);
    const auto over = mask_or(mask_and(above, over_face(s->view, t, axpy(n, -reach, m.pos[k]), slack)),
                              over_face(s->view, t, axpy(n, reach, m.pos[k]), slack));
    valid = mask_and(valid, mask_or(inside, over));
    if (any(valid)) keep_contact(s, valid, m.dist[k], m.pos[k], n);
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
