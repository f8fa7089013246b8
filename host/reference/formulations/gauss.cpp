// see gauss.h

#include "host/reference/formulations/gauss.h"

namespace dualstep::formulations {

GaussMotion gauss(const Matrix& M, const Vector& tau, const Matrix& J, const Vector& Jdot_v) {
  const MassFactor mass(M);
  const Matrix W = mass.whiten(J.transpose());
  const DelassusInverse inverse(W);
  const Vector free = mass.solve(tau);
  const Vector rate = J * free + Jdot_v;

  GaussMotion out;
  // the primal never sees the force: the shortest whitened step onto the constraint
  const Vector y = -inverse.least_norm(rate);
  out.qacc = free + mass.unwhiten(y);
  out.primal = 0.5 * y.squaredNorm();
  // the dual never sees the acceleration
  out.force = -inverse.solve(rate);
  out.dual = 0.5 * (W * out.force).squaredNorm() + out.force.dot(rate);
  const double scale = (J * free).norm() + Jdot_v.norm();
  out.inconsistency = scale > 0 ? inverse.inconsistency(rate) * rate.norm() / scale : 0.0;
  return out;
}

}  // namespace dualstep::formulations
