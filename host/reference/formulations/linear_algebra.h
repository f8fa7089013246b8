// the linear algebra every formulation stands on.
//
// solves    M x = b by Cholesky, and A^+ r for the Delassus matrix A = J M^-1 J' = W'W, W = L^-1 J', M = L L'
// equation  A^+ = V S^-2 V' with W = U S V'; singular values of A at or below 1e-10 of the largest count as zero
// source    Golub & Van Loan, Matrix Computations, ch. 5 (rank deficient least squares)
// deviation the decomposition is taken of W, not of A: the same rank decision with the square root of its condition number
// reads     the matrices given
// writes    nothing else; throws InvalidArgument, Infeasible
// cost      O(nv^3 + nv^2 rows + nv rows^2)
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <stdexcept>
#include <string>

namespace dualstep::formulations {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// an argument that no formula can use; the message names it
class InvalidArgument : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// a problem that is well posed as input but has no solution
class Infeasible : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// relative size of a pivot, against its own diagonal entry, below which a mass matrix counts as singular
inline constexpr double kPivotTolerance = 1e-12;
// singular values of A at or below this part of the largest are zero
inline constexpr double kRankTolerance = 1e-10;

// M = L L', kept to be solved with many times
class MassFactor {
 public:
  explicit MassFactor(const Matrix& M, const std::string& name = "M");

  Vector solve(const Vector& b) const { return llt_.solve(b); }
  Matrix solve(const Matrix& B) const { return llt_.solve(B); }
  // L^-1 B: the whitened columns
  Matrix whiten(const Matrix& B) const { return llt_.matrixL().solve(B); }
  // L^-T y: back from whitened coordinates
  Vector unwhiten(const Vector& y) const { return llt_.matrixU().solve(y); }

 private:
  Eigen::LLT<Matrix> llt_;
};

// the pseudo-inverse of A = W'W, held as V and the kept eigenvalues of A
class DelassusInverse {
 public:
  explicit DelassusInverse(const Matrix& W);

  Vector solve(const Vector& r) const;
  Matrix matrix() const;
  // the minimum-norm y with W'y = r in the least squares sense: (W')^+ r
  Vector least_norm(const Vector& r) const;
  int rank() const { return static_cast<int>(sigma_.size()); }
  // norm of the part of r that no force can cancel, relative to r
  double inconsistency(const Vector& r) const;

 private:
  Matrix U_, V_;
  Vector sigma_;
};

}  // namespace dualstep::formulations
