// Distance or penetration depth of two convex shapes that are sums of segments, disks and a ball.
//
// solves    dist = max over |n| = 1 of g(n),   g(n) = min over b of n.b - max over a of n.a
//           (the distance where it is positive, minus the penetration depth where it is negative)
// equation  of such sums g has a closed form
//             g(n) = n.p - sum |n.u_k| - sum r_j |n - (n.a_j) a_j| - rho,   p from the first centre to the second
//           The maximum is found without a start value: triangles of directions are split, those that cannot hold
//           it are dropped. For every point s of the difference of the shapes g(n') <= n'.s, so with s the support
//           point at the middle of a triangle of angular radius delta, g <= |s| cos(max(0, angle(s, n) - delta))
//           on all of it. What is found is sharpened by Newton on the smooth part: at the maximum n is often
//           orthogonal to some u_k or along some a_j, which then are held exactly
// source    van den Bergen 2001
// deviation iterates of GJK and EPA (Gilbert, Johnson & Keerthi 1988) would do the same job from one start value,
//           without a bound
#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <vector>

#include "host/reference/shapes/hooks.h"

namespace dualstep::reference {

namespace {

constexpr double kAlong = 1e-8;  // sine below which a direction counts as along the axis of a disk

// the difference of two shapes as a sum: a point, segments [-u, u], disks, a ball
struct Difference {
  Vector3d centre;
  std::vector<Vector3d> segments;
  std::vector<Disk> disks;
  double ball = 0;
  double scale = 0;  // some length of the size of the shapes

  void add(const Shape& shape, const Summands& sum) {
    segments.insert(segments.end(), sum.segments.begin(), sum.segments.end());
    disks.insert(disks.end(), sum.disks.begin(), sum.disks.end());
    ball += sum.ball;
    scale += shape.size.norm();
  }

  // g + ball at a unit vector
  double value(const Vector3d& n) const {
    double g = n.dot(centre);
    for (const Vector3d& u : segments) g -= std::abs(n.dot(u));
    for (const Disk& disk : disks) g -= disk.radius * n.cross(disk.axis).norm();
    return g;
  }

  // the point of the difference to bound g with, for directions up to `angle` from n: where a segment or disk
  // attains g at different points within that angle, the one that leaves least of the sum across n
  Vector3d bounding_point(const Vector3d& n, double angle) const {
    std::vector<Vector3d> parts;  // one a segment, then one a disk
    Vector3d s = centre;
    for (const Vector3d& u : segments) parts.push_back((n.dot(u) >= 0 ? -1 : 1) * u);
    for (const Disk& disk : disks) {
      const double length = n.cross(disk.axis).norm();
      parts.push_back(length > kAlong ? Vector3d(across(n, disk) * (-disk.radius / length))
                                      : Vector3d::Zero());
    }
    for (const Vector3d& part : parts) s += part;
    for (int sweep = 0; sweep < 3; sweep++) {
      for (size_t k = 0; k < parts.size(); k++) {
        const Vector3d rest = s - parts[k];
        const Vector3d wanted = n * rest.dot(n) - rest;
        if (k < segments.size()) {
          const Vector3d& u = segments[k];
          const Vector3d flat = u - n * u.dot(n);
          if (std::abs(n.dot(u)) >= std::sin(angle) * u.norm() || flat.squaredNorm() == 0) continue;
          parts[k] = std::clamp(wanted.dot(flat) / flat.squaredNorm(), -1.0, 1.0) * u;
        } else {
          const Disk& disk = disks[k - segments.size()];
          if (n.cross(disk.axis).norm() >= std::sin(angle)) continue;
          parts[k] = across(wanted, disk);
          if (parts[k].norm() > disk.radius) parts[k] *= disk.radius / parts[k].norm();
        }
        s = rest + parts[k];
      }
    }
    return s;
  }

  static Vector3d across(const Vector3d& n, const Disk& disk) { return n - n.dot(disk.axis) * disk.axis; }
};

constexpr size_t kAll = ~size_t{0};

// the nearest local maximum of g, with the kinks closer than `tolerance` held, all or only that of segment
// `only`; false where nothing is found
bool sharpen(const Difference& d, double tolerance, Vector3d* direction, size_t only = kAll) {
  Vector3d n = *direction;
  for (const Disk& disk : d.disks) {
    if (n.cross(disk.axis).norm() > std::max(tolerance, kAlong)) continue;
    // along the axis of a disk nothing is left to vary
    *direction = n.dot(disk.axis) > 0 ? disk.axis : Vector3d(-disk.axis);
    return true;
  }
  std::vector<const Vector3d*> loose;
  std::vector<Vector3d> held;  // orthonormal
  for (size_t k = 0; k < d.segments.size(); k++) {
    const Vector3d &u = d.segments[k], unit = u.normalized();
    if (std::abs(n.dot(unit)) >= tolerance || (only != kAll && only != k)) {
      loose.push_back(&u);
      continue;
    }
    Vector3d rest = unit;
    for (const Vector3d& h : held) rest -= rest.dot(h) * h;
    if (rest.norm() > 1e-6) held.push_back(rest.normalized());
  }
  if (held.size() > 2) return false;
  for (const Vector3d& h : held) n -= n.dot(h) * h;
  n.normalize();
  if (held.size() == 2) {
    *direction = n;
    return true;
  }

  // tangent directions that leave the held products at zero
  MatrixXd free(3, held.empty() ? 2 : 1);
  for (int iteration = 0; iteration < 50; iteration++) {
    if (held.empty()) {
      free.col(0) = n.unitOrthogonal();
      free.col(1) = n.cross(free.col(0).head<3>());
    } else {
      free.col(0) = n.cross(held[0]).normalized();
    }
    Vector3d s = d.centre;
    for (const Vector3d* u : loose) s -= (n.dot(*u) >= 0 ? 1 : -1) * *u;
    Matrix3d bend = Matrix3d::Zero();
    for (const Disk& disk : d.disks) {
      const Vector3d across = Difference::across(n, disk);
      const double length = n.cross(disk.axis).norm();
      if (length < kAlong) return false;
      s -= across * (disk.radius / length);
      const Vector3d t = disk.axis.cross(across) / length;
      bend += t * t.transpose() * (disk.radius / length);
    }
    const double g = n.dot(s);
    const VectorXd gradient = free.transpose() * s;
    // second derivative of g on the sphere, to be negative
    MatrixXd hessian = -(free.transpose() * bend * free);
    hessian.diagonal().array() -= g;
    VectorXd step;
    if ((-hessian).llt().info() == Eigen::Success) {
      step = (-hessian).llt().solve(gradient);
    } else {
      step = gradient / std::max(d.scale, 1e-12);
    }
    if (step.norm() > 0.3) step *= 0.3 / step.norm();
    if (step.norm() < 1e-16) break;
    bool moved = false;
    for (double fraction = 1; fraction > 1e-8 && !moved; fraction /= 2) {
      Vector3d trial = n + free * (fraction * step);
      for (const Vector3d& h : held) trial -= trial.dot(h) * h;
      trial.normalize();
      // near the maximum g is flat to rounding: take the full step there
      if (d.value(trial) >= d.value(n) - 1e-15 * d.scale) {
        n = trial;
        moved = true;
      }
    }
    if (!moved || step.norm() < 1e-15) break;
  }
  *direction = n;
  return true;
}

struct Triangle {
  std::array<Vector3d, 3> corners;
  double bound = 0;
  bool operator<(const Triangle& other) const { return bound < other.bound; }
};

}  // namespace

Separation separation(const Shape& first, const Shape& second, const Summands& sum1, const Summands& sum2) {
  Difference d;
  d.centre = second.pos - first.pos;
  d.add(first, sum1);
  d.add(second, sum2);

  double best = -1e300;
  Vector3d normal = Vector3d::UnitX();
  auto consider = [&](const Vector3d& n, double gain) {
    const double g = d.value(n);
    if (g <= best + gain) return false;
    best = g;
    normal = n;
    return true;
  };
  // faces first: on a tie they carry better than an edge
  for (const Summands* sum : {&sum1, &sum2}) {
    for (const Vector3d& axis : sum->faces) {
      for (double side : {1.0, -1.0}) consider(side * axis, 0);
    }
  }

  const double same = 1e-12 * d.scale, enough = 1e-9 * d.scale;
  std::priority_queue<Triangle> open;
  auto push = [&](const Vector3d& a, const Vector3d& b, const Vector3d& c) {
    const Vector3d middle = (a + b + c).normalized();
    const double radius = std::max({(a - middle).norm(), (b - middle).norm(), (c - middle).norm()});
    const double angle = 2 * std::asin(std::min(1.0, radius / 2));
    const double g = d.value(middle);
    const Vector3d s = d.bounding_point(middle, angle);
    const double tilt = std::atan2(s.cross(middle).norm(), s.dot(middle));
    const double bound = s.norm() * std::cos(std::max(0.0, tilt - angle));
    if (g > best + same) {
      Vector3d found = middle;
      for (double tolerance : {1e-1, 1e-2, 1e-4, 0.0}) {
        Vector3d n = middle;
        if (sharpen(d, tolerance, &n) && d.value(n) > d.value(found) + same) found = n;
      }
      // once more from there: of equals the one that holds most kinks exactly
      for (double tolerance : {1e-2, 1e-4, 1e-6}) {
        Vector3d n = found;
        if (!sharpen(d, tolerance, &n) || d.value(n) < d.value(found) - same) continue;
        found = n;
        break;
      }
      consider(found, same);
    }
    if (bound > best + enough) open.push(Triangle{{a, b, c}, bound});
  };
  for (double x : {1.0, -1.0}) {
    for (double y : {1.0, -1.0}) {
      for (double z : {1.0, -1.0}) push(x * Vector3d::UnitX(), y * Vector3d::UnitY(), z * Vector3d::UnitZ());
    }
  }
  // a ring of equal maxima (coaxial cylinders) would never end: any of them is right
  for (int count = 0; count < 5000 && !open.empty(); count++) {
    const Triangle top = open.top();
    if (top.bound <= best + enough) break;
    open.pop();
    const Vector3d &a = top.corners[0], &b = top.corners[1], &c = top.corners[2];
    const Vector3d ab = (a + b).normalized(), bc = (b + c).normalized(), ca = (c + a).normalized();
    push(a, ab, ca);
    push(b, bc, ab);
    push(c, ca, bc);
    push(ab, bc, ca);
  }
  // of segments that are parallel but for little, the maximum may hold one and stand off the other by less
  // than any tolerance
  for (size_t k = 0; k < d.segments.size(); k++) {
    Vector3d n = normal;
    if (sharpen(d, 1e-2, &n, k)) consider(n, same);
  }
  return Separation{best - d.ball, normal};
}

}  // namespace dualstep::reference
