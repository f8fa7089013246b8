// DC motors of MuJoCo: the equations stand in dcmotor.cpp.
#pragma once

#include "host/model/support.h"
#include "host/reference/data.h"

namespace dualstep::reference {

// the rates of a motor's activations, from the clamped controls; writes act_dot
void motor_rates(const Model& m, int actuator, const VectorXd& ctrl, Data* d);
// what the winding pulls with; reads act_dot
double motor_force(const Model& m, int actuator, const VectorXd& ctrl, const Data& d);
// cogging and friction, which no range of the force bounds; reads act_dot
double motor_drag(const Model& m, int actuator, const Data& d);
// derivatives of the force by velocity and by length, and those of the drag, which MuJoCo takes at a bristle's damping and
// at the cogging alone
struct MotorSlope {
  double velocity = 0, length = 0;
};
MotorSlope motor_slope(const Model& m, int actuator, const VectorXd& ctrl, const Data& d);
MotorSlope motor_drag_slope(const Model& m, int actuator, const Data& d);
// the activation at an address one step on
double motor_next_activation(const Model& m, int actuator, int address, double act_dot, const Data& d);

}  // namespace dualstep::reference
