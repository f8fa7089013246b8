// Actuators: activation dynamics, force.
//
// solves    d act/dt, the force of each actuator, and what it is on the dofs
// equation  force = gain(length, velocity) * (ctrl or act) + bias(length, velocity), clipped; qfrc = moment' force
//           gain: g0, or g0 + g1 length + g2 velocity; bias: 0, or b0 + b1 length + b2 velocity;
//           muscles: muscle.cpp; DC motors: dcmotor.cpp; PID servos: pid.cpp
//           d act/dt: ctrl (integrator) or (ctrl - act) / tau (filters; the exact one integrates in closed form)
//           Setpoints of position servos on a ball joint, or on the turn of a site seen from another, live on a
//           circle: the representative nearest the length counts
// source    MuJoCo's documentation, "Actuation model"
// reads     ctrl, act, qpos, qvel, qfrc_gravcomp
// cost      O(nactuator nv)
#include <algorithm>

#include "host/model/actuator_kinds.h"
#include "host/model/element_rows.h"
#include "host/reference/motors.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

double clip(double x, std::span<const double> range) {
  const auto [lower, upper] = bounds(range);
  return std::min(std::max(x, lower), upper);
}

}  // namespace

bool actuator_disabled(const Model& m, int actuator) {
  const int group = m.actuator_group[actuator];
  return group >= 0 && group <= 30 && (m.opt.disableactuator & (1 << group)) != 0;
}

double setpoint_period(const Model& m, int i) {
  const bool servo = m.actuator_gaintype[i] == kGainFixed && m.actuator_biastype[i] == kBiasAffine &&
                     row::actuator_gainprm(m, i)[0] == -row::actuator_biasprm(m, i)[1] &&
                     (dynamics_of(m, i).traits & kDrivesAngles) != 0;
  const bool ball = acts_on(m, i, kOnJoint) && m.jnt_type[transmission_id(m, i)] == kBall;
  const auto gear = row::actuator_gear(m, i);
  const Vector3d along = vec3(gear.first(3)), about = vec3(gear.last(3));
  const bool seen = (transmission_of(m, i).traits & kActsAsTurn) != 0 && second_transmission_id(m, i) >= 0,
             turn = seen && along.isZero(0);
  return (servo || is_angular_servo(m, i)) && (ball || turn) ? 2 * kPi * (turn ? about : along).norm() : 0;
}

double nearest_setpoint(double u, double x, double period) {
  return period > 0 ? u - period * std::round((u - x) / period) : u;
}

double next_activation(const Model& m, const Data& d, int i, int address, double act_dot) {
  if (is_motor(m, i) && motor_equations(m, i).next_activation)
    return motor_equations(m, i).next_activation(m, i, address, act_dot, d);
  const double h = m.opt.timestep;
  double act = d.act[address];
  if (m.actuator_dyntype[i] == kDynFilterExact) {
    const double tau = std::max(kTiny, row::actuator_dynprm(m, i)[0]);
    act += act_dot * tau * (1 - std::exp(-h / tau));
  } else {
    act += act_dot * h;
  }
  return m.actuator_actlimited[i] ? clip(act, row::actuator_actrange(m, i)) : act;
}

VectorXd clamped_controls(const Model& m, const Data& d) {
  VectorXd ctrl = acting_controls(m, d);
  if (!m.opt.disabled(kDisableClampCtrl)) {
    for (int i = 0; i < m.nu; ++i) {
      if (m.actuator_ctrllimited[i]) ctrl[i] = clip(ctrl[i], row::actuator_ctrlrange(m, i));
    }
  }
  return ctrl;
}

double tendon_actuator_force(const Model& m, const Data& d, int tendon) {
  double sum = 0;
  for (int i = 0; i < m.nactuator; ++i)
    if (acts_on_tendon(m, i, tendon)) sum += d.actuator_force[i];
  return sum;
}

// activation dynamics
void put_activation_rates(const Model& m, const VectorXd& ctrl, Data* d) {
  for (int i = 0; i < m.nactuator; ++i) {
    const int a = m.actuator_actadr[i];
    if (a < 0) continue;
    if (is_motor(m, i)) {
      motor_equations(m, i).rates(m, i, ctrl, d);
      continue;
    }
    const double u = ctrl[m.actuator_ctrladr[i]];
    if (m.actuator_dyntype[i] == kDynIntegrator) {
      d->act_dot[a] = u;
    } else if (m.actuator_dyntype[i] == kDynMuscle) {
      d->act_dot[a] = muscle_activation_rate(row::actuator_dynprm(m, i), u, d->act[a]);
    } else {
      // a setpoint on a circle is approached the shorter way round
      const double goal = nearest_setpoint(u, d->act[a], setpoint_period(m, i));
      d->act_dot[a] = (goal - d->act[a]) / std::max(kTiny, row::actuator_dynprm(m, i)[0]);
    }
  }
}

void actuation(const Model& m, Data* d) {
  d->actuator_force.setZero();
  d->act_dot.setZero();
  d->qfrc_actuator.setZero();
  d->ten_saturated.assign(m.ntendon, 0);
  d->act_saturated.assign(m.nactuator, 0);
  if (!actuates(m)) return;
  const VectorXd ctrl = clamped_controls(m, *d);

  put_activation_rates(m, ctrl, d);

  // force of each actuator
  for (int i = 0; i < m.nactuator; ++i) {
    if (actuator_disabled(m, i)) continue;
    if (is_motor(m, i)) {
      d->actuator_force[i] = motor_equations(m, i).force(m, i, ctrl, *d);
      continue;
    }
    const double length = d->actuator_length[i], velocity = d->actuator_velocity[i];
    const auto g = row::actuator_gainprm(m, i), b = row::actuator_biasprm(m, i);
    const int a = m.actuator_actadr[i];
    double input = ctrl[m.actuator_ctrladr[i]];
    if (a >= 0) input = m.actuator_actearly[i] ? next_activation(m, *d, i, a, d->act_dot[a]) : d->act[a];
    input = nearest_setpoint(input, length, setpoint_period(m, i));

    double gain = g[0], bias = 0;
    if (m.actuator_gaintype[i] == kGainAffine) gain = g[0] + g[1] * length + g[2] * velocity;
    if (m.actuator_gaintype[i] == kGainMuscle) gain = muscle_gain(m, i, length, velocity);
    if (m.actuator_biastype[i] == kBiasAffine) bias = b[0] + b[1] * length + b[2] * velocity;
    if (m.actuator_biastype[i] == kBiasMuscle) bias = muscle_bias(m, i, length);
    d->actuator_force[i] = gain * input + bias;
  }
  // actuators of a tendon whose total force is limited are scaled together
  for (int t = 0; t < m.ntendon; ++t) {
    if (!m.tendon_actfrclimited[t]) continue;
    const double total = tendon_actuator_force(m, *d, t),
                 limited = clip(total, row::tendon_actfrcrange(m, t));
    if (limited == total) continue;
    for (int i = 0; i < m.nactuator; ++i)
      if (acts_on_tendon(m, i, t)) d->actuator_force[i] *= limited / total;
  }
  for (int i = 0; i < m.nactuator; ++i) {
    if (!m.actuator_forcelimited[i]) continue;
    double& force = d->actuator_force[i];
    const auto range = row::actuator_forcerange(m, i);
    force = clip(force, range);
    d->act_saturated[i] = force <= range[0] || force >= range[1];
  }

  for (int t = 0; t < m.ntendon; ++t) {
    const auto range = row::tendon_actfrcrange(m, t);
    const double total = tendon_actuator_force(m, *d, t);
    // what was scaled is at the limit but for rounding
    const double slack = 1e-12 * std::abs(total);
    d->ten_saturated[t] =
        m.tendon_actfrclimited[t] && (total - slack <= range[0] || total + slack >= range[1]);
  }

  // neither limit bounds what rubs on the shaft of a motor
  for (int i = 0; i < m.nactuator; ++i)
    if (is_motor(m, i) && motor_equations(m, i).drag && !actuator_disabled(m, i))
      d->actuator_force[i] += motor_equations(m, i).drag(m, i, *d);

  // into joint space, with the gravity compensation that counts as actuation, and the joints' own limits
  d->qfrc_actuator = d->actuator_moment.transpose() * d->actuator_force;
  for (int i = 0; i < m.nv; ++i) {
    if (m.jnt_actgravcomp[m.dof_jntid[i]]) d->qfrc_actuator[i] += d->qfrc_gravcomp[i];
  }
  for (int j = 0; j < m.njnt; ++j) {
    if (!m.jnt_actfrclimited[j]) continue;
    double& f = d->qfrc_actuator[m.jnt_dofadr[j]];
    f = clip(f, row::jnt_actfrcrange(m, j));
  }
}

}  // namespace dualstep::reference
