// What the search for contacts sees of a convex shape: a core, whose support is known, with a radius around it; and what a
// core shows in a direction, a face, an edge or a line.
//
// solves    nothing; the words in which shapes (kernels/collide/shapes/) answer
// deviation none
// reads     its arguments
// writes    its arguments
// cost      none
#pragma once

#include "kernels/collide/ball_contact.h"
#include "kernels/collide/convex/each_hull.h"
#include "kernels/collide/kinds.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
struct ConvexCore {
  int type;
  Vec3<Real> size;
  Hulls<Real> hull;
  Real bound;  // no point of the shape is farther from its centre
};

// whether the shape of a type has any of these traits
template <unsigned kTraits>
DS_HD bool shape_among(int type) {
  return (kShapesWith<kTraits> >> type & 1u) != 0;
}

constexpr int kFaceCorners = 16;
constexpr double kAlignedCosine = 0.99939082701909573;  // two degrees
constexpr double kAlignedSine = 0.03489949670250097;

// corners turn counterclockwise seen from outside; a line has two
template <class Real>
struct ShownFace {
  Vec3<Real> corner[kFaceCorners];
  Vec3<Real> normal;
  IntOf<Real> count;
  int count_max;
  MaskOf<Real> line, there;
};
// nothing shown yet
template <class Real>
DS_FN void clear(ShownFace<Real>* out) {
  const Real zero(0);
  const Vec3<Real> none{zero, zero, zero};
  for (auto& p : out->corner) p = none;
  out->normal = none;
  out->line = zero < zero;
  out->count = IntOf<Real>(0);
  out->count_max = 0;
  out->there = zero < zero;
}

// an edge in the elements that show no face
template <class Real>
DS_FN void take_edge(const Vec3<Real>& top, const Vec3<Real>& end, const MaskOf<Real>& level,
                     const Vec3<Real>& n, ShownFace<Real>* out) {
  const auto edge = mask_and(level, mask_not(out->there));
  out->corner[0] = select3(edge, top, out->corner[0]);
  out->corner[1] = select3(edge, end, out->corner[1]);
  out->normal = select3(edge, n, out->normal);
  out->count = select(edge, IntOf<Real>(2), out->count);
  out->count_max = out->count_max > 2 ? out->count_max : 2;
  out->line = mask_or(out->line, edge);
  out->there = mask_or(out->there, edge);
}
// the line of a round side, from z = half to z = -half, where a cylinder or the axis of a capsule is across n: `scale` times
// n across z, and `rise` along z, from the axis
template <class Real>
DS_FN void show_side(const Real& half, const Real& scale, const Real& rise, const Vec3<Real>& n,
                     ShownFace<Real>* out) {
  out->there = abs(n.z) <= Real(kAlignedSine);
  out->normal = n;
  for (int k = 0; k < 2; k++) out->corner[k] = {n.x * scale, n.y * scale, rise + (k == 0 ? half : -half)};
  out->count = IntOf<Real>(2);
  out->count_max = 2;
  out->line = Real(0) <= Real(0);
}

// the edge of a core that is across a direction to within two degrees
template <class Real>
struct LevelEdge {
  Vec3<Real> along;
  MaskOf<Real> there;
};
// that of a core whose edge `show(&shown)` writes where no face is there
template <class Real, class Show>
DS_HD LevelEdge<Real> shown_edge(const Vec3<Real>& n, const MaskOf<Real>& wanted, Show show) {
  const Real zero(0);
  ShownFace<Real> shown;
  shown.there = shown.line = zero < zero;
  shown.count_max = 0;
  const Vec3<Real> none{zero, zero, zero};
  shown.corner[0] = shown.corner[1] = shown.normal = none;
  shown.count = IntOf<Real>(0);
  show(&shown);
  Real length;
  return {normalize(shown.corner[1] - shown.corner[0], n, &length), mask_and(wanted, shown.there)};
}
// of what is round about z, whose axis or side is such an edge
template <class Real>
DS_HD LevelEdge<Real> axis_edge(const Vec3<Real>& n, const MaskOf<Real>& wanted) {
  const Real zero(0), one(1);
  return {{zero, zero, one}, mask_and(wanted, abs(n.z) <= Real(kAlignedSine))};
}

// u'H v of a support function, summed over both cores of a pair, for the two directions across that a step is taken along
template <class Real>
struct Curvature {
  Real xx, xy, yy;
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
