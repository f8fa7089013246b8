// Wrapping: the shortest way of a string around a sphere or a cylinder, or through it on its inside.
//
// solves    the points where the string touches the shape, and its length between them
// equation  in the plane of a great circle (sphere), or across the axis (cylinder), radius r, ends p and q:
//             outside   tangent points s with s . s = s . p = r^2. Without a side site the shorter of the two
//                       ways, where the straight one is barred. With a side site at s, and ends on opposite
//                       sides of the line through it and the centre, the way around s; with ends on one side of
//                       that line the shorter arc, where the straight one is barred
//             inside    one point s on the circle, where the string has equal angles t with the radius: with
//                       A = r / |p|, B = r / |q|, G the angle between p and q,
//                       asin(A sin t) + asin(B sin t) - 2 t + G = 0
//           on a cylinder the string climbs in proportion to its way across
// source    MuJoCo's documentation, "Spatial tendon"; Newton's method from the right as there, in t in place of sin t, and to
//           a smaller tolerance
// deviation none; arcs by the arctangent of sine and cosine
// reads     its arguments
// writes    none
// cost      O(1); inside at most 20 Newton steps
#pragma once

#include "kernels/base/spatial.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
struct Point2 {
  Real x, y;
};
template <class Real>
DS_HD Real dot(const Point2<Real>& a, const Point2<Real>& b) {
  return fma(a.x, b.x, a.y * b.y);
}
template <class Real>
DS_HD Real cross(const Point2<Real>& a, const Point2<Real>& b) {
  return fma(a.x, b.y, -(a.y * b.x));
}
template <class Real>
DS_HD Point2<Real> operator-(const Point2<Real>& a, const Point2<Real>& b) {
  return {a.x - b.x, a.y - b.y};
}
template <class Real>
DS_HD Point2<Real> operator*(const Point2<Real>& a, const Real& s) {
  return {a.x * s, a.y * s};
}
template <class Mask, class Real>
DS_HD Point2<Real> select2(const Mask& m, const Point2<Real>& a, const Point2<Real>& b) {
  return {select(m, a.x, b.x), select(m, a.y, b.y)};
}
template <class Real>
DS_HD Point2<Real> normalize(const Point2<Real>& a) {
  const Real length = sqrt(dot(a, a));
  const auto some = length >= Real(kMinVal);
  const Real inv = Real(1) / select(some, length, Real(1));
  return {select(some, a.x * inv, Real(1)), select(some, a.y * inv, Real(0))};
}
// the angle whose sine is x, -1 <= x <= 1
template <class Real>
DS_HD Real arcsine(const Real& x) {
  return atan2(x, sqrt(max((Real(1) - x) * (Real(1) + x), Real(0))));
}

// where a string touches a circle, and its length there; only where it does
template <class Real>
struct Arc {
  MaskOf<Real> touches;
  Point2<Real> first, last;
  Real length;
};

// whether two segments from a to b and from c to d meet
template <class Real>
DS_HD MaskOf<Real> segments_meet(const Point2<Real>& a, const Point2<Real>& b, const Point2<Real>& c,
                                 const Point2<Real>& d) {
  const Point2<Real> u = b - a, v = d - c, w = a - c;
  const Real det = cross(u, v), zero(0), one(1);
  const auto some = abs(det) >= Real(kMinVal);
  const Real inv = one / select(some, det, one), s = cross(v, w) * inv, t = cross(u, w) * inv;
  return mask_and(some, mask_and(mask_and(s >= zero, s <= one), mask_and(t >= zero, t <= one)));
}

// the point of the segment from p to q that is nearest to the centre: where along it, in [0, 1] where it is clamped
template <class Real>
DS_HD Real nearest_on_segment(const Point2<Real>& p, const Point2<Real>& q) {
  const Point2<Real> d = q - p;
  const Real dd = dot(d, d);
  return -dot(d, p) / select(dd >= Real(kMinVal), dd, Real(1));
}

template <class Real>
DS_FN Arc<Real> around_circle(const Point2<Real>& p, const Point2<Real>& q, bool has_side,
                              const Point2<Real>& side, const Real& r) {
  const Real zero(0), one(1), tiny(kMinVal), r2 = r * r;
  const Real pp = dot(p, p), qq = dot(q, q);
  const Point2<Real> d = q - p;
  Arc<Real> arc;
  arc.touches = mask_and(mask_and(pp >= r2, qq >= r2), mask_and(r >= tiny, dot(d, d) >= tiny));
  // a string that passes the circle on the side where it should runs free
  const Real a = clamp(nearest_on_segment(p, q), zero, one);
  const Point2<Real> near{fma(a, d.x, p.x), fma(a, d.y, p.y)};
  auto free = dot(near, near) > r2;
  const Real beside_p = cross(side, p), beside_q = cross(side, q);
  const auto opposite = beside_p * beside_q < zero;
  if (has_side) free = mask_and(free, mask_or(dot(side, near) >= zero, mask_not(opposite)));
  arc.touches = mask_and(arc.touches, mask_not(free));
  arc.first = arc.last = {zero, zero};
  arc.length = zero;
  if (!any(arc.touches)) return arc;
  const Real root_p = r * sqrt(max(pp - r2, zero)), root_q = r * sqrt(max(qq - r2, zero));
  const Real inv_p = one / select(arc.touches, pp, one), inv_q = one / select(arc.touches, qq, one);
  Point2<Real> first[2], last[2];
  Real good[2], angle[2];
  for (int i = 0; i < 2; i++) {
    const Real sign(i == 0 ? 1 : -1);
    first[i] = {fma(p.x, r2, sign * (p.y * root_p)) * inv_p, fma(p.y, r2, -(sign * (p.x * root_p))) * inv_p};
    last[i] = {fma(q.x, r2, -(sign * (q.y * root_q))) * inv_q, fma(q.y, r2, sign * (q.x * root_q)) * inv_q};
    const Point2<Real> chord = first[i] - last[i];
    const auto crossed = segments_meet(p, first[i], q, last[i]);
    good[i] = select(crossed, Real(-10000), -dot(chord, chord));
    // from 0 to 2 pi, turning as this way does
    const Real turn = cross(last[i], first[i]);
    angle[i] = atan2(i == 0 ? turn : -turn, dot(first[i], last[i]));
    angle[i] = select(angle[i] < zero, angle[i] + Real(6.28318530717958647692), angle[i]);
  }
  auto zeroth = good[0] > good[1];
  if (has_side) {
    const auto around = mask_and(opposite, beside_p > zero);
    zeroth = mask_or(around, mask_and(mask_not(opposite), angle[0] <= angle[1]));
  } else {
    arc.touches = mask_and(arc.touches, select(zeroth, good[0], good[1]) > Real(-10000));
  }
  arc.first = select2(zeroth, first[0], first[1]);
  arc.last = select2(zeroth, last[0], last[1]);
  arc.length = r * select(zeroth, angle[0], angle[1]);
  return arc;
}

constexpr double kRightAngle = 1.57079632679489661923;

template <class Real>
DS_FN Arc<Real> inside_circle(const Point2<Real>& p, const Point2<Real>& q, const Real& r) {
  const Real zero(0), one(1), half(0.5), tiny(kMinVal);
  const Real tolerance(kSingle<Real> ? 1e-6 : 1e-13);
  const Real np = sqrt(dot(p, p)), nq = sqrt(dot(q, q));
  const Point2<Real> d = q - p;
  const Real dd = dot(d, d), a = nearest_on_segment(p, q);
  const Point2<Real> near{fma(a, d.x, p.x), fma(a, d.y, p.y)};
  Arc<Real> arc;
  // one that meets the circle by itself runs free
  const auto meets = mask_and(mask_and(dd > tiny, mask_and(a > zero, a < one)), dot(near, near) <= r * r);
  arc.touches = mask_and(mask_and(np > r, nq > r), mask_and(r >= tiny, mask_not(meets)));
  const Real A = r / select(arc.touches, np, one), B = r / select(arc.touches, nq, one);
  const Real size = np * nq;
  const Real cosine = dot(p, q) / select(arc.touches, size, one);
  arc.touches = mask_and(arc.touches, cosine >= Real(-1) + tiny);
  // where the search fails, the middle
  const Point2<Real> middle = normalize(Point2<Real>{half * (p.x + q.x), half * (p.y + q.y)}) * r;
  arc.length = zero;
  arc.first = arc.last = middle;
  auto found = mask_and(arc.touches, cosine <= one - tiny);
  if (!any(found)) return arc;
  const Real G = atan2(abs(cross(p, q)), dot(p, q));
  Real turn(kRightAngle), sine(1), cosine_turn(0);
  const auto value = [&]() { return fma(Real(-2), turn, arcsine(A * sine) + arcsine(B * sine)) + G; };
  const auto slope = [&](const Real& k) {
    const Real ks = k * sine;
    return k * cosine_turn / max(sqrt(max((one - ks) * (one + ks), zero)), tiny);
  };
  // f is concave and falls, and Newton's method comes from the right, a right angle, where the string grazes the wall. It
  // ends where rounding stops it
  Real f = value();
  auto open = mask_and(found, f < -tolerance);
  for (int i = 0; i < 20 && any(open); i++) {
    const Real df = slope(A) + slope(B) - Real(2);
    const Real next = turn - f / select(df < -tiny, df, one);
    open = mask_and(open, mask_and(df <= -tiny, next < turn));
    turn = select(open, next, turn);
    sincos(turn, &sine, &cosine_turn);
    f = value();
    open = mask_and(open, f < -tolerance);
  }
  // turned from one end towards the other
  const auto left = cross(p, q) > zero;
  const Point2<Real> from = normalize(select2(left, p, q));
  const Real angle = turn - arcsine(select(left, A, B) * sine);
  Real s, c;
  sincos(angle, &s, &c);
  const Point2<Real> turned{r * fma(c, from.x, -(s * from.y)), r * fma(s, from.x, c * from.y)};
  arc.first = arc.last = select2(found, turned, middle);
  return arc;
}

// the same in space
template <class Real>
struct Wrap {
  MaskOf<Real> touches;
  Vec3<Real> first, last;
  Real length;
};

// of a string from p to q, past a side site where there is one, all in the frame of the shape
template <class Real>
DS_FN Wrap<Real> wrap(const Vec3<Real>& p, const Vec3<Real>& q, bool sphere, bool has_side,
                      const Vec3<Real>& side, const Real& r) {
  const Real zero(0), one(1), tiny(kMinVal);
  const Vec3<Real> ex{one, zero, zero}, ey{zero, one, zero};
  Vec3<Real> u = ex, v = ey;
  Real length;
  if (sphere) {
    u = normalize(p, ex, &length);
    const Vec3<Real> across = cross(p, q);
    // of ends in line with the centre, any plane through it
    const Real x = abs(u.x), y = abs(u.y), z = abs(u.z);
    const auto most_z = mask_and(z > x, z > y);
    const auto most_y = mask_and(mask_and(y > x, y > z), mask_not(most_z));
    const auto most_x = mask_not(mask_or(most_y, most_z));
    const Vec3<Real> other{select(most_x, zero, one), select(most_y, zero, one), select(most_z, zero, one)};
    const auto in_line = norm(across) < tiny;
    const Vec3<Real> n = normalize(select3(in_line, cross(u, other), across), ex, &length);
    v = normalize(cross(n, u), ex, &length);
  }
  const Point2<Real> p2{dot(p, u), dot(p, v)}, q2{dot(q, u), dot(q, v)};
  Arc<Real> arc;
  if (has_side) {
    const Point2<Real> s2 = normalize(Point2<Real>{dot(side, u), dot(side, v)}) * r;
    const auto inside = norm(side) < r;
    arc = around_circle(p2, q2, true, s2, r);
    if (any(inside)) {
      const Arc<Real> in = inside_circle(p2, q2, r);
      arc.first = select2(inside, in.first, arc.first);
      arc.last = select2(inside, in.last, arc.last);
      arc.length = select(inside, in.length, arc.length);
      arc.touches = mask_or(mask_and(inside, in.touches), mask_and(mask_not(inside), arc.touches));
    }
  } else {
    arc = around_circle(p2, q2, false, Point2<Real>{zero, zero}, r);
  }
  Wrap<Real> w;
  w.touches = mask_and(arc.touches, mask_and(norm(p) >= tiny, norm(q) >= tiny));
  w.first = axpy(u, arc.first.x, v * arc.first.y);
  w.last = axpy(u, arc.last.x, v * arc.last.y);
  w.length = arc.length;
  if (!sphere) {
    const Point2<Real> to = p2 - arc.first, off = q2 - arc.last;
    const Real before = sqrt(dot(to, to)), after = sqrt(dot(off, off));
    const Real whole = before + arc.length + after;
    const Real climb = (q.z - p.z) / select(whole > zero, whole, one);
    w.first.z = fma(climb, before, p.z);
    w.last.z = fma(climb, before + arc.length, p.z);
    const Real height = w.last.z - w.first.z;
    w.length = sqrt(fma(arc.length, arc.length, height * height));
  }
  return w;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
