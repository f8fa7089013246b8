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
#include <algorithm>
#include <cmath>

#include "host/model/element_rows.h"
#include "host/model/motors.h"
#include "host/reference/motors.h"
#include "host/reference/spatial.h"

namespace dualstep::reference {

namespace {

double within(double x, double bound) { return bound > 0 ? std::clamp(x, -bound, bound) : x; }

struct Motor {
  // MuJoCo's arrays
  double R, K, alpha, reference, kp, ki, kd, Vmax;
  double te, dimax, RT, C, ambient, sigma0, sigma1, slew, Imax;
  double cogging, poles, phase, coulomb, statics, stribeck;
  ActivationAddresses at;
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
    at = activation_addresses(m, i);
    inputs = m.actuator_ctrlspec[i];
  }
  bool controlled() const { return (inputs & (kInputPos | kInputVel | kInputForce)) != 0; }
  double resistance(const Data& d) const {
    return at.temperature < 0 ? R : R * (1 + alpha * (d.act[at.temperature] + ambient - reference));
  }
  // rate at which bristles let go
  double release(double speed) const {
    const double ratio = speed / std::max(kTiny, stribeck);
    const double g = coulomb + (statics - coulomb) * std::exp(-ratio * ratio);
    return sigma0 * std::abs(speed) / std::max(kTiny, g);
  }
};

// what the controller asks for, before its limit
double asked_voltage(const Motor& motor, const SetPoints& u, double l, double speed, const Data& d) {
  const double x = motor.at.integral >= 0 ? d.act[motor.at.integral] : 0;
  const double torque = motor.kp * (u.length - l) + motor.kd * (u.velocity - speed) + motor.ki * x + u.force;
  return motor.R / motor.K * torque + motor.K * speed;
}
double voltage(const Motor& motor, const SetPoints& u, double l, double speed, const Data& d) {
  if (!motor.controlled()) return u.voltage;
  return within(asked_voltage(motor, u, l, speed, d), motor.Vmax) + u.voltage;
}

void dcmotor_rates(const Model& m, int i, const VectorXd& ctrl, Data* d) {
  const Motor motor(m, i);
  const double l = d->actuator_length[i], speed = d->actuator_velocity[i], h = m.opt.timestep;
  SetPoints u = set_points(m, i, ctrl, *d);
  if (motor.at.slew >= 0) d->act_dot[motor.at.slew] = (u.first(motor.inputs) - d->act[motor.at.slew]) / h;
  if (motor.at.integral >= 0)
    d->act_dot[motor.at.integral] = integral_rate(u.length - l, d->act[motor.at.integral], motor.Imax);
  const double R = motor.resistance(*d);
  const double settled = (voltage(motor, u, l, speed, *d) - motor.K * speed) / R;
  if (motor.at.temperature >= 0) {
    const double i_now = motor.at.current >= 0 ? d->act[motor.at.current] : settled;
    d->act_dot[motor.at.temperature] =
        (R * i_now * i_now - d->act[motor.at.temperature] / motor.RT) / motor.C;
  }
  if (motor.at.bristle >= 0)
    d->act_dot[motor.at.bristle] = speed - motor.release(speed) * d->act[motor.at.bristle];
  if (motor.at.current >= 0)
    d->act_dot[motor.at.current] = within((settled - d->act[motor.at.current]) / motor.te, motor.dimax);
}

double dcmotor_next_activation(const Model& m, int i, int address, double act_dot, const Data& d) {
  const Motor motor(m, i);
  const double h = m.opt.timestep, act = d.act[address];
  if (address == motor.at.current) return act + act_dot * motor.te * (1 - std::exp(-h / motor.te));
  if (address == motor.at.bristle) {
    const double speed = d.actuator_velocity[i], release = motor.release(speed);
    const double kept = std::exp(-release * h);
    return kept * act + (release > kTiny ? (1 - kept) / release : h) * speed;
  }
  if (address == motor.at.integral) return within(act + act_dot * h, motor.Imax);
  return act + act_dot * h;
}

double dcmotor_force(const Model& m, int i, const VectorXd& ctrl, const Data& d) {
  const Motor motor(m, i);
  if (motor.at.current >= 0)
    return motor.K * dcmotor_next_activation(m, i, motor.at.current, d.act_dot[motor.at.current], d);
  const double l = d.actuator_length[i], speed = d.actuator_velocity[i];
  const SetPoints u = set_points(m, i, ctrl, d);
  return motor.K / std::max(kTiny, motor.resistance(d)) * (voltage(motor, u, l, speed, d) - motor.K * speed);
}

double dcmotor_drag(const Model& m, int i, const Data& d) {
  const Motor motor(m, i);
  double drag = motor.cogging * std::sin(motor.poles * d.actuator_length[i] + motor.phase);
  if (motor.at.bristle >= 0)
    drag -= motor.sigma0 * d.act[motor.at.bristle] + motor.sigma1 * d.act_dot[motor.at.bristle];
  return drag;
}

MotorSlope dcmotor_slope(const Model& m, int i, const VectorXd& ctrl, const Data& d) {
  const Motor motor(m, i);
  const double l = d.actuator_length[i], speed = d.actuator_velocity[i], R = motor.resistance(d);
  const SetPoints u = set_points(m, i, ctrl, d);
  MotorSlope of_voltage;
  if (motor.controlled()) {
    const double asked = asked_voltage(motor, u, l, speed, d);
    const bool clipped = motor.Vmax > 0 && std::abs(asked) >= motor.Vmax;
    const double per_torque = motor.R / motor.K;
    if (!clipped) of_voltage = {motor.K - motor.kd * per_torque, -motor.kp * per_torque};
  }
  double charge = 1;
  if (motor.at.current >= 0) {
    const bool clipped = motor.dimax > 0 && std::abs(d.act_dot[motor.at.current]) >= motor.dimax;
    charge = clipped ? 0 : 1 - std::exp(-m.opt.timestep / motor.te);
  }
  const double per_volt = charge / std::max(kTiny, R);
  return {motor.K * (of_voltage.velocity - motor.K) * per_volt, motor.K * of_voltage.length * per_volt};
}

MotorSlope dcmotor_drag_slope(const Model& m, int i, const Data& d) {
  const Motor motor(m, i);
  const double angle = motor.poles * d.actuator_length[i] + motor.phase;
  return {motor.at.bristle >= 0 ? -motor.sigma1 : 0, motor.cogging * motor.poles * std::cos(angle)};
}

}  // namespace

const MotorEquations& motors::DCMotor() {
  static constexpr MotorEquations equations{.rates = dcmotor_rates,
                                            .force = dcmotor_force,
                                            .slope = dcmotor_slope,
                                            .drag = dcmotor_drag,
                                            .drag_slope = dcmotor_drag_slope,
                                            .next_activation = dcmotor_next_activation};
  return equations;
}

}  // namespace dualstep::reference
