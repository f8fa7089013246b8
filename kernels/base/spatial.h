// Three-vectors, quaternions (w, x, y, z), rotations and spatial vectors (angular, linear), by value.
#pragma once

#include "kernels/base/real.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
struct Vec3 {
  Real x, y, z;
};
template <class Real>
struct Quat {
  Real w, x, y, z;
};
// rows are r0, r1, r2; columns are the axes of the rotated frame
template <class Real>
struct Mat3 {
  Real m[9];
};
// a motion (angular velocity, linear velocity) or a force (moment, force) about a stated point
template <class Real>
struct Spatial {
  Vec3<Real> ang, lin;
};
// rigid inertia about a stated point, world axes: second moments, first moment, mass
template <class Real>
struct Inertia10 {
  Real xx, yy, zz, xy, xz, yz;  // rotational inertia about the point
  Vec3<Real> h;                 // mass times (com - point)
  Real mass;
};
// how many numbers of an array each of them is
constexpr int kVecNumbers = 3, kQuatNumbers = 4, kMatNumbers = 9, kSpatialNumbers = 6, kInertiaNumbers = 10;
// sqrt(3) / 2
constexpr double kSin60 = 0.86602540378443864676;

template <class Real>
DS_HD Inertia10<Real> no_inertia() {
  const Real o(0);
  return {.xx = o, .yy = o, .zz = o, .xy = o, .xz = o, .yz = o, .h = {o, o, o}, .mass = o};
}

template <class Real>
DS_HD Vec3<Real> operator+(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class Real>
DS_HD Vec3<Real> operator-(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class Real>
DS_HD Vec3<Real> operator-(const Vec3<Real>& a) {
  return {-a.x, -a.y, -a.z};
}
template <class Real>
DS_HD Vec3<Real> operator*(const Vec3<Real>& a, const Real& s) {
  return {a.x * s, a.y * s, a.z * s};
}
template <class Real>
DS_HD Vec3<Real> axpy(const Vec3<Real>& x, const Real& s, const Vec3<Real>& y) {
  return {fma(x.x, s, y.x), fma(x.y, s, y.y), fma(x.z, s, y.z)};
}
template <class Real>
DS_HD Real dot(const Vec3<Real>& a, const Vec3<Real>& b) {
  return fma(a.z, b.z, fma(a.y, b.y, a.x * b.x));
}
template <class Real>
DS_HD Vec3<Real> cross(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {fma(a.y, b.z, -(a.z * b.y)), fma(a.z, b.x, -(a.x * b.z)), fma(a.x, b.y, -(a.y * b.x))};
}
template <class Real, class Mask>
DS_HD Vec3<Real> select3(const Mask& m, const Vec3<Real>& a, const Vec3<Real>& b) {
  return {select(m, a.x, b.x), select(m, a.y, b.y), select(m, a.z, b.z)};
}
template <class Real>
DS_HD Real norm(const Vec3<Real>& a) {
  return sqrt(dot(a, a));
}
// the axis along which a vector is longest, of equals the first
template <class Real>
struct LongestAxis {
  MaskOf<Real> is_x, is_y;
  DS_HD explicit LongestAxis(const Vec3<Real>& v) {
    const Real x = abs(v.x), y = abs(v.y), z = abs(v.z);
    is_x = mask_and(x >= y, x >= z), is_y = mask_and(mask_not(is_x), y >= z);
  }
  DS_HD Real pick(const Real& a, const Real& b, const Real& c) const {
    return select(is_x, a, select(is_y, b, c));
  }
  DS_HD Vec3<Real> along(const Real& x, const Real& y, const Real& z) const {
    const Real zero(0);
    return {select(is_x, x, zero), select(is_y, y, zero), select(mask_or(is_x, is_y), zero, z)};
  }
};
// unit vector along a, or `fallback` where a is (nearly) zero; *length gets |a|
template <class Real>
DS_HD Vec3<Real> normalize(const Vec3<Real>& a, const Vec3<Real>& fallback, Real* length) {
  const Real n = norm(a);
  const auto ok = n > Real(kMinVal);
  const Real inv = Real(1) / select(ok, n, Real(1));
  *length = n;
  return select3(ok, a * inv, fallback);
}
// the mean of vectors whose weighted sum is `sum`, or `fallback` where their weights are (nearly) zero
template <class Real>
DS_HD Vec3<Real> weighted_mean(const Vec3<Real>& sum, const Real& weight, const Vec3<Real>& fallback) {
  const auto ok = weight > Real(kMinVal);
  const Real inv = Real(1) / select(ok, weight, Real(1));
  return select3(ok, sum * inv, fallback);
}

template <class Real>
DS_HD Quat<Real> mul(const Quat<Real>& a, const Quat<Real>& b) {
  return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
          a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
template <class Real>
DS_HD Quat<Real> conjugate(const Quat<Real>& q) {
  return {q.w, -q.x, -q.y, -q.z};
}
// a zero quaternion becomes the identity
template <class Real>
DS_HD Quat<Real> normalize(const Quat<Real>& q) {
  const Real n = sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  const auto ok = n > Real(kMinVal);
  const Real inv = Real(1) / select(ok, n, Real(1));
  return {select(ok, q.w * inv, Real(1)), select(ok, q.x * inv, Real(0)), select(ok, q.y * inv, Real(0)),
          select(ok, q.z * inv, Real(0))};
}
template <class Real>
DS_HD Mat3<Real> to_matrix(const Quat<Real>& q) {
  const Real one(1), two(2);
  const Real xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
  const Real xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
  const Real wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
  return {{one - two * (yy + zz), two * (xy - wz), two * (xz + wy),  //
           two * (xy + wz), one - two * (xx + zz), two * (yz - wx),  //
           two * (xz - wy), two * (yz + wx), one - two * (xx + yy)}};
}
template <class Real>
DS_HD Vec3<Real> rotate(const Mat3<Real>& r, const Vec3<Real>& v) {
  return {fma(r.m[2], v.z, fma(r.m[1], v.y, r.m[0] * v.x)), fma(r.m[5], v.z, fma(r.m[4], v.y, r.m[3] * v.x)),
          fma(r.m[8], v.z, fma(r.m[7], v.y, r.m[6] * v.x))};
}
template <class Real>
DS_HD Vec3<Real> rotate_transposed(const Mat3<Real>& r, const Vec3<Real>& v) {
  return {fma(r.m[6], v.z, fma(r.m[3], v.y, r.m[0] * v.x)), fma(r.m[7], v.z, fma(r.m[4], v.y, r.m[1] * v.x)),
          fma(r.m[8], v.z, fma(r.m[5], v.y, r.m[2] * v.x))};
}
template <class Real>
DS_HD Vec3<Real> rotate(const Quat<Real>& q, const Vec3<Real>& v) {
  // v + 2 w (u x v) + 2 u x (u x v)
  const Vec3<Real> u{q.x, q.y, q.z};
  const Vec3<Real> t = cross(u, v) * Real(2);
  return axpy(t, q.w, v) + cross(u, t);
}
template <class Real>
DS_HD Vec3<Real> column(const Mat3<Real>& r, int k) {
  return {r.m[k], r.m[3 + k], r.m[6 + k]};
}
template <class Real>
DS_HD Mat3<Real> from_columns(const Vec3<Real>& x, const Vec3<Real>& y, const Vec3<Real>& z) {
  return {{x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z}};
}
template <class Real>
DS_HD Mat3<Real> multiply(const Mat3<Real>& a, const Mat3<Real>& b) {
  Mat3<Real> c;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      c.m[3 * i + j] = fma(a.m[3 * i + 2], b.m[6 + j], fma(a.m[3 * i + 1], b.m[3 + j], a.m[3 * i] * b.m[j]));
  return c;
}
// rotation by |v| radians about v
template <class Real>
DS_HD Quat<Real> quat_from_rotation_vector(const Vec3<Real>& v) {
  const Real angle = norm(v);
  const auto tiny = angle < Real(1e-6);
  Real s, c;
  sincos(angle * Real(0.5), &s, &c);
  // sin(a/2)/a, by its series near zero
  const Real k =
      select(tiny, fma(angle * angle, Real(-1.0 / 48), Real(0.5)), s / select(tiny, Real(1), angle));
  return {c, v.x * k, v.y * k, v.z * k};
}
// the rotation vector of q, angle in [-pi, pi]: the logarithm
template <class Real>
DS_HD Vec3<Real> rotation_vector(const Quat<Real>& q) {
  const Vec3<Real> u{q.x, q.y, q.z};
  const Real s = norm(u);
  const Real pi(3.14159265358979323846);
  Real angle = Real(2) * atan2(s, q.w);
  angle = select(angle > pi, angle - Real(2) * pi, angle);
  const auto tiny = s < Real(kMinVal);
  return u * select(tiny, Real(2), angle / select(tiny, Real(1), s));
}

template <class Real>
DS_HD Spatial<Real> operator+(const Spatial<Real>& a, const Spatial<Real>& b) {
  return {a.ang + b.ang, a.lin + b.lin};
}
template <class Real>
DS_HD Spatial<Real> operator*(const Spatial<Real>& a, const Real& s) {
  return {a.ang * s, a.lin * s};
}
template <class Real>
DS_HD Spatial<Real> axpy(const Spatial<Real>& x, const Real& s, const Spatial<Real>& y) {
  return {axpy(x.ang, s, y.ang), axpy(x.lin, s, y.lin)};
}
template <class Real>
DS_HD Real dot(const Spatial<Real>& a, const Spatial<Real>& b) {
  return fma(a.lin.z, b.lin.z,
             fma(a.lin.y, b.lin.y,
                 fma(a.lin.x, b.lin.x, fma(a.ang.z, b.ang.z, fma(a.ang.y, b.ang.y, a.ang.x * b.ang.x)))));
}
// v x m for motions m
template <class Real>
DS_HD Spatial<Real> cross_motion(const Spatial<Real>& v, const Spatial<Real>& m) {
  return {cross(v.ang, m.ang), cross(v.ang, m.lin) + cross(v.lin, m.ang)};
}
// v x* f for forces f
template <class Real>
DS_HD Spatial<Real> cross_force(const Spatial<Real>& v, const Spatial<Real>& f) {
  return {cross(v.ang, f.ang) + cross(v.lin, f.lin), cross(v.ang, f.lin)};
}
// I v: momentum of motion v
template <class Real>
DS_HD Spatial<Real> multiply(const Inertia10<Real>& I, const Spatial<Real>& v) {
  const Vec3<Real>&w = v.ang, &u = v.lin;
  Vec3<Real> l{fma(I.xz, w.z, fma(I.xy, w.y, I.xx * w.x)), fma(I.yz, w.z, fma(I.yy, w.y, I.xy * w.x)),
               fma(I.zz, w.z, fma(I.yz, w.y, I.xz * w.x))};
  return {l + cross(I.h, u), u * I.mass - cross(I.h, w)};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
