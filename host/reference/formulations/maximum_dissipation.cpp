// see maximum_dissipation.h

#include "host/reference/formulations/maximum_dissipation.h"

#include <Eigen/Eigenvalues>
#include <algorithm>

#include "host/reference/formulations/cone_program.h"

namespace dualstep::formulations {

Vector maximum_dissipation(const Vector& v_t, double mu_n) {
  const double speed = v_t.stableNorm();
  if (speed == 0) return Vector::Zero(v_t.size());
  return -mu_n * (v_t / speed);
}

DissipationStep maximum_dissipation_step(const Matrix& A, const Vector& u, double mu_impulse) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(A, Eigen::EigenvaluesOnly);
  if (A.size() > 0 && eigen.eigenvalues()(0) < -1e-10 * std::max(1e-300, A.cwiseAbs().maxCoeff()))
    throw InvalidArgument("A is not positive semidefinite");
  DissipationStep out;
  out.impulse = minimize_on_ball(A, u, mu_impulse, &out.speed);
  out.v_next = u + A * out.impulse;
  return out;
}

}  // namespace dualstep::formulations
