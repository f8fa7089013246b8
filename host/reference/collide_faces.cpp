// Contact points where a hull or an ellipsoid meets something, given the closest pair.
//
// solves    the contacts, of which up to four are kept
// equation  flat features that face each other to within two degrees of the normal (faces of hulls and boxes, caps
//           of cylinders; edges, and the lines of capsules and of cylinders' sides) are seen along the normal: the
//           part of one that lies over the other is cut out, and its corners are the contacts, each with its own
//           distance along the common normal. Anything else is one contact at the closest pair. No contact is
//           deeper than the shapes: n.b - n.a >= dist for all their points
// source    Sutherland & Hodgman 1974
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "host/reference/shapes/shapes.h"

namespace dualstep::reference {

namespace {

constexpr double kApart = 0.01;  // of the smaller shape: two contacts closer than this are one
constexpr double kExact = 1e-6;  // of the smaller shape: by which the deepest contact may miss the depth

Vector3d area_of(const Polygon& p) {
  Vector3d sum = Vector3d::Zero();
  for (size_t k = 1; k + 1 < p.size(); k++) sum += (p[k] - p[0]).cross(p[k + 1] - p[0]);
  return sum;
}

// the part of a polygon or an edge on the inner side of a plane
Polygon cut(const Polygon& p, const Vector3d& inwards, double offset) {
  Polygon result;
  const size_t edges = p.size() == 2 ? 1 : p.size();
  const auto height = [&](size_t k) { return inwards.dot(p[k % p.size()]) - offset; };
  for (size_t k = 0; k < p.size(); k++) {
    if (height(k) >= 0) result.push_back(p[k]);
    if (k >= edges) break;
    const double here = height(k), there = height(k + 1);
    if (here * there < 0) result.push_back(p[k] + (p[(k + 1) % p.size()] - p[k]) * (here / (here - there)));
  }
  return result;
}

// what lies over a polygon, seen along n
Polygon cut_to(Polygon p, const Polygon& window, const Vector3d& n) {
  const double turn = n.dot(area_of(window)) < 0 ? -1 : 1;
  for (size_t k = 0; k < window.size() && !p.empty(); k++) {
    const Vector3d edge = window[(k + 1) % window.size()] - window[k];
    const Vector3d inwards = turn * n.cross(edge);
    p = cut(p, inwards, inwards.dot(window[k]));
  }
  return p;
}

// along n onto the plane of a polygon
Vector3d onto(const Polygon& plane, const Vector3d& n, const Vector3d& p) {
  const Vector3d normal = area_of(plane);
  Vector3d centre = Vector3d::Zero();
  for (const Vector3d& corner : plane) centre += corner / static_cast<double>(plane.size());
  return p + n * (normal.dot(centre - p) / normal.dot(n));
}

// pairs of points on two edges that run along each other: both ends of the stretch they share
std::vector<std::array<Vector3d, 2>> beside(const Polygon& e1, const Polygon& e2, const Vector3d& n) {
  const auto flat = [&](const Vector3d& v) { return Vector3d(v - n.dot(v) * n); };
  const Vector3d d1 = flat(e1[1] - e1[0]), d2 = flat(e2[1] - e2[0]);
  if (d1.cross(d2).norm() > kAligned * d1.norm() * d2.norm()) return {};
  const double length = d1.squaredNorm();
  double t0 = d1.dot(flat(e2[0] - e1[0])) / length, t1 = d1.dot(flat(e2[1] - e1[0])) / length;
  const double low = std::max(0.0, std::min(t0, t1)), high = std::min(1.0, std::max(t0, t1));
  if (low > high || t0 == t1) return {};
  std::vector<std::array<Vector3d, 2>> pairs;
  for (double t : {low, high})
    pairs.push_back({e1[0] + t * (e1[1] - e1[0]), e2[0] + (t - t0) / (t1 - t0) * (e2[1] - e2[0])});
  return pairs;
}

}  // namespace

Touches four_apart(Touches all, double apart) {
  if (all.empty()) return all;
  std::rotate(all.begin(),
              std::min_element(all.begin(), all.end(),
                               [](const Touch& a, const Touch& b) { return a.dist < b.dist; }),
              all.end());
  const Vector3d n = all[0].normal;
  Touches taken = {all[0]};
  const auto distance = [&](const Touch& t) {
    double nearest = 1e300;
    for (const Touch& other : taken) nearest = std::min(nearest, (t.pos - other.pos).norm());
    return nearest;
  };
  // the farthest, the widest triangle to one side of that line, then the widest to the other; of equals the
  // first
  const auto take = [&](const auto& measure) {
    const Touch* best = nullptr;
    double most = 0;
    for (const Touch& t : all) {
      const double value = measure(t.pos);
      if (distance(t) < apart || value <= most * (1 + 1e-9)) continue;
      most = value;
      best = &t;
    }
    if (best) taken.push_back(*best);
    return best != nullptr;
  };
  if (!take([&](const Vector3d& x) { return (x - taken[0].pos).norm(); })) return taken;
  const Vector3d across = n.cross(taken[1].pos - taken[0].pos), origin = taken[0].pos;
  const double side[2] = {1, -1};
  for (double s : side) take([&](const Vector3d& x) { return s * across.dot(x - origin); });
  return taken;
}

Touches hull_manifold(const Shape& first, const Shape& second, const ClosestPair& pair, double margin) {
  const Vector3d n = pair.normal;
  const double size = std::min(extent(first), extent(second));
  const Touch witness{pair.dist, first.pos + (pair.on_first + pair.on_second) / 2, n, Vector3d::Zero()};
  // places relative to the first shape, so that their size is that of the shapes
  Shape near = first, far = second;
  near.pos = Vector3d::Zero();
  far.pos = second.pos - first.pos;
  const Polygon f1 = hooks_of(near).flat_feature(near, n), f2 = hooks_of(far).flat_feature(far, -n);
  if (f1.empty() || f2.empty()) return {witness};

  std::vector<std::array<Vector3d, 2>> pairs;
  if (f1.size() == 2 && f2.size() == 2) {
    pairs = beside(f1, f2, n);
  } else if (f1.size() == 2) {
    for (const Vector3d& p : cut_to(f1, f2, n)) pairs.push_back({p, onto(f2, n, p)});
  } else {
    for (const Vector3d& p : cut_to(f2, f1, n)) pairs.push_back({onto(f1, n, p), p});
  }
  Touches found;
  for (const auto& [p1, p2] : pairs) {
    // merged faces are flat but for little
    const double dist = std::max(pair.dist, n.dot(p2 - p1));
    if (dist > margin) continue;
    found.push_back(Touch{dist, first.pos + (p1 + p2) / 2, n, Vector3d::Zero()});
  }
  const bool complete = std::any_of(found.begin(), found.end(),
                                    [&](const Touch& t) { return t.dist < pair.dist + kExact * size; });
  if (!complete) found.insert(found.begin(), witness);
  found = four_apart(found, kApart * size);
  found[0].dist = pair.dist;
  return found;
}

}  // namespace dualstep::reference
