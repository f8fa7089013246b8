// The dual of rows of every kind, hard ones among them: see contact_model.h.
//
// solves    y = (A + R) l + b with l in its rows' sets, y in their duals (Todorov 2014), or Coulomb's law with
//           Signorini's condition on the contacts (Stewart & Trinkle 1996; de Saxce & Feng 1998)
// equation  hard rows (R = 0, l free) are eliminated first: l_h = -A_hh^+ (b_h + A_hs l_s), which leaves
//             A' = W_s'P W_s, P = I - W_h A_hh^+ W_h', b' = b_s - A_sh A_hh^+ b_h
//           infinite friction: the tangents are free rows; under Coulomb's law only those of contacts that
//           push, found by dropping the ones that do not until the set is stable
// deviation where the hard convex dual has no lower bound, R = 1e-6 A_ii is added, and ten times as much where
//           forces are still so large that they look as if they had none
// reads     W = L^-1 J' with M = L L', R, b, the sets
// writes    the force, its residual
// cost      O(rows^3)
#include <algorithm>
#include <cmath>

#include "host/reference/contact_model.h"
#include "host/reference/formulations/contact_dual.h"
#include "host/reference/formulations/coulomb.h"
#include "host/reference/formulations/linear_algebra.h"
#include "host/reference/formulations/nonneg_least_squares.h"

namespace dualstep::reference {

namespace {

namespace fm = dualstep::formulations;

// the soft rows in the order that the formulations take them, and where each came from
struct Ordered {
  fm::ContactDualRows rows;
  std::vector<int> source;   // row of the problem
  std::vector<int> contact;  // its contact's block, -1 for others
};

// what is added to R where the dual has no lower bound, of A's diagonal: at first, at most, and how much more
// each time
constexpr double kLeastSoftness = 1e-6, kMostSoftness = 0.5, kSofter = 10;

bool infinite(const RowBlock& b) { return row_set(b.type) == RowSet::kCone && b.mu[0] > kInfiniteFriction; }

// `held[block]`: whether an infinitely rough contact holds its tangents
Ordered ordered_rows(const std::vector<RowBlock>& blocks, const std::vector<char>& hard,
                     const std::vector<char>& held, const RowLaw& law) {
  std::vector<int> free, pushing, loss, cones;
  Ordered out;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const RowBlock& b = blocks[i];
    if (hard[b.start]) continue;
    switch (row_set(b.type)) {
      case RowSet::kFree:
        free.push_back(b.start);
        break;
      case RowSet::kBounded:
        loss.push_back(b.start);
        out.rows.friction_loss.push_back(b.bound);
        break;
      case RowSet::kCone:
        if (infinite(b)) {
          pushing.push_back(b.start);
          for (int k = 1; k < b.size && held[i]; ++k) free.push_back(b.start + k);
          break;
        }
        for (int k = 0; k < b.size; ++k) cones.push_back(b.start + k);
        out.rows.mu.emplace_back(b.mu.data(), b.mu.data() + b.size - 1);
        break;
      case RowSet::kNonnegative:
        pushing.push_back(b.start);
    }
  }
  out.rows.equality = static_cast<int>(free.size());
  out.rows.limits = static_cast<int>(pushing.size());
  out.rows.cone = law.directions == 0 ? fm::FrictionCone::kElliptic : fm::FrictionCone::kPyramidal;
  out.rows.directions = std::max(4, law.directions);
  out.rows.desaxce = law.coulomb;
  for (const auto* part : {&free, &pushing, &loss, &cones})
    out.source.insert(out.source.end(), part->begin(), part->end());
  return out;
}

struct Reduced {
  MatrixXd W;  // whitened soft rows, what hard rows hold taken out
  VectorXd R, b;
};

struct Answer {
  VectorXd force;
  double residual = 0;
  int iterations = 0;
  bool softened = false;
};

Answer solve_ordered(const Reduced& p, const fm::ContactDualRows& rows, const RowLaw& law) {
  Answer out;
  const int n = static_cast<int>(p.b.size());
  out.force = VectorXd::Zero(n);
  if (n == 0) return out;
  MatrixXd A = product(p.W.transpose(), p.W);
  A = (0.5 * (A + A.transpose())).eval();
  const auto store = [&](const fm::ContactDualSolution& s) {
    out.force = s.force;
    out.iterations = s.iterations;
    const double size = s.force.norm();
    out.residual = size > 0 ? s.residual / size : 0;
  };
  if (law.coulomb && law.directions > 0) {
    // one complementarity problem; a solution of it is one of the law
    MatrixXd G = A;
    G.diagonal() += p.R;
    if (fm::coulomb_on_pyramids(G, p.b, rows, out.force)) return out;
  }
  const double mean = A.diagonal().mean();
  for (double share = 0; true; share = std::max(kSofter * share, kLeastSoftness)) {
    try {
      VectorXd R = p.R;
      if (share > 0)
        for (int i = 0; i < n; ++i) R[i] += share * std::max(A(i, i), 1e-6 * mean);
      store(fm::contact_dual(A, p.b, R, rows));
      out.softened = share > 0;
      return out;
    } catch (const fm::Infeasible&) {
      // forces so large that even the softened problem looks as if it had no lower bound
      if (share > kMostSoftness) throw;
    }
  }
}

}  // namespace

RowSolution solve_dual(const MatrixXd& W, const VectorXd& R, const VectorXd& b,
                       const std::vector<RowBlock>& blocks, const std::vector<char>& hard,
                       const RowLaw& law) {
  RowSolution out;
  const int n = static_cast<int>(b.size());
  out.force = VectorXd::Zero(n);
  if (n == 0) return out;

  std::vector<int> hard_index;
  for (int i = 0; i < n; ++i)
    if (hard[i]) hard_index.push_back(i);
  const int nh = static_cast<int>(hard_index.size());
  MatrixXd Wh(W.rows(), nh);
  VectorXd bh(nh);
  for (int i = 0; i < nh; ++i) {
    Wh.col(i) = W.col(hard_index[i]);
    bh[i] = b[hard_index[i]];
  }
  const fm::DelassusInverse inverse(Wh);
  const VectorXd held_back = nh > 0 ? VectorXd(inverse.solve(bh)) : VectorXd(0);
  if (nh > 0 && bh.norm() > 0) out.residual = inverse.inconsistency(bh);

  std::vector<char> held(blocks.size(), 1);
  for (size_t round = 0; round <= blocks.size(); ++round) {
    const Ordered order = ordered_rows(blocks, hard, held, law);
    const int ns = static_cast<int>(order.source.size());
    Reduced p{MatrixXd(W.rows(), ns), VectorXd(ns), VectorXd(ns)};
    for (int i = 0; i < ns; ++i) {
      p.W.col(i) = W.col(order.source[i]);
      p.R[i] = R[order.source[i]];
      p.b[i] = b[order.source[i]];
    }
    MatrixXd share;  // what hard forces answer to a unit of each soft one
    if (nh > 0) {
      const MatrixXd coupling = Wh.transpose() * p.W;
      share.resize(nh, ns);
      for (int i = 0; i < ns; ++i) share.col(i) = inverse.solve(coupling.col(i));
      p.b -= coupling.transpose() * held_back;
      p.W -= Wh * share;
      // what is left of a row that the hard rows fix is rounding
      for (int i = 0; i < ns; ++i) {
        if (p.W.col(i).norm() <= 1e-12 * W.col(order.source[i]).norm()) p.W.col(i).setZero();
      }
    }
    const Answer answer = solve_ordered(p, order.rows, law);
    out.force.setZero();
    for (int i = 0; i < ns; ++i) out.force[order.source[i]] = answer.force[i];
    if (nh > 0) {
      const VectorXd l = ns > 0 ? VectorXd(-held_back - share * answer.force) : VectorXd(-held_back);
      for (int i = 0; i < nh; ++i) out.force[hard_index[i]] = l[i];
    }
    out.residual = std::max(out.residual, answer.residual);
    out.iterations += answer.iterations;
    out.softened = out.softened || answer.softened;

    bool changed = false;
    for (size_t i = 0; law.coulomb && i < blocks.size(); ++i) {
      if (!infinite(blocks[i]) || !held[i] || hard[blocks[i].start]) continue;
      if (out.force[blocks[i].start] > 0) continue;
      held[i] = 0;
      changed = true;
    }
    if (!changed) break;
  }
  return out;
}

void solve_rows(const Model& m, Data* d, const VectorXd& free) {
  const int n = d->nefc();
  d->qacc = free;
  d->iterations = 0;
  d->residual = 0;
  d->efc_force = VectorXd::Zero(n);
  d->qfrc_constraint = VectorXd::Zero(m.nv);
  if (n == 0) return;

  const std::vector<RowBlock> blocks = row_blocks(*d);
  std::vector<char> hard(n, 0);
  for (int i = 0; i < n; ++i) {
    const bool equality = d->efc_type[i] == RowType::kEquality && m.opt.equality_alpha >= 0;
    hard[i] = equality || d->efc_type[i] == RowType::kPrescribed;
  }
  const MatrixXd W = d->M_hat_llt.half_solve(d->efc_J.transpose());
  const VectorXd b = d->efc_J * free - d->efc_aref;
  const RowSolution dual = solve_dual(W, d->efc_R, b, blocks, hard, row_law(m.opt));
  d->efc_force = dual.force;
  d->residual = dual.residual;
  d->iterations = dual.iterations;
  if (dual.softened) d->status |= kStatusNotConverged;
  d->qfrc_constraint = d->efc_J.transpose() * d->efc_force;
  d->qacc = free + d->M_hat_llt.solve(d->qfrc_constraint);
  for (Contact& c : d->contacts) {
    if (c.efc_address < 0) continue;
    const int row = c.efc_address;
    if (c.dim == 1 || frame_rows(m.opt) || m.opt.cone == Cone::kElliptic) {
      c.force.head(c.dim) += d->efc_force.segment(row, c.dim);
      continue;
    }
    for (int k = 0; k < c.dim - 1; k++) {
      const double plus = d->efc_force[row + 2 * k], minus = d->efc_force[row + 2 * k + 1];
      c.force[0] += plus + minus;
      c.force[k + 1] += c.friction[k] * (plus - minus);
    }
  }
}

}  // namespace dualstep::reference
