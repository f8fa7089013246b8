// Directions of least overlap between a cylinder and another convex shape, in the cylinder's frame.
//
// solves    the direction n, pointing away from the cylinder, along which the two overlap least
// equation  half height h, radius R:
//             s(n) = (least n.x over the other shape) - h |n_z| - R |n_xy|
//           has the signed distance as its maximum over all unit n. Where n leaves some axis (n_z = 0, or
//           n.u = 0 for an edge u of the other shape) s has a ridge, so maxima lie at n = z, on these
//           circles, where two of them meet, or in the smooth regions between
// source    van den Bergen 2001
// deviation each pair lists its candidates; every one is a valid lower bound of the distance, so a candidate
//           too many does no harm. The candidate that needs a search is a rim against a line u: all n across
//           u. Seen along u the rim is an ellipse and the line a point, and the answer is the ellipse's
//           normal through the point
// reads     its arguments
// writes    its arguments: a Direction, a normal, a frame
// cost      40 operations a step of the search
#pragma once

#include "kernels/collide/ball_contact.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// of the sizes of both shapes: how much better than an earlier direction a later one must be
template <class Real>
constexpr double kDirectionTie = kSingle<Real> ? 1e-6 : 1e-12;
// sine between a line and the cylinder's axis: below it the two are parallel, and no direction is across both
template <class Real>
constexpr double kSlantedSine = kSingle<Real> ? 1e-5 : 1e-10;
// and below this one the frame of the line is that of the axis
template <class Real>
constexpr double kUprightSine = kSingle<Real> ? 1e-6 : 1e-14;

// the best direction so far. kind: what touches, in the words of the pair
template <class Real>
struct Direction {
  Vec3<Real> n;
  Real separation;
  Real kind;
};

// takes a candidate that is better by more than `tie`: earlier candidates carry more contacts
template <class Real>
DS_HD void consider(Direction<Real>* best, const MaskOf<Real>& valid, const Vec3<Real>& n,
                    const Real& separation, const Real& kind, const Real& tie) {
  const auto better = mask_and(valid, separation > best->separation + tie);
  best->n = select3(better, n, best->n);
  best->separation = select(better, separation, best->separation);
  best->kind = select(better, kind, best->kind);
}

template <class Real>
DS_HD Real unit_sign(const Real& x) {
  return select(x < Real(0), Real(-1), Real(1));
}

template <class Real>
constexpr int kEllipseSteps = kSingle<Real> ? 9 : 12;
// a turn in radians that is rounding
template <class Real>
constexpr double kEllipseRounding = kSingle<Real> ? 3e-7 : 1e-15;
// by which both coordinates of the start are raised: for the centre of a circle it would have no direction
constexpr double kEllipseStart = 1e-6;
// a shorter vector from the ellipse to the point, or gradient, has no direction
constexpr double kEllipseNoNormal = 1e-18;

// Unit normal (c, s) of the ellipse (k cos t, sin t), k in [0, 1], at its point of the first quadrant nearest
// to (p, q), q >= 0; false where there is none (p < 0 and the end of the quadrant is nearer). The foot is at
// a rise of g(t) = k p sin t - q cos t + (1 - k^2) sin t cos t through zero, which for p >= 0 is the only
// one; for p < 0 there is one only inside the evolute, up to where tan^3 t = q / (k |p|). Newton, kept in the
// bracket by halving the angle. `k2` is 1 - k^2. 12 steps at most (9 in float) of 30 operations, 2 divisions
// and a root
template <class Real>
DS_FN MaskOf<Real> ellipse_normal(const Real& p, const Real& q, const Real& k, const Real& k2, Real* normal_c,
                                  Real* normal_s) {
  const Real zero(0), one(1), kp = k * p;
  // start between the answers for a flat ellipse and for a circle
  const Real flat_s = min(q, one), flat_c = sqrt(max(one - flat_s * flat_s, zero));
  const Real far = max(sqrt(fma(p, p, q * q)), Real(kLeastDivisor));
  Real c = fma(k, p / far - flat_c, flat_c) + Real(kEllipseStart),
       s = fma(k, q / far - flat_s, flat_s) + Real(kEllipseStart);
  Real high_c = zero, high_s = one;
  const auto behind = p < zero;
  auto there = zero <= zero;
  if (any(behind)) {
    const Real t = pow(max(q, Real(kLeastDivisor)) / max(-kp, Real(kLeastDivisor)), Real(1.0 / 3)),
               scale = one / sqrt(fma(t, t, one));
    high_c = select(behind, scale, zero);
    high_s = select(behind, t * scale, one);
    there = mask_or(mask_not(behind), fma(kp, high_s, fma(k2 * high_s, high_c, -(q * high_c))) > zero);
    c = select(behind, one + high_c, c);
    s = select(behind, high_s, s);
  }
  Real scale = one / sqrt(fma(c, c, s * s));
  c = c * scale;
  s = s * scale;
  Real low_c = one, low_s = zero;
  auto open = zero <= zero;
  for (int step = 0; step < kEllipseSteps<Real>; step++) {
    const Real g = fma(kp, s, fma(k2 * s, c, -(q * c)));
    const Real slope = fma(kp, c, fma(q, s, k2 * fma(c, c, -(s * s))));
    const auto before = g < zero;
    low_c = select(before, c, low_c);
    low_s = select(before, s, low_s);
    high_c = select(before, high_c, c);
    high_s = select(before, high_s, s);
    const Real turn = -g / select(slope > zero, slope, one);
    Real next_c = fma(-turn, s, c), next_s = fma(turn, c, s);
    // at the end of the bracket rounding would decide what is inside
    const auto settled = abs(turn) <= Real(kEllipseRounding<Real>);
    const auto within =
        mask_and(low_c * next_s - low_s * next_c >= zero, next_c * high_s - next_s * high_c >= zero);
    const auto inside = mask_and(slope > zero, mask_or(settled, within));
    next_c = select(inside, next_c, low_c + high_c);
    next_s = select(inside, next_s, low_s + high_s);
    scale = one / sqrt(fma(next_c, next_c, next_s * next_s));
    c = select(open, next_c * scale, c);
    s = select(open, next_s * scale, s);
    open = mask_and(open, mask_not(mask_and(inside, settled)));
    if (!any(open)) break;
  }
  // along the gradient, or where that is too short to have a direction, towards the point
  const Real grad_c = c, grad_s = k * s, grad = fma(grad_c, grad_c, grad_s * grad_s);
  const Real to_c = p - k * c, to_s = q - s, to = fma(to_c, to_c, to_s * to_s);
  const auto use_to = to > grad;
  // both lie in the first quadrant, or opposite to it
  const Real length = sqrt(select(use_to, to, grad));
  const auto none = length < Real(kEllipseNoNormal);
  const Real inv = one / select(none, one, length);
  *normal_c = select(none, zero, abs(select(use_to, to_c, grad_c)) * inv);
  *normal_s = select(none, one, abs(select(use_to, to_s, grad_s)) * inv);
  return there;
}

// the directions across a unit vector u: e1 = (z - u_z u) / |..|, e2 = z x u / |..|; where u is along z, any two
template <class Real>
struct RimFrame {
  Vec3<Real> e1, e2;
  Vec3<Real> level;  // u_xy, normalized
  Real uz, across;   // |u_xy|
};
template <class Real>
DS_HD RimFrame<Real> rim_frame(const Vec3<Real>& u) {
  const Real zero(0), one(1), across = sqrt(fma(u.x, u.x, u.y * u.y));
  const auto upright = across < Real(kUprightSine<Real>);
  const Real inv = one / select(upright, one, across);
  const Real x = select(upright, one, u.x * inv), y = select(upright, zero, u.y * inv);
  return {.e1 = {-(u.z * x), -(u.z * y), across},
          .e2 = {-y, x, zero},
          .level = {x, y, zero},
          .uz = u.z,
          .across = across};
}

// n across u for which the rim is farthest from the line through `at` along u. False where there is none
template <class Real>
DS_FN MaskOf<Real> rim_across(const RimFrame<Real>& u, const Vec3<Real>& at, const Real& half,
                              const Real& radius, Vec3<Real>* n) {
  const Real x = dot(at, u.e1), y = dot(at, u.e2), inv = Real(1) / radius;
  Real c, s;
  const auto there = ellipse_normal(fma(-half, u.across, abs(x)) * inv, abs(y) * inv, abs(u.uz),
                                    u.across * u.across, &c, &s);
  *n = u.e1 * (c * unit_sign(x)) + u.e2 * (s * unit_sign(y));
  return there;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
