// PID servos (kernels/smooth/actuators/pid.h): what their parameters say.
#include "host/model/element_rows.h"
#include "host/model/motors.h"
#include "host/model/unsupported.h"

namespace dualstep {

namespace {

HasActivations activations(const Model& m, int a) {
  const bool dynamic = m.actuator_dyntype[a] == motor_of(m, a)->dynamics;
  return {dynamic && row::actuator_dynprm(m, a)[kPidDynSlew] > 0,
          dynamic && row::actuator_gainprm(m, a)[kPidGainKi] > 0, false, false, false};
}

SetPointParameters set_points(const Model& m, int a) {
  const auto dyn = row::actuator_dynprm(m, a);
  return {dyn[kPidDynSlew], dyn[kPidDynIntegralBound], row::actuator_gainprm(m, a)[kPidGainKi]};
}

void refuse(const Model& m, int a, Problems* problems) {
  if (m.actuator_actnum[a] > 0 && !(m.actuator_ctrlspec[a] & kInputPos))
    problems->push_back({"pid without input pos", element_name(m, "actuator", a),
                         "its activations, slew and integral, are of the position"});
}

// any number will do
void check(const Model&, int, Problems*) {}

}  // namespace

const MotorKind& motor_kinds::PidServo() {
  static const MotorKind kind{.inputs = {{kInputPos, "pos"}, {kInputVel, "vel"}, {kInputForce, "ff"}},
                              .may_have_no_input = false,
                              .activations = activations,
                              .set_points = set_points,
                              .refuse = refuse,
                              .check = check};
  return kind;
}

}  // namespace dualstep
