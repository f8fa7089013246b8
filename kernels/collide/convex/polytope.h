// Penetration depth of two convex cores by an expanding polytope.
//
// A polytope of points of M = B - A grows inside M. The least of its planes' distances from the origin is a lower bound of
// the depth, the support of M along a plane's normal an upper one. The plane that is nearest gets the support point beyond
// it, until both bounds agree. Distances are signed, so the polytope may begin beside the origin: where the cores only
// touch, GJK has no tetrahedron, and the first one is spanned by extreme points.
//
// All of it has a fixed size. Points are appended at the same place in every element of a pack; faces are numbered by each
// element for itself, in bytes. New faces stand in one list for all elements, so that their planes fill packs however many
// each element has. The edge of what the new point sees is found with sets of directed edges, a word a point: an
// edge whose opposite is seen as well lies inside. Planes through slivers without a direction are never chosen.
//
// solves    depth and normal of cores that meet
// equation  min over planes of (m . point of the plane) <= depth <= m.w,   m a plane's outward normal, w the support along m
// source    van den Bergen 2001
// deviation where the cap is hit the result is the least upper bound: n separates as well as the depth says, and `gap` says
//           by how much it may be too deep
// reads     its arguments
// writes    its arguments
// cost      of a turn a support point of each shape, 8 operations a face, and about 100 an element for the edges
#pragma once

#include "kernels/collide/convex/gjk.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr int kPolytopePoints = 32;  // a set of points is a word
constexpr int kPolytopeFaces = 2 * kPolytopePoints - 4;
constexpr int kNewFaces = 24;  // that one point may bring
// sine between two edges, as long as each other, of a triangle without a direction
template <class Real>
constexpr double kSliverSine = kSingle<Real> ? 1e-5 : 1e-12;
// of the difference of two shapes: more than planes through points of one flat side differ by
template <class Real>
constexpr double kCoplanarRounding = kSingle<Real> ? 1e-7 : 1e-13;
// of large^2 small: six times the volume of a tetrahedron that is flat
constexpr double kFlatVolume = 1e-6;

// a face that a new point brings, of any element: `from` and `to` are the corners of the edge that it stands on
enum FreshFace { kFrom, kTo, kFace, kElement };

template <class Real>
struct Polytope {
  static constexpr int kWide = kPackSize<Real>;
  static constexpr int kFreshNumbers = kWide == 1 ? kElement : kElement + 1;
  DifferencePoint<Real> point[kPolytopePoints];
  Vec3<Real> normal[kPolytopeFaces];
  Real height[kPolytopeFaces];
  Real rank
      [kPolytopeFaces];  // the least is next: the height, and a penalty where the face is beside the origin
  Real penalty;
  unsigned char corner[kWide][kPolytopeFaces][3];
  unsigned char nface[kWide];
  // what one point brings, of all elements, one after the other; the last few places are only tried
  unsigned char fresh[kWide * kNewFaces + 3][kFreshNumbers];
  int nfresh;
  unsigned taking_part;  // the elements whose cores meet, as bits; the others have no faces
  int nface_max;
};

// far beyond any plane that counts
template <class Real>
DS_HD Real no_height() {
  return Real(kVast);
}

// so many places for faces, in which none stands yet
template <class Real>
DS_FN void open_faces(Polytope<Real>* x, int count) {
  const Real zero(0);
  for (; x->nface_max < count; x->nface_max++) {
    x->height[x->nface_max] = x->rank[x->nface_max] = no_height<Real>();
    x->normal[x->nface_max] = {zero, zero, zero};
  }
}

template <class Real>
DS_FN int fresh_element(const Polytope<Real>& x, int k) {
  if constexpr (kPackSize<Real> == 1)
    return 0;
  else
    return x.fresh[k][kElement];
}
template <class Real>
DS_FN void add_fresh(Polytope<Real>* x, int k, int element, int from, int to, int face) {
  auto* fresh = x->fresh[k];
  fresh[kFrom] = static_cast<unsigned char>(from);
  fresh[kTo] = static_cast<unsigned char>(to);
  fresh[kFace] = static_cast<unsigned char>(face);
  if constexpr (kPackSize<Real> != 1) fresh[kElement] = static_cast<unsigned char>(element);
}
template <class Real>
DS_FN void copy_lane(const Vec3<Real>& from, int l, Vec3<Real>* to, int k) {
  set_lane(to->x, k, lane_of(from.x, l)), set_lane(to->y, k, lane_of(from.y, l));
  set_lane(to->z, k, lane_of(from.z, l));
}

// The planes of the fresh faces, through their edges and the new point of their elements: as many at once as a pack has
// elements, whichever elements they are of
template <class Real>
DS_FN void fill_planes(Polytope<Real>* x, int newest) {
  using Scalar = ScalarOf<Real>;
  constexpr int kAtOnce = kPackSize<Real>;
  const Real zero(0);
  for (int base = 0; base < x->nfresh; base += kAtOnce) {
    const int count = x->nfresh - base < kAtOnce ? x->nfresh - base : kAtOnce;
    Vec3<Real> p{zero, zero, zero}, q = p, w = p;
    Real penalty = zero;
    for (int k = 0; k < count; k++) {
      const int l = fresh_element(*x, base + k);
      copy_lane(x->point[x->fresh[base + k][kFrom]].y, l, &p, k);
      copy_lane(x->point[x->fresh[base + k][kTo]].y, l, &q, k);
      copy_lane(x->point[newest].y, l, &w, k);
      set_lane(penalty, k, lane_of(x->penalty, l));
    }
    const Vec3<Real> e1 = p - w, e2 = q - w, N = cross(e1, e2);
    const Real square = dot(N, N), longest = max(dot(e1, e1), dot(e2, e2));
    const Real least = longest * Real(kSliverSine<Scalar>);
    const auto sliver = square <= least * least;
    const Real inv = Real(1) / sqrt(select(sliver, Real(1), square));
    const Vec3<Real> n = N * inv;
    const Real height = select(sliver, no_height<Real>(), dot(n, w));
    const Vec3<Real> foot = n * dot(n, w), p1 = p - foot, q1 = q - foot, w1 = w - foot;
    const Real least_weight = min(dot(n, cross(q1, w1)), min(dot(n, cross(w1, p1)), dot(n, cross(p1, q1))));
    const Real rank = select(least_weight < zero, height + penalty, height);
    for (int k = 0; k < count; k++) {
      const int l = fresh_element(*x, base + k), face = x->fresh[base + k][kFace];
      copy_lane(n, k, &x->normal[face], l);
      set_lane(x->height[face], l, lane_of(height, k)), set_lane(x->rank[face], l, lane_of(rank, k));
    }
  }
}

// the seen faces of one element go, and those from their edge to the newest point come; false where there is
// no room for them
template <class Real>
DS_FN bool replace_seen(Polytope<Real>* x, int lane, unsigned long long seen, int newest) {
  unsigned leads[kPolytopePoints] = {};
  auto* corner = x->corner[lane];
  int gone = 0;
  for (unsigned long long rest = seen; rest != 0; rest &= rest - 1, gone++) {
    const auto* c = corner[lowest_bit(rest)];
    for (int e = 0; e < 3; e++) leads[c[e]] |= 1u << c[e == 2 ? 0 : e + 1];
  }
  // each edge takes the next place, and keeps it where the face beyond it is not seen
  const int first = x->nfresh, nface = x->nface[lane];
  int count = 0;
  for (unsigned long long rest = seen; rest != 0; rest &= rest - 1) {
    const auto* c = corner[lowest_bit(rest)];
    for (int e = 0; e < 3; e++) {
      const int from = c[e], to = c[e == 2 ? 0 : e + 1];
      add_fresh(x, first + count, lane, from, to, 0);
      count += static_cast<int>(~(leads[to] >> from) & 1u);
    }
    if (count > kNewFaces) return false;
  }
  if (nface + count - gone > kPolytopeFaces) return false;
  unsigned long long free = seen;
  for (int k = 0; k < count; k++) {
    const int face = free != 0 ? lowest_bit(free) : nface + k - gone;
    free &= free - 1;
    auto* fresh = x->fresh[first + k];
    auto* c = corner[face];
    fresh[kFace] = static_cast<unsigned char>(face);
    c[0] = fresh[kFrom], c[1] = fresh[kTo], c[2] = static_cast<unsigned char>(newest);
  }
  // seen faces that nothing has replaced: only where rounding has torn the edge
  for (; free != 0; free &= free - 1) {
    set_lane(x->height[lowest_bit(free)], lane, ScalarOf<Real>(kVast));
    set_lane(x->rank[lowest_bit(free)], lane, ScalarOf<Real>(kVast));
  }
  if (count > gone) x->nface[lane] = static_cast<unsigned char>(nface + count - gone);
  open_faces(x, x->nface[lane]);
  x->nfresh = first + count;
  return true;
}

// the extreme point along u or -u that is farther from the plane across u through the origin point
template <class Real>
DS_FN DifferencePoint<Real> farther(const ConvexPair<Real>& pair, const Vec3<Real>& u, const Vec3<Real>& from,
                                    unsigned set) {
  const DifferencePoint<Real> p = support(pair, u, set), q = support(pair, -u, set);
  return select_point(abs(dot(u, p.y - from)) >= abs(dot(u, q.y - from)), p, q);
}

// the first tetrahedron: GJK's, where it has one that is not flat, else extreme points
template <class Real>
DS_STAGE void first_points(const ConvexPair<Real>& pair, const Simplex<Real>& found,
                           const MaskOf<Real>& wanted, Polytope<Real>* x) {
  const Real zero(0), one(1);
  const Vec3<Real>& o = found.p[3].y;
  const Real volume = dot(found.p[0].y - o, cross(found.p[1].y - o, found.p[2].y - o));
  const Real flat = pair.large * pair.large * pair.small * Real(kFlatVolume);
  const auto good = mask_and(found.inside, abs(volume) > flat);
  for (int k = 0; k < 4; k++) x->point[k] = found.p[k];
  if (const unsigned set = mask_word(mask_and(wanted, mask_not(good))); set != 0) {
    DifferencePoint<Real> p[4];
    p[0] = support(pair, {one, zero, zero}, set);
    p[1] = support(pair, {-one, zero, zero}, set);
    const Vec3<Real> e = p[1].y - p[0].y;
    // across e, and not small: e's least entry is exchanged
    const auto y_less = abs(e.y) < abs(e.z);
    const Vec3<Real> u = select3(y_less, Vec3<Real>{-e.z, zero, e.x}, Vec3<Real>{-e.y, e.x, zero});
    p[2] = farther(pair, u, p[0].y, set);
    p[3] = farther(pair, cross(e, p[2].y - p[0].y), p[0].y, set);
    for (int k = 0; k < 4; k++) x->point[k] = select_point(good, x->point[k], p[k]);
  }
  // outwards: points 0, 1, 2 counterclockwise seen from the side without point 3
  const Vec3<Real>& top = x->point[3].y;
  const Real turn = dot(x->point[0].y - top, cross(x->point[1].y - top, x->point[2].y - top));
  const auto swap = turn < zero;
  const DifferencePoint<Real> keep = x->point[0];
  x->point[0] = select_point(swap, x->point[1], x->point[0]);
  x->point[1] = select_point(swap, keep, x->point[1]);
}

template <class Real>
DS_FN void first_faces(Polytope<Real>* x) {
  // the base, then the three around point 3; each is made as a new face of its last corner
  constexpr unsigned char kFaces[4][3] = {{0, 1, 2}, {1, 0, 3}, {2, 1, 3}, {0, 2, 3}};
  open_faces(x, 4);
  for (int last = 2; last <= 3; last++) {
    x->nfresh = 0;
    each_element<Real>(x->taking_part, [&](int l) {
      x->nface[l] = 4;
      for (int f = 0; f < 4; f++) {
        if (kFaces[f][2] != last) continue;
        add_fresh(x, x->nfresh++, l, kFaces[f][0], kFaces[f][1], f);
        for (int e = 0; e < 3; e++) x->corner[l][f][e] = kFaces[f][e];
      }
    });
    fill_planes(x, last);
  }
}

// the point of each element's triangle that is below the origin, on both shapes; of the elements of a set
template <class Real>
DS_FN void triangle_witness(const Polytope<Real>& x, const unsigned char (&corner)[kPackSize<Real>][3],
                            unsigned set, const Vec3<Real>& n, Vec3<Real>* on_a, Vec3<Real>* on_b) {
  DifferencePoint<Real> p[3];
  for (int c = 0; c < 3; c++) {
    p[c] = x.point[0];
    each_element<Real>(set, [&](int l) {
      const auto& from = x.point[corner[l][c]];
      copy_lane(from.y, l, &p[c].y, l);
      copy_lane(from.a, l, &p[c].a, l);
    });
  }
  const Real zero(0), one(1);
  Real weight[3], sum(0);
  const Vec3<Real> foot = n * dot(n, p[0].y);
  for (int c = 0; c < 3; c++) {
    const Vec3<Real> q = p[(c + 1) % 3].y - foot, r = p[(c + 2) % 3].y - foot;
    weight[c] = max(dot(n, cross(q, r)), zero);
    sum = sum + weight[c];
  }
  const auto none = sum <= zero;
  const Real inv = one / select(none, one, sum);
  weight[0] = select(none, one, weight[0] * inv);
  weight[1] = weight[1] * inv;
  weight[2] = weight[2] * inv;
  *on_a = p[0].a * weight[0] + p[1].a * weight[1] + p[2].a * weight[2];
  *on_b = *on_a + p[0].y * weight[0] + p[1].y * weight[1] + p[2].y * weight[2];
}

// faces that w is beyond, as bits of each element of a set. Sums of powers of two are exact up to 24 of them
template <class Real>
DS_FN void seen_faces(const Polytope<Real>& x, const Vec3<Real>& w, const Real& slack, unsigned set,
                      unsigned long long (&seen)[kPackSize<Real>]) {
  constexpr int kPart = 24;
  for (auto& s : seen) s = 0;
  for (int base = 0; base < x.nface_max; base += kPart) {
    Real bits(0);
    ScalarOf<Real> power(1);
    for (int f = base; f < x.nface_max && f < base + kPart; f++) {
      const auto beyond = dot(x.normal[f], w) - x.height[f] > slack;
      bits = bits + select(beyond, Real(power), Real(0));
      power = power + power;
    }
    each_element<Real>(set, [&](int l) {
      seen[l] |= static_cast<unsigned long long>(static_cast<unsigned>(lane_of(bits, l))) << base;
    });
  }
}

// what is known of the depth: its bounds, the direction of the upper one and the triangle that gave it
template <class Real>
struct DepthBounds {
  Real upper, lower;
  Vec3<Real> outwards;
  unsigned char triangle[kPackSize<Real>][3];
  MaskOf<Real> lowered;  // the upper one, since the witness was taken
  Vec3<Real> on_a, on_b;
};

// the polytope grows, from point `newest` on, until the bounds of the active elements agree or it is full
template <class Real>
DS_STAGE void grow(const ConvexPair<Real>& pair, const Real& tolerance, int newest, MaskOf<Real> active,
                   Polytope<Real>* x, DepthBounds<Real>* bounds) {
  // a flat side that is seen in part would tear
  const Real slack = pair.large * Real(kCoplanarRounding<Real>);
  for (; newest < kPolytopePoints; newest++) {
    Real height = x->rank[0];
    Vec3<Real> m = x->normal[0];
    IntOf<Real> face(0);
    for (int f = 1; f < x->nface_max; f++) {
      const auto nearer = x->rank[f] < height;
      height = select(nearer, x->rank[f], height);
      m = select3(nearer, x->normal[f], m);
      face = select(nearer, IntOf<Real>(f), face);
    }
    active = mask_and(active, height < no_height<Real>());
    const DifferencePoint<Real> w = support(pair, -m, mask_word(active));
    const Real beyond = dot(m, w.y);
    // of coplanar triangles the witness is in the one below the origin, which comes last
    const auto closing = mask_and(beyond <= bounds->upper + tolerance, bounds->upper - height <= tolerance);
    const auto better = mask_and(active, beyond < bounds->upper);
    bounds->upper = select(better, beyond, bounds->upper);
    bounds->outwards = select3(better, m, bounds->outwards);
    bounds->lower = select(active, height, bounds->lower);
    const auto witness = mask_or(better, mask_and(active, closing));
    bounds->lowered = mask_or(bounds->lowered, witness);
    each_element<Real>(mask_word(witness), [&](int l) {
      const auto* c = x->corner[l][lane_of(face, l)];
      for (int k = 0; k < 3; k++) bounds->triangle[l][k] = c[k];
    });
    active = mask_and(active, bounds->upper - height > tolerance);
    if (!any(active)) return;

    x->point[newest] = w;
    unsigned long long seen[kPackSize<Real>];
    unsigned stuck = 0;
    const unsigned busy = x->taking_part = mask_word(active);
    seen_faces(*x, w.y, slack, busy, seen);
    x->nfresh = 0;
    each_element<Real>(busy, [&](int l) {
      if (seen[l] == 0 || !replace_seen(x, l, seen[l], newest)) stuck |= 1u << l;
    });
    active = mask_and(active, mask_not(mask_of_word<Real>(stuck)));
    fill_planes(x, newest);
  }
}

// the witness of the upper bound, before the points of the polytope are others
template <class Real>
DS_FN void take_witness(const Polytope<Real>& x, DepthBounds<Real>* bounds) {
  Vec3<Real> on_a, on_b;
  triangle_witness(x, bounds->triangle, mask_word(bounds->lowered), bounds->outwards, &on_a, &on_b);
  bounds->on_a = select3(bounds->lowered, on_a, bounds->on_a);
  bounds->on_b = select3(bounds->lowered, on_b, bounds->on_b);
  bounds->lowered = Real(1) < Real(0);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
