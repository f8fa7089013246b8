// The direction of least separation, to rounding, from one that is close to it.
//
// solves    the maximum over |n| = 1 of g(n) = n.p - h_A(n) - h_B(-n),   h a support function
// equation  on the sphere, where T spans the tangent plane:
//             gradient  T' s(n),  s(n) the point of B - A that attains g
//             Hessian   -T' (W_A + W_B) T - g
//           W is the second derivative of h: S^2 / |S n| - (S^2 n)(S^2 n)' / |S n|^3 of an ellipsoid, zero of a
//           polytope. h of a polytope has kinks where n is across an edge, and of a cylinder where n is across or
//           along its axis; at the maximum some of them may be held: none leaves two directions to vary, one
//           leaves an arc, two leave a point. All choices among the features at hand are tried, and the largest g
//           is taken: g(n) <= dist for every n, so a wrong choice costs nothing
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <vector>

#include "host/reference/shapes/shapes.h"

namespace dualstep::reference {

namespace {

struct Gap {
  const Shape &first, &second;

  Vector3d point(const Vector3d& n) const {
    return second.pos - first.pos + core_support(second, -n) - core_support(first, n);
  }
  double operator()(const Vector3d& n) const { return n.dot(point(n)); }
};

// the second derivative of a core's support function
Matrix3d bend(const Shape& shape, const Vector3d& n) { return hooks_of(shape).curvature(shape, n); }

// Newton's method on the sphere, or on the great circle across `held`
Vector3d ascend(const Gap& g, Vector3d n, const Vector3d* held) {
  if (held) n -= n.dot(*held) * *held;
  if (n.norm() < 1e-6) return Vector3d::UnitX();
  n.normalize();
  double value = g(n);
  for (int iteration = 0; iteration < 40; iteration++) {
    MatrixXd free(3, held ? 1 : 2);
    if (held) {
      free.col(0) = n.cross(*held).normalized();
    } else {
      const Vector3d t = n.unitOrthogonal();
      free << t, n.cross(t);
    }
    const VectorXd gradient = free.transpose() * g.point(n);
    MatrixXd curvature = free.transpose() * (bend(g.first, n) + bend(g.second, n)) * free;
    curvature.diagonal().array() += value;
    const Eigen::LLT<MatrixXd> llt(curvature);
    if (llt.info() != Eigen::Success) break;
    VectorXd step = llt.solve(gradient);
    if (step.norm() > 0.1) step *= 0.1 / step.norm();
    bool better = false;
    for (double fraction = 1; fraction > 1e-4 && !better; fraction /= 4) {
      Vector3d trial = n + free * (fraction * step);
      if (held) trial -= trial.dot(*held) * *held;
      trial.normalize();
      const double there = g(trial);
      better = there > value;
      if (!better) continue;
      n = trial;
      value = there;
    }
    if (!better) break;
  }
  return n;
}

}  // namespace

Vector3d polished_direction(const Shape& first, const Shape& second, const Vector3d& n,
                            const std::vector<Vector3d>& on_first, const std::vector<Vector3d>& on_second) {
  const Gap g{first, second};
  const double scale = extent(first) + extent(second), least = 1e-12 * scale;
  std::vector<Vector3d> candidates, edges;
  // of equals the first counts: faces carry better than edges
  hooks_of(first).add_faces(first, n, &candidates);
  hooks_of(second).add_faces(second, n, &candidates);
  hooks_of(first).add_edges(first, on_first, least, &edges);
  hooks_of(second).add_edges(second, on_second, least, &edges);
  for (size_t i = 0; i < edges.size(); i++) {
    for (size_t j = 0; j < i; j++) {
      Vector3d across = edges[i].cross(edges[j]);
      if (across.norm() < 1e-9) continue;
      across.normalize();
      candidates.push_back(across.dot(n) < 0 ? Vector3d(-across) : across);
    }
  }
  for (const Vector3d& edge : edges) candidates.push_back(ascend(g, n, &edge));
  candidates.push_back(ascend(g, n, nullptr));
  candidates.push_back(n);
  Vector3d best = candidates[0];
  for (const Vector3d& candidate : candidates)
    if (g(candidate) > g(best) + 1e-15 * scale) best = candidate;
  return best;
}

}  // namespace dualstep::reference
