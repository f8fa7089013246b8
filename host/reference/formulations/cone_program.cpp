// see cone_program.h: projections, block sweeps, and the order in which the solvers are tried

#include "host/reference/formulations/cone_program.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "host/interruption.h"

namespace dualstep::formulations {
namespace {

constexpr double kConverged = 1e-13;
constexpr double kGood = 1e-10;

double mean_diagonal(const Matrix& Q, const ConeBlock& block) {
  return Q.diagonal().segment(block.start, block.size).mean();
}

// one cone block, the rest held: along its ray first, then across its disc
void update_cone(const Matrix& G, const Vector& rest, Eigen::Ref<Vector> x) {
  const Eigen::Index d = x.size();
  const double reach = rest.tail(d - 1).norm();
  if (rest(0) >= reach) {
    x.setZero();
    return;
  }
  // the normal first, on the ray through the present point; from the apex on the steepest ray
  double scale = 0;
  if (x(0) > 0) {
    const double curvature = x.dot(G * x);
    scale = curvature > 0 ? -rest.dot(x) / curvature : 0;
  }
  if (scale > 0) {
    x *= scale;
  } else {
    Vector ray = Vector::Zero(d);
    ray(0) = 1;
    if (reach > 0) ray.tail(d - 1) = -rest.tail(d - 1) / reach;
    const double curvature = ray.dot(G * ray);
    if (curvature <= 0) return;
    x = std::max(0.0, -rest.dot(ray) / curvature) * ray;
  }
  // then the tangents at that normal, exactly
  const Vector pull = rest.tail(d - 1) + G.col(0).tail(d - 1) * x(0);
  x.tail(d - 1) = minimize_on_ball(G.bottomRightCorner(d - 1, d - 1), pull, x(0));
}

}  // namespace

Vector minimize_on_ball(const Matrix& G, const Vector& r, double radius, double* push) {
  const double size_r = r.stableNorm();
  if (push) *push = 0;
  if (size_r == 0) return Vector::Zero(r.size());
  if (radius <= 0) {
    if (push) *push = size_r;
    return Vector::Zero(r.size());
  }
  // in units of the radius and of |r|: the unit ball, a unit pull
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(G * (radius / size_r));
  const Vector values = eigen.eigenvalues().cwiseMax(0.0);
  const Vector g = eigen.eigenvectors().transpose() * (r / size_r);
  const double floor = 1e-14 * std::max(values.maxCoeff(), 1.0);

  // inside the ball, where the gradient does not push along a flat direction: one that is flat but for little
  // counts as curved where its curvature stops the pull within the ball
  Vector y = Vector::Zero(r.size());
  bool bounded = true;
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    if (values(i) > floor || std::abs(g(i)) < values(i)) {
      y(i) = -g(i) / values(i);
    } else if (std::abs(g(i)) > 1e-14) {
      bounded = false;
    }
  }
  if (bounded && y.norm() <= 1) return radius * (eigen.eigenvectors() * y);

  // Newton on 1/|y(shift)| from the left of the root, where it is convex: monotone, a handful of steps
  double low = std::max(0.0, 1 - values.maxCoeff());
  double high = std::max(low, 1 - values.minCoeff());
  double shift = std::max(low, 1e-300);
  for (int i = 0; i < 100; ++i) {
    y = -g.cwiseQuotient((values.array() + shift).matrix());
    const double size = y.stableNorm();
    if (!std::isfinite(size)) {
      low = shift;
      shift = 0.5 * (low + high);
      continue;
    }
    if (size > 1) {
      low = std::max(low, shift);
    } else {
      high = std::min(high, shift);
    }
    if (std::abs(size - 1) <= 4e-16) break;
    const double slope = y.cwiseAbs2().cwiseQuotient((values.array() + shift).matrix()).sum();
    double next = shift + (size * size / slope) * (size - 1);
    if (!(next >= low && next <= high)) next = 0.5 * (low + high);
    if (next == shift) break;
    shift = next;
  }
  if (push) *push = shift * size_r;
  return (radius / y.stableNorm()) * (eigen.eigenvectors() * y);
}

Vector project_cone(const Vector& x, Matrix* derivative) {
  const Eigen::Index d = x.size();
  const double size = x.tail(d - 1).norm();
  if (size <= x(0)) {
    if (derivative) *derivative = Matrix::Identity(d, d);
    return x;
  }
  if (size <= -x(0)) {
    if (derivative) *derivative = Matrix::Zero(d, d);
    return Vector::Zero(d);
  }
  const Vector u = x.tail(d - 1) / size;
  const double half = 0.5 * (x(0) + size);
  if (derivative) {
    const double ratio = x(0) / size;
    derivative->resize(d, d);
    (*derivative)(0, 0) = 0.5;
    derivative->row(0).tail(d - 1) = 0.5 * u.transpose();
    derivative->col(0).tail(d - 1) = 0.5 * u;
    derivative->bottomRightCorner(d - 1, d - 1) =
        0.5 * (1 + ratio) * Matrix::Identity(d - 1, d - 1) - 0.5 * ratio * u * u.transpose();
  }
  Vector out(d);
  out(0) = half;
  out.tail(d - 1) = half * u;
  return out;
}

double fixed_point_residual(const ConeProgram& program, const Vector& x) {
  const Vector y = program.Q * x + program.c;
  double worst = 0, size = 0;
  for (const ConeBlock& block : program.blocks) {
    const double diagonal = mean_diagonal(program.Q, block);
    const double scale = diagonal > 0 ? diagonal : 1.0;
    const Vector here = x.segment(block.start, block.size);
    const Vector moved = here - y.segment(block.start, block.size) / scale;
    Vector back = moved;
    if (block.kind == BlockKind::kNonneg) back = moved.cwiseMax(0.0);
    if (block.kind == BlockKind::kInterval) back = moved.cwiseMax(-block.bound).cwiseMin(block.bound);
    if (block.kind == BlockKind::kCone) back = project_cone(moved);
    worst = std::max(worst, (here - back).cwiseAbs().maxCoeff());
    size = std::max({size, program.c.segment(block.start, block.size).cwiseAbs().maxCoeff() / scale,
                     here.cwiseAbs().maxCoeff()});
  }
  return size > 0 ? worst / size : 0.0;
}

void sweep(const ConeProgram& program, int sweeps, Vector& x, int& steps) {
  for (int k = 0; k < sweeps; ++k, ++steps) {
    stop_if_told();
    double change = 0;
    for (const ConeBlock& block : program.blocks) {
      const int s = block.start, n = block.size;
      const Matrix G = program.Q.block(s, s, n, n);
      const Vector before = x.segment(s, n);
      const Vector rest = program.c.segment(s, n) + program.Q.middleRows(s, n) * x - G * before;
      if (block.kind == BlockKind::kCone) {
        update_cone(G, rest, x.segment(s, n));
      } else if (G(0, 0) > 0) {
        const double free = -rest(0) / G(0, 0);
        if (block.kind == BlockKind::kFree) x(s) = free;
        if (block.kind == BlockKind::kNonneg) x(s) = std::max(0.0, free);
        if (block.kind == BlockKind::kInterval) x(s) = std::clamp(free, -block.bound, block.bound);
      }
      change = std::max(change, (x.segment(s, n) - before).cwiseAbs().maxCoeff());
    }
    if (change <= 1e-15 * x.cwiseAbs().maxCoeff()) return;
  }
}

ConeSolution solve_cone_program(const ConeProgram& program, const Vector& start) {
  ConeSolution out;
  out.iterations = 0;
  out.x = start.size() == program.c.size() ? start : Vector(Vector::Zero(program.c.size()));
  if (program.c.size() == 0) {
    out.residual = 0;
    return out;
  }
  sweep(program, 20, out.x, out.iterations);
  out.residual = newton(program, 40, out.x, out.iterations);
  if (out.residual <= kConverged * 10) return out;

  // what is left is singular or far: the interior point goes in from the middle, Newton ends it
  Vector inner;
  if (!interior_point(program, inner, out.iterations))
    throw Infeasible("the contact dual has no lower bound: no motion meets every constraint");
  Vector candidate = inner;
  double residual = newton(program, 40, candidate, out.iterations);
  if (residual < out.residual) out.x = candidate, out.residual = residual;
  // sweeps never leave the cone and never raise the objective: the last resort
  for (int round = 0; out.residual > kGood && round < 20; ++round) {
    candidate = residual < 1 ? out.x : inner;
    sweep(program, 200, candidate, out.iterations);
    residual = newton(program, 20, candidate, out.iterations);
    if (residual < out.residual) out.x = candidate, out.residual = residual;
  }
  return out;
}

}  // namespace dualstep::formulations
