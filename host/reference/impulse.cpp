// Impacts of a state: contacts and joint stops that close together, with restitution and Coulomb friction.
//
// solves    v+ = v + M^-1 J'L
// equation  0 <= n v+ + e n v _|_ L_n >= 0 for every closed contact and stop, friction L_t the most dissipative
//           point of the section mu L_n (on a polygon of friction_directions edges, or the disc); rows of
//           equality constraints keep their velocity. As a dual:
//             y = A L + b,  b_n = (1 + e) n v,  b_t = t v,  A = J M^-1 J'
// source    Newton's law of restitution; Moreau 1988; Stewart & Trinkle 1996; Anitescu & Potra 1997
// deviation where friction and restitution together would raise the kinetic energy, every e is scaled down by
//           bisection until they do not: to none where the impact without restitution loses nothing, and no further
//           than a few halvings where no solution is found. M is the plain inertia: an impact takes no time
// reads     contacts, qvel, M, M_llt
// writes    nothing
// cost      one complementarity problem, or 50
#include <algorithm>
#include <cmath>
#include <utility>

#include "host/reference/contact_model.h"

namespace dualstep::reference {

namespace {

// of impulses: a converged solve leaves 1e-13 or less
constexpr double kImpactResidual = 1e-9;
// halvings after which the search is given up where neither what was taken nor what is tried is solved
constexpr int kLastHope = 3;

// the problem at one scale of restitution
struct ImpactRows {
  MatrixXd J;
  VectorXd speed;   // J v
  VectorXd bounce;  // e of normal rows
  std::vector<RowBlock> blocks;
  std::vector<char> hard;
  int equalities = 0;
};

ImpactRows collect(const Model& m, const Data& d, const std::vector<int>& closed,
                   const std::vector<ClosedLimit>& limits) {
  ImpactRows out;
  Data bilateral = d;
  bilateral.contacts.clear();
  make_rows(m, &bilateral);
  std::vector<VectorXd> rows;
  const auto add_block = [&](RowType type, int size) {
    RowBlock b;
    b.type = type;
    b.start = static_cast<int>(rows.size());
    b.size = size;
    out.blocks.push_back(b);
    out.hard.insert(out.hard.end(), size, row_set(type) == RowSet::kFree);
  };
  for (int i = 0; i < bilateral.nefc(); ++i) {
    if (row_set(bilateral.efc_type[i]) != RowSet::kFree) continue;
    add_block(RowType::kEquality, 1);
    rows.push_back(bilateral.efc_J.row(i));
    ++out.equalities;
  }
  for (int index : closed) {
    const Contact& c = d.contacts[index];
    const MatrixXd J = contact_jacobian(m, d, c);
    add_block(c.dim == 1 ? RowType::kContactFrictionless : RowType::kContactElliptic, c.dim);
    out.blocks.back().mu = c.friction;
    for (int k = 0; k < c.dim; ++k) rows.push_back(J.row(k));
  }
  for (const ClosedLimit& limit : limits) {
    add_block(RowType::kLimit, 1);
    rows.push_back(limit.row);
  }
  out.J.resize(static_cast<int>(rows.size()), m.nv);
  for (size_t i = 0; i < rows.size(); ++i) out.J.row(static_cast<int>(i)) = rows[i];
  out.speed = out.J * d.qvel;
  out.bounce = VectorXd::Zero(out.speed.size());
  return out;
}

}  // namespace

double pair_restitution(const Model& m, int geom1, int geom2) {
  const auto found = m.pair_restitution.find({std::min(geom1, geom2), std::max(geom1, geom2)});
  return found == m.pair_restitution.end() ? m.opt.restitution : found->second;
}

std::vector<ClosedLimit> closed_limits(const Model& m, const Data& d, double margin,
                                       std::vector<double>* distance) {
  // the rows of limits, whatever their margins: those of a model with wide ones
  std::vector<ClosedLimit> out;
  distance->clear();
  if (m.opt.disabled(kDisableConstraint) || m.opt.disabled(kDisableLimit)) return out;
  for (const LimitRow& row : limit_rows(m, d)) {
    if (row.distance > margin) continue;
    out.push_back({row.joint, row.jacobian});
    distance->push_back(row.distance);
  }
  return out;
}

Impact impact_rows(const Model& m, const Data& d, const std::vector<int>& closed,
                   const std::vector<ClosedLimit>& limits,
                   const std::function<double(bool, int, double)>& restitution) {
  Impact out;
  out.jump = VectorXd::Zero(m.nv);
  out.impulse.assign(closed.size(), Vector3d::Zero());
  out.limit_impulse.assign(limits.size(), 0.0);
  ImpactRows rows = collect(m, d, closed, limits);
  for (size_t i = rows.equalities; i < rows.blocks.size(); ++i) {
    const int row = rows.blocks[i].start, index = static_cast<int>(i) - rows.equalities;
    const bool limit = index >= static_cast<int>(closed.size());
    const double approach = -rows.speed[row];
    if (approach <= 0) continue;
    out.happened = true;
    rows.bounce[row] = restitution(limit, limit ? index - static_cast<int>(closed.size()) : index, approach);
  }
  if (!out.happened) return out;

  RowLaw law;
  law.coulomb = true;
  law.directions = m.opt.friction_directions;
  const MatrixXd W = d.M_llt.half_solve(rows.J.transpose());
  const VectorXd none = VectorXd::Zero(rows.speed.size());
  const auto solve = [&](double scale) {
    VectorXd b = rows.speed.array() * (1 + scale * rows.bounce.array());
    b.head(rows.equalities).setZero();
    return solve_dual(W, none, b, rows.blocks, rows.hard, law);
  };
  const auto gain = [&](const VectorXd& impulse) {
    return impulse.dot(rows.speed) + 0.5 * (W * impulse).squaredNorm();
  };
  const auto solved = [](const RowSolution& s) { return !s.softened && s.residual <= kImpactResidual; };
  RowSolution taken = solve(1);
  const double rounding = 1e-12 * d.qvel.dot(d.M * d.qvel);
  if (gain(taken.force) > rounding) {
    double low = 0, high = 1;
    taken = solve(0);
    // where the impact without restitution loses nothing any restitution gains
    const bool loses = !solved(taken) || gain(taken.force) < -rounding;
    for (int i = 0; loses && i < 52; ++i) {
      const double scale = 0.5 * (low + high);
      RowSolution trial = solve(scale);
      if (i >= kLastHope && !solved(trial) && !solved(taken)) break;
      if (gain(trial.force) > 0) {
        high = scale;
      } else {
        low = scale;
        taken = std::move(trial);
      }
    }
  }
  const VectorXd& impulse = taken.force;
  out.solved = solved(taken);
  out.jump = d.M_llt.solve(rows.J.transpose() * impulse);
  for (size_t i = 0; i < closed.size(); ++i) {
    const RowBlock& b = rows.blocks[rows.equalities + i];
    out.impulse[i].head(std::min(3, b.size)) = impulse.segment(b.start, std::min(3, b.size));
  }
  for (size_t i = 0; i < limits.size(); ++i)
    out.limit_impulse[i] = impulse[rows.blocks[rows.equalities + closed.size() + i].start];
  return out;
}

}  // namespace dualstep::reference
