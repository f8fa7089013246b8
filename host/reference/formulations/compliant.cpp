// see compliant.h

#include "host/reference/formulations/compliant.h"

#include <algorithm>
#include <cmath>

namespace dualstep::formulations {
namespace {

// the quintic from 0 to 1 with flat first and second derivatives at both ends
double step5(double x) { return x * x * x * (10 + x * (-15 + x * 6)); }

}  // namespace

double compliant_linear(double depth, double rate, double stiffness, double damping) {
  return depth > 0 ? std::max(0.0, stiffness * depth + damping * rate) : 0.0;
}

double compliant_hunt_crossley(double depth, double rate, double stiffness, double damping, double exponent) {
  return depth > 0 ? stiffness * std::pow(depth, exponent) * std::max(0.0, 1 + damping * rate) : 0.0;
}

double friction_piecewise(double speed_ratio, double mu_d) { return mu_d * std::min(1.0, speed_ratio); }

double friction_stribeck(double speed_ratio, double mu_s, double mu_d) {
  if (speed_ratio < 1) return mu_s * step5(speed_ratio);
  if (speed_ratio < 3) return mu_s - (mu_s - mu_d) * step5(0.5 * (speed_ratio - 1));
  return mu_d;
}

}  // namespace dualstep::formulations
