// Hulls of points, one for all elements of a pack or one for each, and what is farthest along a direction among the points or
// the normals of each.
//
// solves    argmax over i of  x_i . n  for the x_i of each element's own table, n its own direction
// equation  of the cell of n (hull_table.h) as many x_i as a pack has elements at once: the greatest product at each element
//           of the pack, and where it was; then the greatest of the elements, of equals the one with the least i.
//           cell of n: the face f of the cube is that of its largest entry n_f, the square that of the others over |n_f|
// source    own derivation; cube maps: Greene 1986
// deviation products are summed as where a whole pack has one hull (shape.h), so that the numbers are the same
// reads     hull_adr, hull_point, hull_faceadr, hull_normal, hull_corneradr, hull_corner, hull_pointcell, hull_normalcell, cell_adr, cell_num, cell_triple,
//           cell_number
// writes    none
// cost      40 operations for each element, of a hull of any size
#pragma once

#include "kernels/base/bits.h"
#include "kernels/base/spatial.h"
#include "kernels/data/hull_table.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// `count` triples: x of all of them, then y, then z, each `run` numbers long (hull_table.h)
template <class Scalar>
struct Triples {
  const Scalar* x = nullptr;
  int count = 0, run = 0;
  DS_HD const Scalar* y() const { return x + run; }
  DS_HD const Scalar* z() const { return x + 2 * run; }
};
template <class Real>
DS_HD Vec3<Real> broadcast_triple(const Triples<ScalarOf<Real>>& t, int i) {
  return {Real(t.x[i]), Real(t.y()[i]), Real(t.z()[i])};
}
template <class Real>
DS_HD Vec3<Real> triple_at(const Triples<ScalarOf<Real>>& t, const IntOf<Real>& i) {
  return {gather<Real>(t.x, i), gather<Real>(t.y(), i), gather<Real>(t.z(), i)};
}

// triples by the cells of directions along which they are farthest
template <class Scalar>
struct TripleCells {
  const int* adr = nullptr;        // first triple of each cell
  const int* num = nullptr;        // how many it has
  const Scalar* triple = nullptr;  // of all hulls
  const int* number = nullptr;     // of each triple
  int side = 0;                    // cells along each side of the cube
  // f(its triples) of a cell; of nearly all cells the triples are one run
  template <class F>
  DS_HD void with(int cell, F f) const {
    const Scalar* x = triple + 3 * adr[cell];
    const int count = num[cell];
    if (count <= kCellRun)
      f(Triples<Scalar>{x, count, kCellRun});
    else
      f(Triples<Scalar>{x, count, whole_runs(count, kCellRun)});
  }
};

// points and flat faces of a convex polytope, in the geom's frame. Corners of a face turn counterclockwise
// seen from outside
template <class Scalar>
struct Hull {
  const Scalar* point = nullptr;    // of Triples
  const Scalar* normal = nullptr;   // of Triples, outwards
  const int* corner_adr = nullptr;  // (nface + 1): where a face's corners begin
  const int* corner = nullptr;      // points
  int npoint = 0, nface = 0;
  TripleCells<Scalar> point_cells, normal_cells;
  DS_HD Triples<Scalar> points() const { return {point, npoint, whole_runs(npoint, kHullRun)}; }
  DS_HD Triples<Scalar> normals() const { return {normal, nface, whole_runs(nface, kHullRun)}; }
};
template <class Scalar, class Tables>
DS_HD Hull<Scalar> hull_of_table(const Tables& t, int h) {
  const int point = t.hull_adr[h], face = t.hull_faceadr[h];
  const int npoint = t.hull_adr[h + 1] - point, nface = t.hull_faceadr[h + 1] - face;
  const auto cells = [&](int first, int count) {
    return TripleCells<Scalar>{.adr = t.cell_adr + first,
                               .num = t.cell_num + first,
                               .triple = t.cell_triple.p,
                               .number = t.cell_number,
                               .side = cells_a_side(count)};
  };
  return {.point = t.hull_point.p + hull_begin(point, h),
          .normal = t.hull_normal.p + hull_begin(face, h),
          .corner_adr = t.hull_corneradr + face,
          .corner = t.hull_corner,
          .npoint = npoint,
          .nface = nface,
          .point_cells = cells(t.hull_pointcell[h], npoint),
          .normal_cells = cells(t.hull_normalcell[h], nface)};
}

// of the elements of a pack: the one that all have, or the first one's, and where each has its own, theirs
template <class Real, int kPack = kPackSize<Real>>
struct Hulls : Hull<ScalarOf<Real>> {
  const Hull<ScalarOf<Real>>* each = nullptr;
};
template <class Real>
struct Hulls<Real, 1> : Hull<ScalarOf<Real>> {};
template <class Real>
DS_HD const Hull<ScalarOf<Real>>& hull_of(const Hulls<Real>& h, [[maybe_unused]] int l) {
  if constexpr (kPackSize<Real> != 1)
    if (h.each != nullptr) return h.each[l];
  return h;
}

// whether all triples of a hull are asked: of one that all elements have, which are few beside the elements of a set
template <class Real>
DS_HD bool are_scanned(const Hulls<Real>& h, int count, unsigned wanted) {
  if constexpr (kPackSize<Real> == 1)
    return count <= kScannedTriples;
  else
    return h.each == nullptr && count <= kScannedTriplesOfPack * bit_count(wanted & kAllElements<Real>);
}

// as many triples as are asked at once for one direction
template <class Real>
struct SeveralOf {
  using Type = Real;
};
#if DS_HOST_PACKS
template <class Scalar, int N>
struct SeveralOf<Pack<Scalar, N>> {
  using Type = Pack<Scalar, (N < kCellRun ? N : kCellRun)>;
};
#endif

// the place of the triple farthest along n, one direction; the first where nothing can be compared
template <class Several>
DS_HD int farthest_triple(const Triples<ScalarOf<Several>>& t, const Vec3<Several>& n) {
  constexpr int kAtOnce = kPackSize<Several>;
  const ScalarOf<Several>*x = t.x, *y = t.y(), *z = t.z();
  const auto along = [&](int i) {
    return dot(Vec3<Several>{load_pack<Several>(x + i), load_pack<Several>(y + i), load_pack<Several>(z + i)},
               n);
  };
  Several most = along(0);
  IntOf<Several> base(0);
  for (int i = kAtOnce; i < t.count; i += kAtOnce) {
    const Several d = along(i);
    const auto above = d > most;
    most = select(above, d, most);
    base = select(above, IntOf<Several>(i), base);
  }
  if constexpr (kAtOnce == 1) {
    return base;
  } else {
    unsigned best = mask_word(most == greatest(most));
    if (best == 0) return 0;
    const int place = bit_count_trailing(best);
    if (t.count <= kAtOnce) return place;
    int first = lane_of(base, place) + place;
    for (best &= best - 1; best != 0; best &= best - 1) {
      const int other = bit_count_trailing(best), i = lane_of(base, other) + other;
      first = i < first ? i : first;
    }
    return first;
  }
}

// the side of a cube that a direction meets, and where: from 0 to 1 along its other two axes
template <class Real>
struct CubePoint {
  Real face, u, v;
};
template <class Real>
DS_HD CubePoint<Real> point_on_cube(const Vec3<Real>& n) {
  const Real zero(0), one(1), half(0.5);
  const LongestAxis<Real> axis(n);
  const auto pick = [&](const Real& a, const Real& b, const Real& c) { return axis.pick(a, b, c); };
  const Real most = pick(abs(n.x), abs(n.y), abs(n.z)), inv = half / select(most > zero, most, one);
  const auto within = [&](const Real& a) {
    const Real at = fma(a, inv, half);
    return select(at > zero, select(at < one, at, one), zero);  // what is no number is 0
  };
  const Real face = pick(zero, Real(2), Real(4)) + select(pick(n.x, n.y, n.z) < zero, one, zero);
  return {face, within(pick(n.y, n.z, n.x)), within(pick(n.z, n.x, n.y))};
}
template <class Scalar>
DS_HD int cell_at(const Scalar& face, const Scalar& u, const Scalar& v, int side) {
  const auto along = [&](const Scalar& at) {
    const int i = static_cast<int>(at * static_cast<Scalar>(side));
    return i < side ? i : side - 1;
  };
  return cell_number(static_cast<int>(face), along(u), along(v), side);
}

enum HullPart { kPoints, kNormals };
// the triples farthest along n, and their numbers, in the elements of a set; zeros of hulls that have none
template <HullPart kPart, class Real>
DS_FN Vec3<Real> farthest_of_each(const Hulls<Real>& h, const Vec3<Real>& n, unsigned wanted,
                                  IntOf<Real>* number = nullptr) {
  using Several = typename SeveralOf<Real>::Type;
  const CubePoint<Real> point = point_on_cube(n);
  Vec3<Real> out{Real(0), Real(0), Real(0)};
  each_element<Real>(wanted & kAllElements<Real>, [&](int l) {
    const Hull<ScalarOf<Real>>& own = hull_of(h, l);
    if ((kPart == kPoints ? own.npoint : own.nface) == 0) return;
    const TripleCells<ScalarOf<Real>>& cells = kPart == kPoints ? own.point_cells : own.normal_cells;
    const int cell = cell_at(lane_of(point.face, l), lane_of(point.u, l), lane_of(point.v, l), cells.side);
    cells.with(cell, [&](const Triples<ScalarOf<Real>>& t) {
      const int i = farthest_triple<Several>(
          t, {Several(lane_of(n.x, l)), Several(lane_of(n.y, l)), Several(lane_of(n.z, l))});
      set_lane(out.x, l, t.x[i]), set_lane(out.y, l, t.y()[i]), set_lane(out.z, l, t.z()[i]);
      if (number != nullptr) set_lane(*number, l, cells.number[cells.adr[cell] + i]);
    });
  });
  return out;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
