// DC motors of MuJoCo: which activations and controls their parameters give them, and what of them is refused.
#pragma once

#include <array>
#include <vector>

#include "host/model/model.h"

namespace dualstep {

// which activations a motor has, in their order: slew, integral, temperature, bristle, current
std::array<bool, 5> motor_activations(const Model& model, int actuator);
int count_motor_activations(const Model& model, int actuator);
int count_motor_inputs(const Model& model, int actuator);
// what is not simulated
void refuse_motor(const Model& model, int actuator, std::vector<Problem>* problems);
// what makes no sense
void check_motor(const Model& model, int actuator, std::vector<Problem>* problems);

}  // namespace dualstep
