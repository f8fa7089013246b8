// A capsule: a segment along z, from -half to half, with a radius around it.
//
// solves    the hooks of hooks.h, and its contacts with a plane, a sphere and a capsule
// equation  it is a sphere at the point of its axis that is nearest; parallel capsules are two of them
//           where its axis has passed an edge of a height field, in the solid below it, it leaves the edge across both
// source    which points are taken, and in which order, follows MuJoCo, so that contacts can be compared one by one
#include <algorithm>
#include <cmath>

#include "host/reference/collide_hfield.h"
#include "host/reference/shapes/pairs.h"
#include "host/reference/shapes/rays.h"

namespace dualstep::reference {

namespace {

// squared sine of the angle below which two capsules count as parallel
constexpr double kParallelAxes = 1e-8;

// where the axis has passed the edge, in the solid below it
void leave_edge_passed(FieldScene* s, const FieldEdge& edge) {
  const Shape& capsule = s->shape;
  const Vector3d axis = capsule.mat.col(2), x = edge.along.cross(axis), from = edge.from - capsule.pos;
  if (x.norm() < 1e-4) return;
  const Vector3d n = x.normalized() * (x.z() < 0 ? -1 : 1);
  const double apart = -n.dot(from);
  const Vector3d half = axis.cwiseAbs() * capsule.size[1] + Vector3d::Constant(capsule.size[0]);
  if (apart >= 0 || !edge.allows(n) || !edge.leads_under(-n) || !edge.is_over(capsule.pos, half, s->margin))
    return;
  Eigen::Matrix<double, 3, 2> lines;
  lines << edge.along, -axis;
  const Eigen::Vector2d t = lines.colPivHouseholderQr().solve(-from - n * apart);
  const Vector3d on_edge = edge.from + t[0] * edge.along;
  if (std::abs(t[1]) <= capsule.size[1] && edge.within(on_edge))
    s->found.push_back(at_surface(on_edge, apart - capsule.size[0], n));
}

struct Capsule : ShapeHooks {
  double radius(const Shape& s) const override { return s.size[0]; }
  double extent(const Shape& s) const override { return s.size[0] + s.size[1]; }
  double longest(const Shape& s) const override { return s.size[0] + s.size[1]; }
  Vector3d half_axes(const Vector3d& size) const override {
    return Vector3d(size[0], size[0], size.head<2>().sum());
  }

  Vector3d support(const Shape& s, const Vector3d& n) const override {
    return Vector3d(0, 0, (n.z() < 0 ? -1.0 : 1.0) * s.size[1]);
  }
  void add_edges(const Shape&, const std::vector<Vector3d>& corners, double least,
                 std::vector<Vector3d>* edges) const override {
    add_edges_between(corners, least, edges);
  }
  std::optional<Summands> summands(const Shape& s) const override {
    return Summands{.segments = {s.axis() * s.size[1]}, .disks = {}, .ball = s.size[0], .faces = {}};
  }

  Feature shown(const Shape& s, const Vector3d& n) const override {
    Feature f = side_line(s, s.size[0] * n);
    f.round_ends = true;
    return f;
  }
  Polygon flat_feature(const Shape& s, const Vector3d& n) const override {
    return std::abs(n.dot(s.axis())) < kAligned ? side_edge(s, n) : Polygon{};
  }

  RayHit ray(const Shape& s, const Vector3d& p, const Vector3d& v) const override {
    NearestHit best;
    offer_wall(s.size[0], s.size[1], p, v, &best);
    offer_cap(s.size[0], s.size[1], p, v, &best);
    offer_cap(s.size[0], -s.size[1], p, v, &best);
    return best;
  }
  bool holds(const Vector3d& size, const Vector3d& p) const override {
    return (p - Vector3d(0, 0, std::clamp(p.z(), -size[1], size[1]))).norm() <= size[0];
  }

  void meet_edge(FieldScene* s, const FieldEdge& edge) const override {
    leave_edge_passed(s, edge);
    ShapeHooks::meet_edge(s, edge);
  }
  bool counts_from_above(const Shape& s, double dist, bool) const override { return dist >= -s.size[0]; }
};

}  // namespace

const ShapeHooks& shapes::capsule() {
  static const Capsule hooks;
  return hooks;
}

Shape segment(const Vector3d& from, const Vector3d& to) {
  const Vector3d along = (to - from).normalized();
  Shape line;
  line.type = kCapsule;
  line.pos = (from + to) / 2;
  line.size = Vector3d(0, (to - from).norm() / 2, 0);
  line.mat.col(2) = along;
  line.mat.col(0) = along.unitOrthogonal();
  line.mat.col(1) = along.cross(line.mat.col(0));
  return line;
}

Touches plane_capsule(const Shape& plane, const Shape& capsule, double margin) {
  Touches touches;
  for (double end : {1.0, -1.0}) {
    const Vector3d pos = capsule.pos + end * capsule.size[1] * capsule.axis();
    const Shape ball = point_with_radius(pos, capsule.size[0], capsule.mat);
    for (const Touch& t : plane_sphere(plane, ball, margin)) touches.push_back(t);
  }
  for (Touch& t : touches) t.tangent = capsule.axis();
  return touches;
}

Touches sphere_capsule(const Shape& sphere, const Shape& capsule, double margin) {
  const Vector3d axis = capsule.axis();
  const double x = std::clamp(axis.dot(sphere.pos - capsule.pos), -capsule.size[1], capsule.size[1]);
  return sphere_sphere(sphere, point_with_radius(capsule.pos + x * axis, capsule.size[0], capsule.mat),
                       margin);
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

  if (det >= kParallelAxes * a * c) {
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
    for (const Touch& t : touch_at(x1, x1 == free ? end : unit((v - b * x1) / c))) touches.push_back(t);
  }
  return touches;
}

}  // namespace dualstep::reference
