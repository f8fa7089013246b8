// DC motors (kernels/smooth/actuators/dcmotor.h): what their parameters say.
#include <sstream>

#include "host/model/element_rows.h"
#include "host/model/motors.h"
#include "host/model/unsupported.h"

namespace dualstep {

namespace {

HasActivations activations(const Model& m, int a) {
  const auto dyn = row::actuator_dynprm(m, a), gain = row::actuator_gainprm(m, a);
  return {dyn[kMotorDynSlew] > 0, gain[kMotorGainKi] > 0, dyn[kMotorDynHeatResistance] > 0,
          dyn[kMotorDynBristle] > 0, dyn[kMotorDynTimeConstant] > 0};
}

SetPointParameters set_points(const Model& m, int a) {
  const auto dyn = row::actuator_dynprm(m, a);
  return {dyn[kMotorDynSlew], dyn[kMotorDynIntegralBound], row::actuator_gainprm(m, a)[kMotorGainKi]};
}

void refuse(const Model& m, int a, Problems* problems) {
  if (m.actuator_actnum[a] > 0 && !m.actuator_actearly[a])
    problems->push_back({"dcmotor without actearly", element_name(m, "actuator", a),
                         "its force follows the current one step on"});
}

// what it divides by; a voltage alone drives one of any constant
void check(const Model& m, int a, Problems* problems) {
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

}  // namespace

const MotorKind& motor_kinds::DCMotor() {
  static const MotorKind kind{
      .inputs = {{kInputPos, "pos"}, {kInputVel, "vel"}, {kInputForce, "ff"}, {kInputVoltage, "voltage"}},
      .may_have_no_input = true,
      .activations = activations,
      .set_points = set_points,
      .refuse = refuse,
      .check = check};
  return kind;
}

}  // namespace dualstep
