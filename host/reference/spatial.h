// Spatial vectors and rotations: the few formulas that the whole reference is written in.
// Vectors are (angular; linear), Featherstone 2008, chapter 2; quaternions take body axes to world axes.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "host/model/element_rows.h"
#include "host/reference/data.h"

namespace dualstep::reference {

// smallest number that a denominator may take, and the bound on a sane state
constexpr double kTiny = 1e-15;
constexpr double kHuge = 1e10;
constexpr double kPi = 3.14159265358979323846;

inline Vector3d vec3(std::span<const double> a) { return Vector3d(a[0], a[1], a[2]); }
// vector i of an array, and below quaternion i
inline Vector3d vec3(const std::vector<double>& a, int i) { return vec3(std::span(a).subspan(3 * i, 3)); }

// a zero quaternion counts as no rotation
inline Quaterniond unit_quat(double w, double x, double y, double z) {
  const Quaterniond q(w, x, y, z);
  const double norm = q.norm();
  if (norm < kTiny) return Quaterniond::Identity();
  return Quaterniond(w / norm, x / norm, y / norm, z / norm);
}
inline Quaterniond unit_quat(const double* wxyz) { return unit_quat(wxyz[0], wxyz[1], wxyz[2], wxyz[3]); }
inline Quaterniond quat(const std::vector<double>& a, int i) { return unit_quat(&a[4 * i]); }

// the matrix of a unit quaternion; from squares, so that right angles have exact zeros
inline Matrix3d rotation(const Quaterniond& q) {
  const double w = q.w(), x = q.x(), y = q.y(), z = q.z();
  Matrix3d r;
  r << w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y),  //
      2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x),   //
      2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z;
  return r;
}

inline Matrix3d skew(const Vector3d& v) {
  Matrix3d s;
  s << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return s;
}

// the rotation by |r| about r, and its inverse: the shortest rotation vector of a quaternion
inline Quaterniond quat_exp(const Vector3d& r) {
  const double angle = r.norm();
  if (angle < kTiny) return Quaterniond::Identity();
  return Quaterniond(Eigen::AngleAxisd(angle, r / angle));
}
inline Vector3d quat_log(const Quaterniond& q) {
  const double sine = q.vec().norm();
  if (sine < kTiny) return Vector3d::Zero();
  double angle = 2 * std::atan2(sine, q.w());
  if (angle > kPi) angle -= 2 * kPi;
  return q.vec() * (angle / sine);
}

inline Vector6d spatial(const Vector3d& angular, const Vector3d& linear) {
  Vector6d s;
  s << angular, linear;
  return s;
}
inline Vector3d angular(const Vector6d& s) { return s.head<3>(); }
inline Vector3d linear(const Vector6d& s) { return s.tail<3>(); }

// v x m for motions and v x* f for forces, Featherstone 2008, equations 2.31 and 2.32
inline Vector6d cross_motion(const Vector6d& v, const Vector6d& m) {
  return spatial(angular(v).cross(angular(m)), angular(v).cross(linear(m)) + linear(v).cross(angular(m)));
}
inline Vector6d cross_force(const Vector6d& v, const Vector6d& f) {
  return spatial(angular(v).cross(angular(f)) + linear(v).cross(linear(f)), angular(v).cross(linear(f)));
}
inline Matrix6d cross_motion_matrix(const Vector6d& v) {
  Matrix6d x = Matrix6d::Zero();
  x.topLeftCorner<3, 3>() = x.bottomRightCorner<3, 3>() = skew(angular(v));
  x.bottomLeftCorner<3, 3>() = skew(linear(v));
  return x;
}
inline Matrix6d cross_force_matrix(const Vector6d& v) { return -cross_motion_matrix(v).transpose(); }

// the same motion or force, referred to another point
inline Vector6d shift_motion(const Vector6d& v, const Vector3d& from, const Vector3d& to) {
  return spatial(angular(v), linear(v) + angular(v).cross(to - from));
}
inline Vector6d shift_force(const Vector6d& f, const Vector3d& from, const Vector3d& to) {
  return spatial(angular(f) + (from - to).cross(linear(f)), linear(f));
}
// both parts turned from world axes into the axes of R's columns
inline Vector6d rotate_into(const Matrix3d& R, const Vector6d& s) {
  return spatial(R.transpose() * angular(s), R.transpose() * linear(s));
}

// inertia about a point, of a body with its center of mass at c from there; Featherstone 2008, equation 2.63
inline Matrix6d spatial_inertia(double mass, const Matrix3d& inertia_com, const Vector3d& c) {
  const Matrix3d cx = skew(c);
  Matrix6d I;
  I.topLeftCorner<3, 3>() = inertia_com - mass * cx * cx;
  I.topRightCorner<3, 3>() = mass * cx;
  I.bottomLeftCorner<3, 3>() = -mass * cx;
  I.bottomRightCorner<3, 3>() = mass * Matrix3d::Identity();
  return I;
}

// gravity as the options have it: zero where it is disabled
inline Vector3d gravity(const Model& m) {
  if (m.opt.disabled(kDisableGravity)) return Vector3d::Zero();
  return Vector3d(m.opt.gravity[0], m.opt.gravity[1], m.opt.gravity[2]);
}

// number of velocity coordinates of a joint type
inline int dof_count(int jnt_type) { return jnt_type == kFree ? 6 : jnt_type == kBall ? 3 : 1; }

// the point that a body's spatial quantities refer to
inline const Vector3d& spatial_origin(const Model& m, const Data& d, int body) {
  return d.subtree_com[m.body_rootid[body]];
}

// the last velocity coordinate that moves a body, -1 for a fixed one; its ancestors follow dof_parentid
inline int last_dof(const Model& m, int body) {
  while (body > 0 && m.body_dofnum[body] == 0) body = m.body_parentid[body];
  return body > 0 ? m.body_dofadr[body] + m.body_dofnum[body] - 1 : -1;
}

}  // namespace dualstep::reference
