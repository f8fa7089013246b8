// Pairs of convex shapes that have no function of their own: hulls and ellipsoids against everything.
//
// solves    contacts of plane-ellipsoid (1), plane-hull (up to 4) and of the pairs of DS_CONVEX_PAIRS (1, 2 or 4)
// equation  plane    the ellipsoid's lowest point, -S^2 n / |S n|; of a hull up to four of the points within the margin, the
//                    lowest and those that stand apart
//           others   the separation of the two shapes (separation.h), then one contact at the nearest points, or several
//                    where faces, edges and lines look at each other (faces.h)
// source    separation.h, faces.h
// deviation all contacts of a pair have the normal of its separation, and the first is as deep as that; the nearest points
//           are one of them where no corner is as deep
// reads     its arguments
// writes    a Manifold
// cost      of a plane a support point, or O(points of the hull); else that of separation.h, and of faces.h
#pragma once

#include "kernels/collide/convex/faces.h"
#include "kernels/collide/convex/separation.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
DS_FN void plane_ellipsoid(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                           Manifold<Real, 1>* out) {
  const Vec3<Real> n = z_axis(a);
  const Vec3<Real> lowest = core_support(ShapeHooks<kEllipsoid>::core_of(b), -rotate_transposed(b.rot, n));
  const Vec3<Real> x = b.pos + rotate(b.rot, lowest);
  const Real dist = dot(x - a.pos, n);
  out->dist[0] = dist;
  out->normal[0] = n;
  out->pos[0] = axpy(n, dist * Real(-0.5), x);
  out->hit[0] = dist < margin;
  out->tangent = {Real(0), Real(0), Real(0)};
}

template <class Real>
DS_FN void plane_mesh(const Shape<Real>& a, const HullShape<Real>& b, const Real& margin,
                      Manifold<Real, 4>* out) {
  const Vec3<Real> n = z_axis(a), local = rotate_transposed(b.rot, n);
  const Real centre = dot(b.pos - a.pos, n);
  Vec3<Real> t1, t2;
  across(local, &t1, &t2);
  const auto at = [&](int i) {
    const Vec3<Real> x = broadcast_triple<Real>(b.hull.points(), i);
    const Real height = dot(local, x), dist = centre + height;
    return FlatPoint<Real>{
        .u = dot(t1, x), .v = dot(t2, x), .height = height, .dist = dist, .there = dist < margin};
  };
  FlatPoint<Real> chosen[4];
  choose_four(b.hull.npoint, at, b.bound, chosen);
  for (int k = 0; k < 4; k++) {
    const FlatPoint<Real>& c = chosen[k];
    const Vec3<Real> x = axpy(t1, c.u, axpy(t2, c.v, local * fma(c.dist, Real(-0.5), c.height)));
    out->dist[k] = c.dist;
    out->normal[k] = n;
    out->pos[k] = b.pos + rotate(b.rot, x);
    out->hit[k] = c.there;
  }
  out->tangent = {Real(0), Real(0), Real(0)};
}

// of the smaller shape: what is no farther beyond an edge of a face is inside
constexpr double kEdgeSlack = 1e-6;
// of the smaller shape: the deepest corner of an overlap is no shallower than the shapes are by more
template <class Real>
constexpr double kMissedDepth = kSingle<Real> ? 1e-4 : 1e-6;

// what a core shows along n, in its frame, in the elements of a mask
template <class Real>
DS_STAGE void show_along(const ConvexCore<Real>& c, const Vec3<Real>& n, const MaskOf<Real>& wanted,
                         ShownFace<Real>* out) {
  clear(out);
  with_shape(c.type, [&](auto shape) { shape.show(c, n, wanted, out); });
}

// points where faces overlap, the deepest first; `several`: the elements that have them
template <class Real>
DS_STAGE void face_contacts(const ConvexPair<Real>& pair, const Separation<Real>& s, const Real& margin,
                            const MaskOf<Real>& near, const Vec3<Real>& t1, const Vec3<Real>& t2,
                            FlatPoint<Real> (&chosen)[4]) {
  const Real one(1);
  const Vec3<Real> back = -rotate_transposed(pair.rot, s.n);
  SeenFace<Real> a, b;
  for (auto& c : chosen) c.there = one < one;
  show_along(pair.a, s.n, near, &a.shown);
  const auto a_shows = mask_and(near, a.shown.there);
  if (!any(a_shows)) return;
  show_along(pair.b, back, a_shows, &b.shown);
  const auto facing = mask_and(a_shows, b.shown.there);
  if (!any(facing)) return;
  b.shown.normal = rotate(pair.rot, b.shown.normal);
  for (int k = 0; k < b.shown.count_max; k++)
    b.shown.corner[k] = pair.shift + rotate(pair.rot, b.shown.corner[k]);

  const Real slack = pair.small * Real(kEdgeSlack);
  flatten(t1, t2, s.n, one, slack, &a);
  flatten(t1, t2, s.n, -one, slack, &b);
  FoundPoints<Real> found;
  cut_edges(a, b, one, margin, &found);
  cut_edges(b, a, -one, margin, &found);
  shared_stretch(a, b, margin, &found);
  auto& points = found.point;
  for (int i = 0; i < found.count; i++) points[i].there = mask_and(points[i].there, facing);
  // the nearest points stand for the deepest where no corner is as deep
  Real deepest(kVast);
  for (int i = 0; i < found.count; i++)
    deepest = select(points[i].there, min(deepest, points[i].dist), deepest);
  const auto missed = deepest > s.dist + pair.small * Real(kMissedDepth<Real>);
  const Vec3<Real> middle = (s.on_a + s.on_b) * Real(0.5);
  found.add() = {.u = dot(t1, middle),
                 .v = dot(t2, middle),
                 .height = dot(s.n, middle),
                 .dist = s.dist,
                 .there = mask_and(facing, missed)};
  choose_four(
      found.count, [&](int i) { return points[i]; }, pair.small, chosen);
  chosen[0].dist = s.dist;
}

// up to `most` contacts; the first one is as deep as the shapes are
template <class Real>
DS_STAGE void convex_manifold(const ConvexPair<Real>& pair, const Vec3<Real>& origin, const Mat3<Real>& rot,
                              const Real& margin, int most, Manifold<Real, 4>* out) {
  Separation<Real> s;
  convex_separation(pair, margin, &s);
  clear(out);
  const auto near = s.dist < margin;
  if (!any(near)) return;
  const Vec3<Real> normal = rotate(rot, s.n);
  const Vec3<Real> middle = (s.on_a + s.on_b) * Real(0.5);
  out->dist[0] = s.dist;
  out->pos[0] = origin + rotate(rot, middle);
  out->hit[0] = near;
  for (int k = 0; k < 4; k++) out->normal[k] = normal;
  if (most == 1) return;
  Vec3<Real> t1, t2;
  across(s.n, &t1, &t2);
  FlatPoint<Real> chosen[4];
  face_contacts(pair, s, margin, near, t1, t2, chosen);
  for (int k = 0; k < most; k++) {
    const FlatPoint<Real>& c = chosen[k];
    const Vec3<Real> x = axpy(t1, c.u, axpy(t2, c.v, s.n * c.height));
    out->dist[k] = select(c.there, c.dist, out->dist[k]);
    out->pos[k] = select3(c.there, origin + rotate(rot, x), out->pos[k]);
    out->hit[k] = mask_or(out->hit[k], c.there);
  }
}

template <int kA, int kB, int K, class A, class B, class Real>
DS_FN void convex_convex(const A& a, const B& b, const Real& margin, Manifold<Real, K>* out) {
  const auto pair = make_convex_pair(a, ShapeHooks<kA>::core_of(a), b, ShapeHooks<kB>::core_of(b));
  Manifold<Real, 4> m;
  convex_manifold(pair, a.pos, a.rot, margin, K, &m);
  for (int k = 0; k < K; k++) {
    out->dist[k] = m.dist[k];
    out->pos[k] = m.pos[k];
    out->normal[k] = m.normal[k];
    out->hit[k] = m.hit[k];
  }
  out->tangent = m.tangent;
}

// X(function, type of the first shape, type of the second)
#define DS_CONVEX_PAIRS(X)                       \
  X(sphere_ellipsoid, kSphere, kEllipsoid)       \
  X(capsule_ellipsoid, kCapsule, kEllipsoid)     \
  X(ellipsoid_ellipsoid, kEllipsoid, kEllipsoid) \
  X(ellipsoid_cylinder, kEllipsoid, kCylinder)   \
  X(ellipsoid_box, kEllipsoid, kBox)             \
  X(ellipsoid_mesh, kEllipsoid, kMesh)           \
  X(sphere_mesh, kSphere, kMesh)                 \
  X(capsule_mesh, kCapsule, kMesh)               \
  X(cylinder_mesh, kCylinder, kMesh)             \
  X(box_mesh, kBox, kMesh)                       \
  X(mesh_mesh, kMesh, kMesh)
#define DS_CONVEX_PAIR(function, first, second)                            \
  template <class A, class B, class Real>                                  \
  DS_FN void function(const A& a, const B& b, const Real& margin,          \
                      Manifold<Real, kPairCapacity<first, second>>* out) { \
    convex_convex<first, second>(a, b, margin, out);                       \
  }
DS_CONVEX_PAIRS(DS_CONVEX_PAIR)
#undef DS_CONVEX_PAIR

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
