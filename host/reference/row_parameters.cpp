// R and aref of the rows that are not MuJoCo's.
//
// equation  equalities under equality_alpha  R = 0, aref = -2a J v - a^2 c - (dJ/dt) v
//           prescribed motion of a joint     R = 0, aref = du/dt - a (v - u(t)),
//                                            u = offset + amplitude cos(frequency t + phase)
//           contacts, limits, friction loss  as contact_model.h lists them
// source    Baumgarte 1972; Tedrake, Underactuated Robotics, multi-body appendix (velocity constraints; the
//           derivative in time of the prescribed motion is missing there); Todorov 2014; Anitescu 2006
// deviation a is at most 0.4/h, short of where semi-implicit Euler becomes unstable (0.83/h); 0.1/h where none
//           is given. kappa is at least 2h. The diagonal of A is exact, on M^
// reads     efc_J, efc_pos, efc_vel, M_hat_llt
// writes    efc_R, efc_D, efc_aref of those rows
#include <algorithm>
#include <cmath>

#include "host/interruption.h"
#include "host/reference/contact_model.h"
#include "host/reference/impedance.h"

namespace dualstep::reference {

namespace {

constexpr double kMinRegularizer = 1e-12;  // [1/kg]

double prescribed_demand(const Model& m, const Data& d, int row) {
  const Model::Prescribed& p = m.prescribed[d.efc_id[row]];
  const double angle = p.frequency * d.time + p.phase;
  const double u = p.offset + p.amplitude * std::cos(angle);
  const double rate = -p.amplitude * p.frequency * std::sin(angle);
  return rate - equality_rate(m.opt) * (d.efc_vel[row] - u);
}

// a row of the spring-damper, with force limited by its set alone
void spring_damper_row(const Model& m, Data* d, int row, bool has_position) {
  stop_if_told();
  const double kappa = std::max(m.opt.contact_time_constant, 2 * m.opt.timestep);
  const VectorXd j = d->efc_J.row(row);
  const double weight = j.dot(d->M_hat_llt.solve(j));
  d->efc_R[row] = std::max(kMinRegularizer, m.opt.contact_regularization * weight);
  d->efc_aref[row] = -2 / kappa * d->efc_vel[row] - (has_position ? d->efc_pos[row] / (kappa * kappa) : 0.0);
}

void contact_rows(const Model& m, const Contact& c, int row, Data* d) {
  if (contact_form(m.opt).hard) {
    const double h = m.opt.timestep;
    for (int k = 0; k < c.dim; k++) {
      d->efc_R[row + k] = 0;
      d->efc_aref[row + k] = -d->efc_vel[row + k] / h;
    }
    d->efc_aref[row] -= std::max(d->efc_pos[row] / h, -kCorrectionSpeed) / h;
    return;
  }
  if (m.opt.contact_parameters != ContactParameters::kSpringDamper) return;
  spring_damper_row(m, d, row, true);
  for (int k = 1; k < c.dim; k++) {
    spring_damper_row(m, d, row + k, false);
    d->efc_R[row + k] = std::max(kMinRegularizer, d->efc_R[row] / m.opt.impratio);
  }
}

}  // namespace

double equality_rate(const Options& opt) {
  const double h = opt.timestep;
  if (opt.equality_alpha < 0) return 0.1 / h;
  // what follows the flow exactly bears any rate
  if (opt.scheme == Scheme::kEventDriven) return opt.equality_alpha;
  return std::min(opt.equality_alpha, 0.4 / h);
}

void set_formulation(const Model& m, Data* d) {
  const bool own = mujoco_contacts(m.opt),
             spring_damper = m.opt.contact_parameters == ContactParameters::kSpringDamper;
  const double alpha = equality_rate(m.opt);
  for (int row = 0; row < d->nefc(); row++) {
    const RowType type = d->efc_type[row];
    if (type == RowType::kPrescribed) {
      d->efc_R[row] = 0;
      d->efc_aref[row] = prescribed_demand(m, *d, row);
    } else if (type == RowType::kEquality && m.opt.equality_alpha >= 0) {
      const bool first = row == 0 || d->efc_type[row - 1] != type || d->efc_id[row - 1] != d->efc_id[row];
      if (!first) continue;
      const VectorXd bias = bias_of_equality(m, *d, d->efc_id[row]);
      const auto rows = [&](VectorXd& x) { return x.segment(row, bias.size()); };
      rows(d->efc_R).setZero();
      rows(d->efc_aref) = -2 * alpha * rows(d->efc_vel) - alpha * alpha * rows(d->efc_pos) - bias;
    } else if (!own && spring_damper && (type == RowType::kLimit || type == RowType::kFrictionLoss)) {
      spring_damper_row(m, d, row, type == RowType::kLimit);
    }
  }
  if (!own) {
    for (const Contact& c : d->contacts) {
      if (c.efc_address >= 0) contact_rows(m, c, c.efc_address, d);
    }
  }
  d->efc_D = d->efc_R.cwiseInverse();
}

}  // namespace dualstep::reference
