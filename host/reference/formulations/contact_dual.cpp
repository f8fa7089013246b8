// see contact_dual.h: the map between rows of force and the standard cones, and the outer loop of de Saxce

#include "host/reference/formulations/contact_dual.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "host/reference/formulations/cone_program.h"
#include "host/reference/formulations/coulomb.h"
#include "host/reference/formulations/nonneg_least_squares.h"

namespace dualstep::formulations {
namespace {

// f = E x with x in standard cones; rows no column reaches carry no force
struct StandardForm {
  Matrix E;
  std::vector<ConeBlock> blocks;
  std::vector<char> skipped;  // per row of force
};

class Builder {
 public:
  Builder(const Matrix& G, const ContactDualRows& rows) : G_(G), r_(G.rows()) {
    out_.skipped.assign(static_cast<size_t>(r_), 0);
    int row = 0;
    for (int i = 0; i < rows.equality; ++i) scalar(row++, BlockKind::kFree, 0);
    for (int i = 0; i < rows.limits; ++i) scalar(row++, BlockKind::kNonneg, 0);
    for (double bound : rows.friction_loss) scalar(row++, BlockKind::kInterval, bound);
    for (const std::vector<double>& mu : rows.mu) {
      contact(row, mu, rows);
      row += 1 + static_cast<int>(mu.size());
    }
    out_.E.resize(r_, static_cast<Eigen::Index>(columns_.size()));
    for (size_t k = 0; k < columns_.size(); ++k) out_.E.col(static_cast<Eigen::Index>(k)) = columns_[k];
  }

  StandardForm take() { return std::move(out_); }

 private:
  void scalar(int row, BlockKind kind, double bound) {
    if (G_(row, row) <= 0) {
      out_.skipped[static_cast<size_t>(row)] = 1;
      return;
    }
    if (kind == BlockKind::kInterval && bound == 0) return;
    out_.blocks.push_back({kind, static_cast<int>(columns_.size()), 1, bound});
    columns_.push_back(Vector::Unit(r_, row));
  }

  void contact(int row, const std::vector<double>& mu, const ContactDualRows& rows) {
    const int d = 1 + static_cast<int>(mu.size());
    if (G_(row, row) <= 0) {
      std::fill_n(out_.skipped.begin() + row, d, 1);
      return;
    }
    const bool slippery = std::all_of(mu.begin(), mu.end(), [](double m) { return m == 0; });
    if (slippery) return scalar(row, BlockKind::kNonneg, 0);
    if (rows.cone == FrictionCone::kPyramidal) {
      const Matrix edges = pyramid_edges(mu, rows.directions);
      for (Eigen::Index k = 0; k < edges.cols(); ++k) {
        out_.blocks.push_back({BlockKind::kNonneg, static_cast<int>(columns_.size()), 1, 0});
        Vector column = Vector::Zero(r_);
        column.segment(row, d) = edges.col(k);
        columns_.push_back(column);
      }
      return;
    }
    // tangents in units of their coefficients make the cone round; a zero coefficient drops its row
    const int start = static_cast<int>(columns_.size());
    columns_.push_back(Vector::Unit(r_, row));
    for (int i = 1; i < d; ++i)
      if (mu[static_cast<size_t>(i - 1)] > 0)
        columns_.push_back(mu[static_cast<size_t>(i - 1)] * Vector::Unit(r_, row + i));
    out_.blocks.push_back({BlockKind::kCone, start, static_cast<int>(columns_.size()) - start, 0});
  }

  const Matrix& G_;
  Eigen::Index r_;
  std::vector<Vector> columns_;
  StandardForm out_;
};

// how far each contact's normal row is raised by its own sliding speed
Vector sliding(const Vector& y, const ContactDualRows& rows) {
  Vector out(static_cast<Eigen::Index>(rows.mu.size()));
  int row = rows.equality + rows.limits + static_cast<int>(rows.friction_loss.size());
  for (size_t c = 0; c < rows.mu.size(); ++c) {
    const std::vector<double>& mu = rows.mu[c];
    const int d = 1 + static_cast<int>(mu.size());
    const Vector tangent = y.segment(row + 1, d - 1);
    double speed = 0;
    if (rows.cone == FrictionCone::kElliptic) {
      for (int i = 0; i < d - 1; ++i) speed = std::hypot(speed, mu[static_cast<size_t>(i)] * tangent(i));
    } else if (d > 1) {
      const Matrix edges = pyramid_edges(mu, rows.directions);
      speed = std::max(0.0, (-edges.bottomRows(d - 1).transpose() * tangent).maxCoeff());
    }
    out(static_cast<Eigen::Index>(c)) = speed;
    row += d;
  }
  return out;
}

// b with each contact's normal row raised
Vector raise(const Vector& b, const Vector& shift, const ContactDualRows& rows) {
  Vector out = b;
  int row = rows.equality + rows.limits + static_cast<int>(rows.friction_loss.size());
  for (size_t c = 0; c < rows.mu.size(); ++c) {
    out(row) += shift(static_cast<Eigen::Index>(c));
    row += 1 + static_cast<int>(rows.mu[c].size());
  }
  return out;
}

// Forces of rows without softness, each of which alone gives so many times what all ask for, are no solution: they grew
// until rounding stopped them, along a direction in which the objective falls for ever and which was not found
void check_bounded(const Matrix& A, const Vector& b, const Vector& R, const Vector& force) {
  constexpr double kUnbounded = 1e8;
  if ((R.array() == 0).any() && A.diagonal().cwiseProduct(force).norm() > kUnbounded * b.norm())
    throw Infeasible("the contact dual has no lower bound: no motion meets every constraint");
}

// |f - P_K(f - y/a)| over the rows that can move
double natural_residual(const Matrix& G, const Vector& f, const Vector& y, const ContactDualRows& rows,
                        const std::vector<char>& skipped) {
  if (f.size() == 0) return 0;
  const double mean = G.diagonal().mean();
  if (mean <= 0) return 0;
  const Vector moved = f - y / mean;
  Vector back = moved;
  int row = rows.equality;
  for (int i = 0; i < rows.limits; ++i, ++row) back(row) = std::max(0.0, moved(row));
  for (double bound : rows.friction_loss) back(row) = std::clamp(moved(row), -bound, bound), ++row;
  for (const std::vector<double>& mu : rows.mu) {
    const int d = 1 + static_cast<int>(mu.size());
    if (rows.cone == FrictionCone::kElliptic) {
      back.segment(row, d) = project_elliptic(moved.segment(row, d), mu);
    } else {
      const Matrix edges = pyramid_edges(mu, rows.directions);
      back.segment(row, d) = edges * nonneg_least_squares(edges, moved.segment(row, d));
    }
    row += d;
  }
  Vector defect = f - back;
  for (Eigen::Index i = 0; i < defect.size(); ++i)
    if (skipped[static_cast<size_t>(i)]) defect(i) = 0;
  return defect.norm();
}

// Anderson mixing over the last few pairs (s, g(s) - s)
class Mixer {
 public:
  Vector next(const Vector& s, const Vector& image) {
    const Vector gap = image - s;
    if (last_s_.size() > 0) {
      ds_.push_back(s - last_s_);
      dg_.push_back(gap - last_gap_);
      if (ds_.size() > 5) ds_.erase(ds_.begin()), dg_.erase(dg_.begin());
    }
    last_s_ = s;
    last_gap_ = gap;
    if (dg_.empty()) return image;
    Matrix G(gap.size(), static_cast<Eigen::Index>(dg_.size())), S(G.rows(), G.cols());
    for (size_t k = 0; k < dg_.size(); ++k) {
      G.col(static_cast<Eigen::Index>(k)) = dg_[k];
      S.col(static_cast<Eigen::Index>(k)) = ds_[k];
    }
    Eigen::CompleteOrthogonalDecomposition<Matrix> cod;
    cod.setThreshold(1e-8);
    cod.compute(G);
    return image - (S + G) * cod.solve(gap);
  }
  void forget() { ds_.clear(), dg_.clear(), last_s_.resize(0); }

 private:
  std::vector<Vector> ds_, dg_;
  Vector last_s_, last_gap_;
};

// the fixed point of b <- b + sliding speed: mixed iterations first, then the complementarity problem itself
Vector coulomb_force(const Matrix& G, const Vector& b, const ContactDualRows& rows, const Matrix& E,
                     ConeProgram program, Vector x, int& iterations) {
  constexpr int kOuter = 40;
  constexpr double kFixed = 1e-13, kFound = 1e-11;
  const bool round = rows.cone == FrictionCone::kElliptic;
  const Vector c = program.c;
  Vector shift = Vector::Zero(static_cast<Eigen::Index>(rows.mu.size())), best = x;
  double best_gap = std::numeric_limits<double>::infinity();
  Mixer mixer;
  for (int outer = 0; outer < kOuter; ++outer) {
    const Vector image = sliding(G * (E * x) + b, rows);
    const double size = std::max(b.cwiseAbs().maxCoeff(), image.maxCoeff());
    const double gap = size > 0 ? (image - shift).cwiseAbs().maxCoeff() / size : 0.0;
    if (gap < best_gap) best_gap = gap, best = x;
    if (gap <= kFixed) break;
    // plain steps first, to leave the guesses behind; and again whenever mixing has stopped to help
    const bool plain = outer < 2 || outer % 20 >= 17;
    if (plain && outer >= 2) mixer.forget();
    const Vector mixed = mixer.next(shift, image);
    shift = plain ? image : Vector(mixed.cwiseMax(0.0));
    program.c = E.transpose() * raise(b, shift, rows);
    const ConeSolution inner = solve_cone_program(program, x);
    iterations += inner.iterations;
    x = inner.x;
  }
  program.c = c;
  if (best_gap <= kFixed) return E * best;

  Vector force = E * best;
  if (!round) {
    if (best_gap > kFound) coulomb_on_pyramids(G, b, rows, force);
    return force;
  }
  double defect = coulomb_newton(program, 60, best, iterations);
  for (int directions = 4; defect > kFound && directions <= 32; directions *= 2) {
    ContactDualRows polygon = rows;
    polygon.directions = directions;
    Vector start;
    if (!coulomb_on_pyramids(G, b, polygon, start)) continue;
    // the force in the cone's coordinates: each column of E has one entry
    Vector guess = (E.transpose() * start).cwiseQuotient(E.colwise().squaredNorm().transpose());
    const double reached = coulomb_newton(program, 60, guess, iterations);
    if (reached < defect) defect = reached, best = guess;
  }
  return E * best;
}

}  // namespace

int ContactDualRows::rows() const {
  int r = equality + limits + static_cast<int>(friction_loss.size());
  for (const std::vector<double>& m : mu) r += 1 + static_cast<int>(m.size());
  return r;
}

Matrix pyramid_edges(const std::vector<double>& mu, int directions) {
  const int d = 1 + static_cast<int>(mu.size());
  if (d == 1) return Matrix::Ones(1, 1);
  if (d == 3) {
    Matrix E = Matrix::Ones(3, directions);
    for (int k = 0; k < directions; ++k) {
      const double angle = 2 * std::numbers::pi * k / directions;
      E(1, k) = mu[0] * std::cos(angle);
      E(2, k) = mu[1] * std::sin(angle);
    }
    return E;
  }
  Matrix E = Matrix::Zero(d, 2 * (d - 1));
  E.row(0).setOnes();
  for (int i = 1; i < d; ++i) {
    E(i, 2 * i - 2) = mu[static_cast<size_t>(i - 1)];
    E(i, 2 * i - 1) = -mu[static_cast<size_t>(i - 1)];
  }
  return E;
}

Vector project_elliptic(const Vector& x, const std::vector<double>& mu) {
  const Eigen::Index d = x.size();
  // a zero coefficient pins its row; what remains is an ordinary ellipsoid
  double inside = 0, polar = 0;
  bool pinned_zero = true;
  for (Eigen::Index i = 1; i < d; ++i) {
    const double m = mu[static_cast<size_t>(i - 1)];
    if (m > 0) {
      inside = std::hypot(inside, x(i) / m);
      polar = std::hypot(polar, x(i) * m);
    } else {
      pinned_zero = pinned_zero && x(i) == 0;
    }
  }
  if (x(0) >= 0 && inside <= x(0) && pinned_zero) return x;
  if (polar <= -x(0)) return Vector::Zero(d);
  Vector flat = x;
  for (Eigen::Index i = 1; i < d; ++i)
    if (mu[static_cast<size_t>(i - 1)] == 0) flat(i) = 0;
  if (flat(0) >= 0 && inside <= flat(0)) return flat;

  // n = x_n / (1 - k), t_i = x_i m_i^2 / (m_i^2 + k): find k with |t / m| = n, by bisection on a decreasing
  // function. written as n (1 - k) = x_n so that x_n <= 0, where k lies beyond 1, is covered by the same
  // unknown n
  auto tangent = [&](double n, double k) {
    double size = 0;
    for (Eigen::Index i = 1; i < d; ++i) {
      const double m = mu[static_cast<size_t>(i - 1)];
      if (m > 0) size = std::hypot(size, flat(i) * m / (m * m + k));
    }
    return size - n;
  };
  double low = 0, high = flat.norm();
  for (int i = 0; i < 200 && high > low; ++i) {
    const double n = 0.5 * (low + high);
    if (n == low || n == high) break;
    // for n below x_n the multiplier would be negative: n must grow
    const double k = 1 - flat(0) / n;
    (k < 0 || tangent(n, k) > 0 ? low : high) = n;
  }
  const double n = 0.5 * (low + high);
  const double k = std::max(0.0, 1 - flat(0) / n);
  Vector out = Vector::Zero(d);
  out(0) = n;
  for (Eigen::Index i = 1; i < d; ++i) {
    const double m = mu[static_cast<size_t>(i - 1)];
    if (m > 0) out(i) = flat(i) * m * m / (m * m + k);
  }
  return out;
}

ContactDualSolution contact_dual(const Matrix& A, const Vector& b, const Vector& R,
                                 const ContactDualRows& rows) {
  Matrix G = A;
  G.diagonal() += R;
  if (G.rows() > 0) {
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(A, Eigen::EigenvaluesOnly);
    if (eigen.eigenvalues()(0) < -1e-9 * std::max(1e-300, A.cwiseAbs().maxCoeff()))
      throw InvalidArgument("A is not positive semidefinite");
  }

  const StandardForm form = Builder(G, rows).take();
  ConeProgram program{form.E.transpose() * G * form.E, form.E.transpose() * b, form.blocks};
  program.Q = 0.5 * (program.Q + program.Q.transpose()).eval();

  ContactDualSolution out;
  const ConeSolution convex = solve_cone_program(program);
  out.iterations = convex.iterations;
  out.force = form.E * convex.x;
  Vector raised = b;
  if (rows.desaxce && !rows.mu.empty()) {
    out.force = coulomb_force(G, b, rows, form.E, program, convex.x, out.iterations);
    // the shift reported is the one the force itself asks for: the residual is then Coulomb's own
    raised = raise(b, sliding(G * out.force + b, rows), rows);
  }
  check_bounded(A, b, R, out.force);

  const Vector Gf = G * out.force;
  out.objective = 0.5 * out.force.dot(Gf) + out.force.dot(raised);
  out.residual = natural_residual(G, out.force, Gf + raised, rows, form.skipped);
  return out;
}

}  // namespace dualstep::formulations
