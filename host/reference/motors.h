// Actuators that are dynamics, gain and bias in one: the equations of a kind stand in its own file.
#pragma once

#include "host/model/unsupported.h"
#include "host/reference/data.h"
#include "kernels/data/actuators.h"

namespace dualstep::reference {

// derivatives of a force
struct MotorSlope {
  double velocity = 0, length = 0;
};

// each from the clamped controls `ctrl`
struct MotorEquations {
  // writes act_dot of its activations
  void (*rates)(const Model& m, int actuator, const VectorXd& ctrl, Data* d);
  // these read act_dot: the force that its range bounds, and its slopes
  double (*force)(const Model& m, int actuator, const VectorXd& ctrl, const Data& d);
  MotorSlope (*slope)(const Model& m, int actuator, const VectorXd& ctrl, const Data& d);
  // what rubs on the shaft, which no range bounds, and its slopes as MuJoCo takes them; null where nothing does
  double (*drag)(const Model& m, int actuator, const Data& d);
  MotorSlope (*drag_slope)(const Model& m, int actuator, const Data& d);
  // the activation at an address one step on; null where it advances as any other (stages.h)
  double (*next_activation)(const Model& m, int actuator, int address, double act_dot, const Data& d);
};
// a row of DS_MOTORS has a function here, in a file of its own
namespace motors {
#define DS_ROW(dynamics, gain, bias, word, traits, hooks) const MotorEquations& hooks();
DS_MOTORS(DS_ROW)
#undef DS_ROW
}  // namespace motors

// of an actuator that is a motor (is_motor)
const MotorEquations& motor_equations(const Model& m, int actuator);

// what the controls of a motor ask for, 0 where there is no control; the first as its rate lets it move
struct SetPoints {
  double length = 0, velocity = 0, force = 0, voltage = 0;
  double& first(int inputs);
};
SetPoints set_points(const Model& m, int actuator, const VectorXd& ctrl, const Data& d);
// where its activations stand, -1 those that it has not
struct ActivationAddresses {
  int slew = -1, integral = -1, temperature = -1, bristle = -1, current = -1;
};
ActivationAddresses activation_addresses(const Model& m, int actuator);
// of the integral x of an error that a positive bound stops
double integral_rate(double error, double x, double bound);

}  // namespace dualstep::reference
