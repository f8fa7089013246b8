// the double pendulum written out.
//
// solves    nothing: evaluates M, C v, tau_g, T and U of M v' + C v = tau_g + u, for two point masses on massless rods
// equation  q1 from the downward vertical, q2 relative to the first rod; p1 = l1 (s1, -c1), p2 = p1 + l2 (s12, -c12)
// source    Tedrake, Underactuated Robotics, multi-body appendix (the double pendulum example)
// deviation only the vector C v is offered: the matrix printed there does not make dM/dt - 2C skew
// reads     masses [kg], lengths [m], angles [rad], rates [rad/s], gravity [m/s^2]; m2 = 0 or l2 = 0 makes M singular
// cost      a few dozen operations
#pragma once

#include <Eigen/Core>

namespace dualstep::formulations {

struct DoublePendulumTerms {
  Eigen::Matrix2d M;
  Eigen::Vector2d Cv;
  Eigen::Vector2d tau_g;
  double kinetic;
  double potential;
};

DoublePendulumTerms double_pendulum(double m1, double m2, double l1, double l2, const Eigen::Vector2d& q,
                                    const Eigen::Vector2d& v, double g);

}  // namespace dualstep::formulations
