// Separation of two convex shapes: GJK for all elements, then an expanding polytope for those whose cores meet.
//
// solves    dist, the unit normal from A to B, and the nearest points on both surfaces
// equation  dist = max over |n| = 1 of (min n.b over B - max n.a over A)
//             = that of the cores less both radii
// source    gjk.h, polytope.h, penetration.h, normal.h
// deviation the normal of a face of hull, box or cylinder takes the place of one within two degrees that separates no better:
//           what was found from a few points near each other is less exact than a face of the model
// reads     its arguments
// writes    a Separation; what is farther apart than the margin has a lower bound of its distance
// cost      that of gjk.h; where some core meets another, that of polytope.h for all elements
#pragma once

#include "kernels/collide/convex/faces.h"
#include "kernels/collide/convex/normal.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
DS_FN ConvexPair<Real> make_convex_pair(const Shape<Real>& a, const ConvexCore<Real>& core_a,
                                        const Shape<Real>& b, const ConvexCore<Real>& core_b) {
  ConvexPair<Real> p;
  p.a = core_a;
  p.b = core_b;
  for (int j = 0; j < 3; j++) {
    const Vec3<Real> axis = rotate_transposed(a.rot, column(b.rot, j));
    p.rot.m[j] = axis.x;
    p.rot.m[3 + j] = axis.y;
    p.rot.m[6 + j] = axis.z;
  }
  p.shift = rotate_transposed(a.rot, b.pos - a.pos);
  p.radius = core_radius(core_a) + core_radius(core_b);
  p.small = min(core_a.bound, core_b.bound);
  p.large = core_a.bound + core_b.bound;
  return p;
}

// the normal of the face that looks most along n, of equal ones the first, in the elements of a mask at least
template <class Real>
DS_FN Vec3<Real> nearest_normal(const ConvexCore<Real>& c, const Vec3<Real>& n, const MaskOf<Real>& wanted) {
  return with_shape(c.type, [&](auto shape) { return shape.nearest_normal(c, n, wanted); });
}
// The normal of the face that looks most along n, where it looks so within two degrees and separates as well: what
// was found from a few points near each other is less exact than a face of the model
template <class Real>
DS_FN MaskOf<Real> prefer_face(const ConvexPair<Real>& pair, const Vec3<Real>& m, const MaskOf<Real>& near,
                               Separation<Real>* s) {
  const auto close = mask_and(near, dot(m, s->n) >= Real(kAlignedCosine));
  if (!any(close)) return close;
  const Real along = dot(m, support(pair, m, mask_word(close)).y);
  const auto better = mask_and(close, along >= s->dist - pair.large * Real(kSeparationRounding<Real>));
  s->n = select3(better, m, s->n);
  s->dist = select(better, along, s->dist);
  return better;
}

// dist and n of the shapes, radii included; on_a and on_b on their surfaces
template <class Real>
DS_STAGE void convex_separation(const ConvexPair<Real>& pair, const Real& margin, Separation<Real>* out) {
  Simplex<Real> simplex;
  MaskOf<Real> meets;
  const Real reach = margin + pair.radius;
  core_distance(pair, reach, Real(0) <= Real(0), &simplex, out, &meets);
  if (any(meets)) core_penetration(pair, simplex, meets, out);
  const auto near = out->dist <= reach;
  if (has_ellipsoid(pair)) {
    const auto open = mask_and(mask_and(near, mask_not(meets)), out->gap > enough(pair));
    if (any(open)) sharpen_distance(pair, open, out);
  }
  Touching<Real> touching;
  const bool curved = is_curved(pair) && any(near);
  if (curved)
    refine_normal(pair, near, out, &touching);
  else
    touching.a.there = touching.b.there = Real(0) < Real(0);
  if (shape_among<kShapeFaces>(pair.a.type) && any(near)) {
    const auto face = prefer_face(pair, nearest_normal(pair.a, out->n, near), near, out);
    touching.a.there = mask_or(touching.a.there, face);
  }
  if (shape_among<kShapeFaces>(pair.b.type) && any(near)) {
    const Vec3<Real> back = -rotate_transposed(pair.rot, out->n);
    const auto face = prefer_face(pair, -rotate(pair.rot, nearest_normal(pair.b, back, near)), near, out);
    touching.b.there = mask_or(touching.b.there, face);
  }
  if (has_ellipsoid(pair))
    ellipsoid_witness(pair, out);
  else if (curved)
    witness(pair, touching, near, out);
  out->dist = out->dist - pair.radius;
  out->on_a = axpy(out->n, core_radius(pair.a), out->on_a);
  out->on_b = axpy(out->n, -core_radius(pair.b), out->on_b);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
