// PID servos.
//
// solves    the rates of a servo's activations, its force, and the slopes of that
// equation  force = b_0 + kp (u_pos - l) + kv (u_vel - l') + ki x + u_ff,  kp = -b_1, kv = -b_2 of its affine bias
//           slew      u_pos moves at most by the step times the slew rate from where it was
//           integral  x' = u_pos - l, at its bound inwards alone
//           on a circle u_pos is brought nearest to where it was, then to l
// source    MuJoCo's documentation of the actuator pid
// reads     act, actuator_length, actuator_velocity
// cost      O(1)
#include "host/model/element_rows.h"
#include "host/model/motors.h"
#include "host/reference/motors.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

double pid_error(const Model& m, int i, const SetPoints& u, const Data& d) {
  const double l = d.actuator_length[i];
  return nearest_setpoint(u.length, l, setpoint_period(m, i)) - l;
}

void pid_rates(const Model& m, int i, const VectorXd& ctrl, Data* d) {
  const ActivationAddresses at = activation_addresses(m, i);
  const SetPoints u = set_points(m, i, ctrl, *d);
  if (at.slew >= 0) d->act_dot[at.slew] = (u.length - d->act[at.slew]) / m.opt.timestep;
  if (at.integral >= 0)
    d->act_dot[at.integral] = integral_rate(pid_error(m, i, u, *d), d->act[at.integral],
                                            motor_kind(m, i).set_points(m, i).integral_bound);
}

double pid_force(const Model& m, int i, const VectorXd& ctrl, const Data& d) {
  const auto bias = row::actuator_biasprm(m, i);
  const SetPoints u = set_points(m, i, ctrl, d);
  double f =
      bias[0] - bias[1] * pid_error(m, i, u, d) - bias[2] * (u.velocity - d.actuator_velocity[i]) + u.force;
  if (const int x = activation_addresses(m, i).integral; x >= 0) {
    const double now = m.actuator_actearly[i] ? next_activation(m, d, i, x, d.act_dot[x]) : d.act[x];
    f += row::actuator_gainprm(m, i)[kPidGainKi] * now;
  }
  return f;
}

MotorSlope pid_slope(const Model& m, int i, const VectorXd&, const Data&) {
  const auto bias = row::actuator_biasprm(m, i);
  return {bias[2], bias[1]};
}

}  // namespace

const MotorEquations& motors::PidServo() {
  static constexpr MotorEquations equations{.rates = pid_rates,
                                            .force = pid_force,
                                            .slope = pid_slope,
                                            .drag = nullptr,
                                            .drag_slope = nullptr,
                                            .next_activation = nullptr};
  return equations;
}

}  // namespace dualstep::reference
