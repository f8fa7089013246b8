// see events.h: the flow under a mode, the choice of a mode, and projections
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

double static_friction(const Contact& c) { return c.dim == 1 ? 0 : c.friction[0]; }

}  // namespace

// the rows that a mode holds, and along which forces act
struct EventFlow::Rows {
  MatrixXd R, F;
  VectorXd demand;         // R a = demand
  std::vector<int> first;  // row of each held entry's normal
  int equalities = 0;
};

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
    std::vector<ContactMark> now;
    for (const Contact& c : moved.contacts) now.push_back(mark_of(model_, moved, c));
    const std::vector<int> match = match_contacts(marks, now);
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

EventFlow::Rows EventFlow::rows_of(const Mode& mode, const FlowPoint& p) const {
  Rows out;
  Data bilateral = p.data;
  bilateral.contacts.clear();
  Model only = model_;
  only.opt.disableflags |= kDisableLimit | kDisableFrictionLoss;
  bilateral.M_hat = p.data.M;
  bilateral.M_hat_llt = p.data.M_llt;
  make_rows(only, &bilateral);
  out.equalities = bilateral.nefc();

  std::vector<int> contacts, limits, place(mode.held.size(), -1);
  for (size_t i = 0; i < mode.held.size(); ++i) {
    if (mode.held[i].limit >= 0) {
      place[i] = static_cast<int>(limits.size());
      limits.push_back(mode.held[i].limit);
    } else if (p.contact_of[i] >= 0) {
      place[i] = static_cast<int>(contacts.size());
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
    if (place[i] < 0) continue;
    out.first[i] = static_cast<int>(R.size());
    if (held.limit >= 0) {
      R.push_back(p.limits[held.limit].jacobian);
      F.push_back(R.back());
      demand.push_back(-rate[3 * contacts.size() + place[i]]);
      continue;
    }
    const Contact& c = p.data.contacts[p.contact_of[i]];
    const MatrixXd rows = J.middleRows<3>(3 * place[i]);
    const double mu = static_friction(c);
    R.push_back(rows.row(0));
    F.push_back(rows.row(0));
    demand.push_back(-rate[3 * place[i]]);
    if (mu == 0) continue;
    if (held.sliding) {
      Eigen::Vector2d along = rows.bottomRows<2>() * p.data.qvel;
      const Eigen::Vector2d stored = c.frame.bottomRows<2>() * held.direction;
      if (along.norm() <= kStill || (stored.norm() > 0 && along.dot(stored) < 0)) along = stored;
      if (along.norm() > 0) {
        F.back() -=
            model_.opt.dynamic_friction_ratio * mu * rows.bottomRows<2>().transpose() * along.normalized();
      }
      continue;
    }
    for (int k = 1; k < 3; ++k) {
      R.push_back(rows.row(k));
      F.push_back(rows.row(k));
      demand.push_back(-rate[3 * place[i] + k]);
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
  std::vector<ContactMark> marks, now;
  for (const Held& held : mode.held) marks.push_back(held.mark);
  for (const Contact& c : d.contacts) now.push_back(mark_of(model_, d, c));
  p->contact_of = match_contacts(marks, now);
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
    Eigen::Vector2d along = J.bottomRows<2>() * d.qvel;
    const Eigen::Vector2d stored = c.frame.bottomRows<2>() * mode.held[i].direction;
    if (along.norm() <= kStill || (stored.norm() > 0 && along.dot(stored) < 0)) along = stored;
    if (along.norm() > 0)
      p->force[i].tail<2>() =
          -model_.opt.dynamic_friction_ratio * static_friction(c) * l[row] * along.normalized();
  }
}

Mode EventFlow::resolve(const FlowPoint& p, const std::vector<Held>& forced, const std::vector<Held>& pulling,
                        bool insist) const {
  // candidates: closed, and neither opening nor closing
  Mode mode;
  mode.known = true;
  std::vector<ContactMark> forced_marks;
  for (const Held& held : forced) forced_marks.push_back(held.mark);
  std::vector<int> contacts;
  std::vector<ContactMark> marks;
  for (size_t i = 0; i < p.data.contacts.size(); ++i) {
    const int index = static_cast<int>(i);
    if (!closed(p.data.contacts[i].dist)) continue;
    const Vector3d u = contact_velocity(p, index);
    if (std::abs(u[0]) > kStill || contact_jacobian(model_, p.data, p.data.contacts[i]).isZero(0)) continue;
    contacts.push_back(index);
    marks.push_back(mark_of(model_, p.data, p.data.contacts[i]));
    Held held;
    held.mark = marks.back();
    held.sliding = u.tail<2>().norm() > kStill || static_friction(p.data.contacts[i]) == 0;
    if (u.tail<2>().norm() > kStill)
      held.direction = p.data.contacts[i].frame.bottomRows<2>().transpose() * u.tail<2>().normalized();
    mode.held.push_back(held);
  }
  const std::vector<int> match = match_contacts(marks, forced_marks);
  for (size_t i = 0; i < contacts.size(); ++i) {
    if (match[i] < 0 || mode.held[i].sliding) continue;
    mode.held[i].sliding = true;
    mode.held[i].direction = forced[match[i]].direction;
  }
  for (size_t i = 0; i < p.limits.size(); ++i) {
    if (!closed(p.limits[i].distance) || std::abs(p.limits[i].jacobian.dot(p.data.qvel)) > kStill) continue;
    Held held;
    held.limit = static_cast<int>(i);
    mode.held.push_back(held);
  }
  if (mode.held.empty()) return mode;

  std::vector<ContactMark> pulling_marks;
  for (const Held& held : pulling) pulling_marks.push_back(held.mark);
  const std::vector<int> pulled = match_contacts(marks, pulling_marks);
  const auto stop_pulls = [&](int limit) {
    return std::any_of(pulling.begin(), pulling.end(), [&](const Held& held) { return held.limit == limit; });
  };

  // Coulomb's law on accelerations; a contact found to slip joins the sliding ones, whose friction the normal
  // force decides
  FlowPoint work = p;
  for (size_t round = 0; round <= 2 * mode.held.size() + 2; ++round) {
    Mode sticking = mode;
    for (Held& held : sticking.held) held.sliding = false;
    work.contact_of.assign(mode.held.size(), -1);
    for (size_t i = 0; i < contacts.size(); ++i) work.contact_of[i] = contacts[i];
    const Rows rows = rows_of(sticking, work);
    const VectorXd b = rows.R * p.data.qacc_smooth - rows.demand;
    const MatrixXd W = p.data.M_llt.matrixL().solve(rows.R.transpose());
    std::vector<RowBlock> blocks;
    std::vector<char> hard(b.size(), 0);
    std::vector<int> kept;  // rows of the problem, normals of sliding contacts without their tangents
    std::vector<int> at(mode.held.size());
    const auto add = [&](RowType type, int row, int size) {
      RowBlock block;
      block.type = type;
      block.start = static_cast<int>(kept.size());
      block.size = size;
      for (int k = 0; k < size; ++k) kept.push_back(row + k);
      blocks.push_back(block);
    };
    for (int i = 0; i < rows.equalities; ++i) {
      add(RowType::kEquality, i, 1);
      hard[i] = 1;
    }
    for (size_t i = 0; i < mode.held.size(); ++i) {
      at[i] = static_cast<int>(kept.size());
      if (mode.held[i].limit >= 0 || mode.held[i].sliding) {
        add(RowType::kLimit, rows.first[i], 1);
      } else {
        add(RowType::kContactElliptic, rows.first[i], 3);
        blocks.back().mu = p.data.contacts[contacts[i]].friction;
      }
    }
    const int n = static_cast<int>(kept.size());
    MatrixXd Wk(W.rows(), n);
    VectorXd bk(n);
    for (int i = 0; i < n; ++i) {
      Wk.col(i) = W.col(kept[i]);
      bk[i] = b[kept[i]];
    }
    RowLaw law;
    law.coulomb = true;
    const std::vector<char> hard_kept(hard.begin(), hard.begin() + n);
    // friction of sliding contacts follows their normal force: a fixed point
    VectorXd l = VectorXd::Zero(n), friction = VectorXd::Zero(model_.nv);
    for (int k = 0; k < 200; ++k) {
      VectorXd shifted = bk;
      if (friction.norm() > 0) {
        const VectorXd a = p.data.M_llt.solve(friction);
        for (int i = 0; i < n; ++i) shifted[i] += rows.R.row(kept[i]).dot(a);
      }
      const VectorXd next = solve_dual(Wk, VectorXd::Zero(n), shifted, blocks, hard_kept, law).force;
      const double change = (next - l).norm();
      l = next;
      VectorXd pushed = VectorXd::Zero(model_.nv);
      for (size_t i = 0; i < contacts.size(); ++i) {
        const Contact& c = p.data.contacts[contacts[i]];
        if (!mode.held[i].sliding || static_friction(c) == 0) continue;
        const Eigen::Vector2d along = c.frame.bottomRows<2>() * mode.held[i].direction;
        const MatrixXd J = contact_jacobian(model_, p.data, c).middleRows<2>(1);
        pushed -= model_.opt.dynamic_friction_ratio * static_friction(c) * l[at[i]] * (J.transpose() * along);
      }
      const bool settled =
          change <= 1e-13 * (1 + l.norm()) && (pushed - friction).norm() <= 1e-13 * (1 + l.norm());
      friction = pushed;
      if (settled) break;
    }
    VectorXd qfrc = friction;
    for (int i = 0; i < n; ++i) qfrc += rows.R.row(kept[i]).transpose() * l[i];
    const VectorXd qacc = p.data.qacc_smooth + p.data.M_llt.solve(qfrc);
    const double size = 1e-9 * (1 + p.data.qacc_smooth.norm());

    bool slipped = false;
    for (size_t i = 0; i < contacts.size(); ++i) {
      if (mode.held[i].sliding || l[at[i]] <= 0) continue;
      const VectorXd y =
          rows.R.middleRows(rows.first[i] + 1, 2) * qacc - rows.demand.segment(rows.first[i] + 1, 2);
      if (y.norm() <= size) continue;
      mode.held[i].sliding = slipped = true;
      mode.held[i].direction =
          p.data.contacts[contacts[i]].frame.bottomRows<2>().transpose() * y.normalized();
    }
    if (slipped) continue;
    std::vector<Held> kept_held;
    for (size_t i = 0; i < mode.held.size(); ++i) {
      const double opening = rows.R.row(rows.first[i]).dot(qacc) - rows.demand[rows.first[i]];
      const bool pulls = i < contacts.size() ? pulled[i] >= 0 : stop_pulls(mode.held[i].limit);
      const bool goes = pulls && (insist || l[at[i]] <= 1e-7 * (1 + l.norm()));
      if (!goes && (l[at[i]] > 0 || opening <= size)) kept_held.push_back(mode.held[i]);
    }
    mode.held = kept_held;
    return mode;
  }
  return mode;
}

void EventFlow::project(const Mode& mode, Data* d) const {
  const auto held_rows = [&](const FlowPoint& p, bool velocity, VectorXd* error) {
    FlowPoint work = p;
    std::vector<ContactMark> marks, now;
    for (const Held& held : mode.held) marks.push_back(held.mark);
    for (const Contact& c : work.data.contacts) now.push_back(mark_of(model_, work.data, c));
    work.contact_of = match_contacts(marks, now);
    std::vector<VectorXd> rows;
    std::vector<double> values;
    Data bilateral = work.data;
    bilateral.contacts.clear();
    Model only = model_;
    only.opt.disableflags |= kDisableLimit | kDisableFrictionLoss;
    bilateral.M_hat_llt = work.data.M_llt;
    make_rows(only, &bilateral);
    for (int i = 0; i < bilateral.nefc(); ++i) {
      const bool prescribed = bilateral.efc_type[i] == RowType::kPrescribed;
      if (prescribed) continue;
      rows.push_back(bilateral.efc_J.row(i));
      values.push_back(velocity ? bilateral.efc_vel[i] : bilateral.efc_pos[i]);
    }
    for (size_t i = 0; i < mode.held.size(); ++i) {
      const Held& held = mode.held[i];
      if (held.limit >= 0) {
        rows.push_back(work.limits[held.limit].jacobian);
        values.push_back(velocity ? rows.back().dot(work.data.qvel) : work.limits[held.limit].distance);
        continue;
      }
      if (work.contact_of[i] < 0) continue;
      const Contact& c = work.data.contacts[work.contact_of[i]];
      const MatrixXd J = contact_jacobian(model_, work.data, c).topRows<3>();
      const bool sticks = velocity && !held.sliding && static_friction(c) > 0;
      for (int k = 0; k < (sticks ? 3 : 1); ++k) {
        rows.push_back(J.row(k));
        values.push_back(velocity ? rows.back().dot(work.data.qvel) : c.dist);
      }
    }
    MatrixXd R(rows.size(), model_.nv);
    for (size_t i = 0; i < rows.size(); ++i) R.row(i) = rows[i];
    *error = VectorXd::Map(values.data(), static_cast<int>(values.size()));
    return R;
  };
  const auto step = [&](const Data& at, const MatrixXd& R, const VectorXd& error) {
    const MatrixXd W = at.M_llt.matrixL().solve(R.transpose());
    return VectorXd(at.M_llt.solve(R.transpose() * least_squares(W.transpose() * W, error)));
  };
  FlowPoint p;
  VectorXd error;
  for (int k = 0; k < 4; ++k) {
    evaluate(*d, &p);
    const MatrixXd R = held_rows(p, false, &error);
    if (error.size() == 0 || error.cwiseAbs().maxCoeff() <= 1e-15) break;
    d->qpos = integrate_position(model_, d->qpos, -step(p.data, R, error), 1);
  }
  evaluate(*d, &p);
  const MatrixXd R = held_rows(p, true, &error);
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
    const MatrixXd W = p.data.M_llt.matrixL().solve(R.transpose());
    const VectorXd l =
        least_squares(W.transpose() * W, -VectorXd::Map(gaps.data(), static_cast<int>(gaps.size())));
    d->qpos = integrate_position(model_, d->qpos, p.data.M_llt.solve(R.transpose() * l), 1);
  }
}

}  // namespace dualstep::reference
