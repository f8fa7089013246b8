// A cylinder: a disk along a segment of z.
//
// solves    the hooks of hooks.h, and its contacts with a plane and a sphere
// equation  its farthest point along n is one of a rim. Along its axis it shows a cap, else the line of its side
//           a cap shows a search for sums eight points of its rim, fixed in the cylinder, and its lowest one; any other
//           search sixteen
// source    which points a plane touches, and in which order, follows MuJoCo, so that contacts can be compared one by one
#include <algorithm>
#include <cmath>

#include "host/reference/constraint.h"
#include "host/reference/shapes/pairs.h"
#include "host/reference/shapes/rays.h"

namespace dualstep::reference {

namespace {

constexpr int kShownRimPoints = 8, kFlatRimPoints = 16;
constexpr double kUpright = 1e-6;  // sine below which a cap has no lowest point

// a cap, whose rim has its lowest point too
Feature cap(const Shape& s, const Vector3d& n, const Vector3d& across) {
  const Vector3d axis = s.axis();
  const double radius = s.size[0], half = s.size[1];
  Feature f;
  f.disk = true;
  f.centre = s.pos + (n.dot(axis) > 0 ? half : -half) * axis;
  f.axis = axis;
  f.radius = radius;
  std::vector<double> angles;
  for (int k = 0; k < kShownRimPoints; k++) angles.push_back(2 * M_PI * k / kShownRimPoints);
  if (across.norm() > kUpright) {
    double angle = std::atan2(across.dot(s.mat.col(1)), across.dot(s.mat.col(0)));
    if (angle < 0) angle += 2 * M_PI;
    angles.push_back(angle);
    std::sort(angles.begin(), angles.end());
  }
  for (double angle : angles)
    f.points.push_back(f.centre + radius * (std::cos(angle) * s.mat.col(0) + std::sin(angle) * s.mat.col(1)));
  return f;
}

struct Cylinder : ShapeHooks {
  double extent(const Shape& s) const override { return std::hypot(s.size[0], s.size[1]); }
  Vector3d half_axes(const Vector3d& size) const override { return Vector3d(size[0], size[0], size[1]); }

  Vector3d support(const Shape& s, const Vector3d& n) const override {
    Vector3d p = Vector3d::Zero();
    const double across = n.head<2>().norm();
    if (across > 0) p.head<2>() = n.head<2>() * (s.size[0] / across);
    p.z() = (n.z() < 0 ? -1.0 : 1.0) * s.size[1];
    return p;
  }
  // a disk is an ellipsoid without height
  Matrix3d curvature(const Shape& s, const Vector3d& n) const override {
    return ellipsoid_curvature(s.mat, Vector3d(s.size[0], s.size[0], 0), n);
  }
  void add_edges(const Shape& s, const std::vector<Vector3d>&, double,
                 std::vector<Vector3d>* edges) const override {
    edges->push_back(s.axis());
  }
  void add_faces(const Shape& s, const Vector3d& n, std::vector<Vector3d>* normals) const override {
    normals->push_back(s.axis().dot(n) < 0 ? Vector3d(-s.axis()) : s.axis());
  }
  std::optional<Summands> summands(const Shape& s) const override {
    return Summands{
        .segments = {s.axis() * s.size[1]}, .disks = {{s.axis(), s.size[0]}}, .faces = {s.axis()}};
  }

  Feature shown(const Shape& s, const Vector3d& n) const override {
    const Vector3d axis = s.axis(), across = n - n.dot(axis) * axis;
    const bool beside = n.dot(axis) * n.dot(axis) < 0.5;
    return beside ? side_line(s, across.normalized() * s.size[0]) : cap(s, n, across);
  }
  Polygon flat_feature(const Shape& s, const Vector3d& n) const override {
    const double along = n.dot(s.axis()), side = along < 0 ? -1 : 1;
    if (std::abs(along) < kAligned) return side_edge(s, (n - along * s.axis()).normalized());
    Polygon rim;
    if (!(std::abs(along) > std::sqrt(1 - kAligned * kAligned))) return rim;
    for (int k = 0; k < kFlatRimPoints; k++) {
      const double angle = side * 2 * M_PI * k / kFlatRimPoints;
      const Vector3d p(s.size[0] * std::cos(angle), s.size[0] * std::sin(angle), side * s.size[1]);
      rim.push_back(s.pos + s.mat * p);
    }
    return rim;
  }

  RayHit ray(const Shape& s, const Vector3d& p, const Vector3d& v) const override {
    NearestHit best;
    offer_wall(s.size[0], s.size[1], p, v, &best);
    for (int side = -1; side <= 1 && std::abs(v.z()) > kTiny; side += 2) {
      const double x = (side * s.size[1] - p.z()) / v.z();
      if ((p + x * v).head<2>().norm() <= s.size[0]) best.offer(x, side * Vector3d::UnitZ());
    }
    return best;
  }
  bool holds(const Vector3d& size, const Vector3d& p) const override {
    return p.head<2>().norm() <= size[0] && std::abs(p.z()) <= size[1];
  }
};

}  // namespace

const ShapeHooks& shapes::cylinder() {
  static const Cylinder hooks;
  return hooks;
}

Touches plane_cylinder(const Shape& plane, const Shape& cylinder, double margin) {
  const Vector3d n = plane.axis();
  const double radius = cylinder.size[0];
  // half axis that points into the plane
  const double side = n.dot(cylinder.axis()) > 0 ? -1 : 1;
  const Vector3d half = side * cylinder.size[1] * cylinder.axis();
  // radius vector towards the plane, from the normal's parts across the axis; the cylinder's x axis where its
  // disk is parallel to the plane
  const Vector3d down =
      -n.dot(cylinder.mat.col(0)) * cylinder.mat.col(0) - n.dot(cylinder.mat.col(1)) * cylinder.mat.col(1);
  const Vector3d radial =
      radius * (down.norm() >= kMinVal ? Vector3d(down / down.norm()) : Vector3d(cylinder.mat.col(0)));

  Touches touches;
  auto add = [&](const Vector3d& surface) {
    const double dist = n.dot(surface - plane.pos);
    if (dist > margin) return false;
    touches.push_back(Touch{dist, surface - n * (dist / 2), n, Vector3d::Zero()});
    return true;
  };
  // the lowest point, the lowest of the other cap, then two more that make a triangle on the near cap
  if (!add(cylinder.pos + radial + half)) return {};
  add(cylinder.pos + radial - half);
  const Vector3d across = unit_or_x(radial.cross(half)) * (radius * std::sqrt(3.0) / 2);
  add(cylinder.pos + across + half - 0.5 * radial);
  add(cylinder.pos - across + half - 0.5 * radial);
  return touches;
}

Touches sphere_cylinder(const Shape& sphere, const Shape& cylinder, double margin) {
  const Vector3d axis = cylinder.axis();
  const double radius = cylinder.size[0], height = cylinder.size[1];
  const Vector3d offset = sphere.pos - cylinder.pos;
  const double x = axis.dot(offset);
  const Vector3d radial = offset - x * axis;
  const double rho = radial.norm();

  bool beside = std::abs(x) < height, above = rho < radius;
  // the centre is inside: leave by the nearer surface
  if (beside && above) (height - std::abs(x) < radius - rho ? beside : above) = false;

  if (beside) {
    return sphere_sphere(sphere, point_with_radius(cylinder.pos + x * axis, radius, cylinder.mat), margin);
  }
  const Vector3d up = x > 0 ? axis : Vector3d(-axis);
  if (above) {
    const double dist = up.dot(offset) - height - sphere.size[0];
    if (dist > margin) return {};
    return {Touch{dist, sphere.pos - up * (sphere.size[0] + dist / 2), -up, Vector3d::Zero()}};
  }
  const Vector3d rim = cylinder.pos + up * height + radial * (radius / rho);
  return sphere_sphere(sphere, point_with_radius(rim, 0, cylinder.mat), margin);
}

}  // namespace dualstep::reference
