// Damping and armature that a model gives to actuators: MuJoCo adds them to what the actuator acts on.
#pragma once

#include "host/model/model.h"

namespace dualstep {

bool has_actuator_loads(const Model& model);
// the model with each actuator's, times its gear squared, at its joint's dofs or its tendon
Model with_actuator_loads(const Model& model);

// calls f with the model as it is or, where actuators have any, with their loads
template <class F>
auto loaded(const Model& model, F f) {
  return has_actuator_loads(model) ? f(with_actuator_loads(model)) : f(model);
}

}  // namespace dualstep
