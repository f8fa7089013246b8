// What the lists of kernels/data/actuators.h say of the actuators of a model: one place that reads them for validation,
// refusals, tables and the reference.
#pragma once

#include <cstddef>

#include "host/model/element_rows.h"
#include "host/model/model.h"
#include "kernels/data/actuators.h"

namespace dualstep {

// whether anything acts: else MuJoCo bounds no force either, not even to a range that leaves out zero
inline bool actuates(const Model& m) { return m.nactuator > 0 && !m.opt.disabled(kDisableActuation); }

struct TransmissionRow {
  const char* word;
  bool simulated;  // false: the rest says nothing
  MovedObject object;
  SecondObject second;
  unsigned traits;
};
struct DynamicsRow {
  const char* word;
  bool simulated;
  int activations;
  unsigned traits;
};
// of a gain or a bias
struct ForceRow {
  const char* word;
  bool simulated;
  unsigned traits;
};
struct MotorRow {
  int dynamics, gain, bias;
  const char* word;
  unsigned traits;
};

inline constexpr TransmissionRow kTransmissionRows[] = {
#define DS_ROW(code, word, kind, object, second, traits) {word, true, object, second, traits},
#define DS_OTHER(code, word) {word, false, kOnNothing, kNoSecond, 0},
    DS_TRANSMISSIONS(DS_ROW, DS_OTHER)
#undef DS_ROW
#undef DS_OTHER
};
inline constexpr DynamicsRow kDynamicsRows[] = {
#define DS_ROW(code, word, kind, activations, traits) {word, true, activations, traits},
#define DS_OTHER(code, word) {word, false, 0, 0},
    DS_DYNAMICS(DS_ROW, DS_OTHER)
#undef DS_ROW
#undef DS_OTHER
};
#define DS_ROW(code, word, kind, traits) {word, true, traits},
#define DS_OTHER(code, word) {word, false, 0},
inline constexpr ForceRow kGainRows[] = {DS_GAINS(DS_ROW, DS_OTHER)};
inline constexpr ForceRow kBiasRows[] = {DS_BIASES(DS_ROW, DS_OTHER)};
#undef DS_ROW
#undef DS_OTHER
inline constexpr MotorRow kMotorRows[] = {
#define DS_ROW(dynamics, gain, bias, word, traits, kind) {dynamics, gain, bias, word, traits},
    DS_MOTORS(DS_ROW)
#undef DS_ROW
};

// of a code that MuJoCo does not have: one without a word, and not simulated
template <class Row, std::size_t kRows>
constexpr Row row_of_code(const Row (&rows)[kRows], int code) {
  return code >= 0 && code < static_cast<int>(kRows) ? rows[code] : Row{};
}
inline TransmissionRow transmission_of(const Model& m, int a) {
  return row_of_code(kTransmissionRows, m.actuator_trntype[a]);
}
inline DynamicsRow dynamics_of(const Model& m, int a) {
  return row_of_code(kDynamicsRows, m.actuator_dyntype[a]);
}
inline ForceRow gain_of(const Model& m, int a) { return row_of_code(kGainRows, m.actuator_gaintype[a]); }
inline ForceRow bias_of(const Model& m, int a) { return row_of_code(kBiasRows, m.actuator_biastype[a]); }

inline bool acts_on(const Model& m, int a, MovedObject object) {
  return transmission_of(m, a).object == object;
}
inline bool acts_on_tendon(const Model& m, int a, int tendon) {
  return acts_on(m, a, kOnTendon) && transmission_id(m, a) == tendon;
}
// adhesion
inline bool acts_by_contacts(const Model& m, int a) {
  return (transmission_of(m, a).traits & kActsByContacts) != 0;
}
inline bool is_muscle(const Model& m, int a) {
  return ((gain_of(m, a).traits | bias_of(m, a).traits) & kForceOfMuscle) != 0;
}
template <class Kind>
bool any_actuator(const Model& m, Kind is) {
  for (int a = 0; a < m.nactuator; ++a)
    if (is(m, a)) return true;
  return false;
}
inline bool any_acts_by_contacts(const Model& m) { return any_actuator(m, acts_by_contacts); }
inline bool any_is_muscle(const Model& m) { return any_actuator(m, is_muscle); }
// the motor that an actuator is by its gain, nullptr where it is none
inline const MotorRow* motor_of(const Model& m, int a) {
  for (const MotorRow& motor : kMotorRows)
    if (motor.gain == m.actuator_gaintype[a]) return &motor;
  return nullptr;
}
inline bool is_motor(const Model& m, int a) { return motor_of(m, a) != nullptr; }
inline bool is_angular_servo(const Model& m, int a) {
  return is_motor(m, a) && (motor_of(m, a)->traits & kDrivesAngles) != 0;
}

}  // namespace dualstep
