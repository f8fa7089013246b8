// An ellipsoid with half axes along its frame.
//
// solves    the hooks of hooks.h, and its contact with a plane
// equation  its farthest point along n is S^2 n / |S n|, S = diag(half axes)
//           a ray is that of a sphere in a space scaled by S
#include "host/reference/shapes/pairs.h"
#include "host/reference/shapes/rays.h"

namespace dualstep::reference {

namespace {

struct Ellipsoid : ShapeHooks {
  bool strictly_convex() const override { return true; }
  double extent(const Shape& s) const override { return s.size.maxCoeff(); }

  Vector3d support(const Shape& s, const Vector3d& n) const override {
    return s.size.cwiseProduct(s.size).cwiseProduct(n) / s.size.cwiseProduct(n).norm();
  }
  Matrix3d curvature(const Shape& s, const Vector3d& n) const override {
    return ellipsoid_curvature(s.mat, s.size, n);
  }

  RayHit ray(const Shape& s, const Vector3d& p, const Vector3d& v) const override {
    NearestHit best;
    double t[2];
    const Vector3d ps = p.cwiseQuotient(s.size), vs = v.cwiseQuotient(s.size);
    if (roots(vs.squaredNorm(), vs.dot(ps), ps.squaredNorm() - 1, t)) {
      for (double x : t) best.offer(x, (ps + x * vs).cwiseQuotient(s.size));
    }
    return best;
  }
  bool holds(const Vector3d& size, const Vector3d& p) const override {
    return p.cwiseQuotient(size).norm() <= 1;
  }

  size_t most_over_field() const override { return 4; }
};

}  // namespace

const ShapeHooks& shapes::ellipsoid() {
  static const Ellipsoid hooks;
  return hooks;
}

Touches plane_ellipsoid(const Shape& plane, const Shape& ellipsoid, double margin) {
  const Vector3d n = plane.axis(), lowest = ellipsoid.pos + core_support(ellipsoid, -n);
  const double dist = n.dot(lowest - plane.pos);
  if (dist > margin) return {};
  return {Touch{dist, lowest - n * (dist / 2), n, Vector3d::Zero()}};
}

}  // namespace dualstep::reference
