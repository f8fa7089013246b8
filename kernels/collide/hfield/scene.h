// A shape over a height field: the contacts that it keeps, and what of the surface it may meet, triangles, edges and vertices.
//
// solves    which points are over a triangle, which normals an edge or a vertex allows; the contacts that stay
// equation  that of pairs.h
// source    as pairs.h
// deviation as pairs.h
// reads     its arguments
// writes    `found` of a FieldScene
// cost      10 to 30 operations; of a contact that is kept 15 a slot
#pragma once

#include "kernels/collide/hfield/grid.h"
#include "kernels/collide/manifold.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr double kFaceSlack = 1e-3;    // of the shape's size: by which a face is larger than its triangle
constexpr double kFieldSame = 0.9999;  // cosine of the normals of contacts that are one where they are close
constexpr double kFieldCone = 1e-4;    // sine by which a normal may lean into the surface
constexpr double kFieldEnd = 1e-5;     // of an edge: what is nearer to an end belongs to the vertex
// above this a greatest number has been found: the search for it begins at -kVast
constexpr double kSomeFound = -1e29;

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

// a corner of the grid beside an edge or a vertex; beyond the border the surface falls
template <class Real>
struct Beside {
  Vec3<Real> at;
  MaskOf<Real> there;
};

// sine between an edge and one of the shape that have no direction across both
constexpr double kFieldParallel = 1e-4;
// squared sine between an edge and another line: what is divided by is no smaller
constexpr double kFieldLeastSine2 = 1e-9;
// where two lines pass each other, along each
template <class Real>
struct Crossing {
  Real at, beside;
};

// an edge of the grid
template <class Real>
struct FieldEdge {
  Vec3<Real> from, to, along;  // along: unit
  Real length;
  Beside<Real> far1, far2;

  // across it, to a far corner
  DS_FN Vec3<Real> across_to(const Beside<Real>& far) const {
    const Vec3<Real> w = far.at - from;
    return axpy(along, -dot(along, w), w);
  }
  // whether a normal leads away from both triangles beside it
  DS_FN MaskOf<Real> allows(const Vec3<Real>& n) const {
    const auto away = [&](const Beside<Real>& far) {
      const Vec3<Real> side = across_to(far);
      return mask_or(mask_not(far.there), dot(n, side) <= norm(side) * Real(kFieldCone));
    };
    return mask_and(n.z >= Real(0), mask_and(away(far1), away(far2)));
  }
  // whether a unit vector across the edge leads into the solid below it, between both triangles
  DS_FN MaskOf<Real> leads_under(const Vec3<Real>& d) const {
    Vec3<Real> side1 = across_to(far1), side2 = across_to(far2);
    side1 = side1 * (Real(1) / norm(side1)), side2 = side2 * (Real(1) / norm(side2));
    const Real between = dot(side1, side2);
    return mask_and(mask_and(far1.there, far2.there),
                    mask_and(dot(d, side1) >= between, dot(d, side2) >= between));
  }
  // along the edge, and along a line whose point is at d from the edge's start
  DS_FN Crossing<Real> crossing(const Vec3<Real>& d, const Vec3<Real>& line) const {
    const Real cosine = dot(along, line), a = dot(along, d), b = dot(line, d);
    const Real at = fma(-cosine, b, a) / max(fma(-cosine, cosine, Real(1)), Real(kFieldLeastSine2));
    return {at, fma(at, cosine, -b)};
  }
  // ends are vertices
  DS_FN MaskOf<Real> within(const Real& at) const {
    return mask_and(at >= length * Real(kFieldEnd), at <= length * Real(1 - kFieldEnd));
  }
};

// a vertex of the grid
template <class Real>
struct FieldVertex {
  Vec3<Real> at;
  Beside<Real> around[6];

  DS_FN MaskOf<Real> allows(const Vec3<Real>& n) const {
    auto allowed = n.z >= Real(0);
    for (const Beside<Real>& c : around) {
      const Vec3<Real> u = c.at - at;
      allowed = mask_and(allowed, mask_or(mask_not(c.there), dot(n, u) <= norm(u) * Real(kFieldCone)));
    }
    return allowed;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
