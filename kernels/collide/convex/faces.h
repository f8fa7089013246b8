// What a core shows in a direction, and several contacts from two of them.
//
// A hull shows the face, a box the side, a cylinder its cap or the line of its side, a capsule its line, that looks most
// along the direction; it counts where it does so to within two degrees. Where no face does, hulls and boxes show the edge
// at their farthest point that is across the direction to within as much (edges.h).
//
// solves    the face or line that a core shows along n; where two of them overlap, up to four points
// equation  seen along the normal the corners of the region in which two faces overlap are ends of edges of one, cut by the
//           other: an edge u + t du is inside where  e.(u + t du) + e_0 >= 0  for every edge (e, e_0) of the other
//           dist of a point = the height of one plane less that of the other there, along the normal
//           two lines along each other to within two degrees have the ends of the stretch that they share
// source    Cyrus & Beck 1978
// deviation a cap has eight corners; of a face with more than 16 corners 16 stand for all, as evenly as they come. Four
//           points stay: the deepest, the one farthest from it, and the farthest on both sides of the line through these;
//           points closer than a hundredth of the shape's size are one
// reads     its arguments
// writes    its arguments
// cost      12 operations and a division for each pair of edges, 40 for each corner
#pragma once

#include "kernels/collide/convex/edges.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the face that looks most along n, of equal ones the first, its normal and how much it does, in the elements of a mask at
// least; a hull without faces has a normal of zeros
template <class Real>
DS_FN IntOf<Real> nearest_face(const Hulls<Real>& h, const Vec3<Real>& n, const MaskOf<Real>& wanted,
                               Real* most, Vec3<Real>* normal) {
  IntOf<Real> face(0);
  const unsigned set = mask_word(wanted);
  if (!are_scanned(h, h.nface, set)) {
    *normal = farthest_of_each<kNormals>(h, n, set, &face);
    *most = dot(*normal, n);
    return face;
  }
  *normal = {Real(0), Real(0), Real(0)};
  *most = Real(-2);
  for (int f = 0; f < h.nface; f++) {
    const Real along = dot(broadcast_triple<Real>(h.normals(), f), n);
    const auto better = along > *most;
    *most = select(better, along, *most);
    face = select(better, IntOf<Real>(f), face);
  }
  if (h.nface > 0) *normal = triple_at<Real>(h.normals(), face);
  return face;
}

template <class Real>
DS_FN void hull_face(const Hulls<Real>& h, const Vec3<Real>& n, const MaskOf<Real>& wanted,
                     ShownFace<Real>* out) {
  Real most;
  const IntOf<Real> face = nearest_face(h, n, wanted, &most, &out->normal);
  out->there = most >= Real(kAlignedCosine);
  out->count_max = 0;
  each_element<Real>(mask_word(mask_and(wanted, out->there)), [&](int l) {
    const Hull<ScalarOf<Real>>& own = hull_of(h, l);
    const int f = lane_of(face, l), first = own.corner_adr[f], all = own.corner_adr[f + 1] - first;
    const int count = all < kFaceCorners ? all : kFaceCorners;
    set_lane(out->count, l, count);
    out->count_max = count > out->count_max ? count : out->count_max;
    for (int k = 0; k < count; k++) {
      const auto p = own.points();
      const int i = own.corner[first + k * all / count];
      set_lane(out->corner[k].x, l, p.x[i]);
      set_lane(out->corner[k].y, l, p.y()[i]);
      set_lane(out->corner[k].z, l, p.z()[i]);
    }
  });
}

template <class Real>
DS_FN void box_face(const Vec3<Real>& size, const Vec3<Real>& n, ShownFace<Real>* out) {
  const Real zero(0);
  const Real x = abs(n.x), y = abs(n.y), z = abs(n.z);
  const auto is_x = mask_and(x >= y, x >= z), is_y = mask_and(mask_not(is_x), y >= z);
  const auto pick = [&](const Real& a, const Real& b, const Real& c) {
    return select(is_x, a, select(is_y, b, c));
  };
  const Real along = pick(n.x, n.y, n.z), side = sign_nonzero(along);
  out->normal = {select(is_x, side, zero), select(is_y, side, zero), select(mask_or(is_x, is_y), zero, side)};
  out->there = abs(along) >= Real(kAlignedCosine);
  // the next two axes in turn; the other way round where the side is the negative one
  const Real first = pick(size.y, size.z, size.x), second = pick(size.z, size.x, size.y) * side;
  const Real depth = pick(size.x, size.y, size.z) * side;
  for (int k = 0; k < 4; k++) {
    const Real p = first * Real(k == 0 || k == 3 ? 1 : -1), q = second * Real(k < 2 ? 1 : -1);
    out->corner[k] = {pick(depth, q, p), pick(p, depth, q), pick(q, p, depth)};
  }
  out->count = IntOf<Real>(4);
  out->count_max = 4;
}

template <class Real>
DS_HD bool has_faces(const ConvexCore<Real>& c) {
  return c.type == kMesh || c.type == kBox || c.type == kCylinder;
}

// the normal of the face that looks most along n, of equal ones the first, in the elements of a mask at least
template <class Real>
DS_FN Vec3<Real> nearest_normal(const ConvexCore<Real>& c, const Vec3<Real>& n, const MaskOf<Real>& wanted) {
  const Real zero(0);
  if (c.type == kCylinder) return {zero, zero, sign_nonzero(n.z)};
  if (c.type == kBox) {
    const Real x = abs(n.x), y = abs(n.y), z = abs(n.z);
    const auto is_x = mask_and(x >= y, x >= z), is_y = mask_and(mask_not(is_x), y >= z);
    return {select(is_x, sign_nonzero(n.x), zero), select(is_y, sign_nonzero(n.y), zero),
            select(mask_or(is_x, is_y), zero, sign_nonzero(n.z))};
  }
  Real most;
  Vec3<Real> normal;
  nearest_face(c.hull, n, wanted, &most, &normal);
  return normal;
}

// the side of a capsule, or of a cylinder
template <class Real>
DS_FN void side_line(const Vec3<Real>& size, bool round, const Vec3<Real>& n, ShownFace<Real>* out) {
  const Real scale = round ? size.x : size.x / sqrt(max(fma(n.x, n.x, n.y * n.y), Real(kLeastDivisor)));
  const Real rise = round ? n.z * scale : Real(0);
  out->there = abs(n.z) <= Real(kAlignedSine);
  out->normal = n;
  for (int k = 0; k < 2; k++) out->corner[k] = {n.x * scale, n.y * scale, rise + (k == 0 ? size.y : -size.y)};
  out->count = IntOf<Real>(2);
  out->count_max = 2;
  out->line = Real(0) <= Real(0);
}

template <class Real>
DS_FN void cylinder_cap(const Vec3<Real>& size, const Vec3<Real>& n, ShownFace<Real>* out) {
  const Real zero(0), side = sign_nonzero(n.z);
  const double c = 0.70710678118654752440, cosine[8] = {1, c, 0, -c, -1, -c, 0, c};
  out->there = abs(n.z) >= Real(kAlignedCosine);
  out->normal = {zero, zero, side};
  for (int k = 0; k < 8; k++) {
    const Real y = size.x * Real(cosine[(k + 6) % 8]);
    out->corner[k] = {size.x * Real(cosine[k]), y * side, size.y * side};
  }
  out->count = IntOf<Real>(8);
  out->count_max = 8;
}

// the cap of a cylinder, or the line of its side
template <class Real>
DS_FN void cylinder_face(const Vec3<Real>& size, const Vec3<Real>& n, ShownFace<Real>* out) {
  const auto cap = abs(n.z) > Real(0.5);
  if (any(cap)) cylinder_cap(size, n, out);
  if (all(cap)) return;
  ShownFace<Real> side;
  side_line(size, false, n, &side);
  for (int k = 0; k < 2; k++) out->corner[k] = select3(cap, out->corner[k], side.corner[k]);
  out->normal = select3(cap, out->normal, side.normal);
  out->count = select(cap, out->count, side.count);
  out->count_max = out->count_max > 2 ? out->count_max : 2;
  out->line = mask_not(cap);
  out->there = select_mask(cap, out->there, side.there);
}

// what a core shows along n, in its frame, in the elements of a mask
template <class Real>
DS_STAGE void shown_face(const ConvexCore<Real>& c, const Vec3<Real>& n, const MaskOf<Real>& wanted,
                         ShownFace<Real>* out) {
  const Real zero(0);
  const Vec3<Real> none{zero, zero, zero};
  for (auto& p : out->corner) p = none;
  out->normal = none;
  out->line = zero < zero;
  out->count = IntOf<Real>(0);
  out->count_max = 0;
  out->there = zero < zero;
  if (c.type == kMesh) {
    hull_face(c.hull, n, wanted, out);
    hull_edge(c.hull, n, wanted, out);
    return;
  }
  if (c.type == kBox) {
    box_face(c.size, n, out);
    box_edge(c.size, n, out);
    return;
  }
  if (c.type == kCylinder) return cylinder_face(c.size, n, out);
  if (c.type == kCapsule) return side_line(c.size, true, n, out);
}

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
