// Separation of two convex shapes: GJK for all elements, then an expanding polytope for those whose cores meet.
#pragma once

#include "kernels/collide/convex/penetration.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
DS_FN ConvexPair<Real> make_convex_pair(const Shape<Real>& a, const ConvexCore<Real>& core_a,
                                        const Shape<Real>& b, const ConvexCore<Real>& core_b) {
  ConvexPair<Real> p;
  p.a = core_a;
  p.b = core_b;
  for (int j = 0; j < 3; j++) {
    const Vec3<Real> axis = rotate_transposed(a.rot, column(b.rot, j));
    p.rot.m[j] = axis.x;
    p.rot.m[3 + j] = axis.y;
    p.rot.m[6 + j] = axis.z;
  }
  p.shift = rotate_transposed(a.rot, b.pos - a.pos);
  p.radius = core_radius(core_a) + core_radius(core_b);
  p.small = min(core_a.bound, core_b.bound);
  p.large = core_a.bound + core_b.bound;
  return p;
}

// dist and n of the shapes, radii included; on_a and on_b on their surfaces
template <class Real>
DS_STAGE void convex_separation(const ConvexPair<Real>& pair, const Real& margin, Separation<Real>* out) {
  Simplex<Real> simplex;
  MaskOf<Real> meets;
  const auto all_of_them = Real(0) <= Real(0);
  core_distance(pair, margin + pair.radius, all_of_them, &simplex, out, &meets);
  if (any(meets)) core_penetration(pair, simplex, meets, out);
  out->dist = out->dist - pair.radius;
  out->on_a = axpy(out->n, core_radius(pair.a), out->on_a);
  out->on_b = axpy(out->n, -core_radius(pair.b), out->on_b);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
