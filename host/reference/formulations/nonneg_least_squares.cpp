// see nonneg_least_squares.h

#include "host/reference/formulations/nonneg_least_squares.h"

#include <Eigen/QR>
#include <algorithm>
#include <vector>

namespace dualstep::formulations {
namespace {

// the unconstrained solution on the chosen columns, zero elsewhere
Vector on_columns(const Matrix& B, const Vector& c, const std::vector<int>& columns) {
  Matrix chosen(B.rows(), static_cast<Eigen::Index>(columns.size()));
  for (size_t k = 0; k < columns.size(); ++k) chosen.col(static_cast<Eigen::Index>(k)) = B.col(columns[k]);
  const Vector part = Eigen::CompleteOrthogonalDecomposition<Matrix>(chosen).solve(c);
  Vector x = Vector::Zero(B.cols());
  for (size_t k = 0; k < columns.size(); ++k) x(columns[k]) = part(static_cast<Eigen::Index>(k));
  return x;
}

}  // namespace

Vector nonneg_least_squares(const Matrix& B, const Vector& c) {
  const int n = static_cast<int>(B.cols());
  Vector x = Vector::Zero(n);
  std::vector<int> positive;
  const double tolerance = 1e-14 * std::max(1e-300, B.norm() * c.norm());

  for (int round = 0; round < 3 * n + 10; ++round) {
    const Vector gradient = B.transpose() * (c - B * x);
    int entering = -1;
    double steepest = tolerance;
    for (int i = 0; i < n; ++i) {
      const bool inside = std::find(positive.begin(), positive.end(), i) != positive.end();
      if (!inside && gradient(i) > steepest) steepest = gradient(i), entering = i;
    }
    if (entering < 0) break;
    positive.push_back(entering);

    // back off until the free minimum itself is positive
    for (int inner = 0; inner <= n; ++inner) {
      const Vector target = on_columns(B, c, positive);
      double step = 1;
      for (int i : positive)
        if (target(i) <= 0 && x(i) > target(i)) step = std::min(step, x(i) / (x(i) - target(i)));
      const bool blocked =
          step < 1 || std::any_of(positive.begin(), positive.end(), [&](int i) { return target(i) < 0; });
      x += step * (target - x);
      if (!blocked) break;
      std::vector<int> kept;
      for (int i : positive) {
        if (x(i) > 1e-15 * (1 + x.cwiseAbs().maxCoeff())) {
          kept.push_back(i);
        } else {
          x(i) = 0;
        }
      }
      if (kept.size() == positive.size()) break;
      positive = kept;
      if (positive.empty()) break;
    }
  }
  return x.cwiseMax(0.0);
}

}  // namespace dualstep::formulations
