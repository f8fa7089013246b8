// see contact_model.h: which law holds, the inertia it stands on, and the order of its parts
#include "host/reference/contact_model.h"

#include <algorithm>
#include <cmath>

#include "host/reference/events.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

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
  law.coulomb = opt.desaxce || opt.contact_model == ContactModel::kStewartTrinkle;
  const bool todorov =
      opt.contact_model == ContactModel::kTodorov || opt.contact_model == ContactModel::kImpulsive;
  law.directions = opt.friction_directions;
  if (todorov) {
    // the option `cone` decides; a pyramid has four edges unless told otherwise
    law.directions = opt.cone == Cone::kElliptic ? 0 : std::max(4, opt.friction_directions);
  }
  return law;
}

std::vector<std::pair<std::string, std::string>> unsupported_formulation(const Model& m) {
  const Options& o = m.opt;
  std::vector<std::pair<std::string, std::string>> out;
  const bool smooth_model =
      o.contact_model == ContactModel::kTodorov || o.contact_model == ContactModel::kCompliant;
  if (o.integrator == Integrator::kRk4 && !smooth_model && o.scheme == Scheme::kTimeStepping) {
    out.emplace_back(
        "integrator = rk4",
        "anitescu, stewart_trinkle, impulsive and soft_anchor are laws of a whole time step, which "
        "the stages of a Runge-Kutta step are not; take euler or implicitfast");
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
  // an explicit spring much stiffer than the step allows gains energy
  const bool springs = (o.contact_model == ContactModel::kCompliant &&
                        (o.compliant_law == CompliantLaw::kLinear || o.exponent == 1)) ||
                       o.contact_model == ContactModel::kSoftAnchor;
  if (springs && o.scheme == Scheme::kTimeStepping && o.integrator != Integrator::kVariational) {
    double lightest = 0;
    int which = -1;
    for (int g = 0; g < m.ngeom; ++g) {
      if (m.geom_contype[g] == 0 && m.geom_conaffinity[g] == 0) continue;
      const double weight = m.body_invweight0[2 * m.geom_bodyid[g]];
      if (weight > lightest) lightest = weight, which = g;
    }
    const double limit = 1.8 / std::sqrt(std::max(1e-300, o.stiffness * lightest));
    if (which >= 0 && o.timestep > limit) {
      out.emplace_back("timestep", "with stiffness " + std::to_string(o.stiffness) + " N/m, geom '" +
                                       m.name_of("geom", which) + "' of effective mass " +
                                       std::to_string(1 / lightest) + " kg needs steps below " +
                                       std::to_string(limit) +
                                       " s: an explicit contact spring gains energy above");
    }
  }
  return out;
}

void implicit_inertia(const Model& m, Data* d) {
  d->M_hat = d->M;
  const double h = m.opt.timestep;
  if (m.opt.integrator == Integrator::kImplicitFast) {
    const MatrixXd slope = velocity_derivative(m, *d);
    d->M_hat -= 0.5 * h * (slope + slope.transpose());
  } else if (m.opt.integrator == Integrator::kEuler && !m.opt.disabled(kDisableEulerDamp) &&
             !m.opt.disabled(kDisableDamper)) {
    for (int i = 0; i < m.nv; ++i) d->M_hat(i, i) += h * m.dof_damping[i];
  }
  d->M_hat_llt.compute(d->M_hat);
}

namespace {

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
  if (own && !m.opt.desaxce && !hard_rows(m)) {
    make_rows(m, d);
    solve_constraints(m, d);
    return;
  }
  for (Contact& c : d->contacts) c.force.setZero();
  if (own) {
    d->M_hat = d->M;
    d->M_hat_llt = d->M_llt;
    make_rows(m, d);
    solve_rows(m, d, d->qacc_smooth);
    return;
  }

  implicit_inertia(m, d);
  d->qacc_smooth = d->M_hat_llt.solve(d->qfrc_smooth);
  const VectorXd velocity = d->qvel;
  VectorXd jump = VectorXd::Zero(m.nv), push = VectorXd::Zero(m.nv);
  if (m.opt.contact_model == ContactModel::kImpulsive) jump = impacts(m, d);
  const bool explicit_law =
      m.opt.contact_model == ContactModel::kCompliant || m.opt.contact_model == ContactModel::kSoftAnchor;
  if (explicit_law) push = explicit_contacts(m, d);

  // the rows see the velocity after the impacts
  d->qvel = velocity + jump;
  make_rows(m, d);
  d->qvel = velocity;
  solve_rows(m, d, d->qacc_smooth + d->M_hat_llt.solve(push));
  d->qacc += jump / m.opt.timestep;
  d->qfrc_constraint += push + d->M * jump / m.opt.timestep;
}

}  // namespace dualstep::reference
