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
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "host/model/element_rows.h"
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

// a triangle of cell (i, j), on the lower or the upper side of its diagonal from (i, j) to (i + 1, j + 1)
struct Triangle {
  Vector3d corner[3], normal;
};
Triangle triangle(const HeightField& f, int i, int j, bool upper) {
  Triangle t{
      {f.at(i, j), upper ? f.at(i + 1, j + 1) : f.at(i + 1, j), upper ? f.at(i, j + 1) : f.at(i + 1, j + 1)},
      {}};
  t.normal = (t.corner[1] - t.corner[0]).cross(t.corner[2] - t.corner[0]).normalized();
  return t;
}

// whether a point is over the triangle or under it, or beside it by less than `slack`
bool over(const HeightField& f, const Triangle& t, const Vector3d& p, double slack) {
  const double u = (p.x() - t.corner[0].x()) / f.dx, w = (p.y() - t.corner[0].y()) / f.dy;
  const double su = slack / f.dx, sw = slack / f.dy;
  const bool upper = t.corner[1].x() != t.corner[2].x();
  if (u < -su || u > 1 + su || w < -sw || w > 1 + sw) return false;
  return upper ? w - u >= -su - sw : u - w >= -su - sw;
}

// the triangle that a point is over or under
std::optional<Triangle> under(const HeightField& f, const Vector3d& p) {
  const double x = (p.x() + f.half_x) / f.dx, y = (p.y() + f.half_y) / f.dy;
  if (!(x >= 0 && y >= 0 && x <= f.columns - 1 && y <= f.rows - 1)) return {};
  const int i = std::min(static_cast<int>(x), f.columns - 2), j = std::min(static_cast<int>(y), f.rows - 2);
  return triangle(f, i, j, x - i < y - j);
}

// everything in the frame of the field
struct Scene {
  HeightField field;
  Shape shape;
  double margin, size;
  Touches found{};
  int first_i = 0, last_i = 0, first_j = 0, last_j = 0;  // vertices of the cells that the shape may reach
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
          // from above the point of the plane; or the point of the shape
          const bool above = s->shape.type == kCapsule ? touch.dist >= -s->shape.size[0] : !below;
          touch.tangent = Vector3d::Zero();
          if (inside || (above && over(s->field, t, touch.pos - half, slack)) ||
              over(s->field, t, touch.pos + half, slack))
            s->found.push_back(touch);
        }
      }
    }
  }
}

// how far two corners lie over the line between two others
bool convex(const HeightField& f, const std::array<int, 2>& a, const std::array<int, 2>& b,
            const std::array<int, 2>& far1, const std::array<int, 2>& far2) {
  if (!f.has(far1[0], far1[1]) || !f.has(far2[0], far2[1])) return true;
  const double rise =
      f.at(a[0], a[1]).z() + f.at(b[0], b[1]).z() - f.at(far1[0], far1[1]).z() - f.at(far2[0], far2[1]).z();
  return rise > kFlat * std::min(f.dx, f.dy);
}

// an edge between two triangles, and what directions are allowed to contacts with it
struct Edge {
  Vector3d from, to, along;
  std::vector<Vector3d> across;  // unit, into the triangles beside; at the border there is one

  bool allows(const Vector3d& n) const {
    return n.z() >= 0 &&
           std::all_of(across.begin(), across.end(), [&](const Vector3d& w) { return n.dot(w) <= kCone; });
  }
  // whether a unit vector across the edge leads into the solid below it, between both triangles
  bool leads_under(const Vector3d& d) const {
    if (across.size() < 2) return false;
    const double between = across[0].dot(across[1]);
    return d.dot(across[0]) >= between && d.dot(across[1]) >= between;
  }
  double place(const Vector3d& p) const { return along.dot(p - from) / (to - from).norm(); }
  bool within(const Vector3d& p) const { return place(p) >= 1e-5 && place(p) <= 1 - 1e-5; }
};

// whether an edge is over or under the bounding box of a box or capsule: the solid below it ends with its triangles
bool is_over(const Scene& s, const Edge& edge) {
  const Shape& b = s.shape;
  const Vector3d half = b.type == kCapsule
                            ? Vector3d(b.mat.col(2).cwiseAbs() * b.size[1] + Vector3d::Constant(b.size[0]))
                            : Vector3d(b.mat.cwiseAbs() * b.size);
  const Vector3d low = edge.from.cwiseMin(edge.to) - b.pos, high = edge.from.cwiseMax(edge.to) - b.pos;
  for (int k = 0; k < 2; k++)
    if (low[k] > half[k] + s.margin || high[k] < -half[k] - s.margin) return false;
  return true;
}

Touch at_surface(const Vector3d& p, double dist, const Vector3d& n) {
  return Touch{dist, p + n * (dist / 2), n, Vector3d::Zero()};
}

// a box, by the axes across both edges that are allowed: the one of least overlap
void find_edge_of_box(Scene* s, const Edge& edge) {
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
    const bool in_solid = allowed && edge.leads_under(-u) && is_over(*s, edge);
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

// a capsule whose axis has passed the edge, in the solid below it, leaves it across both
void find_edge_passed(Scene* s, const Edge& edge) {
  const Shape& capsule = s->shape;
  const Vector3d axis = capsule.mat.col(2), x = edge.along.cross(axis), from = edge.from - capsule.pos;
  if (x.norm() < 1e-4) return;
  const Vector3d n = x.normalized() * (x.z() < 0 ? -1 : 1);
  const double apart = -n.dot(from);
  if (apart >= 0 || !edge.allows(n) || !edge.leads_under(-n) || !is_over(*s, edge)) return;
  Eigen::Matrix<double, 3, 2> lines;
  lines << edge.along, -axis;
  const Eigen::Vector2d t = lines.colPivHouseholderQr().solve(-from - n * apart);
  const Vector3d on_edge = edge.from + t[0] * edge.along;
  if (std::abs(t[1]) <= capsule.size[1] && edge.within(on_edge))
    s->found.push_back(at_surface(on_edge, apart - capsule.size[0], n));
}

using Vertex = std::array<int, 2>;

void find_edge(Scene* s, const Vertex& a, const Vertex& b, const Vertex& far1, const Vertex& far2) {
  const HeightField& f = s->field;
  if (!f.has(b[0], b[1]) || !convex(f, a, b, far1, far2)) return;
  Edge edge{f.at(a[0], a[1]), f.at(b[0], b[1]), {}, {}};
  edge.along = (edge.to - edge.from).normalized();
  for (const Vertex& far : {far1, far2}) {
    if (!f.has(far[0], far[1])) continue;
    const Vector3d w = f.at(far[0], far[1]) - edge.from;
    edge.across.push_back((w - edge.along * edge.along.dot(w)).normalized());
  }
  if (s->shape.type == kBox) return find_edge_of_box(s, edge);
  if (s->shape.type == kCapsule) find_edge_passed(s, edge);
  Shape line;
  line.type = kCapsule;
  line.pos = (edge.from + edge.to) / 2;
  line.size = Vector3d(0, (edge.to - edge.from).norm() / 2, 0);
  line.mat.col(2) = edge.along;
  line.mat.col(0) = edge.along.unitOrthogonal();
  line.mat.col(1) = edge.along.cross(line.mat.col(0));
  Touches touches;
  if (s->shape.type == kSphere) {
    touches = collide_shapes(s->shape, line, s->margin);
    for (Touch& t : touches) t.normal = -t.normal;
  } else {
    touches = collide_shapes(line, s->shape, s->margin);
  }
  for (const Touch& t : touches) {
    const Vector3d x = t.pos - t.normal * (t.dist / 2);
    if (edge.within(x) && edge.allows(t.normal)) s->found.push_back(at_surface(x, t.dist, t.normal));
  }
}

// the faces of a polytope, as outward normals and a point of each, from its centre
std::vector<std::array<Vector3d, 2>> faces_of(const Shape& shape) {
  std::vector<std::array<Vector3d, 2>> faces;
  if (shape.type == kBox) {
    for (int k = 0; k < 3; k++)
      for (double side : {1.0, -1.0})
        faces.push_back({side * shape.mat.col(k), side * shape.size[k] * shape.mat.col(k)});
  } else {
    for (int k = 0; k < shape.hull.faces(); k++)
      faces.push_back({shape.mat * shape.hull.face_normal(k), shape.mat * shape.hull.face_corners(k)[0]});
  }
  return faces;
}

void find_vertex(Scene* s, int i, int j) {
  const HeightField& f = s->field;
  if (!convex(f, {i, j}, {i, j}, {i + 1, j}, {i - 1, j}) &&
      !convex(f, {i, j}, {i, j}, {i, j + 1}, {i, j - 1}) &&
      !convex(f, {i, j}, {i, j}, {i + 1, j + 1}, {i - 1, j - 1}))
    return;
  const Vector3d at = f.at(i, j);
  const auto allows = [&](const Vector3d& n) {
    for (const auto& [di, dj] : {std::pair(1, 0), {1, 1}, {0, 1}, {-1, 0}, {-1, -1}, {0, -1}}) {
      if (!f.has(i + di, j + dj)) continue;
      const Vector3d u = f.at(i + di, j + dj) - at;
      if (n.dot(u) > kCone * u.norm()) return false;
    }
    return n.z() >= 0;
  };
  if (s->shape.type == kBox || s->shape.type == kMesh) {
    // inside but for one face that is allowed: the least deep of those
    const auto faces = faces_of(s->shape);
    const auto height = [&](size_t k) { return faces[k][0].dot(at - s->shape.pos - faces[k][1]); };
    int best = -1;
    for (size_t k = 0; k < faces.size(); k++)
      if ((best < 0 || height(k) > height(best)) && allows(-faces[k][0])) best = static_cast<int>(k);
    if (best < 0 || height(best) > s->margin) return;
    for (size_t k = 0; k < faces.size(); k++)
      if (static_cast<int>(k) != best && height(k) > 0) return;
    s->found.push_back(at_surface(at, height(best), -faces[best][0]));
    return;
  }
  Shape point;
  point.type = kSphere;
  point.pos = at;
  for (const Touch& t : collide_shapes(point, s->shape, s->margin))
    if (allows(t.normal)) s->found.push_back(at_surface(at, t.dist, t.normal));
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

HeightField::HeightField(const Model& m, int id)
    : rows(m.hfield_nrow[id]), columns(m.hfield_ncol[id]), data(&m.hfield_data[m.hfield_adr[id]]) {
  const auto size = row::hfield_size(m, id);
  half_x = size[0], half_y = size[1], top = size[2], base = size[3];
  dx = 2 * half_x / (columns - 1);
  dy = 2 * half_y / (rows - 1);
}

Touches hfield_convex(const Shape& field, const Shape& shape, double margin) {
  Scene s{.field = HeightField(*field.hull.model, field.hull.mesh),
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
  // a box or hull in the solid, all of which that could touch is below: its centre leaves by the face over it
  const bool has_corners = shape.type == kBox || shape.type == kMesh;
  const auto over_centre = under(f, s.shape.pos);
  if (has_corners && s.found.empty() && over_centre) {
    const double dist = over_centre->normal.dot(s.shape.pos - over_centre->corner[0]);
    if (dist < 0)
      s.found.push_back(
          Touch{dist, s.shape.pos - over_centre->normal * (dist / 2), over_centre->normal, Vector3d::Zero()});
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
