// A box with half sides along its frame.
//
// solves    the hooks of hooks.h, and its contacts with a plane
// equation  its farthest point along n is a corner; a search for sums sees the face that looks most along n
//           an edge of a height field is met along the axis across both edges of least overlap, among those that are allowed
// source    which corners a plane touches, and in which order, follows MuJoCo, so that contacts can be compared one by one
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <utility>

#include "host/reference/collide_hfield.h"
#include "host/reference/shapes/pairs.h"
#include "host/reference/shapes/polytope.h"
#include "host/reference/shapes/rays.h"

namespace dualstep::reference {

namespace {

// by the axes across both edges that are allowed: the one of least overlap
void meet_edge_by_axes(FieldScene* s, const FieldEdge& edge) {
  const Shape& box = s->shape;
  const Vector3d from = edge.from - box.pos;
  int axis = -1;
  double best = -1e300;
  Vector3d n = Vector3d::Zero();
  for (int j = 0; j < 3; j++) {
    Vector3d u = edge.along.cross(box.mat.col(j));
    if (u.norm() < 1e-4) continue;
    u = u.normalized() * (u.z() < 0 ? -1 : 1);
    double reach = 0;
    for (int i = 0; i < 3; i++)
      if (i != j) reach += std::abs(u.dot(box.mat.col(i))) * box.size[i];
    const double apart = -u.dot(from) - reach;
    const bool allowed = edge.allows(u);
    // a box that is wholly below the edge is in the solid, or beside it
    const bool in_solid =
        allowed && edge.leads_under(-u) && edge.is_over(box.pos, box.mat.cwiseAbs() * box.size, s->margin);
    if ((apart < -2 * reach && !in_solid) || (apart > 0 && !allowed)) return;
    if (apart <= best || !allowed) continue;
    best = apart;
    axis = j;
    n = u;
  }
  if (axis < 0 || best > s->margin) return;
  const Vector3d local = box.mat.transpose() * n;
  int face;
  if (local.cwiseAbs().maxCoeff(&face) >= std::cos(M_PI / 90)) {
    const double side = local[face] < 0 ? -1 : 1;
    const Vector3d m = side * box.mat.col(face);
    if (edge.allows(m)) {
      // the stretch over the face
      const Vector3d p = box.mat.transpose() * from, v = box.mat.transpose() * (edge.to - edge.from);
      double enter = 0, leave = 1;
      for (int i = 0; i < 3; i++) {
        if (i == face) continue;
        if (std::abs(v[i]) < 1e-12 * v.norm()) {
          if (std::abs(p[i]) > box.size[i]) return;
          continue;
        }
        const double t1 = (-box.size[i] - p[i]) / v[i], t2 = (box.size[i] - p[i]) / v[i];
        enter = std::max(enter, std::min(t1, t2));
        leave = std::min(leave, std::max(t1, t2));
      }
      if (enter > leave) return;
      for (double t : {enter, leave}) {
        const Vector3d x = from + t * (edge.to - edge.from);
        const double dist = -box.size[face] - m.dot(x);
        if (dist <= s->margin && edge.within(x + box.pos))
          s->found.push_back(at_surface(x + box.pos, dist, m));
      }
      return;
    }
  }
  // the edge of the box that looks down, and where it crosses
  Vector3d corner = Vector3d::Zero();
  for (int i = 0; i < 3; i++)
    if (i != axis) corner += box.mat.col(i) * (local[i] > 0 ? -box.size[i] : box.size[i]);
  Eigen::Matrix<double, 3, 2> lines;
  lines << edge.along, -box.mat.col(axis);
  const Vector3d between = corner - from;
  const Eigen::Vector2d t = lines.colPivHouseholderQr().solve(between - n * n.dot(between));
  const Vector3d x = edge.from + t[0] * edge.along;
  if (std::abs(t[1]) <= box.size[axis] && edge.within(x)) s->found.push_back(at_surface(x, best, n));
}

struct Box : PolytopeHooks {
  Vector3d support(const Shape& s, const Vector3d& n) const override {
    Vector3d p;
    for (int i = 0; i < 3; i++) p[i] = (n[i] < 0 ? -1.0 : 1.0) * s.size[i];
    return p;
  }
  void add_faces(const Shape& s, const Vector3d& n, std::vector<Vector3d>* normals) const override {
    for (int i = 0; i < 3; i++)
      normals->push_back(s.mat.col(i).dot(n) < 0 ? Vector3d(-s.mat.col(i)) : Vector3d(s.mat.col(i)));
  }
  std::optional<Summands> summands(const Shape& s) const override {
    Summands sum;
    for (int i = 0; i < 3; i++) {
      sum.segments.push_back(s.mat.col(i) * s.size[i]);
      sum.faces.push_back(s.mat.col(i));
    }
    return sum;
  }
  Feature shown(const Shape& s, const Vector3d& n) const override {
    int face = 0;
    const Vector3d local = s.mat.transpose() * n;
    for (int i = 1; i < 3; i++) {
      if (std::abs(local[i]) > std::abs(local[face])) face = i;
    }
    const double side = local[face] > 0 ? 1 : -1;
    const int u = (face + 1) % 3, v = (face + 2) % 3;
    Feature f;
    for (const auto& [x, y] : {std::pair(1., 1.), {-1., 1.}, {-1., -1.}, {1., -1.}})
      f.points.push_back(s.pos + side * s.size[face] * s.mat.col(face) + x * s.size[u] * s.mat.col(u) +
                         y * s.size[v] * s.mat.col(v));
    return f;
  }

  std::vector<Face> faces(const Shape& s) const override {
    std::vector<Face> faces;
    for (int axis = 0; axis < 3; axis++) {
      for (double side : {1.0, -1.0}) {
        const int u = (axis + 1) % 3, v = (axis + 2) % 3;
        Face face{side * Vector3d::Unit(axis), {}};
        for (const auto& [x, y] : {std::pair(1, 1), {-1, 1}, {-1, -1}, {1, -1}}) {
          Vector3d p;
          p[axis] = side * s.size[axis];
          p[u] = x * s.size[u] * side;
          p[v] = y * s.size[v];
          face.corners.push_back(p);
        }
        faces.push_back(face);
      }
    }
    return faces;
  }
  std::vector<HalfSpace> half_spaces(const Shape& s) const override {
    std::vector<HalfSpace> all;
    for (int k = 0; k < 3; k++)
      for (double side : {1.0, -1.0}) all.push_back({side * s.mat.col(k), side * s.size[k] * s.mat.col(k)});
    return all;
  }

  RayHit ray(const Shape& s, const Vector3d& p, const Vector3d& v) const override {
    NearestHit best;
    offer_box(s.size, p, v, &best);
    return best;
  }
  bool holds(const Vector3d& size, const Vector3d& p) const override {
    return (p.cwiseAbs().array() <= size.array()).all();
  }

  // four corners, as on a plane
  void meet_faces(FieldScene* s) const override {
    std::vector<Vector3d> corners;
    for (int k = 0; k < 8; k++)
      corners.emplace_back(
          Vector3d(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1).cwiseProduct(s->shape.size));
    s->found = corners_on_faces(*s, corners, true);
  }
  void meet_edge(FieldScene* s, const FieldEdge& edge) const override { meet_edge_by_axes(s, edge); }
};

}  // namespace

const ShapeHooks& shapes::box() {
  static const Box hooks;
  return hooks;
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

}  // namespace dualstep::reference
