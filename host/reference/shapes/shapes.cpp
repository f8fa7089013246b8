// What is done by shape: look-ups in the lists of shapes and pairs, and the defaults of a shape's hooks.
#include "host/reference/shapes/shapes.h"

#include <array>
#include <cmath>

#include "host/reference/shapes/pairs.h"

namespace dualstep::reference {

const ShapeHooks& shape_hooks(int type) {
  static const ShapeHooks others;
  switch (type) {
#define DS_ROW(code, name) \
  case code:               \
    return shapes::name();
    DS_REFERENCE_SHAPES(DS_ROW)
#undef DS_ROW
    default:
      return others;
  }
}

const ClosedPair* closed_pair(int type1, int type2) {
  static constexpr ClosedPair pairs[] = {
#define DS_ROW(type1, type2, function, points) {type1, type2, function, PairPoints::points},
      DS_REFERENCE_PAIRS(DS_ROW)
#undef DS_ROW
  };
  for (const ClosedPair& pair : pairs)
    if (pair.type1 == type1 && pair.type2 == type2) return &pair;
  return nullptr;
}

Touches collide_shapes(const Shape& first, const Shape& second, double margin) {
  const ClosedPair* closed = closed_pair(first.type, second.type);
  return closed ? closed->touches(first, second, margin) : hooks_of(first).touches(first, second, margin);
}

Touches collide_either_way(const Shape& from, const Shape& to, double margin) {
  if (from.type <= to.type) return collide_shapes(from, to, margin);
  Touches touches = collide_shapes(to, from, margin);
  for (Touch& t : touches) t.normal = -t.normal;
  return touches;
}

bool is_iterated(int type1, int type2) { return !shape_hooks(type1).surface() && !closed_pair(type1, type2); }

ClosestPair closest_points(const Shape& first, const Shape& second, double beyond) {
  return hooks_of(first).nearest(first, second, beyond);
}

double ball_radius(const Shape& shape) { return hooks_of(shape).radius(shape); }

Vector3d core_support(const Shape& shape, const Vector3d& n) {
  const Vector3d local = shape.mat.transpose() * n;
  return shape.mat * hooks_of(shape).support(shape, local);
}

double extent(const Shape& shape) { return hooks_of(shape).extent(shape); }

Touches ShapeHooks::touches(const Shape& s, const Shape& second, double margin) const {
  const auto sum = summands(s), other = hooks_of(second).summands(second);
  if (!sum || !other) return general_convex(s, second, margin);
  const Separation sep = separation(s, second, *sum, *other);
  return sep.dist > margin ? Touches{} : convex_manifold(s, second, sep, margin);
}

ClosestPair ShapeHooks::nearest(const Shape& s, const Shape& second, double beyond) const {
  const ClosedPair* closed = closed_pair(s.type, second.type);
  if (closed && closed->points == PairPoints::kNearest) {
    ClosestPair least{1e300};
    for (const Touch& touch : closed->touches(s, second, beyond)) {
      const Vector3d half = 0.5 * touch.dist * touch.normal;
      if (touch.dist < least.dist) least = {touch.dist, touch.normal, touch.pos - half, touch.pos + half};
    }
    return least;
  }
  ClosestPair pair = closest(s, second, beyond);
  pair.on_first += s.pos;
  pair.on_second += s.pos;
  return pair;
}

void add_unit(std::vector<Vector3d>* all, const Vector3d& v, double least) {
  if (v.norm() <= least) return;
  const Vector3d unit = v.normalized();
  for (const Vector3d& other : *all)
    if (unit.cross(other).norm() < 1e-12) return;
  all->push_back(unit);
}

void add_edges_between(const std::vector<Vector3d>& corners, double least, std::vector<Vector3d>* edges) {
  for (size_t i = 0; i < corners.size(); i++)
    for (size_t j = 0; j < i; j++) add_unit(edges, corners[i] - corners[j], least);
}

Matrix3d ellipsoid_curvature(const Matrix3d& mat, const Vector3d& half_axes, const Vector3d& n) {
  const Vector3d square = half_axes.cwiseProduct(half_axes);
  const Matrix3d S = mat * square.asDiagonal() * mat.transpose();
  const Vector3d Sn = S * n;
  const double h = std::sqrt(std::max(0.0, n.dot(Sn)));
  if (h <= 0) return Matrix3d::Zero();
  return S / h - Sn * Sn.transpose() / (h * h * h);
}

Feature side_line(const Shape& s, const Vector3d& offset) {
  Feature f;
  f.points = {s.pos + s.size[1] * s.axis() + offset, s.pos - s.size[1] * s.axis() + offset};
  f.centre = s.pos;
  f.axis = s.axis();
  f.radius = s.size[0];
  f.half_length = s.size[1];
  return f;
}

Polygon side_edge(const Shape& s, const Vector3d& across) {
  Polygon edge;
  for (double end : {1.0, -1.0}) edge.push_back(s.pos + s.size[0] * across + end * s.size[1] * s.axis());
  return edge;
}

}  // namespace dualstep::reference
