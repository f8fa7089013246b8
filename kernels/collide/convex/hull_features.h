// What a hull of points has along a direction: its farthest point, the face that looks most along it, and its most level edge.
//
// Of the edges that leave the farthest point one is the most level, and the edges span the cone in which all other points
// lie: so the point that is seen most level from there is its other end, and no list of edges is needed.
//
// solves    the point p of most n.p; the face of most n.normal; the two ends of the most level edge at p
// equation  end = argmin over points x of  ((x - p).n)^2 / |x - p|^2
//           a face counts where it looks along n to within two degrees, an edge where it is across n to within as much
// source    van den Bergen 2001; own derivation for edges
// deviation of equal points the first one counts. Of a hull that is the same for all elements, and has few points beside
//           those elements that ask, each point is broadcast and all directions are in registers; else one element is asked
//           after the other (each_hull.h): the same numbers. Of a face with more than 16 corners 16 stand for all, as evenly
//           as they come
// reads     its arguments; what each_hull.h does
// writes    a ShownFace; an edge in the elements that show no face
// cost      6 operations a point or face of a small hull, all elements together; else 40 for each. Of an edge a support point,
//           and 12 operations a point
#pragma once

#include "kernels/collide/convex/core.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr double kMoreThanRounding = 1.001;  // of the square of a slope

// the point of a hull that is farthest along n, in the elements of a set at least
template <class Real>
DS_FN Vec3<Real> hull_support(const Hulls<Real>& h, const Vec3<Real>& n, unsigned wanted) {
  using Int = IntOf<Real>;
  if (!are_scanned(h, h.npoint, wanted)) return farthest_of_each<kPoints>(h, n, wanted);
  const auto along = [&](int i) { return dot(broadcast_triple<Real>(h.points(), i), n); };
  // two halves side by side: a comparison waits for the one before it
  const int half = (h.npoint + 1) / 2, middle = half < h.npoint ? half : 0;
  Int first(0), second(middle);
  Real most1 = along(0), most2 = along(middle);
  for (int i = 1; i < half; i++) {
    const Real d1 = along(i);
    const auto above1 = d1 > most1;
    most1 = select(above1, d1, most1);
    first = select(above1, Int(i), first);
    if (half + i >= h.npoint) break;
    const Real d2 = along(half + i);
    const auto above2 = d2 > most2;
    most2 = select(above2, d2, most2);
    second = select(above2, Int(half + i), second);
  }
  return triple_at<Real>(h.points(), select(most2 > most1, second, first));
}

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

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
