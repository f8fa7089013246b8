// A plane: all points on or below z = 0 of its frame. Its size bounds rays alone.
//
// solves    the hooks of hooks.h
// equation  a ray meets it from above alone, within its size where that is not zero
// source    MuJoCo's documentation, mj_ray
#include "host/reference/shapes/rays.h"
#include "host/reference/shapes/shapes.h"

namespace dualstep::reference {

namespace {

struct Plane : ShapeHooks {
  bool surface() const override { return true; }
  bool beyond(const Matrix3d& mat, const Vector3d& centre, double radius, double margin) const override {
    return centre.dot(mat.col(2)) > margin + radius;
  }

  // pairs without a row do not touch
  Touches touches(const Shape&, const Shape&, double) const override { return {}; }
  ClosestPair nearest(const Shape& s, const Shape& second, double) const override {
    const Vector3d n = s.axis();
    const Vector3d lowest = second.pos + core_support(second, -n) - ball_radius(second) * n;
    const double dist = n.dot(lowest - s.pos);
    return {dist, n, lowest - dist * n, lowest};
  }

  RayHit ray(const Shape& s, const Vector3d& p, const Vector3d& v) const override {
    NearestHit best;
    if (v.z() > -kTiny) return best;
    const double x = -p.z() / v.z();
    const Vector3d hit = p + x * v, &size = s.size;
    if ((size[0] <= 0 || std::abs(hit.x()) <= size[0]) && (size[1] <= 0 || std::abs(hit.y()) <= size[1]))
      best.offer(x, Vector3d::UnitZ());
    return best;
  }
};

}  // namespace

const ShapeHooks& shapes::plane() {
  static const Plane hooks;
  return hooks;
}

Shape plane_through(const Vector3d& point, const Vector3d& normal) {
  Shape plane;
  plane.type = kPlane;
  plane.pos = point;
  plane.mat.col(2) = normal;
  return plane;
}

}  // namespace dualstep::reference
