// Height fields against everything: the surface of triangles between the heights, solid below.
//
// Three kinds of contact, each a local minimum of the distance between the surface and the shape:
//   face    of the plane of a triangle, where the contact of a plane lies over the triangle; of corners of boxes and
//           hulls the triangle is the one that they are over or under
//   edge    between two triangles, where it is convex: a capsule without a radius. The normal n must not lead into
//           the surface: n.w <= 0 for w from the edge to the far corner of each triangle
//   vertex  likewise, a sphere without a radius: n.u <= 0 for its six edges u
// so that a shape that slides over flat ground has the contacts that it has on a plane, and no others. Below the border
// of the field is a wall, which nothing collides with itself. Contacts of one place and direction are one, the deepest;
// at most `most` are kept.
//
// MuJoCo tests each prism under the shape by itself, and so has contacts with edges between coplanar triangles too.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "host/reference/collide.h"
#include "host/reference/spatial.h"

namespace dualstep::reference {

namespace {

constexpr double kFlat =
    1e-4;  // of a cell: by how much an edge must rise over the line between the far corners
constexpr double kCone = 1e-4;    // sine by which a normal may lean into the surface
constexpr double kSlack = 1e-3;   // of the shape's size: by which a face is larger than its triangle
constexpr double kApart = 0.01;   // of the shape's size: contacts closer than this with
constexpr double kSame = 0.9999;  // a cosine of their normals above this are one

class Field {
 public:
  explicit Field(const Shape& shape) : m_(*shape.hull.model), id_(shape.hull.mesh) {
    const double* size = &m_.hfield_size[4 * id_];
    rows = m_.hfield_nrow[id_];
    columns = m_.hfield_ncol[id_];
    half_x = size[0], half_y = size[1], top = size[2], base = size[3];
    dx = 2 * half_x / (columns - 1);
    dy = 2 * half_y / (rows - 1);
  }
  int rows, columns;
  double half_x, half_y, top, base, dx, dy;

  bool has(int i, int j) const { return i >= 0 && j >= 0 && i < columns && j < rows; }
  Vector3d at(int i, int j) const {
    return {i * dx - half_x, j * dy - half_y, top * m_.hfield_data[m_.hfield_adr[id_] + j * columns + i]};
  }

 private:
  const Model& m_;
  int id_;
};

// a triangle of cell (i, j), on the lower or the upper side of its diagonal from (i, j) to (i + 1, j + 1)
struct Triangle {
  Vector3d corner[3], normal;
};
Triangle triangle(const Field& f, int i, int j, bool upper) {
  Triangle t{
      {f.at(i, j), upper ? f.at(i + 1, j + 1) : f.at(i + 1, j), upper ? f.at(i, j + 1) : f.at(i + 1, j + 1)},
      {}};
  t.normal = (t.corner[1] - t.corner[0]).cross(t.corner[2] - t.corner[0]).normalized();
  return t;
}

// whether a point is over the triangle or under it, or beside it by less than `slack`
bool over(const Field& f, const Triangle& t, const Vector3d& p, double slack) {
  const double u = (p.x() - t.corner[0].x()) / f.dx, w = (p.y() - t.corner[0].y()) / f.dy;
  const double su = slack / f.dx, sw = slack / f.dy;
  const bool upper = t.corner[1].x() != t.corner[2].x();
  if (u < -su || u > 1 + su || w < -sw || w > 1 + sw) return false;
  return upper ? w - u >= -su - sw : u - w >= -su - sw;
}

// the triangle that a point is over or under
std::optional<Triangle> under(const Field& f, const Vector3d& p) {
  const double x = (p.x() + f.half_x) / f.dx, y = (p.y() + f.half_y) / f.dy;
  if (!(x >= 0 && y >= 0 && x <= f.columns - 1 && y <= f.rows - 1)) return {};
  const int i = std::min(static_cast<int>(x), f.columns - 2), j = std::min(static_cast<int>(y), f.rows - 2);
  return triangle(f, i, j, x - i < y - j);
}

// everything in the frame of the field
struct Scene {
  Field field;
  Shape shape;
  double margin, size;
  Touches found;
  int first_i, last_i, first_j, last_j;  // vertices of the cells that the shape may reach
};

void find_corners(Scene* s) {
  std::vector<Vector3d> corners;
  if (s->shape.type == kBox) {
    for (int k = 0; k < 8; k++)
      corners.emplace_back(
          Vector3d(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1).cwiseProduct(s->shape.size));
  } else {
    for (int k = 0; k < s->shape.hull.points(); k++) corners.push_back(s->shape.hull.point(k));
  }
  Touches touches;
  for (const Vector3d& corner : corners) {
    const Vector3d arm = s->shape.mat * corner, p = s->shape.pos + arm;
    const auto t = under(s->field, p);
    if (!t) continue;
    const double dist = t->normal.dot(p - t->corner[0]);
    // of a box four corners, as on a plane
    if (dist > s->margin || (s->shape.type == kBox && t->normal.dot(arm) > 0)) continue;
    touches.push_back(Touch{dist, p - t->normal * (dist / 2), t->normal, Vector3d::Zero()});
  }
  if (s->shape.type == kMesh) {
    // seen from above those of a hull are apart
    std::vector<double> height;
    Touches flat = touches;
    for (size_t k = 0; k < flat.size(); k++) {
      flat[k].normal = Vector3d::UnitZ();
      flat[k].pos += touches[k].normal * (touches[k].dist / 2);
      flat[k].pos.z() = 0;
      flat[k].tangent = Vector3d(static_cast<double>(k), 0, 0);
    }
    for (const Touch& t : four_apart(flat, kApart * s->size))
      s->found.push_back(touches[static_cast<size_t>(t.tangent.x())]);
    return;
  }
  s->found.insert(s->found.end(), touches.begin(), touches.end());
}

void find_faces(Scene* s) {
  const double slack = kSlack * (s->size + s->margin);
  for (int j = s->first_j; j < s->last_j; j++) {
    for (int i = s->first_i; i < s->last_i; i++) {
      for (bool upper : {false, true}) {
        const Triangle t = triangle(s->field, i, j, upper);
        Shape plane;
        plane.type = kPlane;
        plane.pos = t.corner[0];
        plane.mat.col(2) = t.normal;
        const bool below = t.normal.dot(s->shape.pos - t.corner[0]) < 0;
        const bool inside = below && over(s->field, t, s->shape.pos, slack);
        for (Touch touch : collide_shapes(plane, s->shape, s->margin)) {
          const Vector3d half = touch.normal * (touch.dist / 2);
          touch.tangent = Vector3d::Zero();
          if (inside || over(s->field, t, touch.pos - half, slack) ||
              over(s->field, t, touch.pos + half, slack))
            s->found.push_back(touch);
        }
      }
    }
  }
}

// whether a normal leads away from the surface towards a corner beside; beyond the border the surface falls
bool leads_away(const Field& f, const Vector3d& n, int i, int j, const Vector3d& from) {
  if (!f.has(i, j)) return n.z() >= 0;
  const Vector3d w = f.at(i, j) - from;
  return n.dot(w) <= kCone * w.norm();
}
// how far two corners lie over the line between two others
bool convex(const Field& f, const std::array<int, 2>& a, const std::array<int, 2>& b,
            const std::array<int, 2>& far1, const std::array<int, 2>& far2) {
  if (!f.has(far1[0], far1[1]) || !f.has(far2[0], far2[1])) return true;
  const double rise =
      f.at(a[0], a[1]).z() + f.at(b[0], b[1]).z() - f.at(far1[0], far1[1]).z() - f.at(far2[0], far2[1]).z();
  return rise > kFlat * std::min(f.dx, f.dy);
}

void find_edge(Scene* s, const std::array<int, 2>& a, const std::array<int, 2>& b,
               const std::array<int, 2>& far1, const std::array<int, 2>& far2) {
  const Field& f = s->field;
  if (!f.has(b[0], b[1]) || !convex(f, a, b, far1, far2)) return;
  const Vector3d from = f.at(a[0], a[1]), to = f.at(b[0], b[1]);
  const double length = (to - from).norm();
  Shape edge;
  edge.type = kCapsule;
  edge.pos = (from + to) / 2;
  edge.size = Vector3d(0, length / 2, 0);
  const Vector3d along = (to - from) / length;
  edge.mat.col(2) = along;
  edge.mat.col(0) = along.unitOrthogonal();
  edge.mat.col(1) = along.cross(edge.mat.col(0));
  Touches touches;
  if (s->shape.type == kSphere) {
    touches = collide_shapes(s->shape, edge, s->margin);
    for (Touch& t : touches) t.normal = -t.normal;
  } else {
    touches = collide_shapes(edge, s->shape, s->margin);
  }
  for (Touch touch : touches) {
    const double place = along.dot(touch.pos - touch.normal * (touch.dist / 2) - from) / length;
    if (place < 1e-5 || place > 1 - 1e-5 || touch.normal.z() < 0) continue;
    const Vector3d n = touch.normal;
    const auto away = [&](const std::array<int, 2>& far) {
      if (!f.has(far[0], far[1])) return true;
      const Vector3d w = f.at(far[0], far[1]) - from, across = w - along * along.dot(w);
      return n.dot(across) <= kCone * across.norm();
    };
    if (!away(far1) || !away(far2)) continue;
    touch.tangent = Vector3d::Zero();
    s->found.push_back(touch);
  }
}

void find_vertex(Scene* s, int i, int j) {
  const Field& f = s->field;
  if (!convex(f, {i, j}, {i, j}, {i + 1, j}, {i - 1, j}) &&
      !convex(f, {i, j}, {i, j}, {i, j + 1}, {i, j - 1}) &&
      !convex(f, {i, j}, {i, j}, {i + 1, j + 1}, {i - 1, j - 1}))
    return;
  Shape point;
  point.type = kSphere;
  point.pos = f.at(i, j);
  for (Touch touch : collide_shapes(point, s->shape, s->margin)) {
    bool away = touch.normal.z() >= 0;
    for (const auto& [di, dj] : {std::pair(1, 0), {1, 1}, {0, 1}, {-1, 0}, {-1, -1}, {0, -1}})
      away = away && leads_away(f, touch.normal, i + di, j + dj, point.pos);
    touch.tangent = Vector3d::Zero();
    if (away) s->found.push_back(touch);
  }
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

Touches hfield_convex(const Shape& field, const Shape& shape, double margin) {
  Scene s{Field(field), shape, margin, extent(shape), {}, 0, 0, 0, 0};
  const Matrix3d to_field = field.mat.transpose();
  s.shape.pos = to_field * (shape.pos - field.pos);
  s.shape.mat = to_field * shape.mat;
  const Field& f = s.field;
  if (s.shape.pos.z() < -f.base) return {};
  const double reach = s.size + margin;
  const auto range = [&](double at, double half, double step, int count, int* first, int* last) {
    *first = static_cast<int>(std::clamp(std::floor((at - reach + half) / step), 0.0, count - 1.0));
    *last = static_cast<int>(std::clamp(std::ceil((at + reach + half) / step), 0.0, count - 1.0));
  };
  range(s.shape.pos.x(), f.half_x, f.dx, f.columns, &s.first_i, &s.last_i);
  range(s.shape.pos.y(), f.half_y, f.dy, f.rows, &s.first_j, &s.last_j);

  if (shape.type == kBox || shape.type == kMesh)
    find_corners(&s);
  else
    find_faces(&s);
  for (int j = s.first_j; j <= s.last_j; j++) {
    for (int i = s.first_i; i <= s.last_i; i++) {
      find_edge(&s, {i, j}, {i + 1, j}, {i + 1, j + 1}, {i, j - 1});
      find_edge(&s, {i, j}, {i, j + 1}, {i + 1, j + 1}, {i - 1, j});
      find_edge(&s, {i, j}, {i + 1, j + 1}, {i + 1, j}, {i, j + 1});
      find_vertex(&s, i, j);
    }
  }
  Touches result =
      distinct(s.found, kApart * s.size, shape.type == kSphere || shape.type == kEllipsoid ? 4 : 8);
  for (Touch& t : result) {
    t.pos = field.pos + field.mat * t.pos;
    t.normal = field.mat * t.normal;
  }
  return result;
}

}  // namespace dualstep::reference
