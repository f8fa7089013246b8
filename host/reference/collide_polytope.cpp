// Distance or penetration depth of two convex shapes of any kind, by a polytope that grows inside their
// difference.
//
// solves    dist = max over |n| = 1 of g(n),   g(n) = min over x in B - A of n.x
// equation  a polytope P of points of B - A is kept. While the origin is outside, n leads to the nearest point of P;
//           while it is inside, n leads out through the nearest face. Either way the signed distance of P is an
//           upper bound of dist and g(n) a lower one, and the point that attains g(n) joins P until both agree.
//           What is found is polished: collide_polish
// source    van den Bergen 2001: expanding polytope
// deviation GJK keeps four of these points and must start anew where the origin passes inside; P has room for all
//           of them, so shapes that just touch are nothing special
// cost      curved shapes gain a factor of four a round of new faces. A ring of equal maxima (coaxial shapes) never
//           ends: the best direction of kTurns is as good as any
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "host/reference/shapes/shapes.h"

namespace dualstep::reference {

namespace {

constexpr int kTurns = 300;
constexpr double kAgree = 1e-12;     // of the shapes' size: bounds that agree
constexpr double kCoplanar = 1e-14;  // of the shapes' size: a point this far below a face still sees it

// a point of the difference, and the points of the cores that it came from
struct Point {
  Vector3d x, on_first, on_second;
};

class Difference {
 public:
  Difference(const Shape& first, const Shape& second)
      : first_(first), second_(second), centre_(second.pos - first.pos) {}

  // the point with the least n.x
  Point least(const Vector3d& n) const {
    Point p;
    p.on_first = core_support(first_, n);
    p.on_second = centre_ + core_support(second_, -n);
    p.x = p.on_second - p.on_first;
    return p;
  }

 private:
  const Shape &first_, &second_;
  Vector3d centre_;
};

struct Face {
  std::array<int, 3> corners;  // counterclockwise seen from outside
  Vector3d normal;             // outwards
  double offset = 0;           // of the plane, along the normal
  bool sliver = false;         // without a direction of its own
};

// the point of a segment that is nearest to the origin, as the weight of its second end
double nearest_on_segment(const Vector3d& a, const Vector3d& b) {
  const double length = (b - a).squaredNorm();
  return length > 0 ? std::clamp(-a.dot(b - a) / length, 0.0, 1.0) : 0;
}

class Polytope {
 public:
  Polytope(const Difference& difference, double scale) : scale_(scale) {
    // a simplex as wide as its directions find it: a line, its widest triangle, the farther of both tips
    const auto add = [&](const Vector3d& n) { points_.push_back(difference.least(n)); };
    add(Vector3d::UnitX());
    add(-Vector3d::UnitX());
    const Vector3d line = points_[1].x - points_[0].x;
    const Vector3d across = line.unitOrthogonal(), third = line.cross(across).normalized();
    take_farthest(difference, {across, -across, third, -third},
                  [&](const Vector3d& x) { return (x - points_[0].x).cross(line).norm(); });
    const Vector3d normal = line.cross(points_[2].x - points_[0].x).normalized();
    take_farthest(difference, {normal, -normal},
                  [&](const Vector3d& x) { return std::abs((x - points_[0].x).dot(normal)); });
    const bool below = (points_[3].x - points_[0].x).dot(normal) < 0;
    for (const std::array<int, 3>& c : {std::array<int, 3>{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}})
      add_face(below ? c : std::array<int, 3>{c[0], c[2], c[1]});
  }

  // the part that is nearest to the origin: the face it lies on, weights of its corners, the direction n of
  // least separation, and the signed distance
  struct Nearest {
    int face = -1;
    Vector3d weights, normal;
    double dist = 0;
  };
  Nearest nearest() const {
    Nearest best;
    double least = 1e300;
    for (size_t f = 0; f < faces_.size(); f++) {
      if (faces_[f].sliver || faces_[f].offset >= least) continue;
      least = faces_[f].offset;
      best.face = static_cast<int>(f);
    }
    const int lowest = best.face;
    const bool inside = least >= 0;
    // outside the nearest of the faces that see the origin; inside the part of a facet over the origin
    double nearest = 1e300;
    Vector3d v = Vector3d::Zero();
    for (size_t f = 0; f < faces_.size(); f++) {
      if (inside ? faces_[f].sliver || faces_[f].offset > least + 1e-10 * scale_
                 : faces_[f].offset >= 0 && !faces_[f].sliver)
        continue;
      const Vector3d w = nearest_weights(faces_[f]), x = combine(faces_[f], w);
      if (x.norm() >= nearest) continue;
      nearest = x.norm();
      v = x;
      best.face = static_cast<int>(f);
      best.weights = w;
    }
    best.dist = inside ? -least : nearest;
    // too close for a direction of its own
    best.normal =
        !inside && nearest > 1e-10 * scale_ ? Vector3d(v / nearest) : Vector3d(-faces_[lowest].normal);
    return best;
  }

  // a point beyond a face: what it sees makes room for faces to the edge of that
  bool expand(const Point& p) {
    std::vector<char> seen(faces_.size(), 0);
    double most = 0;
    int start = -1;
    for (size_t f = 0; f < faces_.size(); f++) {
      const double beyond = faces_[f].normal.dot(p.x) - faces_[f].offset;
      if (faces_[f].sliver) continue;
      seen[f] = beyond > -kCoplanar * scale_;
      if (beyond <= most) continue;
      most = beyond;
      start = static_cast<int>(f);
    }
    if (start < 0) return false;
    for (size_t f = 0; f < faces_.size(); f++)
      if (faces_[f].sliver) seen[f] = beside_seen(static_cast<int>(f), seen);
    keep_connected(start, &seen);
    std::vector<std::array<int, 2>> rim;
    for (size_t f = 0; f < faces_.size(); f++) {
      if (!seen[f]) continue;
      for (int k = 0; k < 3; k++) {
        const std::array<int, 2> edge = {faces_[f].corners[k], faces_[f].corners[(k + 1) % 3]};
        const int other = face_at(edge[1], edge[0]);
        if (other < 0 || !seen[other]) rim.push_back(edge);
      }
    }
    if (rim.size() < 3) return false;
    std::vector<Face> kept;
    for (size_t f = 0; f < faces_.size(); f++)
      if (!seen[f]) kept.push_back(faces_[f]);
    if (kept.empty()) return false;
    faces_ = std::move(kept);
    points_.push_back(p);
    for (const auto& edge : rim) add_face({edge[0], edge[1], static_cast<int>(points_.size()) - 1});
    return true;
  }

  std::vector<Point> corners(int face) const {
    std::vector<Point> result;
    for (int i : faces_[face].corners) result.push_back(points_[i]);
    return result;
  }

 private:
  template <class Measure>
  void take_farthest(const Difference& difference, const std::vector<Vector3d>& directions, Measure measure) {
    Point best = difference.least(directions[0]);
    for (const Vector3d& n : directions) {
      const Point p = difference.least(n);
      if (measure(p.x) > measure(best.x)) best = p;
    }
    points_.push_back(best);
  }

  void add_face(const std::array<int, 3>& c) {
    Face f;
    f.corners = c;
    const Vector3d &a = points_[c[0]].x, &b = points_[c[1]].x, &d = points_[c[2]].x;
    const Vector3d area = (b - a).cross(d - a);
    const double longest = std::max({(b - a).norm(), (d - a).norm(), (d - b).norm()});
    f.sliver = area.norm() <= 1e-14 * longest * std::max(longest, scale_);
    f.normal = f.sliver ? Vector3d::Zero() : Vector3d(area.normalized());
    f.offset = f.normal.dot(a);
    faces_.push_back(f);
  }

  int face_at(int from, int to) const {
    for (size_t f = 0; f < faces_.size(); f++) {
      const auto& c = faces_[f].corners;
      for (int k = 0; k < 3; k++)
        if (c[k] == from && c[(k + 1) % 3] == to) return static_cast<int>(f);
    }
    return -1;
  }

  bool beside_seen(int f, const std::vector<char>& seen) const {
    const auto& c = faces_[f].corners;
    for (int k = 0; k < 3; k++) {
      const int other = face_at(c[(k + 1) % 3], c[k]);
      if (other >= 0 && seen[other]) return true;
    }
    return false;
  }

  // of what is seen only the part around one face: its rim is one loop
  void keep_connected(int start, std::vector<char>* seen) const {
    std::vector<char> reached(faces_.size(), 0);
    std::vector<int> open = {start};
    reached[start] = 1;
    while (!open.empty()) {
      const auto& c = faces_[open.back()].corners;
      open.pop_back();
      for (int k = 0; k < 3; k++) {
        const int other = face_at(c[(k + 1) % 3], c[k]);
        if (other < 0 || reached[other] || !(*seen)[other]) continue;
        reached[other] = 1;
        open.push_back(other);
      }
    }
    *seen = reached;
  }

  // the point of a face that is nearest to the origin, as weights of its corners: inside it, or on an edge
  Vector3d nearest_weights(const Face& face) const {
    Vector3d best = Vector3d::UnitX();
    double nearest = 1e300;
    const auto offer = [&](const Vector3d& w) {
      const double there = combine(face, w).norm();
      if (there >= nearest) return;
      nearest = there;
      best = w;
    };
    for (int k = 0; k < 3; k++) {
      const int next = (k + 1) % 3;
      const double t = nearest_on_segment(points_[face.corners[k]].x, points_[face.corners[next]].x);
      Vector3d w = Vector3d::Zero();
      w[k] = 1 - t;
      w[next] = t;
      offer(w);
    }
    if (face.sliver) return best;
    const Vector3d foot = face.offset * face.normal;
    Vector3d w;
    for (int k = 0; k < 3; k++) {
      const Vector3d a = points_[face.corners[(k + 1) % 3]].x, b = points_[face.corners[(k + 2) % 3]].x;
      w[k] = face.normal.dot((a - foot).cross(b - foot));
    }
    if (w.minCoeff() >= 0 && w.sum() > 0) offer(w / w.sum());
    return best;
  }
  Vector3d combine(const Face& face, const Vector3d& w) const {
    const auto& c = face.corners;
    return w[0] * points_[c[0]].x + w[1] * points_[c[1]].x + w[2] * points_[c[2]].x;
  }

  double scale_;
  std::vector<Point> points_;
  std::vector<Face> faces_;
};

// the polytope grown until its bounds agree or the cores are farther apart than `beyond`
struct Search {
  Polytope polytope;
  Polytope::Nearest nearest;
  double best = -1e300;  // the largest g, and its direction
  Vector3d normal = Vector3d::UnitX();

  Search(const Difference& difference, double scale, double beyond) : polytope(difference, scale) {
    for (int turn = 0; turn < kTurns; turn++) {
      nearest = polytope.nearest();
      const Point p = difference.least(nearest.normal);
      const double g = nearest.normal.dot(p.x);
      if (g > best) {
        best = g;
        normal = nearest.normal;
      }
      if (best > beyond || nearest.dist - g <= kAgree * scale || !polytope.expand(p)) return;
    }
  }

  // the points of the cores that make the nearest point of the polytope
  void points(Vector3d* on_first, Vector3d* on_second) const {
    on_first->setZero();
    on_second->setZero();
    const std::vector<Point> corners = polytope.corners(nearest.face);
    for (int k = 0; k < 3; k++) {
      *on_first += nearest.weights[k] * corners[k].on_first;
      *on_second += nearest.weights[k] * corners[k].on_second;
    }
  }
};

}  // namespace

ClosestPair closest(const Shape& first, const Shape& second, double beyond) {
  const Difference difference(first, second);
  const double scale = extent(first) + extent(second), ball = ball_radius(first) + ball_radius(second);
  const Search search(difference, scale, beyond + ball);
  ClosestPair result{search.best - ball, search.normal, Vector3d::Zero(), Vector3d::Zero()};
  if (result.dist > beyond) return result;

  std::vector<Vector3d> on_first, on_second;
  for (const Point& p : search.polytope.corners(search.nearest.face)) {
    on_first.push_back(p.on_first);
    on_second.push_back(p.on_second);
  }
  const Vector3d n = polished_direction(first, second, search.normal, on_first, on_second);
  const double core = n.dot(difference.least(n).x);
  result.dist = core - ball;
  result.normal = n;
  search.points(&result.on_first, &result.on_second);
  const Vector3d between = result.on_second - result.on_first;
  if ((between - core * n).norm() > kAgree * 100 * scale) {
    // another of several equal directions was taken: the shapes moved apart along it are closest at its points
    Shape moved = second;
    const Vector3d shift = (scale - core) * n;
    moved.pos += shift;
    Search(Difference(first, moved), scale, 1e300).points(&result.on_first, &result.on_second);
    result.on_second -= shift;
  }
  // a strictly convex shape has one point for each direction, and the other shape one opposite to it
  const bool strict1 = hooks_of(first).strictly_convex(), strict2 = hooks_of(second).strictly_convex();
  if (strict1) {
    result.on_first = core_support(first, n);
    if (!strict2) result.on_second = result.on_first + core * n;
  }
  if (strict2) {
    result.on_second = second.pos - first.pos + core_support(second, -n);
    if (!strict1) result.on_first = result.on_second - core * n;
  }
  result.on_first += n * ball_radius(first);
  result.on_second -= n * ball_radius(second);
  return result;
}

Touches general_convex(const Shape& first, const Shape& second, double margin) {
  const ClosestPair pair = closest(first, second, margin);
  return pair.dist > margin ? Touches{} : hull_manifold(first, second, pair, margin);
}

}  // namespace dualstep::reference
