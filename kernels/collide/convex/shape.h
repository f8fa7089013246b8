// Convex shapes by their support: the hull of points, ellipsoid, cylinder, box, and segment and point with a radius around
// them (capsule, sphere).
//
// The type of a shape is the same for a whole pack, so one function serves all pairs by a branch that every element takes
// alike. Its points may differ from element to element.
//
// solves    the point of a core, or of the difference B - A of two, that is farthest along n
// equation  hull       the point p with the largest n.p       box      the corner with the signs of n
//           ellipsoid  S^2 n / |S n|, S = diag(half axes)     capsule  an end of the axis
//           cylinder   a point of a rim                       sphere   the centre
//           B - A      support of B along -n less support of A along n
// source    van den Bergen 2001
// deviation of equal points the first one counts. Of a hull that is the same for all elements, and has few points beside
//           those elements that ask, each point is broadcast and all directions are in registers; else one element is asked
//           after the other (each_hull.h): the same numbers
// reads     its arguments; what each_hull.h does
// writes    none
// cost      6 operations a point of a small hull, all elements together; else 40 for each. 10 to 20 for the others
#pragma once

#include "kernels/collide/ball_contact.h"
#include "kernels/collide/convex/each_hull.h"
#include "kernels/collide/kinds.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a shape with a hull; other shapes carry none of this
template <class Real>
struct HullShape : Shape<Real> {
  Hulls<Real> hull;
  Real bound;  // no point is farther from the centre
};

// what the search sees of a shape: a core, whose support is known, and a radius around it
template <class Real>
struct ConvexCore {
  int type;
  Vec3<Real> size;
  Hulls<Real> hull;
  Real bound;  // no point of the shape is farther from its centre
};

template <class Real>
DS_HD Real core_radius(const ConvexCore<Real>& c) {
  return c.type == kSphere || c.type == kCapsule ? c.size.x : Real(0);
}

template <class Real>
DS_FN ConvexCore<Real> make_core(const HullShape<Real>& s, int type) {
  return {type, s.size, s.hull, s.bound};
}
template <class Real>
DS_FN ConvexCore<Real> make_core(const Shape<Real>& s, int type) {
  const Real x = s.size.x, y = s.size.y, z = s.size.z;
  Real bound = x;
  if (type == kCapsule) bound = x + y;
  if (type == kEllipsoid) bound = max(x, max(y, z));
  if (type == kCylinder) bound = sqrt(fma(x, x, y * y));
  if (type == kBox) bound = norm(s.size);
  return {type, s.size, {}, bound};
}

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

// a point of the core farthest along n, in the frame of the shape, in the elements of a set at least
template <class Real>
DS_FN Vec3<Real> core_support(const ConvexCore<Real>& c, const Vec3<Real>& n, unsigned wanted = ~0u) {
  const Real zero(0), tiny(kFiniteInverse);
  switch (c.type) {
    case kMesh:
      return hull_support(c.hull, n, wanted);
    case kBox:
      return {select(n.x < zero, -c.size.x, c.size.x), select(n.y < zero, -c.size.y, c.size.y),
              select(n.z < zero, -c.size.z, c.size.z)};
    case kCapsule:
      return {zero, zero, select(n.z < zero, -c.size.y, c.size.y)};
    case kCylinder: {
      const Real across = fma(n.x, n.x, n.y * n.y);
      const Real scale = c.size.x / sqrt(max(across, tiny));
      return {n.x * scale, n.y * scale, select(n.z < zero, -c.size.y, c.size.y)};
    }
    case kEllipsoid: {
      const Vec3<Real> s{c.size.x * n.x, c.size.y * n.y, c.size.z * n.z};
      const Real inv = Real(1) / sqrt(max(dot(s, s), tiny));
      return {c.size.x * s.x * inv, c.size.y * s.y * inv, c.size.z * s.z * inv};
    }
    default:
      return {zero, zero, zero};
  }
}

// two shapes in the frame of the first, and a point of their difference B - A
template <class Real>
struct ConvexPair {
  ConvexCore<Real> a, b;
  Mat3<Real> rot;     // axes of the second
  Vec3<Real> shift;   // its centre
  Real radius;        // of both around their cores
  Real small, large;  // lengths: of the smaller shape, and of the difference
};

template <class Real>
struct DifferencePoint {
  Vec3<Real> y;  // b - a
  Vec3<Real> a;
};

// the point of B - A that is least along n, in the elements of a set at least
template <class Real>
DS_STAGE DifferencePoint<Real> support(const ConvexPair<Real>& p, const Vec3<Real>& n,
                                       unsigned wanted = ~0u) {
  const Vec3<Real> a = core_support(p.a, n, wanted);
  const Vec3<Real> b = p.shift + rotate(p.rot, core_support(p.b, -rotate_transposed(p.rot, n), wanted));
  return {b - a, a};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
