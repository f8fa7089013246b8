// a block on a line with Coulomb friction.
//
// solves    v' = v + (h/m)(u + f), |f| <= mu m g, opposing v'
// equation  the LCP in (f+, f-, |v'|):
//             0 <= |v'| + v' _|_ f+ >= 0,  0 <= |v'| - v' _|_ f- >= 0,  0 <= mu m g - f+ - f- _|_ |v'| >= 0;
//           its solution f = f+ - f- = clip(-(m v/h + u), +-mu m g)
// source    Tedrake, Underactuated Robotics, multi-body appendix
// deviation the closed form stands in for the LCP, of which only f is unique
// reads     m [kg], v [m/s], u [N], h [s], mu, g
// cost      a few operations
#pragma once

namespace dualstep::formulations {

struct ScalarStep {
  double force, v_next;
};

ScalarStep coulomb_1d(double m, double v, double u, double h, double mu, double g);

}  // namespace dualstep::formulations
