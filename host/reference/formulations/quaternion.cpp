// see quaternion.h

#include "host/reference/formulations/quaternion.h"

#include <cmath>

namespace dualstep::formulations {
namespace {

Eigen::Vector4d or_identity(const Eigen::Vector4d& quat, bool& replaced) {
  replaced = quat.cwiseAbs().maxCoeff() == 0.0;
  return replaced ? Eigen::Vector4d(1, 0, 0, 0) : quat;
}

// sin(x)/x, by its series where the quotient loses digits
double sinc(double x) {
  const double x2 = x * x;
  return std::abs(x) < 1e-4 ? 1.0 - x2 / 6.0 * (1.0 - x2 / 20.0) : std::sin(x) / x;
}

}  // namespace

Eigen::Matrix<double, 4, 3> quaternion_map(const Eigen::Vector4d& quat) {
  const double w = quat(0), x = quat(1), y = quat(2), z = quat(3);
  Eigen::Matrix<double, 4, 3> N;
  N << -x, -y, -z,  //
      w, -z, y,     //
      z, w, -x,     //
      -y, x, w;
  return 0.5 * N;
}

Eigen::Vector4d quaternion_rate(const Eigen::Vector4d& quat, const Eigen::Vector3d& omega, bool& replaced) {
  return quaternion_map(or_identity(quat, replaced)) * omega;
}

Eigen::Vector4d quaternion_integrate(const Eigen::Vector4d& quat, const Eigen::Vector3d& omega, double h,
                                     bool& replaced) {
  // scaled by its largest entry first, so that no norm overflows or vanishes
  Eigen::Vector4d start = or_identity(quat, replaced);
  start /= start.cwiseAbs().maxCoeff();
  start.normalize();
  // q (cos a, sin a w/|w|) = cos a q + 2 sin(a)/|w| N(q) w, with a = |w| h / 2
  const double angle = 0.5 * h * omega.norm();
  const Eigen::Vector4d next = std::cos(angle) * start + h * sinc(angle) * (quaternion_map(start) * omega);
  return next.normalized();
}

}  // namespace dualstep::formulations
