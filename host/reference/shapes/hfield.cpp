// A height field: the surface of triangles between heights over a grid, solid below.
//
// solves    the hooks of hooks.h
// equation  contacts are those of collide_hfield.cpp, with any convex shape
//           for rays it is the box below height 0, its top included, the walls from there to the border, and the triangles,
//           which are met from both sides
// cost      of a ray the cells under it
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "host/model/element_rows.h"
#include "host/reference/shapes/rays.h"
#include "host/reference/shapes/shapes.h"

namespace dualstep::reference {

HeightField::HeightField(const Model& m, int id)
    : rows(m.hfield_nrow[id]), columns(m.hfield_ncol[id]), data(&m.hfield_data[m.hfield_adr[id]]) {
  const auto size = row::hfield_size(m, id);
  half_x = size[0], half_y = size[1], top = size[2], base = size[3];
  dx = 2 * half_x / (columns - 1);
  dy = 2 * half_y / (rows - 1);
}

namespace {

// the walls of a height field: along each side of its border, from height 0 to the surface
void offer_walls(const HeightField& f, const Vector3d& p, const Vector3d& v, NearestHit* best) {
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

RayHit ray_to(const HeightField& f, const Vector3d& p, const Vector3d& v) {
  NearestHit best;
  const Vector3d half(f.half_x, f.half_y, f.base / 2);
  NearestHit box;
  offer_box(half, p + Vector3d(0, 0, f.base / 2), v, &box);
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

struct FieldHooks : ShapeHooks {
  bool surface() const override { return true; }
  Touches touches(const Shape& s, const Shape& second, double margin) const override {
    return hfield_convex(s, second, margin);
  }
  RayHit ray(const Shape& s, const Vector3d& p, const Vector3d& v) const override {
    // a site is nothing but sizes
    return s.hull.model ? ray_to(HeightField(*s.hull.model, s.hull.mesh), p, v) : RayHit{};
  }
};

}  // namespace

const ShapeHooks& shapes::hfield() {
  static const FieldHooks hooks;
  return hooks;
}

}  // namespace dualstep::reference
