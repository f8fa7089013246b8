// DC motors: what an on-board controller, a winding, heat and bristles do.
//
// solves    the rates of a motor's activations, and its force
// equation  controller  torque = kp (u_pos - l) + kd (u_vel - l') + ki x + u_ff,
//                       V = clip(R / K torque + K l', +-Vmax) + u_volt
//           winding     te i' = (V - K l') / R(T) - i, or at once; force K i
//           heat        C T' = R(T) i^2 - T / RT, T above ambient; R(T) = R (1 + alpha (T + ambient - reference))
//           bristles    z' = l' - sigma0 |l'| / g(l') z, g = Fc + (Fs - Fc) exp(-(l' / vs)^2);
//                       force -(sigma0 z + sigma1 z')
//           cogging     A sin(N l + phase)
// source    MuJoCo's technical note "DC Motor Model"; Canudas de Wit et al. 1995 for the bristles
// reads     act, actuator_length, actuator_velocity
// cost      O(1)
#include "host/reference/dcmotor.h"

#include <algorithm>
#include <cmath>

#include "host/model/dcmotor.h"
#include "host/model/element_rows.h"
#include "host/reference/spatial.h"

namespace dualstep::reference {

namespace {

double within(double x, double bound) { return bound > 0 ? std::clamp(x, -bound, bound) : x; }

struct Motor {
  // MuJoCo's arrays
  double R, K, alpha, reference, kp, ki, kd, Vmax;
  double te, dimax, RT, C, ambient, sigma0, sigma1, slew, Imax;
  double cogging, poles, phase, coulomb, statics, stribeck;
  // addresses of its activations, -1 without
  int slew_at = -1, integral_at = -1, temperature_at = -1, bristle_at = -1, current_at = -1;
  int inputs;

  Motor(const Model& m, int i) {
    const auto gain = row::actuator_gainprm(m, i), dyn = row::actuator_dynprm(m, i),
               bias = row::actuator_biasprm(m, i);
    R = gain[kMotorGainResistance], K = gain[kMotorGainConstant];
    alpha = gain[kMotorGainTemperatureSlope], reference = gain[kMotorGainReference];
    kp = gain[kMotorGainKp], ki = gain[kMotorGainKi], kd = gain[kMotorGainKd], Vmax = gain[kMotorGainVoltage];
    te = dyn[kMotorDynTimeConstant], dimax = dyn[kMotorDynCurrentRate];
    RT = dyn[kMotorDynHeatResistance], C = dyn[kMotorDynHeatCapacity], ambient = dyn[kMotorDynAmbient];
    sigma0 = dyn[kMotorDynBristle], sigma1 = dyn[kMotorDynBristleDamping];
    slew = dyn[kMotorDynSlew], Imax = dyn[kMotorDynIntegralBound];
    cogging = bias[kMotorBiasCogging], poles = bias[kMotorBiasCoggingPoles];
    phase = bias[kMotorBiasCoggingPhase], coulomb = bias[kMotorBiasCoulomb];
    statics = bias[kMotorBiasStatic], stribeck = bias[kMotorBiasStribeck];
    int at = m.actuator_actadr[i];
    int* address[] = {&slew_at, &integral_at, &temperature_at, &bristle_at, &current_at};
    for (int k = 0; const bool there : motor_activations(m, i)) {
      if (there) *address[k] = at++;
      k++;
    }
    inputs = m.actuator_ctrlspec[i];
  }
  bool controlled() const { return (inputs & (kInputPos | kInputVel | kInputForce)) != 0; }
  double resistance(const Data& d) const {
    return temperature_at < 0 ? R : R * (1 + alpha * (d.act[temperature_at] + ambient - reference));
  }
  // rate at which bristles let go
  double release(double speed) const {
    const double ratio = speed / std::max(kTiny, stribeck);
    const double g = coulomb + (statics - coulomb) * std::exp(-ratio * ratio);
    return sigma0 * std::abs(speed) / std::max(kTiny, g);
  }
};

// the set points of a motor, those that are no control 0, the first limited in its rate
struct Goals {
  double length = 0, velocity = 0, torque = 0, voltage = 0;

  Goals(const Motor& motor, const double* block, const Data& d, double h) {
    double* first = nullptr;
    for (const auto& [bit, goal] : {std::pair{kInputPos, &length}, std::pair{kInputVel, &velocity},
                                    std::pair{kInputForce, &torque}, std::pair{kInputVoltage, &voltage}}) {
      if (!(motor.inputs & bit)) continue;
      *goal = *block++;
      if (!first) first = goal;
    }
    if (motor.slew_at >= 0 && first) {
      const double last = d.act[motor.slew_at];
      *first = last + std::clamp(*first - last, -motor.slew * h, motor.slew * h);
    }
  }
  double slewed(int inputs) const {
    return inputs & kInputPos ? length : inputs & kInputVel ? velocity : torque;
  }
};

// what the controller asks for, before its limit
double asked_voltage(const Motor& motor, const Goals& goals, double l, double speed, const Data& d) {
  const double x = motor.integral_at >= 0 ? d.act[motor.integral_at] : 0;
  const double torque =
      motor.kp * (goals.length - l) + motor.kd * (goals.velocity - speed) + motor.ki * x + goals.torque;
  return motor.R / motor.K * torque + motor.K * speed;
}
double voltage(const Motor& motor, const Goals& goals, double l, double speed, const Data& d) {
  if (!motor.controlled()) return goals.voltage;
  return within(asked_voltage(motor, goals, l, speed, d), motor.Vmax) + goals.voltage;
}

}  // namespace

void motor_rates(const Model& m, int i, const VectorXd& ctrl, Data* d) {
  const Motor motor(m, i);
  const double l = d->actuator_length[i], speed = d->actuator_velocity[i], h = m.opt.timestep;
  const Goals goals(motor, ctrl.data() + m.actuator_ctrladr[i], *d, h);
  if (motor.slew_at >= 0)
    d->act_dot[motor.slew_at] = (goals.slewed(motor.inputs) - d->act[motor.slew_at]) / h;
  if (motor.integral_at >= 0) {
    const double x = d->act[motor.integral_at];
    double error = goals.length - l;
    if (motor.Imax > 0 && x >= motor.Imax) error = std::min(error, 0.0);
    if (motor.Imax > 0 && x <= -motor.Imax) error = std::max(error, 0.0);
    d->act_dot[motor.integral_at] = error;
  }
  const double R = motor.resistance(*d);
  const double settled = (voltage(motor, goals, l, speed, *d) - motor.K * speed) / R;
  if (motor.temperature_at >= 0) {
    const double i_now = motor.current_at >= 0 ? d->act[motor.current_at] : settled;
    d->act_dot[motor.temperature_at] =
        (R * i_now * i_now - d->act[motor.temperature_at] / motor.RT) / motor.C;
  }
  if (motor.bristle_at >= 0)
    d->act_dot[motor.bristle_at] = speed - motor.release(speed) * d->act[motor.bristle_at];
  if (motor.current_at >= 0)
    d->act_dot[motor.current_at] = within((settled - d->act[motor.current_at]) / motor.te, motor.dimax);
}

double motor_force(const Model& m, int i, const VectorXd& ctrl, const Data& d) {
  const Motor motor(m, i);
  if (motor.current_at >= 0)
    return motor.K * motor_next_activation(m, i, motor.current_at, d.act_dot[motor.current_at], d);
  const double l = d.actuator_length[i], speed = d.actuator_velocity[i];
  const Goals goals(motor, ctrl.data() + m.actuator_ctrladr[i], d, m.opt.timestep);
  return motor.K / std::max(kTiny, motor.resistance(d)) *
         (voltage(motor, goals, l, speed, d) - motor.K * speed);
}

double motor_drag(const Model& m, int i, const Data& d) {
  const Motor motor(m, i);
  double drag = motor.cogging * std::sin(motor.poles * d.actuator_length[i] + motor.phase);
  if (motor.bristle_at >= 0)
    drag -= motor.sigma0 * d.act[motor.bristle_at] + motor.sigma1 * d.act_dot[motor.bristle_at];
  return drag;
}

MotorSlope motor_slope(const Model& m, int i, const VectorXd& ctrl, const Data& d) {
  const Motor motor(m, i);
  const double l = d.actuator_length[i], speed = d.actuator_velocity[i], R = motor.resistance(d);
  const Goals goals(motor, ctrl.data() + m.actuator_ctrladr[i], d, m.opt.timestep);
  MotorSlope of_voltage;
  if (motor.controlled()) {
    const double asked = asked_voltage(motor, goals, l, speed, d);
    const bool clipped = motor.Vmax > 0 && std::abs(asked) >= motor.Vmax;
    const double per_torque = motor.R / motor.K;
    if (!clipped) of_voltage = {motor.K - motor.kd * per_torque, -motor.kp * per_torque};
  }
  double charge = 1;
  if (motor.current_at >= 0) {
    const bool clipped = motor.dimax > 0 && std::abs(d.act_dot[motor.current_at]) >= motor.dimax;
    charge = clipped ? 0 : 1 - std::exp(-m.opt.timestep / motor.te);
  }
  const double per_volt = charge / std::max(kTiny, R);
  return {motor.K * (of_voltage.velocity - motor.K) * per_volt, motor.K * of_voltage.length * per_volt};
}

MotorSlope motor_drag_slope(const Model& m, int i, const Data& d) {
  const Motor motor(m, i);
  const double angle = motor.poles * d.actuator_length[i] + motor.phase;
  return {motor.bristle_at >= 0 ? -motor.sigma1 : 0, motor.cogging * motor.poles * std::cos(angle)};
}

double motor_next_activation(const Model& m, int i, int address, double act_dot, const Data& d) {
  const Motor motor(m, i);
  const double h = m.opt.timestep, act = d.act[address];
  if (address == motor.current_at) return act + act_dot * motor.te * (1 - std::exp(-h / motor.te));
  if (address == motor.bristle_at) {
    const double speed = d.actuator_velocity[i], release = motor.release(speed);
    const double kept = std::exp(-release * h);
    return kept * act + (release > kTiny ? (1 - kept) / release : h) * speed;
  }
  if (address == motor.integral_at) return within(act + act_dot * h, motor.Imax);
  return act + act_dot * h;
}

}  // namespace dualstep::reference
