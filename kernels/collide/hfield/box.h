// Boxes over height fields: their own corners, and edges and vertices of the surface against their faces and edges.
//
// A capsule or a sphere without a radius would leave a box by the nearest face, which may be the way down.
//
// solves    the hooks of hooks.h
// equation  edge    over the directions u across the edge and across an edge of the box, upwards, the most of
//                   -u.from - the box's half length along u
//           vertex  of the faces that look down on it the one that is least deep
// source    Ericson 2005, section 5.1
// deviation as pairs.h
// reads     its arguments
// writes    `found` of a FieldScene
// cost      150 operations an edge, 60 a vertex, 60 a corner
#pragma once

#include "kernels/collide/hfield/hooks.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// rate at which an edge that is level crosses the slab between two faces of the box
constexpr double kFieldLevel = 1e-12;

template <>
struct OverField<kBox> : FieldDefaults<kBox> {
  static constexpr bool kBelowEdges = true;

  template <class Scene, class Real>
  DS_STAGE static void corners(Scene* s, const Real& ceiling, const MaskOf<Real>& wanted) {
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

  // Of the directions across the edge and across an edge of the box, the one of those allowed along which the two are
  // farthest apart. Where it is that of a face, the ends of the stretch over that face; else where the edges cross.
  // A capsule against a box would leave by the nearest face
  template <class Scene, class Real>
  DS_STAGE static void edge(Scene* s, const FieldEdge<Real>& e, const MaskOf<Real>& wanted) {
    const Real zero(0), one(1), size[3] = {s->body.size.x, s->body.size.y, s->body.size.z};
    const Vec3<Real> axis[3] = {column(s->body.rot, 0), column(s->body.rot, 1), column(s->body.rot, 2)};
    Real best(-kVast), half = zero;
    Vec3<Real> n{zero, zero, zero}, other = n;
    auto some = all_false<Real>(), separate = some;
    for (int j = 0; j < 3; j++) {
      const Vec3<Real> x = cross(e.along, axis[j]);
      const Real sine = norm(x);
      const auto parallel = sine < Real(kFieldParallel);
      const Vec3<Real> u = x * (select(x.z < zero, -one, one) / select(parallel, one, sine));
      Real reach = zero;
      for (int i = 0; i < 3; i++) reach = reach + (i == j ? zero : abs(dot(u, axis[i])) * size[i]);
      const Real apart = -dot(u, e.from) - reach;
      const auto allowed = mask_and(mask_not(parallel), e.allows(u)),
                 better = mask_and(apart > best, allowed);
      // a box that is wholly below the edge is in the solid, or beside it
      const auto below = apart < reach * Real(-2);
      auto beyond = mask_or(mask_and(mask_not(allowed), apart > zero), below);
      if (any(mask_and(below, allowed)))
        beyond = mask_and(beyond, mask_not(mask_and(allowed, e.leads_under(-u))));
      separate = mask_or(separate, mask_and(mask_not(parallel), beyond));
      best = select(better, apart, best);
      n = select3(better, u, n);
      other = select3(better, axis[j], other);
      half = select(better, size[j], half);
      some = mask_or(some, better);
    }
    some = mask_and(mask_and(some, wanted), mask_and(best < s->margin, mask_not(separate)));
    if (!any(some)) return;
    // the box's edge, and the face that looks down
    Vec3<Real> low{zero, zero, zero}, face = low;
    Real depth = zero, enter = zero, leave = e.length;
    for (int i = 0; i < 3; i++) {
      const Real along_n = dot(n, axis[i]);
      const auto looks = abs(along_n) >= Real(kAlignedCosine);
      face = select3(looks, axis[i] * select(along_n < zero, -one, one), face);
      depth = select(looks, size[i], depth);
      const auto free = dot(axis[i], other) > Real(0.5);
      low = axpy(axis[i], select(free, zero, select(along_n > zero, -size[i], size[i])), low);
      const Real at = dot(axis[i], e.from), rate = dot(axis[i], e.along);
      const auto level = mask_or(looks, abs(rate) < Real(kFieldLevel));
      const Real inv = one / select(level, one, rate), t1 = (-size[i] - at) * inv, t2 = (size[i] - at) * inv;
      enter = select(level, enter, max(enter, min(t1, t2)));
      leave = select(level, leave, min(leave, max(t1, t2)));
      leave = select(mask_and(mask_not(looks), mask_and(level, abs(at) > size[i])), -one, leave);
    }
    const auto flush = mask_and(mask_and(some, depth > zero), e.allows(face));
    if (any(flush)) {
      for (const Real& at : {enter, leave}) {
        const Vec3<Real> x = axpy(e.along, at, e.from);
        const Real dist = -depth - dot(face, x);
        const auto valid =
            mask_and(mask_and(flush, enter <= leave), mask_and(e.within(at), dist < s->margin));
        if (any(valid)) keep_contact(s, valid, dist, axpy(face, dist * Real(0.5), x), face);
      }
    }
    const auto [at, beside] = e.crossing(low - e.from, other);
    auto valid = mask_and(mask_and(some, mask_not(flush)), mask_and(e.within(at), abs(beside) <= half));
    if (any(valid)) keep_contact(s, valid, best, axpy(n, best * Real(0.5), axpy(e.along, at, e.from)), n);
  }

  // of the faces that look down on a vertex that is in front of them, the one that is least deep
  template <class Scene, class Real>
  DS_STAGE static void vertex(Scene* s, const FieldVertex<Real>& v, const MaskOf<Real>& wanted) {
    const Real zero(0), size[3] = {s->body.size.x, s->body.size.y, s->body.size.z};
    Real best(-kVast);
    Vec3<Real> n{zero, zero, zero};
    for (int k = 0; k < 3; k++) {
      const Vec3<Real> axis = column(s->body.rot, k), m = axis * sign_nonzero(axis.z);
      const Real apart = -dot(m, v.at) - size[k];
      auto valid = mask_and(mask_and(apart > best, apart < s->margin), apart >= size[k] * Real(-2));
      for (int i = 0; i < 3; i++)
        if (i != k) valid = mask_and(valid, abs(dot(column(s->body.rot, i), v.at)) <= size[i]);
      valid = mask_and(valid, wanted);
      if (!any(valid)) continue;
      valid = mask_and(valid, v.allows(m));
      best = select(valid, apart, best);
      n = select3(valid, m, n);
    }
    const auto found = best > Real(kSomeFound);
    if (any(found)) keep_contact(s, found, best, axpy(n, best * Real(0.5), v.at), n);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
