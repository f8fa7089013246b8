// see implicit_damping.h

#include "host/reference/formulations/implicit_damping.h"

#include <Eigen/LU>
#include <algorithm>

namespace dualstep::formulations {

ScalarStep todorov_scalar(const RelaxedCart& cart, double q, double v, double u, double h) {
  const auto [m, damping, epsilon, kappa] = cart;
  const double inertia = m + h * damping;
  const double free = v + h * (u - damping * v) / inertia;
  const double target = v - 2 * h * (1 + epsilon) * v / kappa - h * (1 + epsilon) * q / (kappa * kappa);
  const double force = std::max(0.0, -inertia * (free - target) / (h * (1 + epsilon)));
  return {force, free + h * force / inertia};
}

JointStep implicit_joint_step(const SpringJoints& joints, const Vector& q, const Vector& v, const Vector& tau,
                              double h) {
  const auto& [M, D, K, rest] = joints;
  MassFactor mass(M);
  // damping and stiffness need not be symmetric, so the effective inertia is solved as a general matrix
  const Matrix inertia = M + h * D + h * h * K;
  const Eigen::FullPivLU<Matrix> lu(inertia);
  if (!lu.isInvertible()) throw InvalidArgument("M + h D + h^2 K is singular (arguments M, D, K)");
  JointStep out;
  out.v_next = v + lu.solve(Vector(h * (tau - D * v - K * (q + h * v - rest))));
  out.q_next = q + h * out.v_next;
  return out;
}

}  // namespace dualstep::formulations
