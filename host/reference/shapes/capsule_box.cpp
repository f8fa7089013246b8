// Sphere and capsule against a box, in the box's frame.
//
// solves    one closest point, or two
// equation  a capsule is a segment with a radius. The segment's point nearest to the box is found among its ends
//           over a face and the closest points to the twelve edges; a second point is the far end of the stretch
//           that lies over the same face or along the same edge. Both then count as spheres
// source    which second point is taken follows MuJoCo
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "host/reference/constraint.h"
#include "host/reference/shapes/pairs.h"

namespace dualstep::reference {

namespace {

// a sphere against a box, everything in the box's frame
Touches sphere_in_box_frame(const Vector3d& centre, double radius, const Vector3d& half, double margin) {
  const Vector3d nearest = centre.cwiseMax(-half).cwiseMin(half);
  double gap = 0;
  const Vector3d inward = unit_or_x(nearest - centre, &gap);
  if (gap - radius > margin) return {};
  if (gap > kMinVal) {
    const Vector3d deepest = centre + inward * radius;
    return {Touch{gap - radius, (nearest + deepest) / 2, inward, Vector3d::Zero()}};
  }
  // the centre is inside: out through the nearest face, the lower of two that tie
  double closest = 2 * half.sum();
  Vector3d normal = Vector3d::Zero();
  for (int axis = 0; axis < 3; axis++) {
    for (double side : {-1.0, 1.0}) {
      const double depth = std::abs(side * half[axis] - centre[axis]);
      if (depth >= closest) continue;
      closest = depth;
      normal = -side * Vector3d::Unit(axis);
    }
  }
  return {Touch{-closest - radius, centre + normal * ((radius - closest) / 2), normal, Vector3d::Zero()}};
}

// where the segment centre + x * along, x in [-1, 1], comes nearest to the box
struct Closest {
  enum Kind { kNone, kFace, kEdge } kind = kNone;
  double x = 0;                 // on the segment
  int face = -1;                // kFace: the axis of the face; -1 where the end is inside
  int edge = 0;                 // kEdge: the axis of the edge
  double along_edge = 0;        // kEdge: place on the edge, in [-1, 1]
  bool inner = false;           // kEdge: not at a corner
  std::array<bool, 3> upper{};  // kEdge: which side of the box, by axis; at a corner also along the edge
};

// closest points of the segment and of one edge; each of them clamped to its segment
struct EdgePoint {
  double x = 0, along = 0, squared = 0;
  int end = 0;  // of the edge, where it was clamped: -1, 1
};
bool closest_on_edge(const Vector3d& centre, const Vector3d& along, double length, const Vector3d& middle,
                     int axis, double half, EdgePoint* point) {
  const Vector3d offset = middle - centre;
  const double a = half * half, b = -half * along[axis], c = length * length;
  const double u = -half * offset[axis], v = along.dot(offset);
  const double det = a * c - b * b;
  if (std::abs(det) < kMinVal) return false;
  double e = (c * u - b * v) / det, x = (a * v - b * u) / det;
  int end = 0;
  if (std::abs(e) > 1) {
    e = end = e > 1 ? 1 : -1;
    x = (v - b * e) / c;
  }
  if (std::abs(x) > 1) {
    x = x > 1 ? 1 : -1;
    e = (u - b * x) / a;
    if (std::abs(e) > 1) e = end = e > 1 ? 1 : -1;
  }
  const Vector3d gap = offset + half * e * Vector3d::Unit(axis) - x * along;
  *point = EdgePoint{x, e, gap.squaredNorm(), end};
  return true;
}

Closest nearest_feature(const Vector3d& centre, const Vector3d& along, double length, double bound,
                        const Vector3d& half) {
  Closest best;
  double squared = bound;
  // an end of the segment over a face, or inside
  for (double end : {-1.0, 1.0}) {
    const Vector3d tip = centre + end * along;
    const Vector3d clamped = tip.cwiseMax(-half).cwiseMin(half);
    const Vector3d gap = tip - clamped;
    int outside = 0, axis = -1;
    for (int i = 0; i < 3; i++) {
      if (gap[i] != 0) outside++, axis = i;
    }
    if (outside > 1 || gap.squaredNorm() >= squared) continue;
    squared = gap.squaredNorm();
    best = Closest{};
    best.kind = Closest::kFace;
    best.x = end;
    best.face = axis;
  }
  for (int axis = 0; axis < 3; axis++) {
    for (int corner = 0; corner < 8; corner++) {
      if (corner & (1 << axis)) continue;
      Vector3d middle;
      for (int i = 0; i < 3; i++) middle[i] = i == axis ? 0 : (corner & (1 << i) ? half[i] : -half[i]);
      EdgePoint p;
      if (!closest_on_edge(centre, along, length, middle, axis, half[axis], &p)) continue;
      if (p.squared >= squared - kMinVal) continue;
      squared = p.squared;
      best = Closest{};
      best.kind = Closest::kEdge;
      best.x = p.x;
      best.edge = axis;
      best.along_edge = p.along;
      best.inner = p.end == 0;
      for (int i = 0; i < 3; i++) best.upper[i] = (corner & (1 << i)) != 0;
      best.upper[axis] = p.end > 0;
    }
  }
  return best;
}

// how far along the segment, from the closest point, a second contact lies, if there is one
using Reach = std::optional<double>;
Reach second_from_corner(const Closest& best, const Vector3d& along, const Vector3d& direction,
                         const Vector3d& half) {
  // an axis leads into the box where the segment's direction and the corner lie on different sides
  int inward = 0, single = 0;
  std::array<bool, 3> differs{};
  for (int i = 0; i < 3; i++) {
    differs[i] = (along[i] > 0) != best.upper[i];
    inward += differs[i];
  }
  // towards the corner or away from it: no second contact
  if (inward == 0 || inward == 3) return {};
  const double towards = inward == 1 ? 1 : -1;
  for (int i = 0; i < 3; i++) {
    if (differs[i] == (inward == 1)) single = i;
  }
  const double ahead = 1 - towards * best.x, behind = 1 + towards * best.x;
  if (direction[single] * direction[single] > 0.5) {
    // along the edge, not beyond its other corner
    return towards * std::min(ahead, 2 * half[single] / std::abs(along[single]));
  }
  // over the face
  double reach = behind;
  for (int i = 0; i < 3; i++) {
    if (i != single) reach = std::min(reach, 2 * half[i] / std::abs(along[i]));
  }
  return -towards * reach;
}

Reach second_from_edge(const Closest& best, const Vector3d& along, const Vector3d& direction,
                       const Vector3d& half) {
  const int edge = best.edge;
  std::array<bool, 3> differs{};
  for (int i = 0; i < 3; i++) differs[i] = i != edge && (along[i] > 0) != best.upper[i];
  int first = (edge + 1) % 3, second = (edge + 2) % 3;
  // segment and edge make a T
  if (differs[first] == differs[second]) return {};
  // over the face that makes the smaller angle with the segment
  if (std::abs(direction[first]) > std::abs(direction[second])) std::swap(first, second);
  const double towards = differs[second] ? 1 : -1;
  double reach = std::min(1 - towards * best.x, 2 * half[second] / std::abs(along[second]));
  const double left = (along[edge] > 0) == differs[second] ? 1 - best.along_edge : 1 + best.along_edge;
  reach = std::min(reach, half[edge] * left / std::abs(along[edge]));
  return towards * reach;
}

Reach second_from_face(const Closest& best, const Vector3d& centre, const Vector3d& along,
                       const Vector3d& half) {
  // the end is inside the box
  if (best.face < 0) return {};
  const double towards = -best.x;
  const Vector3d tip = centre + best.x * along;
  double reach = 2;
  for (int i = 0; i < 3; i++) {
    if (i == best.face) continue;
    for (double side : {1.0, -1.0}) {
      const double crossing = (side * half[i] - tip[i]) / along[i] * towards;
      if (crossing > 0) reach = std::min(reach, crossing);
    }
  }
  return towards * reach;
}

Touches to_world(Touches touches, const Shape& box) {
  for (Touch& t : touches) {
    t.pos = box.pos + box.mat * t.pos;
    t.normal = box.mat * t.normal;
  }
  return touches;
}

}  // namespace

Touches sphere_box(const Shape& sphere, const Shape& box, double margin) {
  const Vector3d centre = box.mat.transpose() * (sphere.pos - box.pos);
  return to_world(sphere_in_box_frame(centre, sphere.size[0], box.size, margin), box);
}

Touches capsule_box(const Shape& capsule, const Shape& box, double margin) {
  const double radius = capsule.size[0], length = capsule.size[1];
  const Vector3d centre = box.mat.transpose() * (capsule.pos - box.pos);
  const Vector3d direction = box.mat.transpose() * capsule.axis();
  const Vector3d along = direction * length;

  const double bound = margin + 2 * (radius + length + box.size.sum());
  const Closest best = nearest_feature(centre, along, length, bound, box.size);
  Reach second;
  switch (best.kind) {
    case Closest::kNone:
      return {};
    case Closest::kFace:
      second = second_from_face(best, centre, along, box.size);
      break;
    case Closest::kEdge:
      second = best.inner ? second_from_edge(best, along, direction, box.size)
                          : second_from_corner(best, along, direction, box.size);
  }
  Touches touches = sphere_in_box_frame(centre + best.x * along, radius, box.size, margin);
  if (second) {
    const Vector3d place = centre + (best.x + *second) * along;
    for (const Touch& t : sphere_in_box_frame(place, radius, box.size, margin)) touches.push_back(t);
  }
  return to_world(touches, box);
}

}  // namespace dualstep::reference
