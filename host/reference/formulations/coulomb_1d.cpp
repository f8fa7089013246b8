// see coulomb_1d.h

#include "host/reference/formulations/coulomb_1d.h"

#include <algorithm>

namespace dualstep::formulations {

ScalarStep coulomb_1d(double m, double v, double u, double h, double mu, double g) {
  const double limit = mu * m * g;
  const double stop = -(m * v / h + u);
  // a stop within the limit is exact, not the rounding of v + (h/m)(u - u - m v/h)
  if (stop >= -limit && stop <= limit) return {stop, 0.0};
  const double force = std::clamp(stop, -limit, limit);
  return {force, v + h / m * (u + force)};
}

}  // namespace dualstep::formulations
