// see contact_model.h: which law holds, the inertia it stands on, and the order of its parts
#include "host/reference/contact_model.h"

#include <algorithm>
#include <cmath>

#include "host/model/actuator_kinds.h"
#include "host/model/unsupported.h"
#include "host/reference/events.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

ContactForm contact_form(const Options& opt) {
  ContactForm form;
  switch (opt.contact_model) {
    case ContactModel::kTodorov:
      break;
    case ContactModel::kStewartTrinkle:
      form.coulomb = true;
      [[fallthrough]];
    case ContactModel::kAnitescu:
      form.hard = form.whole_step = true;
      break;
    case ContactModel::kSoftAnchor:
      form.anchored = form.whole_step = true;
      [[fallthrough]];
    case ContactModel::kCompliant:
      form.forces = true;
      break;
    case ContactModel::kImpulsive:
      form.impacts = form.whole_step = true;
      break;
  }
  form.coulomb = form.coulomb || opt.desaxce;
  return form;
}

bool mujoco_contacts(const Options& opt) {
  return opt.contact_model == ContactModel::kTodorov &&
         opt.contact_parameters == ContactParameters::kMujoco && opt.integrator != Integrator::kVariational &&
         opt.scheme == Scheme::kTimeStepping;
}

bool frame_rows(const Options& opt) { return !mujoco_contacts(opt) || opt.desaxce; }

double contact_margin(const Options& opt, double geoms_margin) {
  if (mujoco_contacts(opt)) return geoms_margin;
  // what is closed is known to a distance above zero
  if (opt.scheme == Scheme::kEventDriven) return std::max(opt.contact_margin, 1e-8);
  const bool given = opt.contact_margin > 0 || opt.contact_parameters == ContactParameters::kSpringDamper;
  return given ? opt.contact_margin : geoms_margin;
}

RowLaw row_law(const Options& opt) {
  RowLaw law;
  const ContactForm form = contact_form(opt);
  law.coulomb = form.coulomb;
  law.directions = opt.friction_directions;
  if (!form.hard && !form.forces) {
    // the option `cone` decides; a pyramid has four edges unless told otherwise
    law.directions = opt.cone == Cone::kElliptic ? 0 : std::max(4, opt.friction_directions);
  }
  return law;
}

std::vector<std::pair<std::string, std::string>> unsupported_formulation(const Model& m) {
  const Options& o = m.opt;
  std::vector<std::pair<std::string, std::string>> out;
  const ContactForm form = contact_form(o);
  if (o.integrator == Integrator::kRk4 && form.whole_step && o.scheme == Scheme::kTimeStepping) {
    out.emplace_back(
        "integrator = rk4",
        "anitescu, stewart_trinkle, impulsive and soft_anchor are laws of a whole time step, which "
        "the stages of a Runge-Kutta step are not; take euler or implicitfast");
  }
  if (o.integrator == Integrator::kDiscrete && (!mujoco_contacts(o) || o.desaxce || hard_rows(m))) {
    out.emplace_back("integrator = discrete", kDiscreteTakes);
  }
  if (o.integrator == Integrator::kVariational && o.scheme == Scheme::kEventDriven) {
    out.emplace_back("integrator = variational",
                     "event_driven integrates its flow itself, to a tolerance; take one or the other");
  }
  const bool hybrid = o.scheme == Scheme::kEventDriven || o.integrator == Integrator::kVariational;
  if (hybrid && !o.disabled(kDisableFrictionLoss) && !o.disabled(kDisableConstraint)) {
    for (int dof = 0; dof < m.nv; ++dof) {
      if (m.dof_frictionloss[dof] == 0) continue;
      out.emplace_back("frictionloss",
                       "joint '" + m.name_of("jnt", m.dof_jntid[dof]) +
                           "': dry joint friction is not simulated by event_driven and variational");
    }
  }
  for (int a = 0; hybrid && a < m.nactuator; ++a)
    if (m.actuator_delay[a] > 0)
      out.emplace_back("actuator delay",
                       "actuator '" + m.name_of("actuator", a) +
                           "': controls are kept by whole steps, unlike event_driven and variational");
  for (int a = 0; hybrid && a < m.nactuator; ++a)
    if (is_motor(m, a) && m.actuator_actnum[a] > 0)
      out.emplace_back(std::string(motor_of(m, a)->word) + " with activations",
                       "actuator '" + m.name_of("actuator", a) +
                           "': its activations advance by whole steps, unlike event_driven and variational");
  for (int a = 0; hybrid && a < m.nactuator; ++a)
    if (acts_by_contacts(m, a))
      out.emplace_back("adhesion",
                       "actuator '" + m.name_of("actuator", a) +
                           "': actuators on bodies are not simulated by event_driven and variational");
  if (hybrid && !o.disabled(kDisableConstraint)) {
    for (int t = 0; t < m.ntendon; ++t) {
      const bool limited = m.tendon_limited[t] && !o.disabled(kDisableLimit);
      const bool rubs = m.tendon_frictionloss[t] > 0 && !o.disabled(kDisableFrictionLoss);
      if (!limited && !rubs) continue;
      out.emplace_back(
          limited ? "limit of a tendon" : "frictionloss",
          "tendon '" + m.name_of("tendon", t) +
              "': limits and friction of tendons are not simulated by event_driven and variational");
    }
  }
  return out;
}

void implicit_inertia(const Model& m, Data* d) {
  d->M_hat = d->M;
  const double h = m.opt.timestep;
  if (m.opt.integrator == Integrator::kImplicit || m.opt.integrator == Integrator::kImplicitFast) {
    BlockMatrix slope = implicit_derivative(m, *d);
    slope.symmetrize();
    d->M_hat.add(-h, slope);
  } else if (m.opt.integrator == Integrator::kEuler && !m.opt.disabled(kDisableEulerDamp) &&
             !m.opt.disabled(kDisableDamper)) {
    for (int i = 0; i < m.nv; ++i) d->M_hat(i, i) += h * m.dof_damping[i];
  }
  d->M_hat_llt.compute(d->M_hat);
}

namespace {

// M^ of the integrator discrete, and the acceleration of its smooth forces at the end of the step: those of positions
// are taken where the velocity of the start leads
void discrete_inertia(const Model& m, Data* d) {
  const double h = m.opt.timestep;
  const StepSlopes slopes = step_slopes(m, *d);
  const MatrixXd sum = d->M_hat.dense() + h * slopes.damping + h * h * slopes.stiffness;
  // the dofs of a free body stay in one block, though its inertia may be diagonal
  d->M_hat = BlockMatrix(sum, d->M.bounds());
  d->M_hat_llt.compute(d->M_hat);
  d->pulled = slopes.pulled;
  d->qfrc_step = d->qfrc_smooth - h * (slopes.stiffness * d->qvel);
  d->qacc_smooth = d->M_hat_llt.solve(d->qfrc_step);
}

// discrete: bodies alone in their tree that no row holds take their gyroscopic torque at the end of the step too. Those that
// a tendon or an actuator damps or holds do not, as in MuJoCo
void turn_free_bodies(const Model& m, Data* d) {
  for (int j = 0; j < m.njnt; ++j) {
    if (!lone_free_body(m, j)) continue;
    const int dof = m.jnt_dofadr[j];
    if (d->nefc() > 0 && !d->efc_J.middleCols<6>(dof).isZero(0)) continue;
    if (!d->pulled.segment<6>(dof).isZero(0)) continue;
    const BlockMatrix::Block& block = d->M_hat.block_of(dof);
    Matrix6d sum = block.values.block<6, 6>(dof - block.begin, dof - block.begin);
    sum += m.opt.timestep * free_body_bias_slope(m, *d, j);
    d->qacc.segment<6>(dof) = sum.partialPivLu().solve(d->qfrc_step.segment<6>(dof));
  }
}

// the impacts of a state, before its step: the velocity jumps, and the contacts' impulses become mean forces
VectorXd impacts(const Model& m, Data* d) {
  std::vector<int> closed;
  for (size_t i = 0; i < d->contacts.size(); ++i) {
    if (d->contacts[i].dist <= 0) closed.push_back(static_cast<int>(i));
  }
  std::vector<double> distance;
  std::vector<ClosedLimit> limits = closed_limits(m, *d, 0, &distance);
  bool approaches = false;
  const auto restitution = [&](bool limit, int index, double speed) {
    if (speed <= kBounceSpeed) return 0.0;
    approaches = true;
    if (limit) return m.opt.restitution;
    const Contact& c = d->contacts[closed[index]];
    return pair_restitution(m, c.geom1, c.geom2);
  };
  const Impact impact = impact_rows(m, *d, closed, limits, restitution);
  if (!impact.happened || !approaches) return VectorXd::Zero(m.nv);
  if (!impact.solved) d->status |= kStatusNotConverged;
  for (size_t i = 0; i < closed.size(); ++i)
    d->contacts[closed[i]].force.head<3>() += impact.impulse[i] / m.opt.timestep;
  return impact.jump;
}

}  // namespace

void constrained_acceleration(const Model& m, Data* d) {
  const bool own = mujoco_contacts(m.opt);
  if (m.opt.scheme == Scheme::kEventDriven) {
    for (Contact& c : d->contacts) c.force.setZero();
    d->M_hat = d->M;
    d->M_hat_llt = d->M_llt;
    make_rows(m, d);
    d->efc_force = VectorXd::Zero(d->nefc());
    d->residual = 0;
    EventRun(m).forward(d);
    return;
  }
  if (m.opt.integrator == Integrator::kVariational) {
    variational_acceleration(m, d);
    return;
  }
  if (own) {
    d->M_hat = d->M;
    d->M_hat_llt = d->M_llt;
    if (m.opt.integrator == Integrator::kDiscrete) discrete_inertia(m, d);
  }
  if (own && !m.opt.desaxce && !hard_rows(m)) {
    make_rows(m, d);
    solve_constraints(m, d);
    if (m.opt.integrator == Integrator::kDiscrete) turn_free_bodies(m, d);
    return;
  }
  for (Contact& c : d->contacts) c.force.setZero();
  if (own) {
    make_rows(m, d);
    solve_rows(m, d, d->qacc_smooth);
    return;
  }

  implicit_inertia(m, d);
  d->qacc_smooth = d->M_hat_llt.solve(d->qfrc_smooth);
  const VectorXd velocity = d->qvel;
  VectorXd jump = VectorXd::Zero(m.nv), push = VectorXd::Zero(m.nv);
  const ContactForm form = contact_form(m.opt);
  if (form.impacts) jump = impacts(m, d);
  if (form.forces) push = explicit_contacts(m, d);

  // the rows see the velocity after the impacts
  d->qvel = velocity + jump;
  make_rows(m, d);
  d->qvel = velocity;
  solve_rows(m, d, d->qacc_smooth + d->M_hat_llt.solve(push));
  d->qacc += jump / m.opt.timestep;
  d->qfrc_constraint += push + d->M * jump / m.opt.timestep;
}

}  // namespace dualstep::reference
