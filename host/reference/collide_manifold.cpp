// Contact points between two convex shapes that are sums of segments, disks and a ball, given the direction of least
// overlap.
//
// solves    the contacts, each with its own distance, so far as that is within the margin
// equation  each shape shows the other one flat feature: the face of a box that looks most along the normal, the
//           cap of a cylinder or, where its axis is closer to the contact plane, the line of its side, the line of
//           a capsule. Seen along the normal the two features overlap in a convex region; its corners are the
//           contacts. A tilted face so loses its far corners one by one, and a line contact has two points. Since
//           n.b - n.a >= dist for all points of the shapes, no contact is deeper than the penetration, and every
//           contact lies on both features, hence in both shapes to within its depth
//           A cap shows eight points of its rim, fixed in the cylinder, and its lowest one; it is a full disk
//           where something else is tested against it. Lines of curved sides that are nearly parallel touch in
//           two points as well: there the distance is that of balls around the two axes, and the normal its own
#include <algorithm>
#include <cmath>
#include <vector>

#include "host/reference/shapes/shapes.h"

namespace dualstep::reference {

namespace {

constexpr size_t kMaxPoints = 8;
constexpr double kTouching = 1e-7;  // of the shapes' size: on a feature's boundary counts as on the feature
constexpr double kApart = 0.01;     // of the shapes' longest size: distance of contacts at least
constexpr double kExact = 1e-8;     // of the shapes' size: by which the deepest contact may miss the depth
constexpr double kAcross = 1e-3;    // cosine up to which a normal is across the axis of a capsule
constexpr double kParallel = 0.01;  // sine of the angle up to which axes are parallel
constexpr double kSideways = 0.9;   // cosine up to which the normal of an end is that of the shapes

using Vector2d = Eigen::Vector2d;

// a feature seen along n: places in the contact plane, heights along n
class View {
 public:
  View(const Feature& feature, const Matrix3d& frame, double outwards, double scale)
      : feature_(feature), frame_(frame), outwards_(outwards), tolerance_(kTouching * scale) {
    for (const Vector3d& p : feature.points) corners_.push_back(seen(p));
  }

  Vector2d seen(const Vector3d& p) const { return (frame_ * p).tail<2>(); }
  const std::vector<Vector2d>& corners() const { return corners_; }

  // the point of the feature's plane (or line) over a place
  Vector3d lifted(const Vector2d& x) const {
    const Vector3d& p = feature_.points[0];
    const Vector3d n = frame_.row(0);
    if (feature_.line()) {
      const Vector2d along = corners_[1] - corners_[0];
      if (along.norm() < tolerance_) {
        // end on: the outer end
        const bool first = outwards_ * n.dot(p - feature_.points[1]) > 0;
        return feature_.points[first ? 0 : 1];
      }
      const double t = std::clamp(along.dot(x - corners_[0]) / along.squaredNorm(), 0.0, 1.0);
      return p + t * (feature_.points[1] - p);
    }
    const Vector3d plane =
        feature_.disk ? feature_.axis
                      : Vector3d((feature_.points[1] - p).cross(feature_.points[2] - p).normalized());
    const Vector3d on_contact_plane = frame_.transpose() * Vector3d(0, x.x(), x.y());
    return on_contact_plane + n * (plane.dot(p - on_contact_plane) / plane.dot(n));
  }

  bool contains(const Vector2d& x) const {
    if (feature_.disk) return (lifted(x) - feature_.centre).norm() <= feature_.radius + tolerance_;
    if (feature_.line()) return (seen(lifted(x)) - x).norm() <= tolerance_;
    double orientation = 0;
    for (size_t k = 0; k < corners_.size(); k++) orientation += cross(corner(k), corner(k + 1));
    for (size_t k = 0; k < corners_.size(); k++) {
      const Vector2d edge = corner(k + 1) - corner(k);
      const double beside = cross(edge, x - corner(k)) / edge.norm() * (orientation > 0 ? 1 : -1);
      if (beside < -tolerance_) return false;
    }
    return true;
  }

  // a point of the feature close to x
  Vector2d nearest(const Vector2d& x) const {
    if (contains(x)) return x;
    if (feature_.disk) {
      const Vector3d from_centre = lifted(x) - feature_.centre;
      return seen(feature_.centre + from_centre * (feature_.radius / from_centre.norm()));
    }
    Vector2d best = corner(0);
    for (size_t k = 0; k < edges(); k++) {
      const Vector2d e = corner(k + 1) - corner(k);
      const double length = e.squaredNorm();
      const double t = length > 0 ? std::clamp(e.dot(x - corner(k)) / length, 0.0, 1.0) : 0;
      const Vector2d place = corner(k) + t * e;
      if ((place - x).norm() < (best - x).norm()) best = place;
    }
    return best;
  }

  // the corner farthest out along n
  Vector2d support() const {
    size_t best = 0;
    for (size_t k = 1; k < corners_.size(); k++) {
      const Vector3d step = feature_.points[k] - feature_.points[best];
      if (outwards_ * step.dot(frame_.row(0)) > 0) best = k;
    }
    return corners_[best];
  }

  size_t edges() const { return feature_.line() ? 1 : corners_.size(); }
  Vector2d corner(size_t k) const { return corners_[k % corners_.size()]; }

  // where the segment from p to q crosses the boundary
  std::vector<Vector2d> crossings(const Vector2d& p, const Vector2d& q) const {
    std::vector<Vector2d> result;
    if (feature_.disk) {
      // |from + t along|^2 = radius^2 in the plane of the disk
      const Vector3d from = lifted(p) - feature_.centre, along = lifted(q) - lifted(p);
      const double a = along.squaredNorm(), b = from.dot(along);
      const double c = from.squaredNorm() - feature_.radius * feature_.radius;
      if (a <= 0 || b * b < a * c) return result;
      const double root = std::sqrt(b * b - a * c);
      for (double t : {(-b - root) / a, (-b + root) / a}) {
        if (t >= 0 && t <= 1) result.push_back(p + t * (q - p));
      }
      return result;
    }
    for (size_t k = 0; k < edges(); k++) {
      const Vector2d e = corner(k + 1) - corner(k), s = q - p, gap = corner(k) - p;
      const double det = cross(s, e);
      if (std::abs(det) < 1e-12 * s.norm() * e.norm() || det == 0) continue;
      const double t = cross(gap, e) / det, u = cross(gap, s) / det;
      if (t >= 0 && t <= 1 && u >= 0 && u <= 1) result.push_back(p + t * s);
    }
    return result;
  }

 private:
  static double cross(const Vector2d& a, const Vector2d& b) { return a.x() * b.y() - a.y() * b.x(); }

  const Feature& feature_;
  const Matrix3d& frame_;
  double outwards_, tolerance_;
  std::vector<Vector2d> corners_;
};

// corners of the region in which two features overlap
std::vector<Vector2d> overlap(const Feature& f1, const Feature& f2, const View& v1, const View& v2) {
  std::vector<Vector2d> corners;
  auto take = [&](const View& from, const Feature& feature, const View& other, const Feature& other_feature) {
    for (const Vector2d& x : from.corners()) {
      if (other.contains(x)) corners.push_back(x);
    }
    if (feature.disk && other_feature.disk) {
      // the point of the rim that reaches farthest into the other disk
      const Vector3d between = other_feature.centre - feature.centre;
      const Vector3d inwards = between - between.dot(feature.axis) * feature.axis;
      if (inwards.norm() > 0) {
        const Vector2d x = from.seen(feature.centre + feature.radius * inwards.normalized());
        if (other.contains(x)) corners.push_back(x);
      }
    }
  };
  take(v1, f1, v2, f2);
  take(v2, f2, v1, f1);
  auto cross = [&](const View& edges_of, const View& boundary) {
    for (size_t k = 0; k < edges_of.edges(); k++) {
      for (const Vector2d& x : boundary.crossings(edges_of.corner(k), edges_of.corner(k + 1)))
        corners.push_back(x);
    }
  };
  // a disk's boundary is curved: its chords against the other's, and the other's edges against its circle
  cross(v1, v2);
  if (f1.disk) cross(v2, v1);
  return corners;
}

// both ends of the stretch over which two curved sides run along each other
Touches along_sides(const Feature& f1, const Feature& f2, const Separation& sep, double margin) {
  Touches touches;
  const double centre = f1.axis.dot(f2.centre - f1.centre);
  // across one axis is not quite across the other: so far from the ends both places stay on the sides
  const double lean = f1.axis.cross(f2.axis).norm();
  const bool round = f1.round_ends || f2.round_ends;
  if (!round && lean >= kParallel) return touches;
  const double half1 = f1.half_length - lean * f1.radius, half2 = f2.half_length - lean * f2.radius;
  const double reach = half2 * std::abs(f1.axis.dot(f2.axis));
  const double low = std::max(-half1, centre - reach), high = std::min(half1, centre + reach);
  if (low > high) return touches;
  for (double s : {high, low}) {
    const Vector3d p1 = f1.centre + s * f1.axis;
    const double t = std::clamp(f2.axis.dot(p1 - f2.centre), std::min(-half2, 0.0), std::max(half2, 0.0));
    const Vector3d between = f2.centre + t * f2.axis - p1;
    const double dist = std::max(sep.dist, between.norm() - f1.radius - f2.radius);
    if (dist > margin || between.norm() < 1e-12) continue;
    const Vector3d n = between.normalized();
    // balls around the axes are inside only while the normal is across both of them, or so far from the ends
    const double along = std::max(std::abs(n.dot(f1.axis)), std::abs(n.dot(f2.axis)));
    if (round ? along > kAcross : n.dot(sep.normal) <= kSideways) continue;
    touches.push_back(Touch{dist, p1 + n * (f1.radius + dist / 2), n, Vector3d::Zero()});
  }
  return touches;
}

// the deepest, then again and again the one farthest from those taken
Touches spread(const Touches& all, size_t count) {
  if (all.size() <= count) return all;
  std::vector<size_t> taken = {0};
  while (taken.size() < count) {
    size_t farthest = 0;
    double distance = -1;
    for (size_t i = 0; i < all.size(); i++) {
      double nearest = 1e300;
      for (size_t j : taken) nearest = std::min(nearest, (all[i].pos - all[j].pos).norm());
      if (nearest > distance) {
        distance = nearest;
        farthest = i;
      }
    }
    taken.push_back(farthest);
  }
  Touches result;
  for (size_t i : taken) result.push_back(all[i]);
  return result;
}

}  // namespace

Touches convex_manifold(const Shape& first, const Shape& second, const Separation& sep, double margin) {
  const double scale = std::min(first.size.norm(), second.size.norm());
  const Matrix3d frame = contact_frame(Touch{0, Vector3d::Zero(), sep.normal, Vector3d::Zero()});
  // places relative to the first shape, so that their size is that of the shapes
  Shape near = first, far = second;
  near.pos = Vector3d::Zero();
  far.pos = second.pos - first.pos;
  const Feature f1 = hooks_of(near).shown(near, sep.normal), f2 = hooks_of(far).shown(far, -sep.normal);
  const View v1(f1, frame, 1, scale), v2(f2, frame, -1, scale);

  Touches found;
  for (const Vector2d& x : overlap(f1, f2, v1, v2)) {
    const double height1 = sep.normal.dot(v1.lifted(x)), height2 = sep.normal.dot(v2.lifted(x));
    if (height2 - height1 > margin) continue;
    const Vector3d pos = frame.transpose() * Vector3d((height1 + height2) / 2, x.x(), x.y());
    found.push_back(Touch{height2 - height1, pos, sep.normal, Vector3d::Zero()});
  }
  if (f1.line() && f2.line()) {
    // lines that seem to cover each other along the normal are those of parallel sides, whose ends count
    if (!f1.round_ends && !f2.round_ends)
      std::erase_if(found, [&](const Touch& t) { return t.dist > sep.dist + kExact * scale; });
    for (const Touch& t : along_sides(f1, f2, sep, margin)) found.push_back(t);
  }

  const bool complete = std::any_of(found.begin(), found.end(),
                                    [&](const Touch& t) { return t.dist < sep.dist + kExact * scale; });
  if (!complete && sep.dist <= margin) {
    // features that only just meet (edges that are parallel but for rounding): a point of both, alternately
    Vector2d x1 = v1.support(), x2 = v2.nearest(x1);
    for (int i = 0; i < 100; i++) {
      x1 = v1.nearest(x2);
      x2 = v2.nearest(x1);
    }
    const double height = (sep.normal.dot(v1.lifted(x1)) + sep.normal.dot(v2.lifted(x2))) / 2;
    const Vector2d x = (x1 + x2) / 2;
    found.push_back(
        Touch{sep.dist, frame.transpose() * Vector3d(height, x.x(), x.y()), sep.normal, Vector3d::Zero()});
  }
  if (found.empty()) return found;
  // the deepest first, with the depth and direction of the shapes; the others as they come
  const auto deepest = std::min_element(found.begin(), found.end(),
                                        [](const Touch& a, const Touch& b) { return a.dist < b.dist; });
  if (deepest->dist < sep.dist + kExact * scale) {
    deepest->dist = sep.dist;
    deepest->normal = sep.normal;
  }
  std::rotate(found.begin(), deepest, deepest + 1);
  // of those that are all but in one place the deepest
  const double apart = kApart * std::min(hooks_of(first).longest(first), hooks_of(second).longest(second));
  Touches distinct;
  for (const Touch& t : found) {
    const auto same = std::find_if(distinct.begin(), distinct.end(),
                                   [&](const Touch& other) { return (other.pos - t.pos).norm() <= apart; });
    if (same == distinct.end())
      distinct.push_back(t);
    else if (t.dist < same->dist)
      *same = t;
  }
  Touches result = spread(distinct, kMaxPoints);
  for (Touch& t : result) t.pos += first.pos;
  return result;
}

}  // namespace dualstep::reference
