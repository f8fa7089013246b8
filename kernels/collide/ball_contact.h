// The contact of two balls, on which most pairs of round shapes rest: nearest points of the shapes' cores,
// then radii around them.
//
// solves    distance, normal and position of the contact of two balls
// equation  delta = c2 - c1
//           normal = delta / |delta|
//           dist = |delta| - r1 - r2
//           pos = c1 + normal (r1 + dist / 2)
// source    MuJoCo's rule where the centres coincide: the normal is the common perpendicular of the two z
//           axes, and x where these are parallel too
// deviation none
// reads     its arguments
// writes    of a slot of a Manifold distance, normal and position; `hit` is the caller's
// cost      about 16 operations, a division and a square root
#pragma once

#include "kernels/collide/manifold.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// lengths below this have no direction (MuJoCo's mjMINVAL)
constexpr double kNoLength = 1e-15;
// what is divided by is no smaller, be it a length, a sine or the square of one
constexpr double kLeastDivisor = 1e-12;

// no contact in any slot; numbers that no one may use, but finite
template <class Real, int K>
DS_HD void clear(Manifold<Real, K>* out) {
  const Real zero(0);
  const Vec3<Real> none{zero, zero, zero};
  for (int k = 0; k < K; k++) {
    out->dist[k] = zero;
    out->pos[k] = none;
    out->normal[k] = none;
    out->hit[k] = zero < zero;
  }
  out->tangent = none;
}

template <class Real>
DS_HD Vec3<Real> z_axis(const Shape<Real>& s) {
  return column(s.rot, 2);
}

// unit vector across both z axes, x where there is none
template <class Real>
DS_FN Vec3<Real> across_axes(const Shape<Real>& a, const Shape<Real>& b) {
  Real length;
  return normalize(cross(z_axis(a), z_axis(b)), {Real(1), Real(0), Real(0)}, &length);
}

// unit vector along delta and its length; `length_squared` is that of delta
template <class Real>
DS_HD Vec3<Real> ball_normal(const Shape<Real>& a, const Shape<Real>& b, const Vec3<Real>& delta,
                             const Real& length_squared, Real* length) {
  *length = sqrt(length_squared);
  const auto coincide = *length < Real(kNoLength);
  Vec3<Real> normal = delta * (Real(1) / select(coincide, Real(1), *length));
  if (any(coincide)) normal = select3(coincide, across_axes(a, b), normal);
  return normal;
}

// two balls by their centres and radii
template <class Real>
struct TwoBalls {
  Vec3<Real> c1, delta;  // c2 - c1
  Real length_squared;   // of delta
  Real r1, r2;
};
// fills slot k from balls that stand for the shapes; the caller has decided on hit[k]
template <class Real, int K>
DS_HD void ball_contact(const Shape<Real>& a, const Shape<Real>& b, const TwoBalls<Real>& balls, int k,
                        Manifold<Real, K>* out) {
  Real length;
  const Vec3<Real> normal = ball_normal(a, b, balls.delta, balls.length_squared, &length);
  const Real dist = length - balls.r1 - balls.r2;
  out->dist[k] = dist;
  out->normal[k] = normal;
  out->pos[k] = axpy(normal, fma(dist, Real(0.5), balls.r1), balls.c1);
}

// are two points this far apart within reach of each other? (reach may be negative: then never)
template <class Real>
DS_HD MaskOf<Real> within_reach(const Real& length_squared, const Real& reach) {
  return mask_and(length_squared<reach * reach, reach> Real(0));
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
