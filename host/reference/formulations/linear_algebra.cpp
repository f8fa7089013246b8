// see linear_algebra.h

#include "host/reference/formulations/linear_algebra.h"

#include <Eigen/SVD>
#include <cmath>

namespace dualstep::formulations {

MassFactor::MassFactor(const Matrix& M, const std::string& name) : llt_(M) {
  // each pivot is held against its own diagonal entry, so that the units of the coordinates do not matter
  bool positive = llt_.info() == Eigen::Success;
  for (Eigen::Index i = 0; positive && i < M.rows(); ++i) {
    const double root = llt_.matrixLLT()(i, i);
    positive = root * root > kPivotTolerance * M(i, i);
  }
  if (!positive) throw InvalidArgument(name + " is singular or not positive definite");
}

DelassusInverse::DelassusInverse(const Matrix& W) {
  if (W.rows() == 0 || W.cols() == 0) {
    U_ = Matrix::Zero(W.rows(), 0);
    V_ = Matrix::Zero(W.cols(), 0);
    return;
  }
  const Eigen::JacobiSVD<Matrix> svd(W, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Vector& all = svd.singularValues();
  Eigen::Index rank = 0;
  while (rank < all.size() && all(rank) > std::sqrt(kRankTolerance) * all(0)) ++rank;
  U_ = svd.matrixU().leftCols(rank);
  V_ = svd.matrixV().leftCols(rank);
  sigma_ = all.head(rank);
}

Vector DelassusInverse::solve(const Vector& r) const {
  return V_ * (V_.transpose() * r).cwiseQuotient(sigma_.cwiseAbs2());
}

Matrix DelassusInverse::matrix() const {
  return V_ * sigma_.cwiseAbs2().cwiseInverse().asDiagonal() * V_.transpose();
}

Vector DelassusInverse::least_norm(const Vector& r) const {
  return U_ * (V_.transpose() * r).cwiseQuotient(sigma_);
}

double DelassusInverse::inconsistency(const Vector& r) const {
  const double size = r.norm();
  return size > 0 ? (r - V_ * (V_.transpose() * r)).norm() / size : 0.0;
}

}  // namespace dualstep::formulations
