// Capsule against capsule: the nearest points of the two core segments, then balls around them.
//
// solves    one contact, or two where the axes are parallel
// equation  points p1 + x1 a1 and p2 + x2 a2 with unit axes, |x1| <= l1, |x2| <= l2; d = p2 - p1, c = a1.a2.
//           Over the whole lines the minimum of |d + x2 a2 - x1 a1| is at
//             x2 = -d.w / w.w,   w = a2 - c a1
//           w is the part of a2 across a1: it keeps the digits that 1 - c^2 loses near parallel axes.
//           Clamping x2, then x1 to its best answer, then x2 again is exact for segments
// source    Ericson 2005, section 5.1.9, with the roles of the two lines swapped
// deviation parallel axes (w.w < 1e-8, as in MuJoCo) touch along a stretch, whose two ends are the contacts,
//           in the order in which they lie along a1: the ends of the second segment, and where these are
//           beside the first one, the ends of the first
// reads     its arguments
// writes    a Manifold
// cost      of a pair (humanoid: hundreds of candidates a step) 46 operations and a division until it is
//           clear whether anything is within reach; then 21, a division and a square root; twice that where
//           axes are parallel
#pragma once

#include "kernels/collide/ball_contact.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// squared sine of the angle between axes that count as parallel
constexpr double kParallelAxes = 1e-8;

template <class Real>
DS_FN void capsule_capsule(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                           Manifold<Real, 2>* out) {
  const Vec3<Real> a1 = z_axis(a), a2 = z_axis(b), d = b.pos - a.pos;
  const Real l1 = a.size.y, l2 = b.size.y, r1 = a.size.x, r2 = b.size.x;
  const Real c = dot(a1, a2), along1 = dot(a1, d), along2 = -dot(a2, d);
  const Vec3<Real> w = axpy(a1, -c, a2);
  const Real ww = dot(w, w);
  const auto parallel = ww < Real(kParallelAxes);

  Real x2 = clamp(-dot(d, w) / select(parallel, Real(1), ww), -l2, l2);
  Real x1 = clamp(fma(c, x2, along1), -l1, l1);
  x2 = clamp(fma(c, x1, along2), -l2, l2);

  Vec3<Real> delta = axpy(a1, -x1, axpy(a2, x2, d));
  Real squared = dot(delta, delta);
  const Real reach = margin + r1 + r2;
  auto near = within_reach(squared, reach);
  if (!any(near)) return clear(out);

  const auto along = mask_and(parallel, near);
  out->hit[1] = mask_and(along, mask_not(along));
  if (any(along)) {
    const Real first_end = select(c < Real(0), l2, -l2);
    for (int k = 1; k >= 0; k--) {
      const Real end = k == 0 ? first_end : -first_end, across = fma(c, end, along1);
      const Real y1 = clamp(across, -l1, l1);
      const Real y2 = select(y1 == across, end, clamp(fma(c, y1, along2), -l2, l2));
      const Vec3<Real> between = axpy(a1, -y1, axpy(a2, y2, d));
      const Real between_squared = dot(between, between);
      const auto within = within_reach(between_squared, reach);
      if (k == 1) {
        const TwoBalls<Real> balls{.c1 = axpy(a1, y1, a.pos),
                                   .delta = between,
                                   .length_squared = between_squared,
                                   .r1 = r1,
                                   .r2 = r2};
        ball_contact(a, b, balls, 1, out);
        out->hit[1] = mask_and(along, within);
      } else {
        near = mask_and(near, mask_or(mask_not(along), within));
        x1 = select(along, y1, x1);
        squared = select(along, between_squared, squared);
        delta = select3(along, between, delta);
      }
    }
  } else {
    out->dist[1] = Real(0);
    out->pos[1] = out->normal[1] = {Real(0), Real(0), Real(0)};
  }
  const TwoBalls<Real> balls{
      .c1 = axpy(a1, x1, a.pos), .delta = delta, .length_squared = squared, .r1 = r1, .r2 = r2};
  ball_contact(a, b, balls, 0, out);
  out->hit[0] = near;
  out->tangent = {Real(0), Real(0), Real(0)};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
