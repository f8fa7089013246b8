// see soft_anchor.h

#include "host/reference/formulations/soft_anchor.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dualstep::formulations {

AnchoredForce soft_anchor(double z, double z_rate, double x, double x_rate, double anchor,
                          const GroundMaterial& ground, bool slide) {
  if (z >= 0) return {0.0, 0.0, std::numeric_limits<double>::quiet_NaN()};
  AnchoredForce out;
  out.anchor = std::isnan(anchor) ? x : anchor;
  out.f_z = std::max(0.0, -ground.kz * z - ground.dz * z_rate);
  const double trial = -ground.kx * (x - out.anchor) - ground.dx * x_rate;
  const double limit = ground.mu * out.f_z;
  out.f_x = std::clamp(trial, -limit, limit);
  // the anchor moves only where the force was cut, and only a spring has one to move
  if (slide && out.f_x != trial && ground.kx > 0) out.anchor = x + (out.f_x + ground.dx * x_rate) / ground.kx;
  return out;
}

}  // namespace dualstep::formulations
