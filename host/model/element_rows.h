// The row of an element in each array of a Model, by the array's name, as wide as mjmodel_fields.inl says:
// row::geom_size(m, geom)[2]. Below, what single entries mean.
#pragma once

#include <cstddef>
#include <span>

#include "host/model/model.h"

namespace dualstep {
namespace row {

// cols is -1 where the model's file decides
template <class Values>
auto of_array(Values& values, int rows, int cols, int i) {
  const std::size_t width = cols >= 0 ? cols : rows > 0 ? values.size() / rows : 0;
  return std::span(values).subspan(width * i, width);
}

// of a constant model one to read, of another one to write
#define FIELD(kind, name, rows, cols, fallback)                            \
  template <class AnyModel>                                                \
  auto name(AnyModel& m, int i) {                                          \
    [[maybe_unused]] const int nq = m.nq, nv = m.nv, na = m.na, nu = m.nu; \
    return of_array(m.name, m.rows, cols, i);                              \
  }
#include "host/model/mjmodel_fields.inl"
#undef FIELD

}  // namespace row

// both ends of a range: bounds(row::jnt_range(m, j))
struct Bounds {
  double lower, upper;
};
inline Bounds bounds(std::span<const double> range) { return {range[0], range[1]}; }

// what an actuator acts on, and beside it the site that it is seen from, or the slider of a crank
inline int transmission_id(const Model& m, int a) { return row::actuator_trnid(m, a)[0]; }
inline int second_transmission_id(const Model& m, int a) { return row::actuator_trnid(m, a)[1]; }
// the gear of one that acts on a single length
inline double scalar_gear(const Model& m, int a) { return row::actuator_gear(m, a)[0]; }
// samples of a delayed control that are kept, and the order of the curve between them
inline int kept_samples(const Model& m, int a) { return row::actuator_history(m, a)[0]; }
inline int delay_order(const Model& m, int a) { return row::actuator_history(m, a)[1]; }

// as MuJoCo's rays see it
inline bool is_visible(const Model& m, int g) { return row::geom_rgba(m, g)[3] != 0; }
// whether contacts see the geom's surface move
inline bool surface_moves(const Model& m, int g) {
  for (const double x : row::geom_surfacevel(m, g))
    if (x != 0) return true;
  return false;
}
inline bool has_fluid_ellipsoid(const Model& m, int g) { return row::geom_fluid(m, g)[0] > 0; }

// what a contact sensor or a rangefinder tells; 0 where the file has no such number
inline int sensor_parameter(const Model& m, int s, SensorNumber number) {
  const auto numbers = row::sensor_intprm(m, s);
  return number < static_cast<int>(numbers.size()) ? numbers[number] : 0;
}

// inverse inertia of a body against pushes and against turns, at qpos0
inline double translation_weight(const Model& m, int b) { return row::body_invweight0(m, b)[0]; }
inline double rotation_weight(const Model& m, int b) { return row::body_invweight0(m, b)[1]; }

}  // namespace dualstep
