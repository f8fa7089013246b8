// see projected.h

#include "host/reference/formulations/projected.h"

namespace dualstep::formulations {

ProjectedMotion projected_dynamics(const Matrix& M, const Vector& tau, const Matrix& J,
                                   const Vector& Jdot_v) {
  const MassFactor mass(M);
  const Matrix Minv_Jt = mass.solve(Matrix(J.transpose()));

  ProjectedMotion out;
  out.contact_inertia = DelassusInverse(mass.whiten(J.transpose())).matrix();
  const Matrix Jt_inertia = J.transpose() * out.contact_inertia;
  out.projector = Matrix::Identity(M.rows(), M.cols()) - Jt_inertia * Minv_Jt.transpose();
  out.qacc = mass.solve(Vector(out.projector * tau - Jt_inertia * Jdot_v));
  out.force = -out.contact_inertia * (Jdot_v + Minv_Jt.transpose() * tau);
  return out;
}

PlasticImpact plastic_impact(const Matrix& M, const Matrix& J, const Vector& v) {
  const MassFactor mass(M);
  const Vector approach = J * v;

  PlasticImpact out;
  out.impulse = -DelassusInverse(mass.whiten(J.transpose())).solve(approach);
  out.v_next = v + mass.solve(Vector(J.transpose() * out.impulse));
  out.energy_loss = -0.5 * approach.dot(out.impulse);
  return out;
}

}  // namespace dualstep::formulations
