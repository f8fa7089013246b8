// The edge that a polytope shows in a direction where none of its faces does.
//
// Of the edges that leave the farthest point one is the most level, and the edges span the cone in which all other points
// lie: so the point that is seen most level from there is its other end, and no list of edges is needed.
//
// solves    the two ends of the most level edge at the point farthest along n
// equation  top = the support along n,   end = argmin over points x of  ((x - top).n)^2 / |x - top|^2
//           of a box the edge along the axis with the least |n_k|
//           it counts where the slope is at most that of two degrees
// source    own derivation
// deviation none
// reads     its arguments
// writes    a ShownFace, in the elements that show no face
// cost      a support point, and 12 operations a point of a hull
#pragma once

#include "kernels/collide/convex/shape.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr int kFaceCorners = 16;
constexpr double kAlignedCosine = 0.99939082701909573;  // two degrees
constexpr double kAlignedSine = 0.03489949670250097;
constexpr double kMoreThanRounding = 1.001;  // of the square of a slope

// corners turn counterclockwise seen from outside; a line has two
template <class Real>
struct ShownFace {
  Vec3<Real> corner[kFaceCorners];
  Vec3<Real> normal;
  IntOf<Real> count;
  int count_max;
  MaskOf<Real> line, there;
};

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

// of element l alone: the same numbers, of few points at most, since an edge is level to within two degrees
template <class Real>
DS_HD bool edge_of_one(const Triples<ScalarOf<Real>>& t, const Vec3<Real>& top, const Vec3<Real>& n, int l,
                       Vec3<Real>* end) {
  using Scalar = ScalarOf<Real>;
  const Vec3<Scalar> from{lane_of(top.x, l), lane_of(top.y, l), lane_of(top.z, l)};
  const Vec3<Scalar> along{lane_of(n.x, l), lane_of(n.y, l), lane_of(n.z, l)};
  const Vec3<Real> from_all{Real(from.x), Real(from.y), Real(from.z)},
      along_all{Real(along.x), Real(along.y), Real(along.z)};
  // what is steeper by more than rounding is never the most level
  const Real steepest(kAlignedSine * kAlignedSine * kMoreThanRounding);
  Scalar fall2 = Scalar(kAlignedSine * kAlignedSine), length2 = 1;
  bool level = false;
  for (int base = 0; base < t.count; base += kPackSize<Real>) {
    const Vec3<Real> d = Vec3<Real>{load_pack<Real>(t.x + base), load_pack<Real>(t.y() + base),
                                    load_pack<Real>(t.z() + base)} -
                         from_all;
    const Real fall = dot(d, along_all);
    each_element<Real>(mask_word(fall * fall < dot(d, d) * steepest), [&](int k) {
      const int i = base + k;
      if (i >= t.count) return;
      const Vec3<Scalar> x{t.x[i], t.y()[i], t.z()[i]}, e = x - from;
      const Scalar f = dot(e, along), f2 = f * f, l2 = dot(e, e);
      if (!(f2 * length2 < fall2 * l2)) return;
      fall2 = f2, length2 = l2, level = true;
      set_lane(end->x, l, x.x), set_lane(end->y, l, x.y), set_lane(end->z, l, x.z);
    });
  }
  return level;
}

template <class Real>
DS_FN void hull_edge(const Hulls<Real>& h, const Vec3<Real>& n, const MaskOf<Real>& wanted,
                     ShownFace<Real>* out) {
  const unsigned set = mask_word(mask_and(wanted, mask_not(out->there)));
  if (set == 0) return;
  const Vec3<Real> top = hull_support(h, n, set);
  if constexpr (kPackSize<Real> != 1)
    if (!are_scanned(h, h.npoint, set)) {
      unsigned found = 0;
      Vec3<Real> other = top;
      each_element<Real>(set, [&](int l) {
        if (edge_of_one(hull_of(h, l).points(), top, n, l, &other)) found |= 1u << l;
      });
      return take_edge(top, other, mask_of_word<Real>(found), n, out);
    }
  // squares of a fall and of a length, whose ratio is the least so far
  Real fall2(kAlignedSine * kAlignedSine), length2(1);
  Vec3<Real> end = top;
  auto level = Real(0) > Real(0);
  for (int i = 0; i < h.npoint; i++) {
    const Vec3<Real> x = broadcast_triple<Real>(h.points(), i), d = x - top;
    const Real fall = dot(d, n), f2 = fall * fall, l2 = dot(d, d);
    const auto better = f2 * length2 < fall2 * l2;
    fall2 = select(better, f2, fall2);
    length2 = select(better, l2, length2);
    end = select3(better, x, end);
    level = mask_or(level, better);
  }
  take_edge(top, end, level, n, out);
}

template <class Real>
DS_FN void box_edge(const Vec3<Real>& size, const Vec3<Real>& n, ShownFace<Real>* out) {
  if (all(out->there)) return;
  const Real zero(0);
  const Vec3<Real> top{select(n.x < zero, -size.x, size.x), select(n.y < zero, -size.y, size.y),
                       select(n.z < zero, -size.z, size.z)};
  const Real x = abs(n.x), y = abs(n.y), z = abs(n.z);
  const auto is_x = mask_and(x <= y, x <= z), is_y = mask_and(mask_not(is_x), y <= z);
  const auto is_z = mask_not(mask_or(is_x, is_y));
  const Vec3<Real> end{select(is_x, -top.x, top.x), select(is_y, -top.y, top.y), select(is_z, -top.z, top.z)};
  take_edge(top, end, min(x, min(y, z)) < Real(kAlignedSine), n, out);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
