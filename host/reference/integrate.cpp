// Time stepping of state and time after forward().
//
// solves    the next state
// equation  euler         (M + h D) a = qfrc_smooth + qfrc_constraint with D the joint damping; v' = v + h a,
//                         q' = q (+) h v'
//           implicit      (M - h dF/dv) a = the same right-hand side, F = actuators + passive forces - bias
//           implicit_fast the same, F without the bias but of lone free bodies
//           discrete      v' = v + h qacc: qacc already is that of the step (contact_model.cpp)
//           runge_kutta4  the classical tableau on (q, v, act), rotations in the tangent space of the step's start
//           Quantities derived from the state (poses, contacts, sensors) stay those of the step's start
// source    MuJoCo's documentation, "Numerical integration"; Munthe-Kaas 1998 for rotations
// deviation from Euler as printed there: joint damping implicit unless eulerdamp is disabled
// cost      O(nv^3)
#include <algorithm>

#include "host/interruption.h"
#include "host/model/actuator_kinds.h"
#include "host/reference/contact_model.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

// act, qvel, qpos, time over one step; qpos moves along `velocity`, or along the new qvel where that is null
void advance(const Model& m, const VectorXd& act_dot, const VectorXd& qacc, const VectorXd* velocity,
             Data* d) {
  keep_controls(m, d);
  if (!m.opt.disabled(kDisableActuation)) {
    for (int i = 0; i < m.nactuator; ++i) {
      const int first = m.actuator_actadr[i], end = first + m.actuator_actnum[i];
      for (int a = first; a < end; ++a)
        d->act[a] = next_activation(m, *d, i, a, actuator_disabled(m, i) ? 0 : act_dot[a]);
      if (setpoint_period(m, i) == 0 || first < 0 || is_motor(m, i)) continue;
      // a setpoint on a circle is kept in one turn around the length; that of a PID servo is not
      d->act[first] = nearest_setpoint(d->act[first], d->actuator_length[i], setpoint_period(m, i));
    }
  }
  d->qvel += m.opt.timestep * qacc;
  d->qpos = integrate_position(m, d->qpos, velocity ? *velocity : d->qvel, m.opt.timestep);
  d->time += m.opt.timestep;
}

// d bias / d qvel. The bias but for gravity is quadratic in qvel, so that its derivative along e follows from
// values alone, without truncation error: b(v + e) - b(v) - b(e) + b(0)
BlockMatrix bias_slope(const Model& m, const Data& d) {
  Data at = d;
  const auto bias = [&](const VectorXd& qvel) {
    at.qvel = qvel;
    velocities(m, &at);
    return rnea(m, at, nullptr);
  };
  const VectorXd here = bias(d.qvel), rest = bias(VectorXd::Zero(m.nv));
  // of the dofs of a tree by those of the same
  BlockMatrix slope(d.M.bounds());
  for (BlockMatrix::Block& block : slope.blocks()) {
    for (int k = 0; k < block.size(); ++k) {
      stop_if_told();
      const VectorXd e = VectorXd::Unit(m.nv, block.begin + k);
      const VectorXd column = bias(d.qvel + e) - here - bias(e) + rest;
      block.values.col(k) = column.segment(block.begin, block.size());
    }
  }
  return slope;
}

}  // namespace

bool lone_free_body(const Model& m, int jnt) {
  if (m.jnt_type[jnt] != kFree) return false;
  const int body = m.jnt_bodyid[jnt];
  for (int i = 1; i < m.nbody; ++i) {
    if (i != body && m.body_rootid[i] == m.body_rootid[body] && m.body_dofnum[i] > 0) return false;
  }
  return m.body_jntnum[body] == 1;
}

// d bias / d qvel of a free body, and of what is fixed to it. The bias is quadratic in the angular velocity w, so its
// derivative follows from values alone: db(w) e = b(w + e) - b(w) - b(e), without truncation error.
Matrix6d free_body_bias_slope(const Model& m, const Data& d, int jnt) {
  const int body = m.jnt_bodyid[jnt];
  const Matrix3d& R = d.xmat[body];
  const auto bias = [&](const Vector3d& body_velocity) {
    const Vector3d w = R * body_velocity;
    Vector3d force = Vector3d::Zero(), torque = Vector3d::Zero();
    for (int i = body; i < m.nbody; ++i) {
      if (m.body_rootid[i] != body) continue;
      const Matrix3d inertia = d.ximat[i] * vec3(m.body_inertia, i).asDiagonal() * d.ximat[i].transpose();
      const Vector3d arm = d.xipos[i] - d.xpos[body], pull = m.body_mass[i] * w.cross(w.cross(arm));
      force += pull;
      torque += arm.cross(pull) + w.cross(inertia * w);
    }
    return spatial(force, R.transpose() * torque);
  };
  const Vector3d w = d.qvel.segment<3>(m.jnt_dofadr[jnt] + 3);
  Matrix6d slope = Matrix6d::Zero();
  for (int k = 0; k < 3; ++k) {
    const Vector3d e = Vector3d::Unit(k);
    slope.col(3 + k) = bias(w + e) - bias(w) - bias(e);
  }
  return slope;
}

BlockMatrix implicit_derivative(const Model& m, const Data& d) {
  BlockMatrix slope = velocity_derivative(m, d);
  if (m.opt.integrator == Integrator::kImplicit) slope.add(-1, bias_slope(m, d));
  return slope;
}

// d/dt of the displacement s with q = q0 (+) s, at velocity qvel. For rotations, q = q0 exp(s), that is
// the inverse of the exponential's derivative: w + s x w / 2 + (1 - |s|/2 cot(|s|/2)) / |s|^2 s x (s x w).
VectorXd displacement_rate(const Model& m, const VectorXd& displacement, const VectorXd& qvel) {
  VectorXd rate = qvel;
  for (int j = 0; j < m.njnt; ++j) {
    if (m.jnt_type[j] != kBall && m.jnt_type[j] != kFree) continue;
    const int dof = m.jnt_dofadr[j] + (m.jnt_type[j] == kFree ? 3 : 0);
    // a turn by more than half a revolution is the shorter one to the same place, as in MuJoCo
    const Vector3d s = quat_log(quat_exp(displacement.segment<3>(dof))), w = qvel.segment<3>(dof);
    const double angle = s.norm();
    const double k = angle < 1e-4 ? 1. / 12 + angle * angle / 720
                                  : (1 - 0.5 * angle / std::tan(0.5 * angle)) / (angle * angle);
    rate.segment<3>(dof) += 0.5 * s.cross(w) + k * s.cross(s.cross(w));
  }
  return rate;
}

VectorXd integrate_position(const Model& m, const VectorXd& qpos, const VectorXd& qvel, double h) {
  VectorXd next = qpos;
  for (int j = 0; j < m.njnt; ++j) {
    int q = m.jnt_qposadr[j], v = m.jnt_dofadr[j];
    if (m.jnt_type[j] == kSlide || m.jnt_type[j] == kHinge) {
      next[q] += h * qvel[v];
      continue;
    }
    if (m.jnt_type[j] == kFree) {
      next.segment<3>(q) += h * qvel.segment<3>(v);
      q += 3;
      v += 3;
    }
    const Quaterniond turned = unit_quat(&qpos[q]) * quat_exp(h * qvel.segment<3>(v));
    next.segment<4>(q) << turned.w(), turned.x(), turned.y(), turned.z();
  }
  return next;
}

void euler(const Model& m, Data* d) {
  if (!mujoco_contacts(m.opt) || m.opt.integrator == Integrator::kDiscrete) {
    // qacc already is (v' - v)/h
    advance(m, d->act_dot, d->qacc, nullptr, d);
    return;
  }
  const bool implicit = !m.opt.disabled(kDisableEulerDamp) && !m.opt.disabled(kDisableDamper);
  double damping = 0;
  for (double b : m.dof_damping) damping = std::max(damping, b);
  VectorXd qacc = d->qacc;
  if (implicit && damping > 0) {
    BlockMatrix H = d->M;
    for (int i = 0; i < m.nv; ++i) H(i, i) += m.opt.timestep * m.dof_damping[i];
    if (hard_rows(m)) {
      // rows that admit no softness hold for the motion that is made, not for the one without implicit
      // damping
      d->M_hat = H;
      d->M_hat_llt.compute(H);
      for (Contact& c : d->contacts) c.force.setZero();
      solve_rows(m, d, d->M_hat_llt.solve(d->qfrc_smooth));
      qacc = d->qacc;
    } else {
      qacc = BlockCholesky(H).solve(d->qfrc_smooth + d->qfrc_constraint);
    }
  }
  advance(m, d->act_dot, qacc, nullptr, d);
}

void variational(const Model& m, Data* d) {
  // the velocities of start and end stand in qacc, and the motion between them is the midpoint's
  const VectorXd velocity = d->midpoint_velocity;
  advance(m, d->act_dot, d->qacc, &velocity, d);
}

void implicit(const Model& m, Data* d) {
  if (!mujoco_contacts(m.opt)) {
    advance(m, d->act_dot, d->qacc, nullptr, d);
    return;
  }
  const double h = m.opt.timestep;
  const VectorXd force = d->qfrc_smooth + d->qfrc_constraint;
  BlockMatrix sum = d->M;
  sum.add(-h, implicit_derivative(m, *d));
  // bodies alone in their tree afford their gyroscopic derivative also in implicitfast: a block of its own, not
  // symmetric
  for (int j = 0; j < m.njnt && m.opt.integrator == Integrator::kImplicitFast; ++j) {
    if (!lone_free_body(m, j)) continue;
    const Matrix6d slope = free_body_bias_slope(m, *d, j);
    for (int r = 0; r < 6; ++r)
      for (int c = 0; c < 6; ++c) sum(m.jnt_dofadr[j] + r, m.jnt_dofadr[j] + c) += h * slope(r, c);
  }
  VectorXd qacc = solve_any(sum, force);
  if (hard_rows(m)) {
    // as in euler, on the symmetric part
    sum.symmetrize();
    d->M_hat = sum;
    d->M_hat_llt.compute(d->M_hat);
    for (Contact& c : d->contacts) c.force.setZero();
    solve_rows(m, d, d->M_hat_llt.solve(d->qfrc_smooth));
    qacc = d->qacc;
  }
  advance(m, d->act_dot, qacc, nullptr, d);
}

void runge_kutta4(const Model& m, Data* d) {
  const double h = m.opt.timestep;
  constexpr double kNode[4] = {0, 0.5, 0.5, 1}, kWeight[4] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};

  // slopes at the four points; the first is where forward() was called
  VectorXd rate = d->qvel;
  VectorXd velocity = kWeight[0] * rate, qacc = kWeight[0] * d->qacc, act_dot = kWeight[0] * d->act_dot;
  Data stage = *d;
  for (int i = 1; i < 4; ++i) {
    const VectorXd displacement = kNode[i] * h * rate;
    stage.qvel = d->qvel + kNode[i] * h * stage.qacc;
    stage.act = d->act + kNode[i] * h * stage.act_dot;
    stage.qpos = integrate_position(m, d->qpos, displacement, 1);
    stage.time = d->time + kNode[i] * h;
    stage.step_share = kNode[i];
    forward(m, &stage);
    rate = displacement_rate(m, displacement, stage.qvel);
    velocity += kWeight[i] * rate;
    qacc += kWeight[i] * stage.qacc;
    act_dot += kWeight[i] * stage.act_dot;
  }
  advance(m, act_dot, qacc, &velocity, d);
}

}  // namespace dualstep::reference
