// see anitescu.h

#include "host/reference/formulations/anitescu.h"

#include "host/reference/formulations/contact_dual.h"

namespace dualstep::formulations {

ImpulseStep anitescu(const Matrix& M, const Matrix& J, const Vector& phi, const Vector& mu,
                     const Vector& v_free, double h, int directions) {
  const MassFactor mass(M);
  const Matrix W = mass.whiten(J.transpose());
  Vector b = J * v_free;
  ContactDualRows rows;
  rows.cone = directions == 0 ? FrictionCone::kElliptic : FrictionCone::kPyramidal;
  rows.directions = directions;
  for (Eigen::Index i = 0; i < phi.size(); ++i) {
    b(3 * i) += phi(i) / h;
    rows.mu.push_back({mu(i), mu(i)});
  }

  const ContactDualSolution dual = contact_dual(W.transpose() * W, b, Vector::Zero(b.size()), rows);
  ImpulseStep out;
  out.impulse = dual.force;
  out.v_next = v_free + mass.solve(Vector(J.transpose() * dual.force));
  return out;
}

}  // namespace dualstep::formulations
