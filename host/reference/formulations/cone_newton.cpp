// see cone_program.h: semismooth Newton on the fixed point x = P(x - D^-1 (Qx + c))

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "host/interruption.h"
#include "host/reference/formulations/cone_program.h"

namespace dualstep::formulations {
namespace {

// the fixed point's defect, and one of its generalised derivatives
Vector defect(const ConeProgram& program, const Vector& x, const Vector& scale, Matrix* derivative) {
  const Vector moved = x - (program.Q * x + program.c).cwiseQuotient(scale);
  Vector F(x.size());
  Matrix slope;
  if (derivative) *derivative = Matrix::Zero(x.size(), x.size());
  for (const ConeBlock& block : program.blocks) {
    const int s = block.start, n = block.size;
    Vector back = moved.segment(s, n);
    slope = Matrix::Identity(n, n);
    if (block.kind == BlockKind::kNonneg && back(0) < 0) back(0) = 0, slope(0, 0) = 0;
    if (block.kind == BlockKind::kInterval && std::abs(back(0)) > block.bound) {
      back(0) = std::copysign(block.bound, back(0));
      slope(0, 0) = 0;
    }
    if (block.kind == BlockKind::kCone) back = project_cone(Vector(back), derivative ? &slope : nullptr);
    F.segment(s, n) = x.segment(s, n) - back;
    if (!derivative) continue;
    // d/dx [x - P(x - D^-1 y)] = I - P' + P' D^-1 Q, a block of rows at a time
    derivative->middleRows(s, n) =
        slope * (program.Q.middleRows(s, n).array().colwise() / scale.segment(s, n).array()).matrix();
    derivative->block(s, s, n, n) += Matrix::Identity(n, n) - slope;
  }
  return F;
}

}  // namespace

double newton(const ConeProgram& program, int limit, Vector& x, int& steps) {
  Vector scale(x.size());
  for (const ConeBlock& block : program.blocks) {
    const double mean = program.Q.diagonal().segment(block.start, block.size).mean();
    scale.segment(block.start, block.size).setConstant(mean > 0 ? mean : 1.0);
  }
  Matrix J;
  double merit = defect(program, x, scale, nullptr).norm();
  for (int k = 0; k < limit && merit > 0; ++k) {
    stop_if_told();
    const Vector F = defect(program, x, scale, &J);
    Eigen::CompleteOrthogonalDecomposition<Matrix> cod;
    cod.setThreshold(1e-12);
    cod.compute(J);
    const Vector step = -cod.solve(F);
    if (!step.allFinite()) break;
    ++steps;
    // the full step where it helps, shorter ones down to a point of no return
    bool moved = false;
    for (double length = 1; length > 1e-3; length *= 0.5) {
      const Vector trial = x + length * step;
      const double value = defect(program, trial, scale, nullptr).norm();
      if (value < merit) {
        moved = value < (1 - 1e-4 * length) * merit;
        x = trial;
        merit = value;
        break;
      }
    }
    if (!moved) break;
  }
  // land on the set itself: the defect's own projection is feasible to the last bit
  const Vector F = defect(program, x, scale, nullptr);
  const Vector landed = x - F;
  if (fixed_point_residual(program, landed) <= std::max(1e-13, 2 * fixed_point_residual(program, x)))
    x = landed;
  return fixed_point_residual(program, x);
}

}  // namespace dualstep::formulations
