// pressure fields: contact over an area instead of a point.
//
// solves    nothing: integrals of a pressure over the overlap with a rigid plane
// equation  sphere, p = E (1 - s/R) at distance s from its centre, pressed in by d:
//           force = pi E d^2 (1 - 2d/(3R)), patch radius sqrt(2Rd - d^2), peak E d/R
//           box on an elastic layer of thickness H, depth(x) = d + x tan(tilt), p = E max(0, depth)/H over
//           |x| <= half_x, |y| <= half_y: force = integral p dA, moment = integral p x dA
// source    Elandt et al. 2019 (pressure field model); Masterjohn et al. 2022 (hydroelastic contact), in their simplest case
// deviation the box is integrated in closed form instead of over a grid
// reads     E [Pa], lengths [m], tilt [rad]
// writes    force [N], patch radius [m], peak pressure [Pa]; force [N], moment [N m]
// cost      a few operations
#pragma once

namespace dualstep::formulations {

struct SpherePressure {
  double force, patch_radius, peak_pressure;
};

struct BoxPressure {
  double force, moment;
};

SpherePressure pressure_field_sphere(double modulus, double radius, double depth);
BoxPressure pressure_field_box(double modulus, double thickness, double half_x, double half_y, double depth,
                               double tilt);

}  // namespace dualstep::formulations
