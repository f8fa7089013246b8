// see lemke.h

#include "host/reference/formulations/lemke.h"

#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <vector>

#include "host/interruption.h"
#include "host/reference/formulations/nonneg_least_squares.h"

namespace dualstep::formulations {
namespace {

constexpr double kPivotFloor = 1e-10;
constexpr double kTie = 1e-11;
constexpr int kRebuildEvery = 20;    // pivots, or a tenth of the unknowns if that is more
constexpr Eigen::Index kPanel = 32;  // columns that a rebuild solves between two questions whether to stop
constexpr int kAttempts = 8;
constexpr int kShortPath = 2, kLongPath = 50;  // pivots an unknown
constexpr int kEnumerateUpTo = 12;
constexpr double kAccept = 1e-9;
constexpr double kRounding = 1e-13;

// columns of the tableau: w (n), z (n), z0, right side
class Tableau {
 public:
  Tableau(const Matrix& M, const Vector& q, const Vector& d)
      : n_(static_cast<int>(q.size())), source_(n_, 2 * n_ + 2) {
    source_ << Matrix::Identity(n_, n_), -M, -d, q;
    table_ = source_;
    for (int i = 0; i < n_; ++i) basis_.push_back(i);
  }

  int artificial() const { return 2 * n_; }
  int complement(int variable) const { return variable < n_ ? variable + n_ : variable - n_; }
  int basic(int row) const { return basis_[row]; }

  // row that leaves when `entering` comes in, or -1 when none is blocking; the first pivot runs along -d
  int leaving_row(int entering, bool first) const {
    int best = -1;
    for (int i = 0; i < n_; ++i) {
      const double pivot = first ? -table_(i, entering) : table_(i, entering);
      if (pivot <= kPivotFloor) continue;
      if (best < 0 || before(i, best, entering, first)) best = i;
    }
    return best;
  }

  void pivot(int row, int entering) {
    basis_[row] = entering;
    if (++pivots_ % std::max(kRebuildEvery, n_ / 10) == 0 && rebuild()) return;
    table_.row(row) /= table_(row, entering);
    for (int i = 0; i < n_; ++i)
      if (i != row && table_(i, entering) != 0) table_.row(i) -= table_(i, entering) * table_.row(row);
  }

  int pivots() const { return pivots_; }

  // the unknowns of the present basis, solved from the problem's own columns
  Vector read_z() const {
    Matrix B(n_, n_);
    for (int i = 0; i < n_; ++i) B.col(i) = source_.col(basis_[i]);
    const Eigen::PartialPivLU<Matrix> lu(B);
    const Vector q = source_.col(2 * n_ + 1);
    Vector x = lu.solve(q);
    x += lu.solve(Vector(q - B * x));
    if (!x.allFinite()) x = table_.col(2 * n_ + 1);
    Vector z = Vector::Zero(n_);
    for (int i = 0; i < n_; ++i)
      if (basis_[i] >= n_ && basis_[i] < 2 * n_) z(basis_[i] - n_) = x(i);
    return z;
  }

 private:
  // lexicographic comparison of the rows (right side, B^-1) over their pivots
  bool before(int i, int j, int entering, bool first) const {
    const double pi = first ? -table_(i, entering) : table_(i, entering);
    const double pj = first ? -table_(j, entering) : table_(j, entering);
    const double ri = table_(i, 2 * n_ + 1) / pi, rj = table_(j, 2 * n_ + 1) / pj;
    // z0 leaves as soon as it may: the path has then arrived
    if (std::abs(ri - rj) <= kTie * (1 + std::abs(ri))) {
      if (basis_[i] == artificial()) return true;
      if (basis_[j] == artificial()) return false;
    } else {
      return ri < rj;
    }
    for (int k = 0; k < n_; ++k) {
      const double li = table_(i, k) / pi, lj = table_(j, k) / pj;
      if (std::abs(li - lj) > kTie * (1 + std::abs(li))) return li < lj;
    }
    return false;
  }

  // B^-1 times the source, to shed the rounding of past pivots
  bool rebuild() {
    Matrix B(n_, n_);
    for (int i = 0; i < n_; ++i) B.col(i) = source_.col(basis_[i]);
    const Eigen::PartialPivLU<Matrix> lu(B);
    ByRows fresh(n_, source_.cols());
    for (Eigen::Index first = 0; first < source_.cols(); first += kPanel) {
      stop_if_told();
      const Eigen::Index width = std::min(kPanel, source_.cols() - first);
      fresh.middleCols(first, width) = lu.solve(source_.middleCols(first, width));
    }
    if (!fresh.allFinite()) return false;
    table_.swap(fresh);
    return true;
  }

  using ByRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  int n_;
  Matrix source_;
  ByRows table_;
  std::vector<int> basis_;
  int pivots_ = 0;
};

// factors r, c that bring the rows and columns of r M c near one
void equilibrate(const Matrix& M, Vector& r, Vector& c) {
  const Eigen::Index n = M.rows();
  r = Vector::Ones(n);
  c = Vector::Ones(n);
  for (int pass = 0; pass < 4; ++pass) {
    for (Eigen::Index i = 0; i < n; ++i) {
      const double size = M.row(i).cwiseAbs().cwiseProduct(c.transpose()).maxCoeff() * r(i);
      if (size > 0) r(i) /= std::sqrt(size);
    }
    for (Eigen::Index j = 0; j < n; ++j) {
      const double size = M.col(j).cwiseAbs().cwiseProduct(r).maxCoeff() * c(j);
      if (size > 0) c(j) /= std::sqrt(size);
    }
  }
}

// a solution is accepted when each part is small against the problem's own size, beyond the rounding of M z
bool accepted(const Matrix& M, const Vector& q, const Vector& z) {
  if (!z.allFinite()) return false;
  const Vector w = q + M * z;
  const double size_z = z.cwiseAbs().maxCoeff(), size_w = q.cwiseAbs().maxCoeff();
  const double allowed = kAccept * size_w + kRounding * (M.cwiseAbs() * z.cwiseAbs()).maxCoeff();
  return z.minCoeff() >= -kAccept * size_z && w.minCoeff() >= -allowed &&
         z.cwiseProduct(w).cwiseAbs().maxCoeff() <= allowed * size_z;
}

// the same support, solved on the problem itself: what a path on a shifted matrix is worth
Vector on_support(const Matrix& M, const Vector& q, const Vector& z) {
  std::vector<Eigen::Index> support;
  for (Eigen::Index i = 0; i < z.size(); ++i)
    if (z(i) > 1e-9 * z.maxCoeff()) support.push_back(i);
  Vector out = Vector::Zero(z.size());
  if (support.empty()) return out;
  const Eigen::Index n = static_cast<Eigen::Index>(support.size());
  Matrix part(n, n);
  Vector wanted(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    wanted(i) = -q(support[static_cast<size_t>(i)]);
    for (Eigen::Index j = 0; j < n; ++j)
      part(i, j) = M(support[static_cast<size_t>(i)], support[static_cast<size_t>(j)]);
  }
  const Vector found = Eigen::CompleteOrthogonalDecomposition<Matrix>(part).solve(wanted);
  for (Eigen::Index i = 0; i < n; ++i) out(support[static_cast<size_t>(i)]) = found(i);
  return out;
}

LcpSolution finish(const Matrix& M, const Vector& q, const Vector& z) {
  LcpSolution out;
  out.z = z.cwiseMax(0.0);
  out.w = q + M * out.z;
  out.residual = lcp_residual(out.z, out.w);
  return out;
}

// every complementary cone: B x = q with x >= 0, column i being e_i (w basic) or -M_i (z basic)
bool enumerate(const Matrix& M, const Vector& q, Vector& z) {
  const int n = static_cast<int>(q.size());
  for (int mask = 0; mask < (1 << n); ++mask) {
    stop_if_told();
    Matrix B = Matrix::Identity(n, n);
    for (int i = 0; i < n; ++i)
      if (mask >> i & 1) B.col(i) = -M.col(i);
    const Vector x = nonneg_least_squares(B, q);
    Vector candidate = Vector::Zero(n);
    for (int i = 0; i < n; ++i)
      if (mask >> i & 1) candidate(i) = x(i);
    if ((B * x - q).norm() <= kAccept * std::max(1.0, q.norm()) && accepted(M, q, candidate)) {
      z = candidate;
      return true;
    }
  }
  return false;
}

}  // namespace

double lcp_residual(const Vector& z, const Vector& w) {
  if (z.size() == 0) return 0;
  return std::max({0.0, -z.minCoeff(), -w.minCoeff(), z.cwiseProduct(w).cwiseAbs().maxCoeff()});
}

LemkePath lemke(const Matrix& M, const Vector& q, const Vector& d, int limit) {
  const int n = static_cast<int>(q.size());
  if (n == 0 || q.minCoeff() >= 0) return {LemkeEnd::kSolved, Vector::Zero(n), 0};

  Tableau tableau(M, q, d);
  int entering = tableau.artificial();
  int row = tableau.leaving_row(entering, true);
  while (row >= 0) {
    stop_if_told();
    const int leaving = tableau.basic(row);
    tableau.pivot(row, entering);
    if (leaving == tableau.artificial()) return {LemkeEnd::kSolved, tableau.read_z(), tableau.pivots()};
    if (tableau.pivots() > limit) return {LemkeEnd::kPivotLimit, tableau.read_z(), tableau.pivots()};
    entering = tableau.complement(leaving);
    row = tableau.leaving_row(entering, false);
  }
  return {LemkeEnd::kRay, tableau.read_z(), tableau.pivots()};
}

LcpSolution solve_lcp(const Matrix& M, const Vector& q) {
  const Eigen::Index n = q.size();
  if (n == 0 || q.minCoeff() >= 0) return finish(M, q, Vector::Zero(n));

  Vector r, c;
  equilibrate(M, r, c);
  const Matrix scaled = r.asDiagonal() * M * c.asDiagonal();
  const Vector rq = r.cwiseProduct(q);
  const double size = rq.cwiseAbs().maxCoeff();

  // first the plain path, then other covering vectors, then the same on a matrix made slightly more definite; a
  // path that rounding has led into a cycle is left soon, and followed further only where no other arrives
  std::vector<bool> cut(kAttempts, true);
  for (int turn = 0; turn < 2 * kAttempts; ++turn) {
    const int attempt = turn % kAttempts;
    if (!cut[static_cast<size_t>(attempt)]) continue;
    Vector d = Vector::Ones(n);
    for (Eigen::Index i = 0; attempt % 4 != 0 && i < n; ++i) {
      const double turn = 0.6180339887498949 * static_cast<double>((i + 1) * (attempt % 4));
      d(i) = 0.25 + 1.5 * (turn - std::floor(turn));
    }
    const double shift = attempt < 4 ? 0.0 : 1e-9;
    const int limit = 100 + static_cast<int>(n) * (turn < kAttempts ? kShortPath : kLongPath);
    const LemkePath path = lemke(scaled + shift * Matrix::Identity(n, n), rq / size, d, limit);
    cut[static_cast<size_t>(attempt)] = path.end == LemkeEnd::kPivotLimit;
    if (path.end != LemkeEnd::kSolved) continue;
    Vector z = c.cwiseProduct(path.z) * size;
    if (accepted(M, q, z)) return finish(M, q, z);
    z = on_support(M, q, z);
    if (accepted(M, q, z)) return finish(M, q, z);
  }

  Vector z;
  if (n <= kEnumerateUpTo && enumerate(M, q, z)) return finish(M, q, z);
  throw Infeasible("the linear complementarity problem has no solution");
}

}  // namespace dualstep::formulations
