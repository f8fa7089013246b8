// see events.h: which of the closed contacts and stops stay closed, stick or slide after an event
//
// solves    0 <= n a + dn/dt v  _|_  l_n >= 0 for every closed contact and stop, with Coulomb's law on the
//           accelerations of contacts at rest, and friction of sliding ones that follows their normal force
// equation  y = (A l) + b over l in the cones,  A = R M^-1 R',  b = R qacc_smooth + dR/dt v + R M^-1 f(l),
//           f(l) the friction of sliding contacts: a fixed point around a dual that is solved exactly
// source    Pfeiffer & Glocker 1996, chapter on modes and their complementarity
// deviation a contact that is found to slip joins the sliding ones, and the problem is solved again
// reads     a FlowPoint
// writes    the Mode
// cost      one dual for each round and each step of the fixed point
#include <algorithm>
#include <cmath>

#include "host/reference/events.h"

namespace dualstep::reference {

std::vector<ContactMark> marks_of(const std::vector<Held>& held) {
  std::vector<ContactMark> marks;
  for (const Held& h : held) marks.push_back(h.mark);
  return marks;
}

double static_friction(const Contact& c) { return c.dim == 1 ? 0 : c.friction[0]; }

// what is closed, and neither opens nor closes
struct EventFlow::Candidates {
  Mode mode;  // contacts first, then stops
  std::vector<int> contacts;
  std::vector<ContactMark> marks;  // of the contacts
};

// the dual of a mode in which only some contacts still stick
struct EventFlow::RestProblem {
  Rows rows;              // as if all stuck
  std::vector<int> kept;  // rows of the problem: sliding contacts have no tangents
  std::vector<int> at;    // of each held entry, where its normal stands among the kept
  std::vector<RowBlock> blocks;
  std::vector<char> hard;
  MatrixXd W;  // whitened
  VectorXd b;

  void add(RowType type, int row, int size) {
    RowBlock block;
    block.type = type;
    block.start = static_cast<int>(kept.size());
    block.size = size;
    for (int k = 0; k < size; ++k) {
      kept.push_back(row + k);
      hard.push_back(row_set(type) == RowSet::kFree);
    }
    blocks.push_back(block);
  }
};

// what the dual gives
struct EventFlow::RestForces {
  VectorXd force;  // of the kept rows
  VectorXd qacc;
};

EventFlow::Candidates EventFlow::candidates(const FlowPoint& p, const std::vector<Held>& forced) const {
  Candidates out;
  out.mode.known = true;
  for (size_t i = 0; i < p.data.contacts.size(); ++i) {
    const Contact& c = p.data.contacts[i];
    const int index = static_cast<int>(i);
    if (!closed(c.dist)) continue;
    const Vector3d u = contact_velocity(p, index);
    if (std::abs(u[0]) > kStill || contact_jacobian(model_, p.data, c).isZero(0)) continue;
    out.contacts.push_back(index);
    out.marks.push_back(mark_of(model_, p.data, c));
    Held held;
    held.mark = out.marks.back();
    held.sliding = u.tail<2>().norm() > kStill || static_friction(c) == 0;
    if (u.tail<2>().norm() > kStill)
      held.direction = c.frame.bottomRows<2>().transpose() * u.tail<2>().normalized();
    out.mode.held.push_back(held);
  }
  const std::vector<int> match = match_contacts(out.marks, marks_of(forced));
  for (size_t i = 0; i < out.contacts.size(); ++i) {
    if (match[i] < 0 || out.mode.held[i].sliding) continue;
    out.mode.held[i].sliding = true;
    out.mode.held[i].direction = forced[match[i]].direction;
  }
  for (size_t i = 0; i < p.limits.size(); ++i) {
    if (!closed(p.limits[i].distance) || std::abs(p.limits[i].jacobian.dot(p.data.qvel)) > kStill) continue;
    Held held;
    held.limit = static_cast<int>(i);
    out.mode.held.push_back(held);
  }
  return out;
}

EventFlow::RestProblem EventFlow::rest_problem(const Candidates& among, const FlowPoint& p) const {
  const Mode& mode = among.mode;
  Mode sticking = mode;
  for (Held& held : sticking.held) held.sliding = false;
  FlowPoint work = p;
  work.contact_of.assign(mode.held.size(), -1);
  for (size_t i = 0; i < among.contacts.size(); ++i) work.contact_of[i] = among.contacts[i];

  RestProblem out;
  out.rows = rows_of(sticking, work);
  for (int i = 0; i < out.rows.equalities; ++i) out.add(RowType::kEquality, i, 1);
  out.at.resize(mode.held.size());
  for (size_t i = 0; i < mode.held.size(); ++i) {
    out.at[i] = static_cast<int>(out.kept.size());
    if (mode.held[i].limit >= 0 || mode.held[i].sliding) {
      out.add(RowType::kLimit, out.rows.first[i], 1);
    } else {
      out.add(RowType::kContactElliptic, out.rows.first[i], 3);
      out.blocks.back().mu = p.data.contacts[among.contacts[i]].friction;
    }
  }
  const VectorXd b = out.rows.R * p.data.qacc_smooth - out.rows.demand;
  const MatrixXd W = p.data.M_llt.half_solve(out.rows.R.transpose());
  const int n = static_cast<int>(out.kept.size());
  out.W.resize(W.rows(), n);
  out.b.resize(n);
  for (int i = 0; i < n; ++i) {
    out.W.col(i) = W.col(out.kept[i]);
    out.b[i] = b[out.kept[i]];
  }
  return out;
}

// friction of sliding contacts under the normal forces in l, as generalized forces
VectorXd EventFlow::sliding_friction(const Candidates& among, const FlowPoint& p, const std::vector<int>& at,
                                     const VectorXd& l) const {
  VectorXd friction = VectorXd::Zero(model_.nv);
  for (size_t i = 0; i < among.contacts.size(); ++i) {
    const Contact& c = p.data.contacts[among.contacts[i]];
    const Held& held = among.mode.held[i];
    if (!held.sliding || static_friction(c) == 0) continue;
    const Eigen::Vector2d along = c.frame.bottomRows<2>() * held.direction;
    const MatrixXd J = contact_jacobian(model_, p.data, c).middleRows<2>(1);
    friction -= model_.opt.dynamic_friction_ratio * static_friction(c) * l[at[i]] * (J.transpose() * along);
  }
  return friction;
}

EventFlow::RestForces EventFlow::rest_forces(const Candidates& among, const FlowPoint& p,
                                             const RestProblem& problem) const {
  const int n = static_cast<int>(problem.kept.size());
  const MatrixXd& R = problem.rows.R;
  RowLaw law;
  law.coulomb = true;
  // friction of sliding contacts follows their normal force: a fixed point
  VectorXd l = VectorXd::Zero(n), friction = VectorXd::Zero(model_.nv);
  for (int k = 0; k < 200; ++k) {
    VectorXd shifted = problem.b;
    if (friction.norm() > 0) {
      const VectorXd a = p.data.M_llt.solve(friction);
      for (int i = 0; i < n; ++i) shifted[i] += R.row(problem.kept[i]).dot(a);
    }
    const VectorXd next =
        solve_dual(problem.W, VectorXd::Zero(n), shifted, problem.blocks, problem.hard, law).force;
    const double change = (next - l).norm();
    l = next;
    const VectorXd moved = sliding_friction(among, p, problem.at, l);
    const bool settled =
        change <= 1e-13 * (1 + l.norm()) && (moved - friction).norm() <= 1e-13 * (1 + l.norm());
    friction = moved;
    if (settled) break;
  }
  VectorXd qfrc = friction;
  for (int i = 0; i < n; ++i) qfrc += R.row(problem.kept[i]).transpose() * l[i];
  return {l, p.data.qacc_smooth + p.data.M_llt.solve(qfrc)};
}

// contacts that stick and whose points nevertheless accelerate along the surface are to slide. True where
// there was one
bool EventFlow::release_slipping(const FlowPoint& p, const RestProblem& problem, const RestForces& rest,
                                 Candidates* among) const {
  const double size = 1e-9 * (1 + p.data.qacc_smooth.norm());
  bool slipped = false;
  for (size_t i = 0; i < among->contacts.size(); ++i) {
    Held& held = among->mode.held[i];
    if (held.sliding || rest.force[problem.at[i]] <= 0) continue;
    const int tangents = problem.rows.first[i] + 1;
    const VectorXd y =
        problem.rows.R.middleRows(tangents, 2) * rest.qacc - problem.rows.demand.segment(tangents, 2);
    if (y.norm() <= size) continue;
    held.sliding = slipped = true;
    held.direction = p.data.contacts[among->contacts[i]].frame.bottomRows<2>().transpose() * y.normalized();
  }
  return slipped;
}

// what pushes, or would not open if it were let go
std::vector<Held> EventFlow::remaining(const Candidates& among, const FlowPoint& p,
                                       const RestProblem& problem, const RestForces& rest,
                                       const std::vector<Held>& pulling, bool insist) const {
  const std::vector<int> pulled = match_contacts(among.marks, marks_of(pulling));
  const auto stop_pulls = [&](int limit) {
    return std::any_of(pulling.begin(), pulling.end(), [&](const Held& held) { return held.limit == limit; });
  };
  const double size = 1e-9 * (1 + p.data.qacc_smooth.norm());
  std::vector<Held> kept;
  for (size_t i = 0; i < among.mode.held.size(); ++i) {
    const Held& held = among.mode.held[i];
    const int normal = problem.rows.first[i];
    const double force = rest.force[problem.at[i]];
    const double opening = problem.rows.R.row(normal).dot(rest.qacc) - problem.rows.demand[normal];
    const bool pulls = i < among.contacts.size() ? pulled[i] >= 0 : stop_pulls(held.limit);
    const bool goes = pulls && (insist || force <= 1e-7 * (1 + rest.force.norm()));
    if (!goes && (force > 0 || opening <= size)) kept.push_back(held);
  }
  return kept;
}

Mode EventFlow::resolve(const FlowPoint& p, const std::vector<Held>& forced, const std::vector<Held>& pulling,
                        bool insist) const {
  Candidates among = candidates(p, forced);
  if (among.mode.held.empty()) return among.mode;
  const size_t rounds = 2 * among.mode.held.size() + 3;
  for (size_t round = 0; round < rounds; ++round) {
    const RestProblem problem = rest_problem(among, p);
    const RestForces rest = rest_forces(among, p, problem);
    if (release_slipping(p, problem, rest, &among)) continue;
    among.mode.held = remaining(among, p, problem, rest, pulling, insist);
    break;
  }
  return among.mode;
}

}  // namespace dualstep::reference
