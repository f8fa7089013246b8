// positions against velocities: unit quaternions.
//
// solves    q' = N(q) w and its exact step for a constant w
// equation  q = (w, x, y, z) body to world, w in body axes: q' = 1/2 q (0, w); q <- q exp(h w / 2), then normalised
// source    Tedrake, Underactuated Robotics, multi-body appendix (q' = N(q) v); Sola 2017, Quaternion kinematics
// deviation a zero quaternion is read as the identity, and the caller is told
// reads     quat (4), omega (3) [rad/s], h [s]
// cost      a few dozen operations
#pragma once

#include <Eigen/Core>

namespace dualstep::formulations {

// N(q), 4 by 3, with N'N = 1/4 |q|^2
Eigen::Matrix<double, 4, 3> quaternion_map(const Eigen::Vector4d& quat);

// N(q) w; `replaced` is set where a zero quaternion was read as the identity
Eigen::Vector4d quaternion_rate(const Eigen::Vector4d& quat, const Eigen::Vector3d& omega, bool& replaced);

Eigen::Vector4d quaternion_integrate(const Eigen::Vector4d& quat, const Eigen::Vector3d& omega, double h,
                                     bool& replaced);

}  // namespace dualstep::formulations
