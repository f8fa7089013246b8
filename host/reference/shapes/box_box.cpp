// Box against box.
//
// solves    the axis of largest separation, then the points it leaves in contact
// equation  fifteen directions decide: the face normals of both boxes and the cross products of their edges. A face
//           normal gives a manifold: the face of the other box that looks at it, clipped by its four sides, every
//           corner that is not farther away than the margin. An edge pair gives one point, halfway between the two
//           edges. Near ties go to the faces, which carry without tipping: an edge must be deeper than a face by a
//           hair, and by five percent where its axis is within eight degrees of the face normal
// source    Gottschalk, Lin & Manocha 1996 for the directions; Sutherland & Hodgman 1974 for clipping; the
//           tolerances and the order of the points are MuJoCo's
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "host/reference/constraint.h"
#include "host/reference/shapes/pairs.h"

namespace dualstep::reference {

namespace {

constexpr double kSlack = 1e-13;      // of the sum of all half sides: rounding of a separation
constexpr double kParallel = 1e-16;   // squared sine below which a cross product has no direction
constexpr double kEdgeBias = 1e-6;    // an edge beats a face by this part of its separation
constexpr double kAlias = 0.99;       // cosine from which on an edge axis counts as a face normal,
constexpr double kAliasGain = 0.05;   // unless it is shallower by this part
constexpr double kAmbiguous = 1e-9;   // axis component that does not tell one supporting edge from another
constexpr double kSamePoint = 1e-14;  // squared distance of points to merge, of the face's size

// both boxes seen from the first: the second's axes are the columns of rot, its centre is at `offset`
struct Pose {
  Matrix3d rot;
  Vector3d offset;   // second's centre in the first's frame
  Vector3d inverse;  // first's centre in the second's frame
  Vector3d half1, half2;
};

struct Axis {
  double separation = -std::numeric_limits<double>::infinity();
  enum Kind { kFirstFace, kSecondFace, kEdges } kind = kFirstFace;
  int i = -1, j = -1;  // face: i; edges: i of the first, j of the second
};

Vector3d edge_axis(const Pose& p, int i, int j) { return Vector3d::Unit(i).cross(p.rot.col(j)); }

// false where some axis keeps the boxes farther apart than `limit`
bool best_axis(const Pose& p, double limit, Axis* best) {
  Axis face;
  const Matrix3d absrot = p.rot.cwiseAbs();
  for (int i = 0; i < 3; i++) {
    const double sep = std::abs(p.offset[i]) - p.half1[i] - absrot.row(i).dot(p.half2);
    if (sep > limit) return false;
    if (sep > face.separation) face = Axis{sep, Axis::kFirstFace, i, -1};
  }
  for (int j = 0; j < 3; j++) {
    const double sep = std::abs(p.inverse[j]) - p.half2[j] - absrot.col(j).dot(p.half1);
    if (sep > limit) return false;
    if (sep > face.separation) face = Axis{sep, Axis::kSecondFace, j, -1};
  }
  *best = face;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      Vector3d axis = edge_axis(p, i, j);
      if (axis.squaredNorm() < kParallel) continue;
      axis.normalize();
      const double reach1 = p.half1.dot(axis.cwiseAbs());
      const double reach2 = p.half2.dot((p.rot.transpose() * axis).cwiseAbs());
      const double sep = std::abs(axis.dot(p.offset)) - reach1 - reach2;
      if (sep > limit) return false;
      if (sep - kEdgeBias * std::abs(sep) > best->separation && sep > face.separation) {
        *best = Axis{sep, Axis::kEdges, i, j};
      }
    }
  }
  if (best->kind == Axis::kEdges) {
    const Vector3d axis = edge_axis(p, best->i, best->j).normalized();
    const double cosine =
        std::abs(face.kind == Axis::kFirstFace ? axis[face.i] : axis.dot(p.rot.col(face.i)));
    const bool no_better =
        best->separation < face.separation + kAliasGain * std::abs(face.separation) + kMinVal;
    if (cosine > kAlias && no_better) *best = face;
  }
  return true;
}

// one point between two edges; the result is in the first box's frame
Touches between_edges(const Pose& p, const Axis& best, double limit) {
  const int i = best.i, j = best.j;
  Vector3d axis = edge_axis(p, i, j).normalized();
  if (axis.dot(p.offset) < 0) axis = -axis;
  const Vector3d axis2 = p.rot.transpose() * axis;

  // an edge is named by the signs of the other two coordinates; where one of them is undecided, both are
  // tried
  auto middles = [](const Vector3d& towards, const Vector3d& half, int along) {
    std::vector<Vector3d> result(1, Vector3d::Zero());
    int open = -1;
    for (int k : {(along + 1) % 3, (along + 2) % 3}) {
      result[0][k] = towards[k] >= 0 ? half[k] : -half[k];
      if (open < 0 && std::abs(towards[k]) < kAmbiguous) open = k;
    }
    if (open >= 0) {
      result.push_back(result[0]);
      result[1][open] = -result[1][open];
    }
    return result;
  };

  const Vector3d along2 = p.rot.col(j);
  const double b = along2[i], denominator = 1 - b * b;
  double nearest = std::numeric_limits<double>::infinity();
  Vector3d point1 = Vector3d::Zero(), point2 = Vector3d::Zero();
  for (const Vector3d& middle1 : middles(axis, p.half1, i)) {
    for (const Vector3d& flipped : middles(-axis2, p.half2, j)) {
      const Vector3d middle2 = p.offset + p.rot * flipped;
      const Vector3d gap = middle2 - middle1;
      const double g1 = gap[i], g2 = along2.dot(gap);
      // closest points of the two lines, then clamped alternately to the segments
      double s = denominator < kMinVal ? 0 : (g1 - b * g2) / denominator;
      s = std::clamp(s, -p.half1[i], p.half1[i]);
      const double t = std::clamp(b * s - g2, -p.half2[j], p.half2[j]);
      s = std::clamp(g1 + b * t, -p.half1[i], p.half1[i]);
      const Vector3d at1 = middle1 + s * Vector3d::Unit(i), at2 = middle2 + t * along2;
      if ((at2 - at1).squaredNorm() < nearest) {
        nearest = (at2 - at1).squaredNorm();
        point1 = at1;
        point2 = at2;
      }
    }
  }
  const double dist = axis.dot(point2 - point1);
  if (dist > limit) return {};
  return {Touch{dist, (point1 + point2) / 2, axis, Vector3d::Zero()}};
}

// the part of a polygon with sign * v[coord] <= bound
std::vector<Vector3d> clip(const std::vector<Vector3d>& polygon, int coord, double sign, double bound) {
  std::vector<Vector3d> kept;
  for (size_t k = 0; k < polygon.size(); k++) {
    const Vector3d &p = polygon[k], &q = polygon[(k + 1) % polygon.size()];
    const double beyond_p = sign * p[coord] - bound, beyond_q = sign * q[coord] - bound;
    if (beyond_p <= 0) kept.push_back(p);
    if (beyond_p * beyond_q < 0) kept.push_back(p + beyond_p / (beyond_p - beyond_q) * (q - p));
  }
  return kept;
}

// the manifold on face `a` of a reference box; `axes` and `centre` are the other box's in the reference's
// frame. The points' last coordinate is their height over the face; the result is in the reference's frame,
// normals outwards
Touches on_face(int a, const Vector3d& half, const Matrix3d& axes, const Vector3d& centre,
                const Vector3d& other, double margin) {
  const double side = centre[a] >= 0 ? 1 : -1;
  // the other box's face that looks most against the reference face
  int b = 0;
  for (int k = 1; k < 3; k++) {
    if (std::abs(axes(a, k)) > std::abs(axes(a, b))) b = k;
  }
  const double facing = side * axes(a, b) > 0 ? -1 : 1;
  const int u = (a + 1) % 3, v = (a + 2) % 3;
  auto on_plane = [&](const Vector3d& x) { return Vector3d(x[u], x[v], side * x[a]); };
  const Vector3d middle = on_plane(centre + facing * other[b] * axes.col(b)) - half[a] * Vector3d::UnitZ();
  const Vector3d edge1 = other[(b + 1) % 3] * on_plane(axes.col((b + 1) % 3));
  const Vector3d edge2 = other[(b + 2) % 3] * on_plane(axes.col((b + 2) % 3));

  std::vector<Vector3d> polygon = {middle + edge1 + edge2, middle - edge1 + edge2, middle - edge1 - edge2,
                                   middle + edge1 - edge2};
  for (double sign : {1.0, -1.0}) polygon = clip(polygon, 0, sign, half[u]);
  for (double sign : {1.0, -1.0}) polygon = clip(polygon, 1, sign, half[v]);

  const double same = kSamePoint * (half[u] * half[u] + half[v] * half[v]);
  std::vector<Vector3d> kept;
  for (const Vector3d& p : polygon) {
    if (p.z() > margin) continue;
    const bool seen = std::any_of(kept.begin(), kept.end(),
                                  [&](const Vector3d& q) { return (p - q).head<2>().squaredNorm() < same; });
    if (!seen) kept.push_back(p);
  }
  Touches touches;
  for (const Vector3d& p : kept) {
    Vector3d pos;
    pos[u] = p.x();
    pos[v] = p.y();
    pos[a] = side * (half[a] + p.z() / 2);
    touches.push_back(Touch{p.z(), pos, side * Vector3d::Unit(a), Vector3d::Zero()});
  }
  return touches;
}

}  // namespace

Touches box_box(const Shape& first, const Shape& second, double margin) {
  Pose p;
  p.rot = first.mat.transpose() * second.mat;
  p.offset = first.mat.transpose() * (second.pos - first.pos);
  p.inverse = second.mat.transpose() * (first.pos - second.pos);
  p.half1 = first.size;
  p.half2 = second.size;
  const double limit = margin + kSlack * (first.size.sum() + second.size.sum());

  Axis best;
  if (!best_axis(p, limit, &best)) return {};
  Touches touches;
  const Shape* frame = &first;
  double outwards = 1;
  switch (best.kind) {
    case Axis::kEdges:
      touches = between_edges(p, best, limit);
      break;
    case Axis::kFirstFace:
      touches = on_face(best.i, p.half1, p.rot, p.offset, p.half2, margin);
      break;
    case Axis::kSecondFace:
      touches = on_face(best.i, p.half2, p.rot.transpose(), p.inverse, p.half1, margin);
      frame = &second;
      outwards = -1;
  }
  for (Touch& t : touches) {
    t.pos = frame->pos + frame->mat * t.pos;
    t.normal = outwards * (frame->mat * t.normal);
  }
  return touches;
}

}  // namespace dualstep::reference
