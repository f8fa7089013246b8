#include "host/reference/motors.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "host/model/motors.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

const MotorEquations& motor_equations(const Model& m, int i) {
#define DS_ROW(dynamics, gain, bias, word, traits, hooks) \
  if (m.actuator_gaintype[i] == gain) return motors::hooks();
  DS_MOTORS(DS_ROW)
#undef DS_ROW
  throw std::logic_error("an actuator that is no motor has no equations of one");
}

double& SetPoints::first(int inputs) {
  return inputs & kInputPos ? length : inputs & kInputVel ? velocity : force;
}

SetPoints set_points(const Model& m, int i, const VectorXd& ctrl, const Data& d) {
  SetPoints u;
  const double* next = ctrl.data() + m.actuator_ctrladr[i];
  for (const auto& [bit, goal] : {std::pair{kInputPos, &u.length}, std::pair{kInputVel, &u.velocity},
                                  std::pair{kInputForce, &u.force}, std::pair{kInputVoltage, &u.voltage}})
    if (m.actuator_ctrlspec[i] & bit) *goal = *next++;
  if (const int slew = activation_addresses(m, i).slew; slew >= 0) {
    const double last = d.act[slew], way = motor_kind(m, i).set_points(m, i).slew * m.opt.timestep;
    double& first = u.first(m.actuator_ctrlspec[i]);
    first = std::clamp(nearest_setpoint(first, last, setpoint_period(m, i)), last - way, last + way);
  }
  return u;
}

ActivationAddresses activation_addresses(const Model& m, int i) {
  ActivationAddresses s;
  int next = m.actuator_actadr[i];
  int* address[] = {&s.slew, &s.integral, &s.temperature, &s.bristle, &s.current};
  for (int k = 0; const bool there : motor_kind(m, i).activations(m, i)) {
    if (there) *address[k] = next++;
    k++;
  }
  return s;
}

double integral_rate(double error, double x, double bound) {
  if (bound > 0 && x >= bound) return std::min(error, 0.0);
  if (bound > 0 && x <= -bound) return std::max(error, 0.0);
  return error;
}

}  // namespace dualstep::reference
