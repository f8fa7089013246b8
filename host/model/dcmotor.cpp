#include "host/model/dcmotor.h"

#include <algorithm>
#include <sstream>

#include "host/model/actuator_kinds.h"
#include "host/model/element_rows.h"
#include "host/model/support.h"

namespace dualstep {

std::array<bool, 5> motor_activations(const Model& m, int a) {
  const auto dyn = row::actuator_dynprm(m, a), gain = row::actuator_gainprm(m, a);
  return {dyn[kMotorDynSlew] > 0, gain[kMotorGainKi] > 0, dyn[kMotorDynHeatResistance] > 0,
          dyn[kMotorDynBristle] > 0, dyn[kMotorDynTimeConstant] > 0};
}

int count_motor_activations(const Model& m, int a) {
  const auto there = motor_activations(m, a);
  return static_cast<int>(std::count(there.begin(), there.end(), true));
}

int count_motor_inputs(const Model& m, int a) {
  int count = 0;
  for (const int bit : {kInputPos, kInputVel, kInputForce, kInputVoltage})
    count += (m.actuator_ctrlspec[a] & bit) != 0;
  return count;
}

void refuse_motor(const Model& m, int a, std::vector<Problem>* problems) {
  constexpr int kInputs = kInputPos | kInputVel | kInputForce | kInputVoltage;
  const auto refuse = [&](const std::string& feature, const char* reason) {
    problems->push_back({feature, element_name(m, "actuator", a), reason});
  };
  const int spec = m.actuator_ctrlspec[a];
  const MotorRow& motor = *motor_of(m, a);
  if (m.actuator_dyntype[a] != motor.dynamics || m.actuator_biastype[a] != motor.bias)
    refuse("dcmotor in part", "dyntype, gaintype and biastype are all dcmotor, or none is");
  if (spec != kInputNone && ((spec & kInputs) == 0 || (spec & ~kInputs) != 0))
    refuse("dcmotor input " + std::to_string(spec),
           "inputs are pos, vel, ff and voltage, or none, as of MuJoCo 4");
  if (m.actuator_actnum[a] > 0 && !m.actuator_actearly[a])
    refuse("dcmotor without actearly", "its force follows the current one step on");
  if (acts_by_contacts(m, a))
    refuse("dcmotor on a body", "the force on a body does not depend on its velocity here");
}

// what it divides by; a voltage alone drives one of any constant
void check_motor(const Model& m, int a, std::vector<Problem>* problems) {
  const auto positive = [&](const char* field, std::span<const double> prm, int k, const char* what) {
    if (prm[k] > 0) return;
    std::ostringstream text;
    text << "entry " << k << " is " << prm[k] << ", must be positive: " << what;
    problems->push_back({field, element_name(m, "actuator", a), text.str()});
  };
  const auto gain = row::actuator_gainprm(m, a), dyn = row::actuator_dynprm(m, a);
  positive("actuator_gainprm", gain, kMotorGainResistance, "the resistance");
  if (m.actuator_ctrlspec[a] & (kInputPos | kInputVel | kInputForce))
    positive("actuator_gainprm", gain, kMotorGainConstant, "the constant of a motor with a controller");
  if (dyn[kMotorDynHeatResistance] > 0)
    positive("actuator_dynprm", dyn, kMotorDynHeatCapacity, "the heat capacity");
}

}  // namespace dualstep
