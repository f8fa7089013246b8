// Square matrices that are zero but for blocks on their diagonal, and the solution of systems with them: an inertia has a
// block for each kinematic tree, or for several that something couples.
//
// solves    A x = b block by block: A = L L' for inertias, A = P'L D L'P for sums that may be singular, P A = L U for others
// equation  Golub & Van Loan 2013, algorithms 4.2.2, 4.4.2 and 3.4.1
// source    Eigen::LLT, LDLT and PartialPivLU. Large blocks are worked on a few columns at a time, in the same order, by
//           their algorithms: whoever waits for it may have it stopped
// deviation none
// cost      the cubes of the blocks
#pragma once

#include <Eigen/Dense>
#include <type_traits>
#include <utility>
#include <vector>

namespace dualstep::reference {

// which dofs are in one block: intervals that overlap are joined
class Spans {
 public:
  explicit Spans(Eigen::Index n) : last_(n, -1) {}
  void join(Eigen::Index first, Eigen::Index last);
  // where each block begins, and the end of all
  std::vector<Eigen::Index> bounds() const;

 private:
  std::vector<Eigen::Index> last_;  // of an interval that begins here
};

class BlockMatrix {
 public:
  using Index = Eigen::Index;
  struct Block {
    Index begin;
    Eigen::MatrixXd values;
    Index size() const { return values.rows(); }
  };

  BlockMatrix() = default;
  // zero, with blocks of these bounds
  explicit BlockMatrix(const std::vector<Index>& bounds);
  // the blocks that it has, none of which parts what blocks of these bounds hold together
  BlockMatrix(const Eigen::MatrixXd& dense, const std::vector<Index>& together);

  Index rows() const { return static_cast<Index>(block_of_.size()); }
  // an entry of a block, or zero
  double operator()(Index i, Index j) const;
  // an entry of a block
  double& operator()(Index i, Index j);
  std::vector<Block>& blocks() { return blocks_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  // that of a row
  const Block& block_of(Index i) const { return blocks_[block_of_[i]]; }
  std::vector<Index> bounds() const;

  // adds scale times another, each of whose blocks lies within one of these
  void add(double scale, const BlockMatrix& other);
  // takes the symmetric part
  void symmetrize();
  Eigen::VectorXd diagonal() const;
  Eigen::MatrixXd dense() const;
  Eigen::VectorXd operator*(const Eigen::VectorXd& x) const;

 private:
  std::vector<Block> blocks_;
  std::vector<int> block_of_;  // by row
};

// A = L L'
class BlockCholesky {
 public:
  BlockCholesky() = default;
  explicit BlockCholesky(const BlockMatrix& A) { compute(A); }
  BlockCholesky& compute(const BlockMatrix& A);
  // whether A was positive definite
  bool positive() const { return positive_; }
  // A^-1 b, and L^-1 b
  template <class B>
  auto solve(const Eigen::MatrixBase<B>& b) const {
    return solved<Columns<B>>(b, true);
  }
  Eigen::MatrixXd half_solve(const Eigen::MatrixXd& b) const { return solved(b, false); }
  Eigen::VectorXd inverse_diagonal() const;

 private:
  template <class B>
  using Columns = std::conditional_t<B::ColsAtCompileTime == 1, Eigen::VectorXd, Eigen::MatrixXd>;
  template <class X>
  X solved(X b, bool whole) const;

  BlockMatrix L_;  // below the diagonal
  bool positive_ = true;
};

// A^-1 b of a symmetric A without negative eigenvalues, and of any
Eigen::VectorXd solve_symmetric(BlockMatrix A, const Eigen::VectorXd& b);
Eigen::VectorXd solve_any(BlockMatrix A, const Eigen::VectorXd& b);

// A B, a few columns at a time where it is large
Eigen::MatrixXd product(const Eigen::MatrixXd& A, const Eigen::MatrixXd& B);

}  // namespace dualstep::reference
