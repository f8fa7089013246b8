// Rays against shapes, for touch sensors and rangefinders.
//
// solves    where a ray p + t v, t >= 0, first meets the surface of a shape at the origin
// equation  a ray from inside hits the far wall, so the answer is -1 only for a miss; planes are met from above
//           alone, within their size where it is not zero. Meshes and height fields are met triangle by triangle,
//           from both sides. A height field is besides the box below height 0, its top included, and the walls from
//           there to its border
#include <algorithm>
#include <limits>

#include "host/model/element_rows.h"
#include "host/reference/collide.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

// the hit of the smallest t >= 0 of those offered
struct Nearest : RayHit {
  // `outwards` at the hit: of any length but zero
  void offer(double candidate, const Vector3d& outwards) {
    if (!(candidate >= 0 && (t < 0 || candidate < t))) return;
    t = candidate;
    normal = outwards.normalized();
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
    const Vector3d hit = p + x * v;
    if (std::abs(hit.z()) <= half) best->offer(x, Vector3d(hit.x(), hit.y(), 0));
  }
}

// the part of a sphere around z = height that lies beyond it
void offer_cap(double radius, double height, const Vector3d& p, const Vector3d& v, Nearest* best) {
  const Vector3d dif = p - Vector3d(0, 0, height);
  double t[2];
  if (!roots(v.squaredNorm(), v.dot(dif), dif.squaredNorm() - radius * radius, t)) return;
  for (double x : t) {
    if ((p.z() + x * v.z() - height) * height >= 0) best->offer(x, dif + x * v);
  }
}

// p + t v = a + x (b - a) + y (c - a)
void offer_triangle(const Vector3d& a, const Vector3d& b, const Vector3d& c, const Vector3d& p,
                    const Vector3d& v, Nearest* best) {
  Matrix3d edges;
  edges << b - a, c - a, -v;
  if (std::abs(edges.determinant()) < 1e-20) return;
  const Vector3d x = edges.inverse() * (p - a);
  if (x[0] >= 0 && x[1] >= 0 && x[0] + x[1] <= 1) best->offer(x[2], (b - a).cross(c - a));
}

// the walls of a height field: along each side of its border, from height 0 to the surface
void offer_walls(const HeightField& f, const Vector3d& p, const Vector3d& v, Nearest* best) {
  for (int across = 0; across < 2; ++across) {
    if (std::abs(v[across]) <= kTiny) continue;
    const int along = 1 - across, last = (along == 0 ? f.columns : f.rows) - 1;
    for (bool far : {false, true}) {
      const double half = across == 0 ? f.half_x : f.half_y, step = along == 0 ? f.dx : f.dy;
      const double t = ((far ? half : -half) - p[across]) / v[across];
      const Vector3d hit = p + t * v;
      const double place = (hit[along] + (along == 0 ? f.half_x : f.half_y)) / step;
      if (!(place >= 0 && place <= last)) continue;
      const int k = std::min(static_cast<int>(place), last - 1);
      const int border = !far ? 0 : (across == 0 ? f.columns : f.rows) - 1;
      const auto height = [&](int i) { return across == 0 ? f.at(border, i).z() : f.at(i, border).z(); };
      const double share = place - k;
      if (hit.z() >= 0 && hit.z() < (1 - share) * height(k) + share * height(k + 1))
        best->offer(t, (far ? 1 : -1) * Vector3d::Unit(across));
    }
  }
}

}  // namespace

RayHit ray_mesh(const Model& m, int mesh, const Vector3d& p, const Vector3d& v) {
  Nearest best;
  const auto corner = [&](int f, int k) {
    return vec3(m.mesh_vert, m.mesh_vertadr[mesh] + row::mesh_face(m, f)[k]);
  };
  const int begin = m.mesh_faceadr[mesh];
  for (int f = begin; f < begin + m.mesh_facenum[mesh]; ++f)
    offer_triangle(corner(f, 0), corner(f, 1), corner(f, 2), p, v, &best);
  return best;
}

RayHit ray_hfield(const Model& m, int id, const Vector3d& p, const Vector3d& v) {
  const HeightField f(m, id);
  Nearest best;
  const Vector3d half(f.half_x, f.half_y, f.base / 2);
  const RayHit box = ray_shape(kBox, half, p + Vector3d(0, 0, f.base / 2), v);
  best.offer(box.t, box.normal);
  offer_walls(f, p, v, &best);
  // the stretch of the ray over the field, and the cells under it
  double from = 0, to = std::numeric_limits<double>::infinity();
  const double low[3] = {-f.half_x, -f.half_y, 0}, high[3] = {f.half_x, f.half_y, f.top};
  for (int k = 0; k < 3; ++k) {
    const double room = 1e-6 * (high[k] - low[k]);
    if (std::abs(v[k]) <= kTiny) {
      if (p[k] < low[k] - room || p[k] > high[k] + room) return best;
      continue;
    }
    const double t1 = (low[k] - room - p[k]) / v[k], t2 = (high[k] + room - p[k]) / v[k];
    from = std::max(from, std::min(t1, t2));
    to = std::min(to, std::max(t1, t2));
  }
  if (!(from <= to)) return best;
  const auto range = [&](int axis, double half, double step, int count) {
    const double a = (p[axis] + from * v[axis] + half) / step, b = (p[axis] + to * v[axis] + half) / step;
    const double most = count - 1;
    return std::pair(static_cast<int>(std::clamp(std::min(a, b) - 1, 0.0, most)),
                     static_cast<int>(std::clamp(std::max(a, b) + 1, 0.0, most)));
  };
  const auto [first_i, last_i] = range(0, f.half_x, f.dx, f.columns);
  const auto [first_j, last_j] = range(1, f.half_y, f.dy, f.rows);
  for (int j = first_j; j < last_j; ++j) {
    for (int i = first_i; i < last_i; ++i) {
      offer_triangle(f.at(i, j), f.at(i + 1, j), f.at(i + 1, j + 1), p, v, &best);
      offer_triangle(f.at(i, j), f.at(i + 1, j + 1), f.at(i, j + 1), p, v, &best);
    }
  }
  return best;
}

RayHit ray_shape(int geom_type, const Vector3d& size, const Vector3d& p, const Vector3d& v) {
  Nearest best;
  double t[2];
  switch (geom_type) {
    case kSphere:
      if (roots(v.squaredNorm(), v.dot(p), p.squaredNorm() - size[0] * size[0], t)) {
        for (double x : t) best.offer(x, p + x * v);
      }
      break;
    case kEllipsoid: {
      const Vector3d ps = p.cwiseQuotient(size), vs = v.cwiseQuotient(size);
      if (roots(vs.squaredNorm(), vs.dot(ps), ps.squaredNorm() - 1, t)) {
        for (double x : t) best.offer(x, (ps + x * vs).cwiseQuotient(size));
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
        if ((p + x * v).head<2>().norm() <= size[0]) best.offer(x, side * Vector3d::UnitZ());
      }
      break;
    case kPlane: {
      if (v.z() > -kTiny) break;
      const double x = -p.z() / v.z();
      const Vector3d hit = p + x * v;
      if ((size[0] <= 0 || std::abs(hit.x()) <= size[0]) && (size[1] <= 0 || std::abs(hit.y()) <= size[1]))
        best.offer(x, Vector3d::UnitZ());
      break;
    }
    case kBox:
      for (int k = 0; k < 3; ++k) {
        for (int side = -1; side <= 1 && std::abs(v[k]) > kTiny; side += 2) {
          const double x = (side * size[k] - p[k]) / v[k];
          const Vector3d hit = p + x * v;
          const int i = (k + 1) % 3, j = (k + 2) % 3;
          if (std::abs(hit[i]) <= size[i] && std::abs(hit[j]) <= size[j])
            best.offer(x, side * Vector3d::Unit(k));
        }
      }
      break;
    default:
      break;
  }
  return best;
}

}  // namespace dualstep::reference
