// Plane, sphere, capsule and cylinder pairs in closed form.
//
// solves    their contacts
// equation  every pair reduces to points with a radius: a plane sees the lowest points of the other shape, a capsule
//           is a sphere at the point of its axis that is nearest, parallel capsules are two of them
// source    which points are taken, and in which order, follows MuJoCo, so that contacts can be compared one by one
#include <algorithm>
#include <cmath>

#include "host/reference/collide.h"
#include "host/reference/constraint.h"

namespace dualstep::reference {

namespace {

constexpr double kParallel = 1e-8;  // squared sine of the angle below which two capsules count as parallel

Shape point_with_radius(const Vector3d& pos, double radius, const Matrix3d& mat) {
  return Shape{kSphere, pos, mat, Vector3d(radius, 0, 0)};
}

void append(Touches* all, const Touches& more) { all->insert(all->end(), more.begin(), more.end()); }

}  // namespace

Vector3d unit_or_x(const Vector3d& v, double* length) {
  const double norm = v.norm();
  if (length) *length = norm;
  return norm < kMinVal ? Vector3d(1, 0, 0) : Vector3d(v / norm);
}

Matrix3d contact_frame(const Touch& touch) {
  const Vector3d n = unit_or_x(touch.normal);
  Vector3d t = touch.tangent;
  if (t.squaredNorm() < 0.25) t = std::abs(n.y()) < 0.5 ? Vector3d::UnitY() : Vector3d::UnitZ();
  t = unit_or_x(t - n * n.dot(t));
  Matrix3d frame;
  frame << n.transpose(), t.transpose(), n.cross(t).transpose();
  return frame;
}

Touches plane_sphere(const Shape& plane, const Shape& sphere, double margin) {
  const Vector3d n = plane.axis();
  const double radius = sphere.size[0];
  const double dist = n.dot(sphere.pos - plane.pos) - radius;
  if (dist > margin) return {};
  return {Touch{dist, sphere.pos - n * (radius + dist / 2), n, Vector3d::Zero()}};
}

Touches plane_capsule(const Shape& plane, const Shape& capsule, double margin) {
  Touches touches;
  for (double end : {1.0, -1.0}) {
    const Vector3d pos = capsule.pos + end * capsule.size[1] * capsule.axis();
    append(&touches, plane_sphere(plane, point_with_radius(pos, capsule.size[0], capsule.mat), margin));
  }
  for (Touch& t : touches) t.tangent = capsule.axis();
  return touches;
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

Touches plane_box(const Shape& plane, const Shape& box, double margin) {
  const Vector3d n = plane.axis();
  const double centre = n.dot(box.pos - plane.pos);
  Touches touches;
  for (int corner = 0; corner < 8 && touches.size() < 4; corner++) {
    const Vector3d sign(corner & 1 ? 1 : -1, corner & 2 ? 1 : -1, corner & 4 ? 1 : -1);
    const Vector3d offset = box.mat * sign.cwiseProduct(box.size);
    const double rise = n.dot(offset);
    const double dist = centre + rise;
    // corners above the centre never carry
    if (dist > margin || rise > 0) continue;
    touches.push_back(Touch{dist, box.pos + offset - n * (dist / 2), n, Vector3d::Zero()});
  }
  return touches;
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

Touches sphere_capsule(const Shape& sphere, const Shape& capsule, double margin) {
  const Vector3d axis = capsule.axis();
  const double x = std::clamp(axis.dot(sphere.pos - capsule.pos), -capsule.size[1], capsule.size[1]);
  return sphere_sphere(sphere, point_with_radius(capsule.pos + x * axis, capsule.size[0], capsule.mat),
                       margin);
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

Touches capsule_capsule(const Shape& first, const Shape& second, double margin) {
  // nearest points first.pos + x1 half1, second.pos + x2 half2 minimize a quadratic over [-1, 1]^2
  const Vector3d half1 = first.axis() * first.size[1], half2 = second.axis() * second.size[1];
  const Vector3d offset = first.pos - second.pos;
  const double a = half1.squaredNorm(), b = -half1.dot(half2), c = half2.squaredNorm();
  const double u = -half1.dot(offset), v = half2.dot(offset);
  const double det = a * c - b * b;
  auto unit = [](double x) { return std::clamp(x, -1.0, 1.0); };
  auto touch_at = [&](double x1, double x2) {
    return sphere_sphere(point_with_radius(first.pos + x1 * half1, first.size[0], first.mat),
                         point_with_radius(second.pos + x2 * half2, second.size[0], second.mat), margin);
  };

  if (det >= kParallel * a * c) {
    double x1 = (c * u - b * v) / det, x2 = (a * v - b * u) / det;
    if (std::abs(x1) > 1) {
      x1 = unit(x1);
      x2 = (v - b * x1) / c;
    }
    if (std::abs(x2) > 1) {
      x2 = unit(x2);
      x1 = unit((u - b * x2) / a);
    }
    return touch_at(x1, x2);
  }

  // parallel: both ends of the second against the first; past an end of the first, that end against the
  // second
  Touches touches;
  const double along = b < 0 ? 1 : -1;
  for (double end : {-along, along}) {
    const double free = (u - b * end) / a, x1 = unit(free);
    append(&touches, touch_at(x1, x1 == free ? end : unit((v - b * x1) / c)));
  }
  return touches;
}

}  // namespace dualstep::reference
