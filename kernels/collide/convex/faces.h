// Several contacts from what two cores show each other along their normal (kernels/collide/shapes/).
//
// A hull shows the face, a box the side, a cylinder its cap or the line of its side, a capsule its line, that looks most
// along the direction; it counts where it does so to within two degrees. Where no face does, hulls and boxes show the edge
// at their farthest point that is across the direction to within as much.
//
// solves    where two faces or lines overlap, up to four points
// equation  seen along the normal the corners of the region in which two faces overlap are ends of edges of one, cut by the
//           other: an edge u + t du is inside where  e.(u + t du) + e_0 >= 0  for every edge (e, e_0) of the other
//           dist of a point = the height of one plane less that of the other there, along the normal
//           two lines along each other to within two degrees have the ends of the stretch that they share
// source    Cyrus & Beck 1978
// deviation four points stay: the deepest, the one farthest from it, and the farthest on both sides of the line through
//           these; points closer than a hundredth of the shape's size are one
// reads     its arguments
// writes    its arguments
// cost      12 operations and a division for each pair of edges, 40 for each corner
#pragma once

#include "kernels/collide/convex/core.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a point in the contact frame: across the normal, and the heights of both surfaces along it
template <class Real>
struct FlatPoint {
  Real u, v, height, dist;
  MaskOf<Real> there;
};

// of a point's u: how much deeper it counts, so that points in one depth are told apart
template <class Real>
constexpr double kSameDepth = kSingle<Real> ? 1e-5 : 1e-9;

// The deepest of `count` points, the farthest from it, and the farthest on both sides of their line. Points in
// one depth are told apart by u, by less than it matters. Points closer than a hundredth of `size` are one.
template <class Real, class At>
DS_FN void choose_four(int count, const At& at, const Real& size, FlatPoint<Real> (&chosen)[4]) {
  const Real zero(0), tie(kSameDepth<Real>), least(kContactsApart);
  const auto take = [](FlatPoint<Real>* to, Real* most, const Real& score, const FlatPoint<Real>& p) {
    const auto better = mask_and(p.there, score > *most);
    *most = select(better, score, *most);
    to->u = select(better, p.u, to->u);
    to->v = select(better, p.v, to->v);
    to->height = select(better, p.height, to->height);
    to->dist = select(better, p.dist, to->dist);
    to->there = mask_or(to->there, better);
  };
  for (auto& c : chosen) c = {zero, zero, zero, zero, zero < zero};
  Real most(-kVast);
  for (int i = 0; i < count; i++) {
    const FlatPoint<Real> p = at(i);
    take(&chosen[0], &most, fma(p.u, tie, -p.dist), p);
  }
  most = square(size * least);
  for (int i = 0; i < count; i++) {
    const FlatPoint<Real> p = at(i);
    const Real du = p.u - chosen[0].u, dv = p.v - chosen[0].v;
    take(&chosen[1], &most, fma(du, du, dv * dv), p);
  }
  const Real eu = chosen[1].u - chosen[0].u, ev = chosen[1].v - chosen[0].v;
  Real left = size * least * sqrt(fma(eu, eu, ev * ev)), right = left;
  if (!any(chosen[1].there)) return;
  for (int i = 0; i < count; i++) {
    FlatPoint<Real> p = at(i);
    p.there = mask_and(p.there, chosen[1].there);
    const Real side = fma(eu, p.v - chosen[0].v, -(ev * (p.u - chosen[0].u)));
    take(&chosen[2], &left, side, p);
    take(&chosen[3], &right, -side, p);
  }
}

// a face seen along the normal: corners, lines across which its edges look inwards, and its plane
template <class Real>
struct FlatFace {
  Real u[kFaceCorners + 1], v[kFaceCorners + 1], height[kFaceCorners + 1];
  Real edge_u[kFaceCorners], edge_v[kFaceCorners], edge_at[kFaceCorners];
  Real slope_u, slope_v, level;
};
// what a core shows, and how it is seen along the normal
template <class Real>
struct SeenFace {
  ShownFace<Real> shown;
  FlatFace<Real> flat;
};

// `outwards` is 1 where the face looks along the normal, -1 where it looks against it
template <class Real>
DS_FN void flatten(const Vec3<Real>& t1, const Vec3<Real>& t2, const Vec3<Real>& n, const Real& outwards,
                   const Real& slack, SeenFace<Real>* face) {
  const ShownFace<Real>& f = face->shown;
  FlatFace<Real>* const out = &face->flat;
  const Real one(1), zero(0);
  for (int k = 0; k < f.count_max; k++) {
    out->u[k] = dot(t1, f.corner[k]);
    out->v[k] = dot(t2, f.corner[k]);
    out->height[k] = dot(n, f.corner[k]);
  }
  for (int k = 0; k < f.count_max; k++) {
    // beyond the last corner of an element comes its first
    const int next = k + 1;
    const auto wrap = mask_of_word<Real>(~word_where_above(f.count, next) & kAllElements<Real>);
    const bool end = next == f.count_max;
    const Real un = select(wrap, out->u[0], out->u[end ? 0 : next]);
    const Real vn = select(wrap, out->v[0], out->v[end ? 0 : next]);
    const Real du = un - out->u[k], dv = vn - out->v[k], square = fma(du, du, dv * dv);
    const auto none =
        mask_or(square <= zero, mask_of_word<Real>(~word_where_above(f.count, k) & kAllElements<Real>));
    const Real inv = outwards / sqrt(select(none, one, square));
    out->edge_u[k] = select(none, zero, -(dv * inv));
    out->edge_v[k] = select(none, zero, du * inv);
    out->edge_at[k] = select(none, one, slack - fma(out->edge_u[k], out->u[k], out->edge_v[k] * out->v[k]));
  }
  const Real lift = dot(n, f.normal), inv = one / select(abs(lift) < Real(0.5), one, lift);
  out->slope_u = -(dot(t1, f.normal) * inv);
  out->slope_v = -(dot(t2, f.normal) * inv);
  out->level = out->height[0] - fma(out->slope_u, out->u[0], out->slope_v * out->v[0]);
}

// the ends of the edges of two faces, of the stretch that two lines share, and the nearest points
template <class Real>
struct FoundPoints {
  FlatPoint<Real> point[4 * kFaceCorners + 3];
  int count = 0;
  DS_HD FlatPoint<Real>& add() { return point[count++]; }
};

// The ends of the stretch that two lines share, appended to the points
template <class Real>
DS_STAGE void shared_stretch(const SeenFace<Real>& first, const SeenFace<Real>& second, const Real& margin,
                             FoundPoints<Real>* points) {
  const FlatFace<Real>&f = first.flat, &g = second.flat;
  const Real zero(0), one(1), half(0.5);
  const auto both = mask_and(first.shown.line, second.shown.line);
  if (!any(both)) return;
  const Real du = f.u[1] - f.u[0], dv = f.v[1] - f.v[0], dh = f.height[1] - f.height[0];
  const Real eu = g.u[1] - g.u[0], ev = g.v[1] - g.v[0], eh = g.height[1] - g.height[0];
  const Real d2 = fma(du, du, dv * dv), e2 = fma(eu, eu, ev * ev), cross = fma(du, ev, -(dv * eu));
  auto there = mask_and(both, cross * cross <= Real(kAlignedSine * kAlignedSine) * d2 * e2);
  // where along the first line the ends of the second are
  const Real inv = one / select(d2 > zero, d2, one), u = g.u[0] - f.u[0], v = g.v[0] - f.v[0];
  const Real begin = fma(u, du, v * dv) * inv, span = fma(eu, du, ev * dv) * inv, end = begin + span;
  const Real low = max(zero, min(begin, end)), high = min(one, max(begin, end));
  there = mask_and(there, mask_and(low <= high, mask_not(span == zero)));
  const Real per_span = one / select(span == zero, one, span);
  for (int side = 0; side < 2; side++) {
    const Real t = side == 0 ? low : high, s = (t - begin) * per_span;
    const Real own = fma(t, dh, f.height[0]), other = fma(s, eh, g.height[0]);
    FlatPoint<Real>& p = points->add();
    p.u = half * (fma(t, du, f.u[0]) + fma(s, eu, g.u[0]));
    p.v = half * (fma(t, dv, f.v[0]) + fma(s, ev, g.v[0]));
    p.dist = other - own;
    p.height = half * (other + own);
    p.there = mask_and(there, p.dist < margin);
  }
}

// The ends of what is left of the edges of `cut` inside `cutter`, appended to the points; `sign` is 1 where `cut`
// is the first shape's
template <class Real>
DS_STAGE void cut_edges(const SeenFace<Real>& cut, const SeenFace<Real>& cutter, const Real& sign,
                        const Real& margin, FoundPoints<Real>* points) {
  const ShownFace<Real>&from = cut.shown, &by = cutter.shown;
  const FlatFace<Real>&f = cut.flat, &g = cutter.flat;
  const Real zero(0), one(1), half(0.5);
  constexpr unsigned kAll = (2u << (kPackSize<Real> - 1)) - 1u;
  const auto wanted = mask_not(by.line);
  if (!any(wanted)) return;
  for (int k = 0; k < from.count_max; k++) {
    if (k > 0 && all(from.line)) break;
    const auto wrap = mask_of_word<Real>(~word_where_above(from.count, k + 1) & kAll);
    const int next = k + 1 == from.count_max ? 0 : k + 1;
    const Real u = f.u[k], v = f.v[k], h = f.height[k];
    const Real du = select(wrap, f.u[0], f.u[next]) - u, dv = select(wrap, f.v[0], f.v[next]) - v;
    const Real dh = select(wrap, f.height[0], f.height[next]) - h;
    Real enter(0), leave(1);
    for (int e = 0; e < by.count_max; e++) {
      const Real at = fma(g.edge_u[e], u, fma(g.edge_v[e], v, g.edge_at[e]));
      const Real climb = fma(g.edge_u[e], du, g.edge_v[e] * dv), end = at + climb;
      const auto out_first = at < zero, out_last = end < zero;
      const Real t = -at / select(mask_or(out_first, out_last), select(climb == zero, one, climb), one);
      enter = select(out_first, max(enter, select(out_last, Real(2), t)), enter);
      leave = select(out_last, min(leave, t), leave);
    }
    auto there = mask_and(enter <= leave, mask_of_word<Real>(word_where_above(from.count, k)));
    there = mask_and(there, wanted);
    // a line has one edge
    if (k > 0) there = mask_and(there, mask_not(from.line));
    for (int side = 0; side < 2; side++) {
      const Real t = side == 0 ? enter : leave;
      FlatPoint<Real>& p = points->add();
      p.u = fma(t, du, u);
      p.v = fma(t, dv, v);
      const Real own = fma(t, dh, h), other = fma(g.slope_u, p.u, fma(g.slope_v, p.v, g.level));
      p.dist = (other - own) * sign;
      p.height = (other + own) * half;
      p.there = mask_and(there, p.dist < margin);
    }
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
