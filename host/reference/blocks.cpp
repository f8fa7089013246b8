// see blocks.h
#include "host/reference/blocks.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "host/interruption.h"

namespace dualstep::reference {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// above these sizes a decomposition takes more than some hundredths of a second
constexpr Index kLargeCholesky = 512, kLargePivoted = 256;
// multiplications between two questions: some hundredths of a second
constexpr double kWorkOfTurn = 3e7;

// columns of a turn, of `work` multiplications each
Index columns_of_turn(double work) {
  return std::max<Index>(8, static_cast<Index>(std::min(1e9, kWorkOfTurn / std::max(1.0, work))));
}

// calls f(begin, count) for all columns
template <class F>
void each_turn(Index columns, double work_of_column, F f) {
  const Index most = columns_of_turn(work_of_column);
  for (Index begin = 0; begin < columns; begin += most) {
    stop_if_told();
    f(begin, std::min(most, columns - begin));
  }
}

MatrixXd zeros(Index n) {
  MatrixXd x(n, n);
  // memory that is new takes longer than a multiplication
  each_turn(n, 8.0 * static_cast<double>(n),
            [&](Index begin, Index count) { x.middleCols(begin, count).setZero(); });
  return x;
}

// A = L L' in place, below the diagonal; false where A is not positive definite
bool factor(MatrixXd* A) {
  const Index n = A->rows();
  if (n <= kLargeCholesky) return Eigen::LLT<Eigen::Ref<MatrixXd>>(*A).info() == Eigen::Success;
  constexpr Index kWidth = 64;
  for (Index k = 0; k < n; k += kWidth) {
    const Index width = std::min(kWidth, n - k), rest = n - k - width;
    Eigen::Ref<MatrixXd> pivot = A->block(k, k, width, width);
    if (Eigen::LLT<Eigen::Ref<MatrixXd>>(pivot).info() != Eigen::Success) return false;
    auto below = A->block(k + width, k, rest, width);
    pivot.triangularView<Eigen::Lower>().adjoint().solveInPlace<Eigen::OnTheRight>(below);
    each_turn(rest, static_cast<double>(rest * width), [&](Index begin, Index count) {
      const auto rows = below.bottomRows(rest - begin);
      A->block(k + width + begin, k + width + begin, rest - begin, count).noalias() -=
          rows * below.middleRows(begin, count).transpose();
    });
  }
  return true;
}

// P A = L U in place with the largest entry of each column first, and x = A^-1 b
VectorXd solve_by_rows(MatrixXd A, VectorXd x) {
  const Index n = A.rows();
  constexpr Index kWidth = 64;
  for (Index k = 0; k < n; k += kWidth) {
    const Index width = std::min(kWidth, n - k), rest = n - k - width;
    for (Index j = k; j < k + width; ++j) {
      stop_if_told();
      Index p = 0;
      A.col(j).tail(n - j).cwiseAbs().maxCoeff(&p);
      p += j;
      A.row(j).swap(A.row(p));
      std::swap(x[j], x[p]);
      if (A(j, j) != 0) A.col(j).tail(n - j - 1) /= A(j, j);
      A.block(j + 1, j + 1, n - j - 1, k + width - j - 1).noalias() -=
          A.col(j).tail(n - j - 1) * A.row(j).segment(j + 1, k + width - j - 1);
    }
    const auto pivot = A.block(k, k, width, width).triangularView<Eigen::UnitLower>();
    each_turn(rest, static_cast<double>(rest * width), [&](Index begin, Index count) {
      auto right = A.block(k, k + width + begin, width, count);
      pivot.solveInPlace(right);
      A.block(k + width, k + width + begin, rest, count).noalias() -=
          A.block(k + width, k, rest, width) * right;
    });
  }
  A.triangularView<Eigen::UnitLower>().solveInPlace(x);
  stop_if_told();
  A.triangularView<Eigen::Upper>().solveInPlace(x);
  return x;
}

// P A P' = L D L' in place with the largest pivot first, as in Eigen::LDLT, and x = A^-1 b
VectorXd solve_pivoted(MatrixXd A, VectorXd x) {
  const Index n = A.rows();
  std::vector<Index> swapped(n);
  VectorXd scaled(n);
  for (Index k = 0; k < n; ++k) {
    stop_if_told();
    Index p = 0;
    A.diagonal().tail(n - k).cwiseAbs().maxCoeff(&p);
    swapped[k] = p += k;
    if (p != k) {
      A.row(k).head(k).swap(A.row(p).head(k));
      A.col(k).tail(n - p - 1).swap(A.col(p).tail(n - p - 1));
      std::swap(A(k, k), A(p, p));
      for (Index i = k + 1; i < p; ++i) std::swap(A(i, k), A(p, i));
    }
    const Index rest = n - k - 1;
    scaled.head(k) = A.diagonal().head(k).cwiseProduct(A.row(k).head(k).transpose());
    A(k, k) -= A.row(k).head(k).dot(scaled.head(k));
    A.col(k).tail(rest).noalias() -= A.block(k + 1, 0, rest, k) * scaled.head(k);
    if (std::abs(A(k, k)) > 0) A.col(k).tail(rest) /= A(k, k);
  }
  for (Index k = 0; k < n; ++k) std::swap(x[k], x[swapped[k]]);
  A.triangularView<Eigen::UnitLower>().solveInPlace(x);
  stop_if_told();
  for (Index k = 0; k < n; ++k)
    x[k] = std::abs(A(k, k)) > std::numeric_limits<double>::min() ? x[k] / A(k, k) : 0;
  A.triangularView<Eigen::UnitLower>().transpose().solveInPlace(x);
  for (Index k = n - 1; k >= 0; --k) std::swap(x[k], x[swapped[k]]);
  return x;
}

// A^-1 b, block by block: `large` solves with one, `factors` gives those of one that is not large
template <class Large, class Factors>
VectorXd solve_blocks(BlockMatrix A, const VectorXd& b, Large large, Factors factors) {
  VectorXd x(b.size());
  for (BlockMatrix::Block& block : A.blocks()) {
    stop_if_told();
    auto part = x.segment(block.begin, block.size());
    part = b.segment(block.begin, block.size());
    if (block.size() > kLargePivoted)
      part = large(std::move(block.values), part);
    else
      part = factors(block.values).solve(part).eval();
  }
  return x;
}

}  // namespace

void Spans::join(Index first, Index last) {
  last_[std::min(first, last)] = std::max(last_[std::min(first, last)], std::max(first, last));
}

std::vector<Index> Spans::bounds() const {
  std::vector<Index> bounds = {0};
  Index reach = -1;
  for (Index i = 0; i < static_cast<Index>(last_.size()); ++i) {
    if (i > reach && i > 0) bounds.push_back(i);
    reach = std::max({reach, i, last_[i]});
  }
  if (!last_.empty()) bounds.push_back(static_cast<Index>(last_.size()));
  return bounds;
}

BlockMatrix::BlockMatrix(const std::vector<Index>& bounds) : block_of_(bounds.back()) {
  for (size_t b = 0; b + 1 < bounds.size(); ++b) {
    stop_if_told();
    const Index begin = bounds[b], size = bounds[b + 1] - begin;
    blocks_.push_back({begin, zeros(size)});
    std::fill_n(block_of_.begin() + begin, size, static_cast<int>(b));
  }
}

BlockMatrix::BlockMatrix(const MatrixXd& dense, const std::vector<Index>& together) {
  const Index n = dense.rows();
  Spans spans(n);
  for (size_t b = 0; b + 1 < together.size(); ++b) spans.join(together[b], together[b + 1] - 1);
  for (Index j = 0; j < n; ++j) {
    stop_if_told();
    Index first = 0, last = n - 1;
    while (first < j && dense(first, j) == 0) ++first;
    while (last > j && dense(last, j) == 0) --last;
    spans.join(first, last);
  }
  *this = BlockMatrix(spans.bounds());
  for (Block& block : blocks_) {
    stop_if_told();
    block.values = dense.block(block.begin, block.begin, block.size(), block.size());
  }
}

double BlockMatrix::operator()(Index i, Index j) const {
  const Block& block = block_of(i);
  return block_of_[i] == block_of_[j] ? block.values(i - block.begin, j - block.begin) : 0;
}

double& BlockMatrix::operator()(Index i, Index j) {
  assert(block_of_[i] == block_of_[j]);
  Block& block = blocks_[block_of_[i]];
  return block.values(i - block.begin, j - block.begin);
}

std::vector<Index> BlockMatrix::bounds() const {
  std::vector<Index> bounds;
  for (const Block& block : blocks_) bounds.push_back(block.begin);
  bounds.push_back(rows());
  return bounds;
}

void BlockMatrix::add(double scale, const BlockMatrix& other) {
  for (const Block& block : other.blocks_) {
    stop_if_told();
    Block& to = blocks_[block_of_[block.begin]];
    const Index at = block.begin - to.begin, size = block.size();
    to.values.block(at, at, size, size) += scale * block.values;
  }
}

void BlockMatrix::symmetrize() {
  for (Block& block : blocks_) block.values = (0.5 * (block.values + block.values.transpose())).eval();
}

VectorXd BlockMatrix::diagonal() const {
  VectorXd x(rows());
  for (const Block& block : blocks_) x.segment(block.begin, block.size()) = block.values.diagonal();
  return x;
}

MatrixXd BlockMatrix::dense() const {
  MatrixXd x = zeros(rows());
  for (const Block& block : blocks_) {
    stop_if_told();
    x.block(block.begin, block.begin, block.size(), block.size()) = block.values;
  }
  return x;
}

VectorXd BlockMatrix::operator*(const VectorXd& x) const {
  VectorXd y(rows());
  for (const Block& block : blocks_)
    y.segment(block.begin, block.size()) = block.values * x.segment(block.begin, block.size());
  return y;
}

BlockCholesky& BlockCholesky::compute(const BlockMatrix& A) {
  L_ = A;
  positive_ = true;
  for (BlockMatrix::Block& block : L_.blocks()) positive_ = factor(&block.values) && positive_;
  return *this;
}

template <class X>
X BlockCholesky::solved(X b, bool whole) const {
  for (const BlockMatrix::Block& block : L_.blocks()) {
    const auto L = block.values.triangularView<Eigen::Lower>();
    const double work = static_cast<double>(block.size() * block.size());
    each_turn(b.cols(), work, [&](Index begin, Index count) {
      auto part = b.block(block.begin, begin, block.size(), count);
      // most blocks have no part in what is asked
      if (part.isZero(0)) return;
      L.solveInPlace(part);
      if (whole) L.adjoint().solveInPlace(part);
    });
  }
  return b;
}
template VectorXd BlockCholesky::solved(VectorXd, bool) const;
template MatrixXd BlockCholesky::solved(MatrixXd, bool) const;

VectorXd BlockCholesky::inverse_diagonal() const {
  VectorXd x(L_.rows());
  for (const BlockMatrix::Block& block : L_.blocks()) {
    const auto L = block.values.triangularView<Eigen::Lower>();
    each_turn(block.size(), static_cast<double>(block.size() * block.size()), [&](Index begin, Index count) {
      MatrixXd part = MatrixXd::Identity(block.size(), block.size()).middleCols(begin, count);
      L.solveInPlace(part);
      L.adjoint().solveInPlace(part);
      x.segment(block.begin + begin, count) = part.middleRows(begin, count).diagonal();
    });
  }
  return x;
}

VectorXd solve_symmetric(BlockMatrix A, const VectorXd& b) {
  return solve_blocks(std::move(A), b, solve_pivoted, [](const MatrixXd& M) { return M.ldlt(); });
}

VectorXd solve_any(BlockMatrix A, const VectorXd& b) {
  return solve_blocks(std::move(A), b, solve_by_rows, [](const MatrixXd& M) { return M.partialPivLu(); });
}

MatrixXd product(const MatrixXd& A, const MatrixXd& B) {
  MatrixXd C(A.rows(), B.cols());
  each_turn(B.cols(), static_cast<double>(A.rows() * A.cols()), [&](Index begin, Index count) {
    C.middleCols(begin, count).noalias() = A * B.middleCols(begin, count);
  });
  return C;
}

}  // namespace dualstep::reference
