// Capsules over height fields: beside what their pairs find, those whose axis has passed an edge.
//
// solves    the hooks of hooks.h
// equation  a capsule whose axis is in the solid below an edge leaves it across both: n = along x axis, upwards
// source    Ericson 2005, section 5.1
// deviation as pairs.h
// reads     its arguments
// writes    `found` of a FieldScene
// cost      60 operations an edge
#pragma once

#include "kernels/collide/hfield/hooks.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// A capsule whose axis has passed an edge, in the solid below it, leaves it across both
template <class Scene, class Real>
DS_STAGE void edge_passed(Scene* s, const FieldEdge<Real>& e, const MaskOf<Real>& wanted) {
  const Real zero(0), one(1);
  const Vec3<Real> axis = column(s->body.rot, 2), x = cross(e.along, axis);
  const Real sine = norm(x);
  const auto crosses = sine >= Real(kFieldParallel);
  const Vec3<Real> n = x * (select(x.z < zero, -one, one) / select(crosses, sine, one));
  const Real apart = -dot(n, e.from);
  auto valid = mask_and(mask_and(wanted, crosses), apart < zero);
  if (!any(valid)) return;
  const auto [at, beside] = e.crossing(-e.from, axis);
  valid = mask_and(valid, mask_and(e.within(at), abs(beside) <= s->body.size.y));
  if (any(valid)) valid = mask_and(valid, mask_and(e.allows(n), e.leads_under(-n)));
  if (!any(valid)) return;
  const Real dist = apart - s->body.size.x;
  keep_contact(s, valid, dist, axpy(n, dist * Real(0.5), axpy(e.along, at, e.from)), n);
}

template <>
struct OverField<kCapsule> : FieldDefaults<kCapsule> {
  static constexpr bool kBelowEdges = true;
  template <class Scene, class Real>
  DS_HD static MaskOf<Real> counts_from_above(const Scene& s, const Real& dist, const MaskOf<Real>&) {
    return dist >= -s.body.size.x;
  }
  template <class Scene, class Real>
  DS_HD static void edge(Scene* s, const FieldEdge<Real>& e, const MaskOf<Real>& wanted) {
    edge_passed(s, e, wanted);
    FieldDefaults<kCapsule>::edge(s, e, wanted);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
