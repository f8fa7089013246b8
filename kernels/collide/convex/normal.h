// The normal between two cores of which one is curved, to rounding.
//
// GJK and the polytope end where the distance is exact to rounding, eps. A distance is flat around its best direction, so
// that is known to sqrt(eps) only. Newton's method on the sphere goes on without asking the distance for more: its step
// comes from the nearest points, which tell a direction to eps. Where an edge or a line of the other core is what touches,
// the distance has a kink: the normal is across the edge, and the step is taken on that circle; across two edges one normal
// is left.
//
// solves    the direction n of most  n.y(n),  y the point of B - A that is least along n
// equation  (P H P + dist) x = P y  on the sphere, P across the edge too where there is one;  n = e x f  across two
// source    penetration.h; own derivation
// deviation a normal is taken where the distance loses no more by it than rounding
// reads     its arguments
// writes    n, dist and the nearest points of a Separation, radii left out
// cost      four support points, and where a core has edges what finds them (kernels/collide/shapes/)
#pragma once

#include "kernels/collide/convex/penetration.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr int kRefineSteps = 2;
// of the smaller shape: nearest points that lie farther off than what was found are not believed
constexpr double kWitnessMoves = 0.05;
// of the difference's size: what rounding does to a distance
template <class Real>
constexpr double kDistanceRounding = kSingle<Real> ? 5e-7 : 2e-15;

template <class Real>
DS_HD bool is_curved(const ConvexPair<Real>& pair) {
  return shape_among<kShapeCurved>(pair.a.type) || shape_among<kShapeCurved>(pair.b.type);
}

// the edge of a core at its farthest point along n that is across n to within two degrees
template <class Real>
DS_FN LevelEdge<Real> level_edge(const ConvexCore<Real>& c, const Vec3<Real>& n, const MaskOf<Real>& wanted) {
  return with_shape(c.type, [&](auto shape) { return shape.level_edge(c, n, wanted); });
}

// a direction, the point of B - A that is least along it, and how far it is
template <class Real>
struct Support {
  Vec3<Real> n, y;
  Real dist;
};
template <class Real>
DS_FN Support<Real> support_along(const ConvexPair<Real>& pair, const Vec3<Real>& n,
                                  const MaskOf<Real>& wanted) {
  const Vec3<Real> y = support(pair, n, mask_word(wanted)).y;
  return {n, y, dot(n, y)};
}

// the edges, along the axes of A, that touch, or the faces; where there are none, a core touches at a point
template <class Real>
struct Touching {
  LevelEdge<Real> a, b;
};

template <class Real>
DS_STAGE void refine_normal(const ConvexPair<Real>& pair, const MaskOf<Real>& wanted, Separation<Real>* s,
                            Touching<Real>* touching) {
  const Real one(1), half(0.5);
  Support<Real> best = support_along(pair, s->n, wanted);
  const Real least = best.dist - pair.large * Real(kDistanceRounding<Real>);
  // a normal that separates as well is taken
  const auto offer = [&](const Vec3<Real>& n, const MaskOf<Real>& where) {
    if (!any(where)) return where;
    const Support<Real> found = support_along(pair, n, where);
    const auto taken = mask_and(where, found.dist >= least);
    best.n = select3(taken, found.n, best.n);
    best.y = select3(taken, found.y, best.y);
    best.dist = select(taken, found.dist, best.dist);
    return taken;
  };
  Real length;
  const auto across_edge = [&](const Vec3<Real>& e) {
    return normalize(axpy(e, -dot(e, best.n), best.n), best.n, &length);
  };
  LevelEdge<Real> a = level_edge(pair.a, best.n, wanted);
  LevelEdge<Real> b = level_edge(pair.b, -rotate_transposed(pair.rot, best.n), wanted);
  b.along = rotate(pair.rot, b.along);
  const Vec3<Real> across_both = normalize(cross(a.along, b.along), best.n, &length);
  const auto both = offer(across_both * sign_nonzero(dot(across_both, best.n)), mask_and(a.there, b.there));
  const auto only_a = offer(across_edge(a.along), mask_and(a.there, mask_not(both)));
  const auto only_b = offer(across_edge(b.along), mask_and(b.there, mask_not(mask_or(both, only_a))));
  a.there = mask_or(both, only_a);
  b.there = mask_or(both, only_b);
  const Vec3<Real> edge = select3(only_a, a.along, b.along);
  const auto on_edge = mask_or(only_a, only_b);
  const auto moving = mask_and(wanted, mask_not(both));
  for (int k = 0; k < kRefineSteps && any(moving); k++) {
    Vec3<Real> t1, t2;
    across(best.n, &t1, &t2);
    t1 = select3(on_edge, edge, t1);
    t2 = cross(best.n, t1);
    const auto [x, y] = newton_step(pair, -best.n, best.y, t1, t2, on_edge);
    const Real size = sqrt(fma(x, x, y * y)), cut = select(size > half, half / max(size, half), one);
    const Vec3<Real> n = normalize(axpy(t1, -(x * cut), axpy(t2, -(y * cut), best.n)), best.n, &length);
    offer(n, moving);
  }
  s->n = select3(wanted, best.n, s->n);
  s->dist = select(wanted, best.dist, s->dist);
  touching->a = a;
  touching->b = b;
}

// Where one core touches at a point, the nearest points follow from it; where both touch along edges, from their lines.
// What is far from the points that were found is not taken
template <class Real>
DS_STAGE void witness(const ConvexPair<Real>& pair, const Touching<Real>& touching,
                      const MaskOf<Real>& wanted, Separation<Real>* s) {
  const Real one(1);
  const Vec3<Real> back = -rotate_transposed(pair.rot, s->n);
  const Vec3<Real> of_a = core_support(pair.a, s->n, mask_word(wanted));
  const Vec3<Real> of_b = pair.shift + rotate(pair.rot, core_support(pair.b, back, mask_word(wanted)));
  const auto a_point = mask_not(touching.a.there), b_point = mask_not(touching.b.there);
  // of two lines: of_a + t e and of_b + u f differ by what is along n only
  const Vec3<Real>&e = touching.a.along, &f = touching.b.along;
  const Vec3<Real> apart = of_b - of_a, side = cross(f, s->n);
  const Real sine = dot(e, side);
  const auto crosses = abs(sine) >= Real(kAlignedSine);
  const Real t = dot(apart, side) / select(crosses, sine, one);
  const Vec3<Real> on_a =
      select3(a_point, of_a, select3(b_point, axpy(s->n, -s->dist, of_b), axpy(e, t, of_a)));
  const Vec3<Real> off = on_a - s->on_a;
  const Real close = pair.small * Real(kWitnessMoves);
  auto taken = mask_and(wanted, mask_or(mask_or(a_point, b_point), crosses));
  taken = mask_and(taken, dot(off, off) <= close * close);
  s->on_a = select3(taken, on_a, s->on_a);
  s->on_b = select3(taken, axpy(s->n, s->dist, on_a), s->on_b);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
