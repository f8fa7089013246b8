// compliant contact: normal force of the depth, friction of the sliding speed.
//
// solves    nothing: force laws as functions of the state
// equation  linear         f = max(0, k x + c x'),           x > 0 the depth
//           Hunt-Crossley  f = k x^p max(0, 1 + d x')
//           friction coefficient of s = |v_t| / v_s:
//           piecewise      mu_d min(1, s)
//           Stribeck       mu_s S(s) for s < 1, mu_s - (mu_s - mu_d) S((s-1)/2) for s < 3, then mu_d;
//           S(x) = 10 x^3 - 15 x^4 + 6 x^5
// source    Hunt & Crossley 1975; Stribeck 1902 as smoothed in Drake's user guide (compliant point contact);
//           Tedrake, Underactuated Robotics, multi-body appendix
// deviation the linear law is clamped: unclamped, it pulls on separation
// reads     depth [m], rate [m/s], k [N/m^p], c [N s/m] or d [s/m], p; speed ratio, mu_s >= mu_d
// cost      a few operations
#pragma once

namespace dualstep::formulations {

double compliant_linear(double depth, double rate, double stiffness, double damping);
double compliant_hunt_crossley(double depth, double rate, double stiffness, double damping, double exponent);

double friction_piecewise(double speed_ratio, double mu_d);
double friction_stribeck(double speed_ratio, double mu_s, double mu_d);

}  // namespace dualstep::formulations
