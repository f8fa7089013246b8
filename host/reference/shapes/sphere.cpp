// A sphere: a point with a radius.
//
// solves    the hooks of hooks.h, and its contacts with a plane and a sphere
// equation  a plane sees its lowest point; of two spheres the normal is along the line of their centres
// source    which direction coinciding centres have is MuJoCo's
#include "host/reference/constraint.h"
#include "host/reference/shapes/pairs.h"
#include "host/reference/shapes/rays.h"

namespace dualstep::reference {

namespace {

struct Sphere : ShapeHooks {
  double radius(const Shape& s) const override { return s.size[0]; }
  double extent(const Shape& s) const override { return s.size[0]; }
  Vector3d half_axes(const Vector3d& size) const override { return Vector3d::Constant(size[0]); }

  RayHit ray(const Shape& s, const Vector3d& p, const Vector3d& v) const override {
    NearestHit best;
    double t[2];
    if (roots(v.squaredNorm(), v.dot(p), p.squaredNorm() - s.size[0] * s.size[0], t)) {
      for (double x : t) best.offer(x, p + x * v);
    }
    return best;
  }
  bool holds(const Vector3d& size, const Vector3d& p) const override { return p.norm() <= size[0]; }

  size_t most_over_field() const override { return 4; }
};

}  // namespace

const ShapeHooks& shapes::sphere() {
  static const Sphere hooks;
  return hooks;
}

Shape point_with_radius(const Vector3d& pos, double radius, const Matrix3d& mat) {
  return Shape{kSphere, pos, mat, Vector3d(radius, 0, 0)};
}

Touches plane_sphere(const Shape& plane, const Shape& sphere, double margin) {
  const Vector3d n = plane.axis();
  const double radius = sphere.size[0];
  const double dist = n.dot(sphere.pos - plane.pos) - radius;
  if (dist > margin) return {};
  return {Touch{dist, sphere.pos - n * (radius + dist / 2), n, Vector3d::Zero()}};
}

Touches sphere_sphere(const Shape& first, const Shape& second, double margin) {
  double between = 0;
  Vector3d n = unit_or_x(second.pos - first.pos, &between);
  const double dist = between - first.size[0] - second.size[0];
  if (dist > margin) return {};
  // coinciding centres: across both axes
  if (between < kMinVal) n = unit_or_x(first.axis().cross(second.axis()));
  return {Touch{dist, first.pos + n * (first.size[0] + dist / 2), n, Vector3d::Zero()}};
}

}  // namespace dualstep::reference
