#include "host/model/motors.h"

#include <algorithm>
#include <stdexcept>

#include "host/model/unsupported.h"

namespace dualstep {

const MotorKind& motor_kind(const Model& m, int a) {
#define DS_ROW(dynamics, gain, bias, word, traits, hooks) \
  if (m.actuator_gaintype[a] == gain) return motor_kinds::hooks();
  DS_MOTORS(DS_ROW)
#undef DS_ROW
  throw std::logic_error("an actuator that is no motor has no kind of motor");
}

bool is_dcmotor(const Model& m, int a) {
  return is_motor(m, a) && &motor_kind(m, a) == &motor_kinds::DCMotor();
}

int count_motor_activations(const Model& m, int a) {
  const HasActivations there = motor_kind(m, a).activations(m, a);
  return static_cast<int>(std::count(there.begin(), there.end(), true));
}

int count_motor_inputs(const Model& m, int a) {
  int count = 0;
  for (const MotorInput& input : motor_kind(m, a).inputs) count += (m.actuator_ctrlspec[a] & input.bit) != 0;
  return count;
}

void refuse_motor(const Model& m, int a, Problems* problems) {
  const MotorRow& row = *motor_of(m, a);
  const MotorKind& kind = motor_kind(m, a);
  const std::string word = row.word;
  const auto refuse = [&](const std::string& feature, const std::string& reason) {
    problems->push_back({feature, element_name(m, "actuator", a), reason});
  };
  const DynamicsRow dynamics = dynamics_of(m, a);
  const bool plain = dynamics.simulated && dynamics.activations == 0 && (row.traits & kMayBePlain) != 0;
  if ((m.actuator_dyntype[a] != row.dynamics && !plain) || m.actuator_biastype[a] != row.bias)
    refuse(word + " in part", "with gaintype " + word + " go dyntype " +
                                  row_of_code(kDynamicsRows, row.dynamics).word +
                                  ((row.traits & kMayBePlain) != 0 ? " or none" : "") + " and biastype " +
                                  row_of_code(kBiasRows, row.bias).word);
  int inputs = 0;
  std::string words;
  for (const MotorInput& input : kind.inputs) {
    inputs |= input.bit;
    words += (words.empty() ? "" : ", ") + std::string(input.word);
  }
  const int spec = m.actuator_ctrlspec[a];
  const bool none = spec == kInputNone && kind.may_have_no_input;
  if (!none && ((spec & inputs) == 0 || (spec & ~inputs) != 0))
    refuse(word + " input " + std::to_string(spec),
           "inputs are any of " + words + (kind.may_have_no_input ? ", or none" : "") + ", as of MuJoCo 4");
  if (acts_by_contacts(m, a))
    refuse(word + " on a body", "the force on a body does not depend on its velocity here");
  kind.refuse(m, a, problems);
}

}  // namespace dualstep
