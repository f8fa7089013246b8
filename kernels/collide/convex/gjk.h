// Distance of two convex cores.
//
// With M = B - A the distance is that of M from the origin. A simplex of points of M has a nearest point v to the origin:
// |v| is an upper bound. Along n = v / |v| the least n.w over M is a lower one. While they differ the point w joins, and the
// simplex shrinks to the part that holds the new nearest point; w is always in it. An element stops when its bounds agree,
// when it is beyond reach for certain, when nothing moves any more, or when the origin is inside: then penetration.h goes on
// with the tetrahedron.
//
// solves    dist, and the unit normal from A to B, of cores that are apart
// equation  |v| >= dist >= n.w,   v the point of the simplex nearest to the origin, w the point of M least along n = v / |v|
// source    Gilbert, Johnson & Keerthi 1988
// deviation nearest points of triangles are taken along their normals, v = N (N.w) / |N|^2, which keeps the direction of a
//           short v
// reads     its arguments
// writes    its arguments
// cost      of a turn a support point of each shape, and 300 operations
#pragma once

#include "kernels/collide/convex/difference.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr int kGjkTurns = 40;
// of the smaller shape: how close bounds must come
template <class Real>
constexpr double kGjkTolerance = kSingle<Real> ? 1e-5 : 1e-9;
// of the difference of two shapes: what rounding does to a separation
template <class Real>
constexpr double kSeparationRounding = kSingle<Real> ? 2e-7 : 1e-15;
// of the difference: cores that are nearer meet
template <class Real>
constexpr double kGjkTouch = kSingle<Real> ? 3e-6 : 1e-13;

// what a search comes to: unit n from A to B, dist between the cores along it (negative inside), the
// difference `gap` between its bounds, and the middle between the nearest points, in A's frame
template <class Real>
struct Separation {
  Vec3<Real> n, on_a, on_b;
  Real dist, gap;
};

template <class Real>
struct Simplex {
  DifferencePoint<Real> p[4];
  Real weight[3];
  Real count;
  MaskOf<Real> inside;  // the origin is in the tetrahedron of all four
};

template <class Real>
DS_HD DifferencePoint<Real> select_point(const MaskOf<Real>& m, const DifferencePoint<Real>& a,
                                         const DifferencePoint<Real>& b) {
  return {select3(m, a.y, b.y), select3(m, a.a, b.a)};
}

// the nearest candidate so far: which of the old points stay beside w (-1: none), and their weights
template <class Real>
struct NearestPart {
  Vec3<Real> v;
  Real square, first, second, s, t;
};

template <class Real>
DS_HD void take_nearer(NearestPart<Real>* best, const MaskOf<Real>& valid, const Vec3<Real>& v, int first,
                       int second, const Real& s, const Real& t) {
  const Real square = dot(v, v);
  const auto better = mask_and(valid, square < best->square);
  best->v = select3(better, v, best->v);
  best->square = select(better, square, best->square);
  best->first = select(better, Real(first), best->first);
  best->second = select(better, Real(second), best->second);
  best->s = select(better, s, best->s);
  best->t = select(better, t, best->t);
}

// the part of {w, old points} that is nearest to the origin, where no element has more than `most` old ones
template <class Real>
DS_FN NearestPart<Real> nearest_part(const Simplex<Real>& x, const DifferencePoint<Real>& w, int most,
                                     MaskOf<Real>* inside) {
  const Real zero(0), one(1), none(-1);
  NearestPart<Real> best{
      .v = w.y, .square = dot(w.y, w.y), .first = none, .second = none, .s = zero, .t = zero};
  Vec3<Real> edge[3];
  for (int i = 0; i < 3; i++) {
    if (i >= most) break;
    edge[i] = x.p[i].y - w.y;
    const Real square = dot(edge[i], edge[i]), along = -dot(w.y, edge[i]);
    const auto valid = mask_and(mask_and(Real(i) < x.count, along > zero), along < square);
    const Real s = along / select(valid, square, one);
    take_nearer(&best, valid, axpy(edge[i], s, w.y), i, -1, s, zero);
  }
  *inside = x.count == Real(3);
  for (int k = 0; k < 3; k++) {
    // the triangle without old point k
    const int i = k == 0 ? 1 : 0, j = k == 2 ? 1 : 2;
    if (j >= most) continue;
    const Vec3<Real> N = cross(edge[i], edge[j]);
    const Real square = dot(N, N), height = dot(N, w.y);
    const Real s = dot(N, cross(edge[j], w.y)), t = dot(N, cross(w.y, edge[i]));
    const auto flat = square <= zero;
    const auto within = mask_and(mask_and(s > zero, t > zero), s + t < square);
    const auto valid = mask_and(mask_and(Real(j) < x.count, within), mask_not(flat));
    const Real inv = one / select(flat, one, square);
    take_nearer(&best, valid, N * (height * inv), i, j, s * inv, t * inv);
    if (most < 3) continue;
    // is the origin on the same side of this face as the point opposite?
    const Real opposite = dot(N, edge[k]);
    *inside = mask_and(*inside, opposite * height < zero);
  }
  return best;
}

// w joins where `here`; the simplex becomes that part
template <class Real>
DS_FN void shrink_to(Simplex<Real>* x, const NearestPart<Real>& part, const DifferencePoint<Real>& w,
                     const MaskOf<Real>& here) {
  const Real zero(0), one(1);
  const auto pick = [&](const Real& index) {
    return select_point(index == one, x->p[1], select_point(index == Real(2), x->p[2], x->p[0]));
  };
  const DifferencePoint<Real> first = pick(part.first), second = pick(part.second);
  x->p[0] = select_point(here, w, x->p[0]);
  x->p[1] = select_point(here, first, x->p[1]);
  x->p[2] = select_point(here, second, x->p[2]);
  x->weight[0] = select(here, one - part.s - part.t, x->weight[0]);
  x->weight[1] = select(here, part.s, x->weight[1]);
  x->weight[2] = select(here, part.t, x->weight[2]);
  const Real count = one + select(part.first >= zero, one, zero) + select(part.second >= zero, one, zero);
  x->count = select(here, count, x->count);
}

// bounds closer than this are equal
template <class Real>
DS_HD Real enough(const ConvexPair<Real>& pair) {
  return max(pair.small * Real(kGjkTolerance<Real>), pair.large * Real(kSeparationRounding<Real>));
}

// Separation of the elements of `wanted` whose cores are apart; `meets`: those whose cores meet, or nearly,
// with the tetrahedron in `x` where x->inside. Elements farther apart than `reach` are left with a lower bound
// of their distance that is beyond it
template <class Real>
DS_STAGE void core_distance(const ConvexPair<Real>& pair, const Real& reach, const MaskOf<Real>& wanted,
                            Simplex<Real>* x, Separation<Real>* out, MaskOf<Real>* meets) {
  const Real zero(0), one(1), tolerance = enough(pair);
  const Real nothing = pair.large * Real(kGjkTouch<Real>);
  const Vec3<Real> none{zero, zero, zero};
  for (auto& p : x->p) p = {none, none};
  x->weight[0] = x->weight[1] = x->weight[2] = zero;
  x->count = zero;
  x->inside = zero < zero;
  *meets = zero < zero;
  Real length;
  Vec3<Real> v = normalize(pair.shift, {one, zero, zero}, &length);
  out->n = v;
  out->dist = -pair.large * Real(4);
  length = length + pair.large * Real(4);  // of a core's every point from the origin no more
  auto active = wanted;
  for (int turn = 0; turn < kGjkTurns; turn++) {
    const Vec3<Real> n = v;
    const DifferencePoint<Real> w = support(pair, n, mask_word(active));
    const Real lower = dot(n, w.y);
    const auto raised = mask_and(active, lower > out->dist);
    out->dist = select(raised, lower, out->dist);
    out->n = select3(raised, n, out->n);
    active = mask_and(active, mask_and(out->dist <= reach, length - lower > tolerance));
    if (!any(active)) break;

    MaskOf<Real> inside;
    const NearestPart<Real> part = nearest_part(*x, w, turn, &inside);
    inside = mask_and(inside, active);
    x->inside = mask_or(x->inside, inside);
    x->p[3] = select_point(inside, w, x->p[3]);
    active = mask_and(active, mask_not(inside));
    const Real reached = sqrt(part.square);
    // rounding has the last word: nothing nearer is to be found
    active = mask_and(active, reached < length);
    shrink_to(x, part, w, active);
    length = select(active, reached, length);
    const auto touches = mask_and(active, reached < nothing);
    *meets = mask_or(*meets, touches);
    active = mask_and(active, mask_not(touches));
    v = select3(active, part.v * (one / select(active, reached, one)), v);
  }
  *meets = mask_or(*meets, x->inside);
  out->gap = length - out->dist;
  out->on_a = x->p[0].a * x->weight[0] + x->p[1].a * x->weight[1] + x->p[2].a * x->weight[2];
  out->on_b = out->on_a + out->n * out->dist;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
