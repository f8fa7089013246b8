// see equality.h

#include "host/reference/formulations/equality.h"

namespace dualstep::formulations {
namespace {

// the force whose rows answer J a + demand = 0, and the acceleration under it
ConstrainedMotion meet(const Matrix& M, const Vector& tau, const Matrix& J, const Vector& demand) {
  const MassFactor mass(M);
  const DelassusInverse inverse(mass.whiten(J.transpose()));
  const Vector free = mass.solve(tau);
  const Vector rate = J * free + demand;

  ConstrainedMotion out;
  out.force = -inverse.solve(rate);
  out.qacc = mass.solve(Vector(tau + J.transpose() * out.force));
  // measured against the terms that were summed, so that cancellation is not read as a conflict
  const double scale = (J * free).norm() + demand.norm();
  out.inconsistency = scale > 0 ? inverse.inconsistency(rate) * rate.norm() / scale : 0.0;
  return out;
}

}  // namespace

ConstrainedMotion equality_dynamics(const Matrix& M, const Vector& tau, const Matrix& J, const Vector& Jdot_v,
                                    const Vector& c, const Vector& c_dot, double alpha) {
  return meet(M, tau, J, Jdot_v + 2 * alpha * c_dot + alpha * alpha * c);
}

ConstrainedMotion velocity_equality_dynamics(const Matrix& M, const Vector& tau, const Matrix& G,
                                             const Vector& drift, const Vector& psi, double alpha) {
  return meet(M, tau, G, drift + alpha * psi);
}

}  // namespace dualstep::formulations
