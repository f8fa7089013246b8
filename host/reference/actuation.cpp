// Actuators: transmission, activation dynamics, force.
//   force = gain(length, velocity) * (ctrl or act) + bias(length, velocity), clipped; qfrc = moment' force
//   gain: g0, or g0 + g1 length + g2 velocity; bias: 0, or b0 + b1 length + b2 velocity
//   d act/dt: ctrl (integrator) or (ctrl - act) / tau (filters; the exact one integrates in closed form)
// Source: MuJoCo's documentation, "Actuation model". Setpoints of position servos on a ball joint live on
// a circle: the representative nearest the length counts.
// Reads ctrl, act, qpos, qvel, qfrc_gravcomp. Cost O(nu nv).
#include <algorithm>

#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

double clip(double x, const std::vector<double>& range, int i) {
  return std::min(std::max(x, range[2 * i]), range[2 * i + 1]);
}

// row i of the moment and the length, for an actuator on a joint
void joint_transmission(const Model& m, int i, Data* d) {
  const int jnt = m.actuator_trnid[2 * i], dof = m.jnt_dofadr[jnt];
  const double* q = &d->qpos[m.jnt_qposadr[jnt]];
  const double* gear = &m.actuator_gear[6 * i];
  const bool in_parent = m.actuator_trntype[i] == kTrnJointInParent;
  auto moment = d->actuator_moment.row(i);
  switch (m.jnt_type[jnt]) {
    case kBall: {
      const Quaterniond rot = unit_quat(q);
      Vector3d axis(gear[0], gear[1], gear[2]);
      if (in_parent) axis = rot.conjugate() * axis;
      d->actuator_length[i] = quat_log(rot).dot(axis);
      moment.segment<3>(dof) = axis.transpose();
      break;
    }
    case kFree: {
      // a wrench: force along world axes, torque along body axes (or the parent's)
      Vector3d torque(gear[3], gear[4], gear[5]);
      if (in_parent) torque = unit_quat(q + 3).conjugate() * torque;
      moment.segment<3>(dof) = Vector3d(gear[0], gear[1], gear[2]).transpose();
      moment.segment<3>(dof + 3) = torque.transpose();
      break;
    }
    default:
      d->actuator_length[i] = gear[0] * q[0];
      moment[dof] = gear[0];
  }
}

}  // namespace

void transmission(const Model& m, Data* d) {
  d->actuator_length.setZero();
  d->actuator_moment.setZero();
  for (int i = 0; i < m.nu; ++i) {
    if (m.actuator_trntype[i] == kTrnTendon) {
      const int tendon = m.actuator_trnid[2 * i];
      const double gear = m.actuator_gear[6 * i];
      d->actuator_length[i] = gear * d->ten_length[tendon];
      d->actuator_moment.row(i) = gear * d->ten_J.row(tendon);
    } else {
      joint_transmission(m, i, d);
    }
  }
}

bool actuator_disabled(const Model& m, int actuator) {
  const int group = m.actuator_group[actuator];
  return group >= 0 && group <= 30 && (m.opt.disableactuator & (1 << group)) != 0;
}

double setpoint_period(const Model& m, int i) {
  const bool servo = m.actuator_gaintype[i] == kGainFixed && m.actuator_biastype[i] == kBiasAffine &&
                     m.actuator_gainprm[10 * i] == -m.actuator_biasprm[10 * i + 1] &&
                     (m.actuator_dyntype[i] == kDynNone || m.actuator_dyntype[i] == kDynIntegrator);
  if (!servo || m.actuator_trntype[i] == kTrnTendon || m.jnt_type[m.actuator_trnid[2 * i]] != kBall) return 0;
  return 2 * kPi * vec3(m.actuator_gear, 2 * i).norm();
}

double nearest_setpoint(double u, double x, double period) {
  return period > 0 ? u - period * std::round((u - x) / period) : u;
}

double next_activation(const Model& m, const Data& d, int i, int address, double act_dot) {
  const double h = m.opt.timestep;
  double act = d.act[address];
  if (m.actuator_dyntype[i] == kDynFilterExact) {
    const double tau = std::max(kTiny, m.actuator_dynprm[10 * i]);
    act += act_dot * tau * (1 - std::exp(-h / tau));
  } else {
    act += act_dot * h;
  }
  return m.actuator_actlimited[i] ? clip(act, m.actuator_actrange, i) : act;
}

VectorXd clamped_controls(const Model& m, const Data& d) {
  VectorXd ctrl = d.ctrl;
  if (!m.opt.disabled(kDisableClampCtrl)) {
    for (int i = 0; i < m.nu; ++i) {
      if (m.actuator_ctrllimited[i]) ctrl[i] = clip(ctrl[i], m.actuator_ctrlrange, i);
    }
  }
  return ctrl;
}

bool acts_on_tendon(const Model& m, int actuator, int tendon) {
  return m.actuator_trntype[actuator] == kTrnTendon && m.actuator_trnid[2 * actuator] == tendon;
}

double tendon_actuator_force(const Model& m, const Data& d, int tendon) {
  double sum = 0;
  for (int i = 0; i < m.nu; ++i)
    if (acts_on_tendon(m, i, tendon)) sum += d.actuator_force[i];
  return sum;
}

void actuation(const Model& m, Data* d) {
  d->actuator_force.setZero();
  d->act_dot.setZero();
  d->qfrc_actuator.setZero();
  d->ten_saturated.assign(m.ntendon, 0);
  if (m.nu == 0 || m.opt.disabled(kDisableActuation)) return;
  const VectorXd ctrl = clamped_controls(m, *d);

  // activation dynamics
  for (int i = 0; i < m.nu; ++i) {
    const int a = m.actuator_actadr[i];
    if (a < 0) continue;
    if (m.actuator_dyntype[i] == kDynIntegrator) {
      d->act_dot[a] = ctrl[i];
    } else {
      d->act_dot[a] = (ctrl[i] - d->act[a]) / std::max(kTiny, m.actuator_dynprm[10 * i]);
    }
  }

  // force of each actuator
  for (int i = 0; i < m.nu; ++i) {
    if (actuator_disabled(m, i)) continue;
    const double length = d->actuator_length[i], velocity = d->actuator_velocity[i];
    const double *g = &m.actuator_gainprm[10 * i], *b = &m.actuator_biasprm[10 * i];
    const int a = m.actuator_actadr[i];
    double input = ctrl[i];
    if (a >= 0) input = m.actuator_actearly[i] ? next_activation(m, *d, i, a, d->act_dot[a]) : d->act[a];
    input = nearest_setpoint(input, length, setpoint_period(m, i));

    const double gain = m.actuator_gaintype[i] == kGainAffine ? g[0] + g[1] * length + g[2] * velocity : g[0];
    const double bias = m.actuator_biastype[i] == kBiasAffine ? b[0] + b[1] * length + b[2] * velocity : 0;
    d->actuator_force[i] = gain * input + bias;
  }
  // actuators of a tendon whose total force is limited are scaled together
  for (int t = 0; t < m.ntendon; ++t) {
    if (!m.tendon_actfrclimited[t]) continue;
    const double total = tendon_actuator_force(m, *d, t), limited = clip(total, m.tendon_actfrcrange, t);
    if (limited == total) continue;
    for (int i = 0; i < m.nu; ++i)
      if (acts_on_tendon(m, i, t)) d->actuator_force[i] *= limited / total;
  }
  for (int i = 0; i < m.nu; ++i) {
    if (m.actuator_forcelimited[i])
      d->actuator_force[i] = clip(d->actuator_force[i], m.actuator_forcerange, i);
  }

  for (int t = 0; t < m.ntendon; ++t) {
    const double total = tendon_actuator_force(m, *d, t), *range = &m.tendon_actfrcrange[2 * t];
    // what was scaled is at the limit but for rounding
    const double slack = 1e-12 * std::abs(total);
    d->ten_saturated[t] =
        m.tendon_actfrclimited[t] && (total - slack <= range[0] || total + slack >= range[1]);
  }

  // into joint space, with the gravity compensation that counts as actuation, and the joints' own limits
  d->qfrc_actuator = d->actuator_moment.transpose() * d->actuator_force;
  for (int i = 0; i < m.nv; ++i) {
    if (m.jnt_actgravcomp[m.dof_jntid[i]]) d->qfrc_actuator[i] += d->qfrc_gravcomp[i];
  }
  for (int j = 0; j < m.njnt; ++j) {
    if (!m.jnt_actfrclimited[j]) continue;
    double& f = d->qfrc_actuator[m.jnt_dofadr[j]];
    f = clip(f, m.jnt_actfrcrange, j);
  }
}

}  // namespace dualstep::reference
