// Actuators that are dynamics, gain and bias in one, DC motors and PID servos: which activations and controls their
// parameters give them, and what of them is refused.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "host/model/actuator_kinds.h"

namespace dualstep {

// which activations a motor has, in their order: slew, integral, temperature, bristle, current
using HasActivations = std::array<bool, 5>;
// how it follows its set points (kernels/smooth/actuators/setpoints.h)
struct SetPointParameters {
  double slew, integral_bound, integral_gain;
};
struct MotorInput {
  int bit;
  const char* word;
};
using Problems = std::vector<Problem>;

// what a kind of motor says of itself, in a file of its own
struct MotorKind {
  std::vector<MotorInput> inputs;
  bool may_have_no_input;
  HasActivations (*activations)(const Model& model, int actuator);
  SetPointParameters (*set_points)(const Model& model, int actuator);
  // what is not simulated beside what refuse_motor asks of every kind
  void (*refuse)(const Model& model, int actuator, Problems* problems);
  // what makes no sense
  void (*check)(const Model& model, int actuator, Problems* problems);
};
// a row of DS_MOTORS has a function here, in a file of its own
namespace motor_kinds {
#define DS_ROW(dynamics, gain, bias, word, traits, hooks) const MotorKind& hooks();
DS_MOTORS(DS_ROW)
#undef DS_ROW
}  // namespace motor_kinds

// of an actuator that is a motor (is_motor)
const MotorKind& motor_kind(const Model& model, int actuator);
int count_motor_activations(const Model& model, int actuator);
int count_motor_inputs(const Model& model, int actuator);
// its parameters are those of act_dcmotor
bool is_dcmotor(const Model& model, int actuator);
// what is not simulated
void refuse_motor(const Model& model, int actuator, Problems* problems);

}  // namespace dualstep
