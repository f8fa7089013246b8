// see events.h: the flow under a mode, and projections back onto what the mode holds
#include <algorithm>
#include <cmath>

#include "host/reference/events.h"
#include "host/reference/impedance.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

VectorXd least_squares(const MatrixXd& A, const VectorXd& b) {
  if (b.size() == 0) return VectorXd(0);
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod;
  cod.setThreshold(1e-11);
  cod.compute(A);
  return cod.solve(b);
}

// tangential velocity of a sliding contact, or where it slid last if it is too slow, or turns back
Eigen::Vector2d sliding_direction(const MatrixXd& J, const Contact& c, const Held& held,
                                  const VectorXd& qvel) {
  const Eigen::Vector2d along = J.bottomRows<2>() * qvel;
  const Eigen::Vector2d stored = c.frame.bottomRows<2>() * held.direction;
  const bool unclear = along.norm() <= EventFlow::kStill || (stored.norm() > 0 && along.dot(stored) < 0);
  return unclear ? stored : along;
}

}  // namespace

EventFlow::EventFlow(const Model& m) : model_(m) {
  model_.opt.contact_margin = 0.05;
  model_.opt.contact_parameters = ContactParameters::kSpringDamper;
  if (model_.opt.equality_alpha < 0) model_.opt.equality_alpha = equality_rate(m.opt);
}

void EventFlow::evaluate(const Data& at, FlowPoint* p) const {
  Data& d = p->data;
  d = at;
  state_stages(model_, &d);
  passive_forces(model_, &d);
  actuation(model_, &d);
  smooth_acceleration(model_, &d);
  collide(model_, &d);
  p->limits.clear();
  if (!model_.opt.disabled(kDisableConstraint) && !model_.opt.disabled(kDisableLimit))
    p->limits = limit_rows(model_, d);
}

Vector3d EventFlow::contact_velocity(const FlowPoint& p, int contact) const {
  return contact_jacobian(model_, p.data, p.data.contacts[contact]).topRows<3>() * p.data.qvel;
}

// dR/dt v of contacts (three rows each) and stops, along the motion at constant v
VectorXd EventFlow::drift(const FlowPoint& p, const MatrixXd& J, const std::vector<int>& contacts,
                          const std::vector<int>& limits) const {
  const int n = static_cast<int>(3 * contacts.size() + limits.size());
  VectorXd out = VectorXd::Zero(n);
  const double speed = p.data.qvel.norm();
  if (n == 0 || speed == 0) return out;
  std::vector<ContactMark> marks;
  for (int c : contacts) marks.push_back(mark_of(model_, p.data, p.data.contacts[c]));
  const double e = 2e-3 / std::max(1.0, speed);
  constexpr double kNode[4] = {-2, -1, 1, 2}, kWeight[4] = {1. / 12, -2. / 3, 2. / 3, -1. / 12};
  for (int k = 0; k < 4; ++k) {
    Data moved = p.data;
    moved.qpos = integrate_position(model_, p.data.qpos, p.data.qvel, kNode[k] * e);
    kinematics(model_, &moved);
    center_of_mass(model_, &moved);
    collide(model_, &moved);
    const std::vector<int> match = match_contacts(marks, marks_of(model_, moved));
    for (size_t i = 0; i < contacts.size(); ++i) {
      // a contact point that ends here counts as fixed to its bodies' frames
      if (match[i] < 0) {
        out.segment<3>(3 * i) += kWeight[k] / e * (J.middleRows<3>(3 * i) * p.data.qvel);
        continue;
      }
      const Contact& c = moved.contacts[match[i]];
      // told in the frame of now, so that the turning of the frame itself does not count
      const MatrixXd rows = p.data.contacts[contacts[i]].frame * c.frame.transpose() *
                            contact_jacobian(model_, moved, c).topRows<3>();
      Vector3d rate = rows * p.data.qvel;
      // the gap opens along its own normal
      rate[0] = contact_jacobian(model_, moved, c).row(0) * p.data.qvel;
      out.segment<3>(3 * i) += kWeight[k] / e * rate;
    }
    const std::vector<LimitRow> stops = limit_rows(model_, moved);
    for (size_t i = 0; i < limits.size(); ++i)
      out[3 * contacts.size() + i] += kWeight[k] / e * stops[limits[i]].jacobian.dot(p.data.qvel);
  }
  return out;
}

// a copy of a state with the rows of its equalities alone
Data EventFlow::equality_rows(const Data& d) const {
  Data bilateral = d;
  bilateral.contacts.clear();
  Model only = model_;
  only.opt.disableflags |= kDisableLimit | kDisableFrictionLoss;
  bilateral.M_hat = d.M;
  bilateral.M_hat_llt = d.M_llt;
  make_rows(only, &bilateral);
  return bilateral;
}

EventFlow::Rows EventFlow::rows_of(const Mode& mode, const FlowPoint& p) const {
  Rows out;
  const Data bilateral = equality_rows(p.data);
  out.equalities = bilateral.nefc();

  std::vector<int> contacts, limits, index(mode.held.size(), -1);
  for (size_t i = 0; i < mode.held.size(); ++i) {
    if (mode.held[i].limit >= 0) {
      index[i] = static_cast<int>(limits.size());
      limits.push_back(mode.held[i].limit);
    } else if (p.contact_of[i] >= 0) {
      index[i] = static_cast<int>(contacts.size());
      contacts.push_back(p.contact_of[i]);
    }
  }
  MatrixXd J(3 * contacts.size(), model_.nv);
  for (size_t i = 0; i < contacts.size(); ++i)
    J.middleRows<3>(3 * i) = contact_jacobian(model_, p.data, p.data.contacts[contacts[i]]).topRows<3>();
  const VectorXd rate = drift(p, J, contacts, limits);

  std::vector<VectorXd> R, F;
  std::vector<double> demand;
  for (int i = 0; i < out.equalities; ++i) {
    R.push_back(bilateral.efc_J.row(i));
    F.push_back(bilateral.efc_J.row(i));
    demand.push_back(bilateral.efc_aref[i]);
  }
  out.first.assign(mode.held.size(), -1);
  for (size_t i = 0; i < mode.held.size(); ++i) {
    const Held& held = mode.held[i];
    if (index[i] < 0) continue;
    out.first[i] = static_cast<int>(R.size());
    if (held.limit >= 0) {
      R.push_back(p.limits[held.limit].jacobian);
      F.push_back(R.back());
      demand.push_back(-rate[3 * contacts.size() + index[i]]);
      continue;
    }
    const Contact& c = p.data.contacts[p.contact_of[i]];
    const MatrixXd rows = J.middleRows<3>(3 * index[i]);
    const double mu = static_friction(c);
    R.push_back(rows.row(0));
    F.push_back(rows.row(0));
    demand.push_back(-rate[3 * index[i]]);
    if (mu == 0) continue;
    if (held.sliding) {
      const Eigen::Vector2d along = sliding_direction(rows, c, held, p.data.qvel);
      if (along.norm() > 0) {
        F.back() -=
            model_.opt.dynamic_friction_ratio * mu * rows.bottomRows<2>().transpose() * along.normalized();
      }
      continue;
    }
    for (int k = 1; k < 3; ++k) {
      R.push_back(rows.row(k));
      F.push_back(rows.row(k));
      demand.push_back(-rate[3 * index[i] + k]);
    }
  }
  const int n = static_cast<int>(R.size());
  out.R.resize(n, model_.nv);
  out.F.resize(n, model_.nv);
  for (int i = 0; i < n; ++i) {
    out.R.row(i) = R[i];
    out.F.row(i) = F[i];
  }
  out.demand = VectorXd::Map(demand.data(), n);
  return out;
}

void EventFlow::accelerate(const Mode& mode, FlowPoint* p) const {
  Data& d = p->data;
  p->contact_of = match_contacts(marks_of(mode.held), marks_of(model_, d));
  for (size_t i = 0; i < mode.held.size(); ++i)
    if (mode.held[i].limit >= 0) p->contact_of[i] = -1;

  const Rows rows = rows_of(mode, *p);
  const MatrixXd G = rows.R * d.M_llt.solve(rows.F.transpose());
  const VectorXd l = least_squares(G, rows.demand - rows.R * d.qacc_smooth);
  d.qfrc_constraint = rows.F.transpose() * l;
  d.qacc = d.qacc_smooth + d.M_llt.solve(d.qfrc_constraint);
  p->force.assign(mode.held.size(), Vector3d::Zero());
  for (size_t i = 0; i < mode.held.size(); ++i) {
    const int row = rows.first[i];
    if (row < 0) continue;
    p->force[i][0] = l[row];
    if (mode.held[i].limit >= 0) continue;
    const Contact& c = d.contacts[p->contact_of[i]];
    if (static_friction(c) == 0) continue;
    if (!mode.held[i].sliding) {
      p->force[i].tail<2>() = l.segment<2>(row + 1);
      continue;
    }
    // what the sliding normal force brings with it, read back from its column
    const MatrixXd J = contact_jacobian(model_, d, c).topRows<3>();
    const Eigen::Vector2d along = sliding_direction(J, c, mode.held[i], d.qvel);
    if (along.norm() > 0)
      p->force[i].tail<2>() =
          -model_.opt.dynamic_friction_ratio * static_friction(c) * l[row] * along.normalized();
  }
}

// the rows that a mode holds at positions or velocities, and by how much they are missed
MatrixXd EventFlow::held_rows(const Mode& mode, const FlowPoint& p, bool velocity, VectorXd* error) const {
  const std::vector<int> contact_of = match_contacts(marks_of(mode.held), marks_of(model_, p.data));
  std::vector<VectorXd> rows;
  std::vector<double> values;
  const Data bilateral = equality_rows(p.data);
  for (int i = 0; i < bilateral.nefc(); ++i) {
    if (bilateral.efc_type[i] == RowType::kPrescribed) continue;
    rows.push_back(bilateral.efc_J.row(i));
    values.push_back(velocity ? bilateral.efc_vel[i] : bilateral.efc_pos[i]);
  }
  for (size_t i = 0; i < mode.held.size(); ++i) {
    const Held& held = mode.held[i];
    if (held.limit >= 0) {
      rows.push_back(p.limits[held.limit].jacobian);
      values.push_back(velocity ? rows.back().dot(p.data.qvel) : p.limits[held.limit].distance);
      continue;
    }
    if (contact_of[i] < 0) continue;
    const Contact& c = p.data.contacts[contact_of[i]];
    const MatrixXd J = contact_jacobian(model_, p.data, c).topRows<3>();
    const bool sticks = velocity && !held.sliding && static_friction(c) > 0;
    for (int k = 0; k < (sticks ? 3 : 1); ++k) {
      rows.push_back(J.row(k));
      values.push_back(velocity ? rows.back().dot(p.data.qvel) : c.dist);
    }
  }
  MatrixXd R(rows.size(), model_.nv);
  for (size_t i = 0; i < rows.size(); ++i) R.row(i) = rows[i];
  *error = VectorXd::Map(values.data(), static_cast<int>(values.size()));
  return R;
}

void EventFlow::project(const Mode& mode, Data* d) const {
  const auto step = [&](const Data& at, const MatrixXd& R, const VectorXd& error) {
    const MatrixXd W = at.M_llt.half_solve(R.transpose());
    return VectorXd(at.M_llt.solve(R.transpose() * least_squares(W.transpose() * W, error)));
  };
  FlowPoint p;
  VectorXd error;
  for (int k = 0; k < 4; ++k) {
    evaluate(*d, &p);
    const MatrixXd R = held_rows(mode, p, false, &error);
    if (error.size() == 0 || error.cwiseAbs().maxCoeff() <= 1e-15) break;
    d->qpos = integrate_position(model_, d->qpos, -step(p.data, R, error), 1);
  }
  evaluate(*d, &p);
  const MatrixXd R = held_rows(mode, p, true, &error);
  if (error.size() > 0) d->qvel -= step(p.data, R, error);
}

void EventFlow::project_out(Data* d) const {
  FlowPoint p;
  for (int k = 0; k < 20; ++k) {
    evaluate(*d, &p);
    std::vector<VectorXd> rows;
    std::vector<double> gaps;
    for (const Contact& c : p.data.contacts) {
      const VectorXd row = contact_jacobian(model_, p.data, c).row(0);
      if (c.dist < -kClosed && !row.isZero(0)) rows.push_back(row), gaps.push_back(c.dist);
    }
    for (const LimitRow& limit : p.limits)
      if (limit.distance < -kClosed) rows.push_back(limit.jacobian), gaps.push_back(limit.distance);
    if (rows.empty()) return;
    MatrixXd R(rows.size(), model_.nv);
    for (size_t i = 0; i < rows.size(); ++i) R.row(i) = rows[i];
    const MatrixXd W = p.data.M_llt.half_solve(R.transpose());
    const VectorXd l =
        least_squares(W.transpose() * W, -VectorXd::Map(gaps.data(), static_cast<int>(gaps.size())));
    d->qpos = integrate_position(model_, d->qpos, p.data.M_llt.solve(R.transpose() * l), 1);
  }
}

}  // namespace dualstep::reference
