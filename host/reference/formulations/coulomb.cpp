// see coulomb.h

#include "host/reference/formulations/coulomb.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "host/interruption.h"
#include "host/reference/formulations/lemke.h"

namespace dualstep::formulations {
namespace {

// columns of force an unknown of the LCP makes, and the slack row that bounds it
struct Unknown {
  Vector column;
  int slack;      // -1 where nothing bounds it
  double weight;  // its part in the slack row: the row is capacity + sum weight * unknown
};

class PyramidLcp {
 public:
  PyramidLcp(const Matrix& G, const Vector& b, const ContactDualRows& rows)
      : offset_(Vector::Zero(b.size())) {
    const Eigen::Index r = b.size();
    int row = 0;
    auto moving = [&](int i) { return G(i, i) > 0; };
    for (int i = 0; i < rows.equality; ++i, ++row) {
      if (!moving(row)) continue;
      unknowns_.push_back({Vector::Unit(r, row), -1, 0});
      unknowns_.push_back({-Vector::Unit(r, row), -1, 0});
    }
    for (int i = 0; i < rows.limits; ++i, ++row)
      if (moving(row)) unknowns_.push_back({Vector::Unit(r, row), -1, 0});
    for (double bound : rows.friction_loss) {
      if (moving(row)) {
        // measured from the lower end: f = p - bound, 0 <= p <= 2 bound
        offset_(row) = -bound;
        unknowns_.push_back({Vector::Unit(r, row), slacks(), -1});
        capacity_.push_back(2 * bound);
      }
      ++row;
    }
    for (const std::vector<double>& mu : rows.mu) {
      const int d = 1 + static_cast<int>(mu.size());
      if (moving(row)) contact(r, row, mu, rows.directions);
      row += d;
    }

    const Eigen::Index n = static_cast<Eigen::Index>(unknowns_.size()), m = slacks();
    T_.resize(r, n);
    M_ = Matrix::Zero(n + m, n + m);
    q_ = Vector::Zero(n + m);
    for (Eigen::Index k = 0; k < n; ++k) {
      const Unknown& u = unknowns_[static_cast<size_t>(k)];
      T_.col(k) = u.column;
      if (u.slack < 0) continue;
      M_(n + u.slack, k) = u.weight;
      if (u.weight < 0) M_(k, n + u.slack) = 1;
    }
    M_.topLeftCorner(n, n) = T_.transpose() * G * T_;
    q_.head(n) = T_.transpose() * (b + G * offset_);
    for (Eigen::Index i = 0; i < m; ++i) q_(n + i) = capacity_[static_cast<size_t>(i)];
  }

  Vector solve() const { return offset_ + T_ * solve_lcp(M_, q_).z.head(T_.cols()); }

 private:
  int slacks() const { return static_cast<int>(capacity_.size()); }

  void contact(Eigen::Index r, int row, const std::vector<double>& mu, int directions) {
    const bool slippery = std::all_of(mu.begin(), mu.end(), [](double m) { return m == 0; });
    unknowns_.push_back({Vector::Unit(r, row), slippery ? -1 : slacks(), 1});
    if (slippery) return;
    const Matrix edges = pyramid_edges(mu, directions);
    for (Eigen::Index k = 0; k < edges.cols(); ++k) {
      Vector column = Vector::Zero(r);
      column.segment(row + 1, edges.rows() - 1) = edges.col(k).tail(edges.rows() - 1);
      unknowns_.push_back({column, slacks(), -1});
    }
    capacity_.push_back(0);
  }

  std::vector<Unknown> unknowns_;
  std::vector<double> capacity_;
  Vector offset_;
  Matrix T_, M_;
  Vector q_;
};

struct CoulombDefect {
  const ConeProgram& program;
  Vector scale;

  explicit CoulombDefect(const ConeProgram& p) : program(p), scale(p.c.size()) {
    for (const ConeBlock& block : p.blocks) {
      const double mean = p.Q.diagonal().segment(block.start, block.size).mean();
      scale.segment(block.start, block.size).setConstant(mean > 0 ? mean : 1.0);
    }
  }

  Vector operator()(const Vector& x, Matrix* derivative) const {
    const Vector z = program.Q * x + program.c;
    Vector F(x.size());
    if (derivative) derivative->resize(x.size(), x.size());
    for (const ConeBlock& block : program.blocks) {
      const int s = block.start, n = block.size;
      Vector raised = z.segment(s, n);
      Matrix Qb = program.Q.middleRows(s, n);
      if (block.kind == BlockKind::kCone) {
        const double speed = raised.tail(n - 1).norm();
        raised(0) += speed;
        if (derivative && speed > 0)
          Qb.row(0) += z.segment(s + 1, n - 1).transpose() / speed * program.Q.middleRows(s + 1, n - 1);
      }
      Vector back = x.segment(s, n) - raised / scale(s);
      Matrix slope = Matrix::Identity(n, n);
      if (block.kind == BlockKind::kNonneg && back(0) < 0) back(0) = 0, slope(0, 0) = 0;
      if (block.kind == BlockKind::kInterval && std::abs(back(0)) > block.bound) {
        back(0) = std::copysign(block.bound, back(0));
        slope(0, 0) = 0;
      }
      if (block.kind == BlockKind::kCone) back = project_cone(Vector(back), &slope);
      F.segment(s, n) = x.segment(s, n) - back;
      if (!derivative) continue;
      derivative->middleRows(s, n) = slope * Qb / scale(s);
      derivative->block(s, s, n, n) += Matrix::Identity(n, n) - slope;
    }
    return F;
  }
};

}  // namespace

bool coulomb_on_pyramids(const Matrix& G, const Vector& b, const ContactDualRows& rows, Vector& force) {
  try {
    force = PyramidLcp(G, b, rows).solve();
    return true;
  } catch (const Infeasible&) {
    return false;
  }
}

double coulomb_newton(const ConeProgram& program, int limit, Vector& x, int& steps) {
  const CoulombDefect defect(program);
  Matrix J;
  double merit = defect(x, nullptr).norm();
  // a few steps may go uphill: the defect has kinks, and the best point is kept
  Vector best = x;
  double best_merit = merit;
  int uphill = 0;
  for (int k = 0; k < limit && best_merit > 0; ++k) {
    stop_if_told();
    const Vector F = defect(x, &J);
    Eigen::CompleteOrthogonalDecomposition<Matrix> cod;
    cod.setThreshold(1e-12);
    cod.compute(J);
    const Vector step = -cod.solve(F);
    if (!step.allFinite()) break;
    ++steps;
    double length = 1;
    Vector trial = x + step;
    double value = defect(trial, nullptr).norm();
    while (value > (1 - 1e-4 * length) * merit && length > 0.05) {
      length *= 0.5;
      trial = x + length * step;
      value = defect(trial, nullptr).norm();
    }
    uphill = value < 0.999 * best_merit ? 0 : uphill + 1;
    if (uphill > 8) break;
    x = trial;
    merit = value;
    if (merit < best_merit) best_merit = merit, best = x;
  }
  // land on the cones themselves
  const Vector landed = best - defect(best, nullptr);
  x = defect(landed, nullptr).norm() <= std::max(2 * best_merit, 1e-13 * (1 + best.norm())) ? landed : best;
  const double size =
      std::max(x.cwiseAbs().maxCoeff(), program.c.cwiseQuotient(defect.scale).cwiseAbs().maxCoeff());
  return size > 0 ? defect(x, nullptr).cwiseAbs().maxCoeff() / size : 0.0;
}

}  // namespace dualstep::formulations
