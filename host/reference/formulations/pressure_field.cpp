// see pressure_field.h

#include "host/reference/formulations/pressure_field.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dualstep::formulations {

SpherePressure pressure_field_sphere(double modulus, double radius, double depth) {
  if (depth <= 0) return {0.0, 0.0, 0.0};
  return {std::numbers::pi * modulus * depth * depth * (1 - 2 * depth / (3 * radius)),
          std::sqrt(depth * (2 * radius - depth)), modulus * depth / radius};
}

BoxPressure pressure_field_box(double modulus, double thickness, double half_x, double half_y, double depth,
                               double tilt) {
  const double slope = std::tan(tilt);
  double left = -half_x, right = half_x;
  // only the part below the plane presses
  if (slope == 0) {
    if (depth <= 0) return {0.0, 0.0};
  } else {
    const double edge = -depth / slope;
    (slope > 0 ? left : right) = std::clamp(edge, left, right);
  }
  // moments of the wetted width about its own middle, where nothing cancels
  const double width = right - left, middle = 0.5 * (left + right);
  const double mean = depth + slope * middle;
  const double gain = modulus / thickness * 2 * half_y;
  const double force = gain * mean * width;
  return {force, force * middle + gain * slope * width * width * width / 12};
}

}  // namespace dualstep::formulations
