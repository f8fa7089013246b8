// The step of the reference, top to bottom.
#include "host/interruption.h"
#include "host/reference/constraint.h"
#include "host/reference/contact_model.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

// a converged solve leaves 1e-13 or less
constexpr double kResidualTolerance = 1e-9;

bool sane(const VectorXd& x) { return x.allFinite() && (x.size() == 0 || x.cwiseAbs().maxCoeff() <= kHuge); }
bool sane(const RowMatrixXd& x) {
  return x.allFinite() && (x.size() == 0 || x.cwiseAbs().maxCoeff() <= kHuge);
}

void integrate(const Model& m, Data* d) {
  switch (m.opt.integrator) {
    case Integrator::kRk4:
      runge_kutta4(m, d);
      break;
    case Integrator::kImplicit:
    case Integrator::kImplicitFast:
      implicit(m, d);
      break;
    case Integrator::kVariational:
      variational(m, d);
      break;
    default:
      euler(m, d);
  }
}

}  // namespace

bool sane_state(const Data& d) {
  return sane(d.qpos) && sane(d.qvel) && sane(d.act) && sane(d.ctrl_history) && std::isfinite(d.time);
}

bool sane_inputs(const Data& d) {
  return sane(d.ctrl) && sane(d.qfrc_applied) && sane(d.xfrc_applied) && sane(d.mocap_pos) &&
         sane(d.mocap_quat);
}

void smooth_acceleration(const Model& m, Data* d) {
  d->qfrc_smooth = d->qfrc_passive - d->qfrc_bias + d->qfrc_actuator + d->qfrc_applied;
  for (int i = 1; i < m.nbody; ++i) {
    stop_if_told();
    if (d->xfrc_applied.row(i).isZero(0)) continue;
    const Vector3d force = d->xfrc_applied.row(i).head<3>(), torque = d->xfrc_applied.row(i).tail<3>();
    d->qfrc_smooth += project_wrench(m, *d, i, d->xipos[i], force, torque);
  }
  d->qacc_smooth = d->M_llt.solve(d->qfrc_smooth);
}

void state_stages(const Model& m, Data* d) {
  kinematics(m, d);
  center_of_mass(m, d);
  tendons(m, d);
  transmission(m, d);
  mass_matrix(m, d);
  velocities(m, d);
  d->qfrc_bias = rnea(m, *d, nullptr);
  d->qfrc_bias += tendon_bias(m, *d);
  d->energy[0] = potential_energy(m, *d);
  d->energy[1] = kinetic_energy(*d);
}

void forward(const Model& m, Data* d) {
  state_stages(m, d);
  passive_forces(m, d);
  actuation(m, d);
  smooth_acceleration(m, d);
  collide(m, d);
  if (body_transmission(m, d)) {
    // forces that contacts decide on
    actuation(m, d);
    smooth_acceleration(m, d);
  }
  constrained_acceleration(m, d);
  const double tolerance = m.opt.tolerance > 0 ? m.opt.tolerance : kResidualTolerance;
  if (!(d->residual <= tolerance)) d->status |= kStatusNotConverged;
  subtree_velocities(m, d);
  body_accelerations(m, d);
  sensors(m, d);
}

void step(const Model& m, Data* d) {
  if (d->status & kStatusDiverged) return;
  if (!sane_state(*d) || !sane_inputs(*d)) {
    d->status |= kStatusDiverged;
    return;
  }
  const VectorXd qpos = d->qpos, qvel = d->qvel, act = d->act, ctrl_history = d->ctrl_history;
  const double time = d->time;
  forward(m, d);
  d->anchors = d->next_anchors;
  if (sane(d->qacc)) integrate(m, d);
  if (!sane(d->qacc) || !sane_state(*d)) {
    d->status |= kStatusDiverged;
    d->qpos = qpos;
    d->qvel = qvel;
    d->act = act;
    d->ctrl_history = ctrl_history;
    d->time = time;
  }
}

}  // namespace dualstep::reference
