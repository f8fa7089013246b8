// Height fields against everything: the surface of triangles between the heights, solid below.
//
// solves    contacts of three kinds, each a local minimum of the distance between the surface and the shape
// equation  face    of the plane of a triangle, where the contact of a plane lies over the triangle; of corners of
//                   boxes and hulls the triangle is the one that they are over or under
//           edge    between two triangles, where it is convex: a capsule without a radius. The normal n must not
//                   lead into the surface: n.w <= 0 for w from the edge to the far corner of each triangle
//           vertex  likewise, a sphere without a radius: n.u <= 0 for its six edges u
//           so that a shape that slides over flat ground has the contacts that it has on a plane, and no others.
//           Below the border of the field is a wall, which nothing collides with itself. Contacts of one place and
//           direction are one, the deepest; at most `most` are kept
// deviation MuJoCo tests each prism under the shape by itself, and so has contacts with edges between coplanar
//           triangles too
#include "host/reference/collide_hfield.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "host/reference/shapes/shapes.h"

namespace dualstep::reference {

namespace {

constexpr double kFlat =
    1e-4;  // of a cell: by how much an edge must rise over the line between the far corners
constexpr double kCone = 1e-4;    // sine by which a normal may lean into the surface
constexpr double kSlack = 1e-3;   // of the shape's size: by which a face is larger than its triangle
constexpr double kApart = 0.01;   // of the shape's size: contacts closer than this with
constexpr double kSame = 0.9999;  // a cosine of their normals above this are one

FieldTriangle triangle(const HeightField& f, int i, int j, bool upper) {
  FieldTriangle t{
      {f.at(i, j), upper ? f.at(i + 1, j + 1) : f.at(i + 1, j), upper ? f.at(i, j + 1) : f.at(i + 1, j + 1)},
      {}};
  t.normal = (t.corner[1] - t.corner[0]).cross(t.corner[2] - t.corner[0]).normalized();
  return t;
}

// whether a point is over the triangle or under it, or beside it by less than `slack`
bool over(const HeightField& f, const FieldTriangle& t, const Vector3d& p, double slack) {
  const double u = (p.x() - t.corner[0].x()) / f.dx, w = (p.y() - t.corner[0].y()) / f.dy;
  const double su = slack / f.dx, sw = slack / f.dy;
  const bool upper = t.corner[1].x() != t.corner[2].x();
  if (u < -su || u > 1 + su || w < -sw || w > 1 + sw) return false;
  return upper ? w - u >= -su - sw : u - w >= -su - sw;
}

// how far two corners lie over the line between two others
bool convex(const HeightField& f, const std::array<int, 2>& a, const std::array<int, 2>& b,
            const std::array<int, 2>& far1, const std::array<int, 2>& far2) {
  if (!f.has(far1[0], far1[1]) || !f.has(far2[0], far2[1])) return true;
  const double rise =
      f.at(a[0], a[1]).z() + f.at(b[0], b[1]).z() - f.at(far1[0], far1[1]).z() - f.at(far2[0], far2[1]).z();
  return rise > kFlat * std::min(f.dx, f.dy);
}

using Vertex = std::array<int, 2>;

void find_edge(FieldScene* s, const Vertex& a, const Vertex& b, const Vertex& far1, const Vertex& far2) {
  const HeightField& f = s->field;
  if (!f.has(b[0], b[1]) || !convex(f, a, b, far1, far2)) return;
  FieldEdge edge{f.at(a[0], a[1]), f.at(b[0], b[1]), {}, {}};
  edge.along = (edge.to - edge.from).normalized();
  for (const Vertex& far : {far1, far2}) {
    if (!f.has(far[0], far[1])) continue;
    const Vector3d w = f.at(far[0], far[1]) - edge.from;
    edge.across.push_back((w - edge.along * edge.along.dot(w)).normalized());
  }
  hooks_of(s->shape).meet_edge(s, edge);
}

void find_vertex(FieldScene* s, int i, int j) {
  const HeightField& f = s->field;
  if (!convex(f, {i, j}, {i, j}, {i + 1, j}, {i - 1, j}) &&
      !convex(f, {i, j}, {i, j}, {i, j + 1}, {i, j - 1}) &&
      !convex(f, {i, j}, {i, j}, {i + 1, j + 1}, {i - 1, j - 1}))
    return;
  FieldVertex vertex{f.at(i, j), {}};
  for (const auto& [di, dj] : {std::pair(1, 0), {1, 1}, {0, 1}, {-1, 0}, {-1, -1}, {0, -1}})
    if (f.has(i + di, j + dj)) vertex.edges.push_back(f.at(i + di, j + dj) - vertex.at);
  hooks_of(s->shape).meet_vertex(s, vertex);
}

// of those in one place and direction the deepest, at most `most`, the deepest first
Touches distinct(Touches found, double apart, size_t most) {
  std::stable_sort(found.begin(), found.end(),
                   [](const Touch& a, const Touch& b) { return a.dist < b.dist; });
  Touches kept;
  for (const Touch& t : found) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Touch& k) {
      return (k.pos - t.pos).norm() <= apart && k.normal.dot(t.normal) >= kSame;
    });
    if (!known && kept.size() < most) kept.push_back(t);
  }
  return kept;
}

}  // namespace

std::optional<FieldTriangle> triangle_under(const HeightField& f, const Vector3d& p) {
  const double x = (p.x() + f.half_x) / f.dx, y = (p.y() + f.half_y) / f.dy;
  if (!(x >= 0 && y >= 0 && x <= f.columns - 1 && y <= f.rows - 1)) return {};
  const int i = std::min(static_cast<int>(x), f.columns - 2), j = std::min(static_cast<int>(y), f.rows - 2);
  return triangle(f, i, j, x - i < y - j);
}

bool FieldEdge::allows(const Vector3d& n) const {
  return n.z() >= 0 &&
         std::all_of(across.begin(), across.end(), [&](const Vector3d& w) { return n.dot(w) <= kCone; });
}

bool FieldEdge::leads_under(const Vector3d& d) const {
  if (across.size() < 2) return false;
  const double between = across[0].dot(across[1]);
  return d.dot(across[0]) >= between && d.dot(across[1]) >= between;
}

bool FieldEdge::is_over(const Vector3d& centre, const Vector3d& half, double margin) const {
  const Vector3d low = from.cwiseMin(to) - centre, high = from.cwiseMax(to) - centre;
  for (int k = 0; k < 2; k++)
    if (low[k] > half[k] + margin || high[k] < -half[k] - margin) return false;
  return true;
}

bool FieldVertex::allows(const Vector3d& n) const {
  for (const Vector3d& u : edges)
    if (n.dot(u) > kCone * u.norm()) return false;
  return n.z() >= 0;
}

Touch at_surface(const Vector3d& p, double dist, const Vector3d& n) {
  return Touch{dist, p + n * (dist / 2), n, Vector3d::Zero()};
}

Touches corners_on_faces(const FieldScene& s, const std::vector<Vector3d>& corners, bool lower_only) {
  Touches touches;
  for (const Vector3d& corner : corners) {
    const Vector3d arm = s.shape.mat * corner, p = s.shape.pos + arm;
    const auto t = triangle_under(s.field, p);
    if (!t) continue;
    const double dist = t->normal.dot(p - t->corner[0]);
    if (dist > s.margin || (lower_only && t->normal.dot(arm) > 0)) continue;
    touches.push_back(Touch{dist, p - t->normal * (dist / 2), t->normal, Vector3d::Zero()});
  }
  return touches;
}

Touches apart_from_above(const FieldScene& s, const Touches& touches) {
  Touches flat = touches, kept;
  for (size_t k = 0; k < flat.size(); k++) {
    flat[k].normal = Vector3d::UnitZ();
    flat[k].pos += touches[k].normal * (touches[k].dist / 2);
    flat[k].pos.z() = 0;
    flat[k].tangent = Vector3d(static_cast<double>(k), 0, 0);
  }
  for (const Touch& t : four_apart(flat, kApart * s.size))
    kept.push_back(touches[static_cast<size_t>(t.tangent.x())]);
  return kept;
}

void ShapeHooks::meet_faces(FieldScene* s) const {
  const double slack = kSlack * (s->size + s->margin);
  for (int j = s->first_j; j < s->last_j; j++) {
    for (int i = s->first_i; i < s->last_i; i++) {
      for (bool upper : {false, true}) {
        const FieldTriangle t = triangle(s->field, i, j, upper);
        const bool below = t.normal.dot(s->shape.pos - t.corner[0]) < 0;
        const bool inside = below && over(s->field, t, s->shape.pos, slack);
        for (Touch touch : collide_shapes(plane_through(t.corner[0], t.normal), s->shape, s->margin)) {
          const Vector3d half = touch.normal * (touch.dist / 2);
          // from above the point of the plane; or the point of the shape
          const bool above = counts_from_above(s->shape, touch.dist, below);
          touch.tangent = Vector3d::Zero();
          if (inside || (above && over(s->field, t, touch.pos - half, slack)) ||
              over(s->field, t, touch.pos + half, slack))
            s->found.push_back(touch);
        }
      }
    }
  }
}

void ShapeHooks::meet_edge(FieldScene* s, const FieldEdge& edge) const {
  for (const Touch& t : collide_either_way(segment(edge.from, edge.to), s->shape, s->margin)) {
    const Vector3d x = t.pos - t.normal * (t.dist / 2);
    if (edge.within(x) && edge.allows(t.normal)) s->found.push_back(at_surface(x, t.dist, t.normal));
  }
}

void ShapeHooks::meet_vertex(FieldScene* s, const FieldVertex& vertex) const {
  const Shape point = point_with_radius(vertex.at, 0, Matrix3d::Identity());
  for (const Touch& t : collide_either_way(point, s->shape, s->margin))
    if (vertex.allows(t.normal)) s->found.push_back(at_surface(vertex.at, t.dist, t.normal));
}

Touches hfield_convex(const Shape& field, const Shape& shape, double margin) {
  FieldScene s{.field = HeightField(*field.hull.model, field.hull.mesh),
               .shape = shape,
               .margin = margin,
               .size = extent(shape)};
  const Matrix3d to_field = field.mat.transpose();
  s.shape.pos = to_field * (shape.pos - field.pos);
  s.shape.mat = to_field * shape.mat;
  const HeightField& f = s.field;
  if (s.shape.pos.z() < -f.base) return {};
  const double reach = s.size + margin;
  const auto range = [&](double at, double half, double step, int count, int* first, int* last) {
    *first = static_cast<int>(std::clamp(std::floor((at - reach + half) / step), 0.0, count - 1.0));
    *last = static_cast<int>(std::clamp(std::ceil((at + reach + half) / step), 0.0, count - 1.0));
  };
  range(s.shape.pos.x(), f.half_x, f.dx, f.columns, &s.first_i, &s.last_i);
  range(s.shape.pos.y(), f.half_y, f.dy, f.rows, &s.first_j, &s.last_j);

  const ShapeHooks& hooks = hooks_of(shape);
  hooks.meet_faces(&s);
  for (int j = s.first_j; j <= s.last_j; j++) {
    for (int i = s.first_i; i <= s.last_i; i++) {
      find_edge(&s, {i, j}, {i + 1, j}, {i + 1, j + 1}, {i, j - 1});
      find_edge(&s, {i, j}, {i, j + 1}, {i + 1, j + 1}, {i - 1, j});
      find_edge(&s, {i, j}, {i + 1, j + 1}, {i + 1, j}, {i, j + 1});
      find_vertex(&s, i, j);
    }
  }
  // a box or hull in the solid, all of which that could touch is below: its centre leaves by the face over it
  const auto over_centre = triangle_under(f, s.shape.pos);
  if (hooks.has_corners() && s.found.empty() && over_centre) {
    const double dist = over_centre->normal.dot(s.shape.pos - over_centre->corner[0]);
    if (dist < 0)
      s.found.push_back(
          Touch{dist, s.shape.pos - over_centre->normal * (dist / 2), over_centre->normal, Vector3d::Zero()});
  }
  Touches result = distinct(s.found, kApart * s.size, hooks.most_over_field());
  for (Touch& t : result) {
    t.pos = field.pos + field.mat * t.pos;
    t.normal = field.mat * t.normal;
  }
  return result;
}

}  // namespace dualstep::reference
