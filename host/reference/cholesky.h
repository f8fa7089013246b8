// Cholesky factors of inertia matrices.
//
// solves    A = L L', and what Eigen::LLT solves with L
// equation  Golub & Van Loan 2013, algorithm 4.2.2, on the blocks between which A is zero: dofs of one kinematic tree, or of
//           several that tendons couple. L is zero between them, too
// deviation none
// cost      the cubes of the blocks, and O(nv^2) to find them
#pragma once

#include <Eigen/Cholesky>
#include <algorithm>

namespace dualstep::reference {

class BlockCholesky : public Eigen::LLT<Eigen::MatrixXd> {
 public:
  BlockCholesky& compute(const Eigen::MatrixXd& A) {
    const Eigen::Index n = A.rows();
    m_matrix = Eigen::MatrixXd::Zero(n, n);
    m_l1_norm = A.size() > 0 ? A.cwiseAbs().colwise().sum().maxCoeff() : 0;
    m_info = Eigen::Success;
    for (Eigen::Index begin = 0, end = 0; begin < n; begin = end) {
      end = begin + 1;
      for (Eigen::Index row = begin; row < end; ++row) end = std::max(end, last_of(A, row) + 1);
      const Eigen::LLT<Eigen::MatrixXd> block(A.block(begin, begin, end - begin, end - begin));
      m_matrix.block(begin, begin, end - begin, end - begin) = block.matrixL();
      if (block.info() != Eigen::Success) m_info = block.info();
    }
    m_isInitialized = true;
    return *this;
  }

 private:
  // the last column of a row that is not zero
  static Eigen::Index last_of(const Eigen::MatrixXd& A, Eigen::Index row) {
    Eigen::Index column = A.cols() - 1;
    while (column > row && A(row, column) == 0) --column;
    return column;
  }
};

}  // namespace dualstep::reference
