// Tables of what a medium does to bodies (kernels/smooth/fluid.h), from densities, viscosities and sizes.
#include <algorithm>
#include <array>
#include <cmath>

#include "host/model/element_rows.h"
#include "host/tables/named_rows.h"
#include "host/tables/tables.h"
#include "kernels/data/shapes.h"

namespace dualstep {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLeastMass = 1e-15;  // MuJoCo's mjMINVAL: a lighter body feels no medium
constexpr double kLeastArea = 1e-30;  // of what is a line

// drag of a box with the body's mass and principal moments (MuJoCo's documentation, "Inertia model")
body_fluid_row box_of(const Model& m, int body) {
  body_fluid_row drag;
  const double mass = m.body_mass[body], density = m.opt.density, viscosity = m.opt.viscosity;
  const auto moment = row::body_inertia(m, body);
  double side[3];
  for (int i = 0; i < 3; ++i) {
    const double square = moment[(i + 1) % 3] + moment[(i + 2) % 3] - moment[i];
    side[i] = std::sqrt(6 * std::max(kLeastMass, square) / mass);
  }
  const double diameter = (side[0] + side[1] + side[2]) / 3;
  if (viscosity > 0) {
    drag.fluid_viscous_torque = kPi * diameter * diameter * diameter * viscosity;
    drag.fluid_viscous_force = 3 * kPi * diameter * viscosity;
  }
  for (int i = 0; density > 0 && i < 3; ++i) {
    const double j = side[(i + 1) % 3], k = side[(i + 2) % 3];
    drag.fluid_quadratic_force[i] = 0.5 * density * j * k;
    drag.fluid_quadratic_torque[i] = density * side[i] * (std::pow(j, 4) + std::pow(k, 4)) / 64;
  }
  return drag;
}

// half the lengths of the ellipsoid that a medium sees in place of a geom: of the box about a shape, or of a mesh what MuJoCo
// gives as its size
std::array<double, 3> fluid_axes(const Model& m, int g) {
  const auto size = row::geom_size(m, g);
  const double x = size[0], y = size[1], z = size[2];
  const int shape = m.geom_type[g];
#define DS_AXES(type, word, sizes, touches, radius, half_x, half_y, half_z, traits) \
  if (shape == type && sizes > 0) return {half_x, half_y, half_z};
  DS_SHAPES(DS_AXES)
#undef DS_AXES
  return {x, y, z};
}

// numbers of geom_fluid
enum GeomFluid : int {
  kShare,
  kBlunt,
  kSlender,
  kTurning,
  kKutta,
  kMagnus,
  kVirtualMass,
  kVirtualInertia = 9
};

// MuJoCo's documentation, "Ellipsoid model"
geom_ellipsoid_row ellipsoid_of(const Model& m, int geom) {
  geom_ellipsoid_row out;
  const auto given = row::geom_fluid(m, geom);
  const double density = m.opt.density * given[kShare], viscosity = m.opt.viscosity * given[kShare];
  const std::array<double, 3> s = fluid_axes(m, geom);
  std::array<double, 3> sorted = s;
  std::sort(sorted.begin(), sorted.end());
  const double largest = std::max(sorted[1] * sorted[2], kLeastArea),
               volume = 4. / 3 * kPi * s[0] * s[1] * s[2];
  const double moment = 8. / 15 * kPi, most = moment * sorted[1] * std::pow(sorted[2], 4);
  for (int i = 0; i < 3; ++i) {
    const double a = s[(i + 1) % 3], b = s[(i + 2) % 3];
    out.ellipsoid_along[i] = std::pow(a * b / largest, 2);
    out.ellipsoid_mass[i] = density * given[kVirtualMass + i];
    out.ellipsoid_inertia[i] = density * given[kVirtualInertia + i];
    const double own = moment * s[i] * std::pow(std::max(a, b), 4);
    out.ellipsoid_quadratic_torque[i] = density * (given[kTurning] * own + given[kSlender] * (most - own));
  }
  out.ellipsoid_area = kPi * largest;
  out.ellipsoid_magnus = density * given[kMagnus] * volume;
  out.ellipsoid_kutta = density * given[kKutta];
  const double diameter = 2. / 3 * (s[0] + s[1] + s[2]);
  out.ellipsoid_viscous_force = 3 * kPi * diameter * viscosity;
  out.ellipsoid_viscous_torque = kPi * std::pow(diameter, 3) * viscosity;
  out.ellipsoid_blunt = density * (given[kBlunt] - given[kSlender]);
  out.ellipsoid_slender = density * given[kSlender] * kPi * largest;
  return out;
}

}  // namespace

void build_fluid(const Model& m, TableStore* t) {
  const bool medium = m.opt.density > 0 || m.opt.viscosity > 0;
  const auto feels = [&](int b) { return medium && t->body_tree[b] >= 0 && m.body_mass[b] >= kLeastMass; };
  std::vector<std::vector<int>> ellipsoids(m.nbody);
  for (int g = 0; g < m.ngeom; ++g)
    if (const int b = m.geom_bodyid[g]; feels(b) && has_fluid_ellipsoid(m, g)) ellipsoids[b].push_back(g);
  t->fluid_adr = {0};
  for (int b = 0; b < m.nbody; ++b) {
    for (const int g : ellipsoids[b]) {
      t->fluid_geom.push_back(g);
      append(ellipsoid_of(m, g), &t->geom_ellipsoid);
    }
    t->fluid_adr.push_back(static_cast<int>(t->fluid_geom.size()));
    append(feels(b) && ellipsoids[b].empty() ? box_of(m, b) : body_fluid_row{}, &t->body_fluid);
  }
}

}  // namespace dualstep
