// Where a ray p + t v, t >= 0, first meets the surface of a primitive shape at the origin.
// A ray from inside hits the far wall, so the answer is -1 only for a miss; planes are met from above alone, within
// their size where it is not zero. Used by touch sensors and rangefinders.
#include <algorithm>

#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

// the smallest t >= 0 of those offered, -1 where there is none
struct Nearest {
  double t = -1;
  void offer(double candidate) {
    if (candidate >= 0 && (t < 0 || candidate < t)) t = candidate;
  }
};

// roots of a t^2 + 2 b t + c = 0, smaller first; false where there are none
bool roots(double a, double b, double c, double t[2]) {
  const double det = b * b - a * c;
  if (det < 0 || a < kTiny) return false;
  t[0] = (-b - std::sqrt(det)) / a;
  t[1] = (-b + std::sqrt(det)) / a;
  return true;
}

// the round wall of a cylinder along z, where |z| <= half
void offer_wall(double radius, double half, const Vector3d& p, const Vector3d& v, Nearest* best) {
  double t[2];
  if (!roots(v.head<2>().squaredNorm(), v.head<2>().dot(p.head<2>()),
             p.head<2>().squaredNorm() - radius * radius, t)) {
    return;
  }
  for (double x : t) {
    if (std::abs(p.z() + x * v.z()) <= half) best->offer(x);
  }
}

// the part of a sphere around z = height that lies beyond it
void offer_cap(double radius, double height, const Vector3d& p, const Vector3d& v, Nearest* best) {
  const Vector3d dif = p - Vector3d(0, 0, height);
  double t[2];
  if (!roots(v.squaredNorm(), v.dot(dif), dif.squaredNorm() - radius * radius, t)) return;
  for (double x : t) {
    if ((p.z() + x * v.z() - height) * height >= 0) best->offer(x);
  }
}

}  // namespace

double ray_shape(int geom_type, const Vector3d& size, const Vector3d& p, const Vector3d& v) {
  Nearest best;
  double t[2];
  switch (geom_type) {
    case kSphere:
      if (roots(v.squaredNorm(), v.dot(p), p.squaredNorm() - size[0] * size[0], t)) {
        for (double x : t) best.offer(x);
      }
      break;
    case kEllipsoid: {
      const Vector3d ps = p.cwiseQuotient(size), vs = v.cwiseQuotient(size);
      if (roots(vs.squaredNorm(), vs.dot(ps), ps.squaredNorm() - 1, t)) {
        for (double x : t) best.offer(x);
      }
      break;
    }
    case kCapsule:
      offer_wall(size[0], size[1], p, v, &best);
      offer_cap(size[0], size[1], p, v, &best);
      offer_cap(size[0], -size[1], p, v, &best);
      break;
    case kCylinder:
      offer_wall(size[0], size[1], p, v, &best);
      for (int side = -1; side <= 1 && std::abs(v.z()) > kTiny; side += 2) {
        const double x = (side * size[1] - p.z()) / v.z();
        if ((p + x * v).head<2>().norm() <= size[0]) best.offer(x);
      }
      break;
    case kPlane: {
      if (v.z() > -kTiny) break;
      const double x = -p.z() / v.z();
      const Vector3d hit = p + x * v;
      if ((size[0] <= 0 || std::abs(hit.x()) <= size[0]) && (size[1] <= 0 || std::abs(hit.y()) <= size[1]))
        best.offer(x);
      break;
    }
    case kBox:
      for (int k = 0; k < 3; ++k) {
        for (int side = -1; side <= 1 && std::abs(v[k]) > kTiny; side += 2) {
          const double x = (side * size[k] - p[k]) / v[k];
          const Vector3d hit = p + x * v;
          const int i = (k + 1) % 3, j = (k + 2) % 3;
          if (std::abs(hit[i]) <= size[i] && std::abs(hit[j]) <= size[j]) best.offer(x);
        }
      }
      break;
    default:
      break;
  }
  return best.t;
}

}  // namespace dualstep::reference
