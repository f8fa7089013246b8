// Rays against parts of surfaces, for touch sensors and rangefinders.
//
// solves    where a ray p + t v, t >= 0, first meets a part of a surface at the origin
// equation  a ray from inside hits the far wall, so the answer is -1 only for a miss
#include "host/reference/shapes/rays.h"

#include <cmath>

namespace dualstep::reference {

bool roots(double a, double b, double c, double t[2]) {
  const double det = b * b - a * c;
  if (det < 0 || a < kTiny) return false;
  t[0] = (-b - std::sqrt(det)) / a;
  t[1] = (-b + std::sqrt(det)) / a;
  return true;
}

void offer_wall(double radius, double half, const Vector3d& p, const Vector3d& v, NearestHit* best) {
  double t[2];
  if (!roots(v.head<2>().squaredNorm(), v.head<2>().dot(p.head<2>()),
             p.head<2>().squaredNorm() - radius * radius, t)) {
    return;
  }
  for (double x : t) {
    const Vector3d hit = p + x * v;
    if (std::abs(hit.z()) <= half) best->offer(x, Vector3d(hit.x(), hit.y(), 0));
  }
}

void offer_cap(double radius, double height, const Vector3d& p, const Vector3d& v, NearestHit* best) {
  const Vector3d dif = p - Vector3d(0, 0, height);
  double t[2];
  if (!roots(v.squaredNorm(), v.dot(dif), dif.squaredNorm() - radius * radius, t)) return;
  for (double x : t) {
    if ((p.z() + x * v.z() - height) * height >= 0) best->offer(x, dif + x * v);
  }
}

void offer_triangle(const Vector3d& a, const Vector3d& b, const Vector3d& c, const Vector3d& p,
                    const Vector3d& v, NearestHit* best) {
  Matrix3d edges;
  edges << b - a, c - a, -v;
  if (std::abs(edges.determinant()) < 1e-20) return;
  const Vector3d x = edges.inverse() * (p - a);
  if (x[0] >= 0 && x[1] >= 0 && x[0] + x[1] <= 1) best->offer(x[2], (b - a).cross(c - a));
}

void offer_box(const Vector3d& half, const Vector3d& p, const Vector3d& v, NearestHit* best) {
  for (int k = 0; k < 3; ++k) {
    for (int side = -1; side <= 1 && std::abs(v[k]) > kTiny; side += 2) {
      const double x = (side * half[k] - p[k]) / v[k];
      const Vector3d hit = p + x * v;
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      if (std::abs(hit[i]) <= half[i] && std::abs(hit[j]) <= half[j])
        best->offer(x, side * Vector3d::Unit(k));
    }
  }
}

}  // namespace dualstep::reference
