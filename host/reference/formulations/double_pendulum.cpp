// see double_pendulum.h

#include "host/reference/formulations/double_pendulum.h"

#include <cmath>

namespace dualstep::formulations {

DoublePendulumTerms double_pendulum(double m1, double m2, double l1, double l2, const Eigen::Vector2d& q,
                                    const Eigen::Vector2d& v, double g) {
  const double s1 = std::sin(q(0)), c1 = std::cos(q(0));
  const double s2 = std::sin(q(1)), c2 = std::cos(q(1));
  const double s12 = std::sin(q(0) + q(1)), c12 = std::cos(q(0) + q(1));
  const double coupling = m2 * l1 * l2;

  DoublePendulumTerms out;
  out.M(1, 1) = m2 * l2 * l2;
  out.M(0, 1) = out.M(1, 0) = m2 * l2 * l2 + coupling * c2;
  out.M(0, 0) = (m1 + m2) * l1 * l1 + m2 * l2 * l2 + 2 * coupling * c2;
  out.Cv << -coupling * (2 * v(0) + v(1)) * v(1) * s2, coupling * v(0) * v(0) * s2;
  out.tau_g << -g * ((m1 + m2) * l1 * s1 + m2 * l2 * s12), -g * m2 * l2 * s12;
  out.kinetic = 0.5 * v.dot(out.M * v);
  out.potential = -(m1 + m2) * g * l1 * c1 - m2 * g * l2 * c12;
  return out;
}

}  // namespace dualstep::formulations
