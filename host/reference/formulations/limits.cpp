// see limits.h

#include "host/reference/formulations/limits.h"

#include "host/reference/formulations/lemke.h"

namespace dualstep::formulations {

LimitMotion limit_dynamics(const Matrix& M, const Vector& tau, const Matrix& J, const Vector& Jdot_v,
                           const Vector& v, const Vector& phi, std::optional<double> epsilon) {
  const MassFactor mass(M);
  const Vector rate = J * v;
  LimitMotion out;
  out.active.assign(static_cast<size_t>(J.rows()), 1);
  Vector demand = Jdot_v;
  if (epsilon) {
    const double e = *epsilon;
    for (Eigen::Index i = 0; i < J.rows(); ++i)
      out.active[static_cast<size_t>(i)] = !(phi(i) > 0 || rate(i) > -phi(i) / e);
    demand += (2 / e) * rate + phi / (e * e);
  }

  std::vector<Eigen::Index> closed;
  for (Eigen::Index i = 0; i < J.rows(); ++i)
    if (out.active[static_cast<size_t>(i)]) closed.push_back(i);
  Matrix Jc(static_cast<Eigen::Index>(closed.size()), J.cols());
  Vector q(Jc.rows());
  for (Eigen::Index k = 0; k < Jc.rows(); ++k) {
    Jc.row(k) = J.row(closed[static_cast<size_t>(k)]);
    q(k) = demand(closed[static_cast<size_t>(k)]);
  }
  const Matrix W = mass.whiten(Jc.transpose());
  q += Jc * mass.solve(tau);
  const Vector pushed = solve_lcp(W.transpose() * W, q).z;

  out.force = Vector::Zero(J.rows());
  for (Eigen::Index k = 0; k < Jc.rows(); ++k) out.force(closed[static_cast<size_t>(k)]) = pushed(k);
  out.qacc = mass.solve(Vector(tau + Jc.transpose() * pushed));
  return out;
}

}  // namespace dualstep::formulations
