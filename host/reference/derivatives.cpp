// Derivatives of the smooth forces with respect to qvel, as implicit integration needs them.
//
// solves    D = d (qfrc_actuator + qfrc_passive) / d qvel
// equation  D = sum over sources of J' (d force / d velocity) J
//           K likewise by position, J of tendons and transmissions held: for the integrator discrete alone
// source    MuJoCo's documentation, "Implicit-in-velocity"; Todorov, Erez & Tassa 2012
// deviation from the exact derivative, as in MuJoCo: actuators at their force limit, or at their joint's or tendon's,
//           contribute nothing, nor do entries between dofs of different branches. Under discrete these entries
//           count, and an actuator that pushes away from where it is, or in the direction in which it moves,
//           contributes nothing to K or to D
// cost      O(nv depth) an actuator or tendon, O(nv^2) under discrete
#include <algorithm>

#include "host/interruption.h"
#include "host/model/actuator_kinds.h"
#include "host/model/element_rows.h"
#include "host/reference/motors.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

// an actuator's force by velocity and by length; none where a limit holds it
struct ActuatorSlope {
  double velocity = 0, length = 0;
};

ActuatorSlope actuator_slope(const Model& m, const Data& d, const VectorXd& ctrl, int i) {
  ActuatorSlope slope;
  if (actuator_disabled(m, i)) return slope;
  const bool motor = is_motor(m, i);
  const bool tendon = acts_on(m, i, kOnTendon), joint = acts_on(m, i, kOnJoint);
  const int object = transmission_id(m, i);
  const bool saturated = d.act_saturated[i] || (tendon && d.ten_saturated[object]);
  if (saturated && !motor) return slope;
  if (joint && m.jnt_actfrclimited[object]) {
    const Bounds range = bounds(row::jnt_actfrcrange(m, object));
    const double total = d.qfrc_actuator[m.jnt_dofadr[object]];
    if (total <= range.lower || total >= range.upper) return slope;
  }
  if (motor) {
    const MotorEquations& of = motor_equations(m, i);
    const MotorSlope pull = saturated ? MotorSlope{} : of.slope(m, i, ctrl, d),
                     drag = of.drag_slope ? of.drag_slope(m, i, d) : MotorSlope{};
    return {drag.velocity + pull.velocity, drag.length + pull.length};
  }
  const double length = d.actuator_length[i], velocity = d.actuator_velocity[i];
  if (m.actuator_biastype[i] == kBiasAffine)
    slope = {row::actuator_biasprm(m, i)[2], row::actuator_biasprm(m, i)[1]};
  if (m.actuator_biastype[i] == kBiasMuscle) slope.length = muscle_bias_stiffness(m, i, length);
  const int gain = m.actuator_gaintype[i];
  if (gain == kGainAffine || gain == kGainMuscle) {
    const int a = m.actuator_actadr[i];
    double input = ctrl[m.actuator_ctrladr[i]];
    if (a >= 0) input = m.actuator_actearly[i] ? next_activation(m, d, i, a, d.act_dot[a]) : d.act[a];
    const bool affine = gain == kGainAffine;
    slope.velocity +=
        input * (affine ? row::actuator_gainprm(m, i)[2] : muscle_gain_slope(m, i, length, velocity));
    slope.length +=
        input * (affine ? row::actuator_gainprm(m, i)[1] : muscle_gain_stiffness(m, i, length, velocity));
  }
  return slope;
}

// f(moment, slope) of each actuator
template <class F>
void each_actuator(const Model& m, const Data& d, F f) {
  if (m.opt.disabled(kDisableActuation)) return;
  const VectorXd ctrl = clamped_controls(m, d);
  for (int i = 0; i < m.nactuator; ++i) {
    stop_if_told();
    f(VectorXd(d.actuator_moment.row(i)), actuator_slope(m, d, ctrl, i));
  }
}

template <class Matrix>
void add_fluid(const Model& m, const Data& d, int body, Matrix* D) {
  if (has_fluid_ellipsoids(m, body)) {
    const int root = m.body_rootid[body];
    const bool alone = m.body_jntnum[root] == 1 && lone_free_body(m, m.body_jntadr[root]);
    const bool symmetric = m.opt.integrator != Integrator::kImplicit && !alone;
    const MatrixXd slope = ellipsoid_fluid_slope(m, d, body, symmetric);
    for (int i = last_dof(m, body); i >= 0; i = m.dof_parentid[i])
      for (int j = last_dof(m, body); j >= 0; j = m.dof_parentid[j]) (*D)(i, j) += slope(i, j);
    return;
  }
  const Vector3d box = inertia_box(m, body);
  const Vector6d flow = flow_velocity(m, d, body);
  const double diameter = box.mean(), density = m.opt.density;

  // drag acts per axis of the inertial frame, so its slope is diagonal there
  Vector6d slope;
  for (int k = 0; k < 3; ++k) {
    const double a = box[(k + 1) % 3], b = box[(k + 2) % 3];
    slope[k] = -kPi * std::pow(diameter, 3) * m.opt.viscosity -
               density * box[k] * (std::pow(a, 4) + std::pow(b, 4)) * 2 * std::abs(flow[k]) / 64;
    slope[3 + k] = -3 * kPi * diameter * m.opt.viscosity - density * a * b * std::abs(flow[3 + k]);
  }
  MatrixXd jacp, jacr, J(6, m.nv);
  point_jacobian(m, d, body, d.xipos[body], &jacp, &jacr);
  J << d.ximat[body].transpose() * jacr, d.ximat[body].transpose() * jacp;
  for (int i = last_dof(m, body); i >= 0; i = m.dof_parentid[i]) {
    const Vector6d weighted = slope.cwiseProduct(J.col(i));
    for (int j = last_dof(m, body); j >= 0; j = m.dof_parentid[j]) (*D)(i, j) += weighted.dot(J.col(j));
  }
}

}  // namespace

BlockMatrix velocity_derivative(const Model& m, const Data& d) {
  BlockMatrix D(d.M.bounds());
  each_actuator(m, d, [&](const VectorXd& moment, const ActuatorSlope& slope) {
    add_on_branches(m, slope.velocity, moment, &D);
  });
  const bool springs = !m.opt.disabled(kDisableSpring), dampers = !m.opt.disabled(kDisableDamper);
  for (int i = 1; i < m.nbody && (springs || dampers); ++i) {
    stop_if_told();
    if (fluid_acts(m, i)) add_fluid(m, d, i, &D);
  }
  if (dampers) {
    for (int i = 0; i < m.nv; ++i) D(i, i) -= m.dof_damping[i];
    for (int t = 0; t < m.ntendon; ++t) add_on_branches(m, -m.tendon_damping[t], d.ten_J.row(t), &D);
  }
  return D;
}

StepSlopes step_slopes(const Model& m, const Data& d) {
  StepSlopes s{MatrixXd::Zero(m.nv, m.nv), MatrixXd::Zero(m.nv, m.nv), VectorXd::Zero(m.nv)};
  const double h = m.opt.timestep;
  const auto add = [&](const VectorXd& moment, double damping, double stiffness) {
    const MatrixXd outer = moment * moment.transpose();
    s.damping += damping * outer;
    s.stiffness += stiffness * outer;
    s.pulled += h * (damping + h * stiffness) * moment.cwiseAbs2();
  };
  each_actuator(m, d, [&](const VectorXd& moment, const ActuatorSlope& slope) {
    add(moment, -std::min(0.0, slope.velocity), -std::min(0.0, slope.length));
  });
  const bool springs = !m.opt.disabled(kDisableSpring), dampers = !m.opt.disabled(kDisableDamper);
  MatrixXd fluid = MatrixXd::Zero(m.nv, m.nv);
  for (int i = 1; i < m.nbody && (springs || dampers); ++i) {
    stop_if_told();
    if (fluid_acts(m, i)) add_fluid(m, d, i, &fluid);
  }
  s.damping -= fluid;
  for (int i = 0; i < m.nv; ++i) {
    if (dampers) s.damping(i, i) += m.dof_damping[i];
    if (springs) s.stiffness(i, i) += std::max(0.0, m.jnt_stiffness[m.dof_jntid[i]]);
  }
  for (int t = 0; t < m.ntendon; ++t) {
    stop_if_told();
    const bool stretched = springs && tendon_stretch(m, d, t) != 0;
    add(d.ten_J.row(t), dampers ? m.tendon_damping[t] : 0, stretched ? m.tendon_stiffness[t] : 0);
  }
  return s;
}

}  // namespace dualstep::reference
