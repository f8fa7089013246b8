// The difference B - A of two convex cores, by its support.
//
// The type of a shape is the same for a whole pack, so one function serves all pairs by a branch that every element takes
// alike. Its points may differ from element to element.
//
// solves    the point of B - A that is least along n
// equation  support of B along -n less support of A along n
// source    van den Bergen 2001
// deviation none
// reads     its arguments; what each_hull.h does
// writes    none
// cost      that of two support points (kernels/collide/shapes/): 10 to 20 operations each but of hulls
#pragma once

#include "kernels/collide/shapes/shapes.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

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
