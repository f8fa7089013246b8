// What shapes do over a height field, and what one does that says nothing else: its pairs with a plane, a capsule and a sphere
// stand for the faces, edges and vertices of the surface.
//
// A specialisation of OverField in a file of its own, included by pairs.h, does otherwise. Its hooks are
//
//   planar            contacts where the cells under the shape lie in one plane, through `point` with the normal n
//   corners           of a shape with kShapeCorners: contacts of its own corners with the faces under them
//   counts_from_above whether a contact with a face counts where the point of the plane is over its triangle
//   edge, vertex      contacts with an edge or a vertex; kBelowEdges, where an edge above it may have it in the solid below
//
// solves    as pairs.h
// equation  as pairs.h
// source    as pairs.h
// deviation as pairs.h
// reads     its arguments
// writes    `found` of a FieldScene; a Manifold
// cost      that of the pair functions
#pragma once

#include "kernels/collide/capsule.h"
#include "kernels/collide/capsule_box.h"
#include "kernels/collide/capsule_cylinder.h"
#include "kernels/collide/convex/pairs.h"
#include "kernels/collide/hfield/scene.h"
#include "kernels/collide/plane.h"
#include "kernels/collide/sphere.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

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

template <int kType>
struct FieldDefaults {
  static constexpr bool kBelowEdges = false;

  template <class Scene, int K, class Real>
  DS_HD static void planar(Scene* s, const Vec3<Real>& point, const Vec3<Real>& n, const MaskOf<Real>& wanted,
                           Manifold<Real, K>* out) {
    constexpr int kMost = kPairCapacity<kPlane, kType>;
    Manifold<Real, kMost> m;
    plane_contacts<kType>(point, n, s->body, s->margin, &m);
    for (int k = 0; k < kMost; k++) {
      out->dist[k] = m.dist[k];
      out->pos[k] = m.pos[k];
      out->normal[k] = n;
      out->hit[k] = mask_and(wanted, m.hit[k]);
    }
  }
  template <class Scene, class Real>
  DS_HD static void corners(Scene*, const Real&, const MaskOf<Real>&) {}
  // `below`: the shape's centre is below the face
  template <class Scene, class Real>
  DS_HD static MaskOf<Real> counts_from_above(const Scene&, const Real&, const MaskOf<Real>& below) {
    return mask_not(below);
  }

  // a capsule without a radius
  template <class Scene, class Real>
  DS_HD static void edge(Scene* s, const FieldEdge<Real>& e, const MaskOf<Real>& wanted) {
    const Real half(0.5), zero(0);
    Shape<Real> edge;
    Vec3<Real> t1, t2;
    across(e.along, &t1, &t2);
    edge.pos = (e.from + e.to) * half;
    edge.size = {zero, e.length * half, zero};
    edge.rot = from_columns(t1, t2, e.along);
    constexpr int kMost = kPairCapacity<kCapsule, kType>;
    Manifold<Real, kMost> m;
    collide_types<kCapsule, kType>(edge, s->body, s->margin, &m);
    for (int k = 0; k < kMost; k++) {
      auto valid = mask_and(wanted, m.hit[k]);
      if (!any(valid)) continue;
      const Vec3<Real>& n = m.normal[k];
      const Real at = dot(e.along, axpy(n, m.dist[k] * Real(-0.5), m.pos[k]) - e.from);
      valid = mask_and(valid, mask_and(e.within(at), e.allows(n)));
      if (any(valid)) keep_contact(s, valid, m.dist[k], m.pos[k], n);
    }
  }
  // a sphere without a radius
  template <class Scene, class Real>
  DS_HD static void vertex(Scene* s, const FieldVertex<Real>& v, const MaskOf<Real>& wanted) {
    const Real zero(0), one(1);
    const Shape<Real> point{v.at, {{one, zero, zero, zero, one, zero, zero, zero, one}}, {zero, zero, zero}};
    Manifold<Real, 1> m;
    collide_types<kSphere, kType>(point, s->body, s->margin, &m);
    auto valid = mask_and(wanted, m.hit[0]);
    if (!any(valid)) return;
    valid = mask_and(valid, v.allows(m.normal[0]));
    if (any(valid)) keep_contact(s, valid, m.dist[0], m.pos[0], m.normal[0]);
  }
};

template <int kType>
struct OverField : FieldDefaults<kType> {};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
