// The constrained acceleration, by Newton on the primal of the contact dual.
//
// solves    a, and the forces l of all rows
// equation
//   minimize over a   1/2 (a - a0)' M (a - a0) + s(J a - aref),   a0 = qacc_smooth
//
// Under the integrator discrete M is the inertia of the step, M^ of contact_model.h.
//
// s is the sum over blocks of max over l in K of (-l'x - 1/2 l'R l): a parabola for equality rows, a half
// parabola for l >= 0, a Huber function for friction loss, and for an elliptic contact, with
// u = (mu x_n, mu_i x_i), N = u_n, T = |u_t| and mu = mu_1 sqrt(R_t1 / R_n),
//   0                              where N >= mu T                  (open)
//   1/2 sum D_i x_i^2              where mu N + T <= 0              (sticking)
//   1/2 D_n (N - mu T)^2 / (mu^2 (1 + mu^2))   else                 (sliding)
// The force is l = -grad s. s is convex and once differentiable; Newton with an exact line search ends after
// finitely many steps on parabolas and converges quadratically on cones. Here it goes on until the gradient no
// longer falls.
//
// source    Todorov 2014; MuJoCo documentation, "Computation"
// cost      one dense factorization a step of each set of dofs that rows or the inertia couple
#include <algorithm>
#include <cmath>

#include "host/interruption.h"
#include "host/reference/constraint.h"

namespace dualstep::reference {

namespace {

// the penalty of one block at x = J a - aref: force, and second derivative
struct Penalty {
  VectorXd force;
  MatrixXd hessian;
};

Penalty half_parabola(double x, double D, bool active) {
  const double d = active ? D : 0;
  return {VectorXd::Constant(1, -d * x), MatrixXd::Constant(1, 1, d)};
}

Penalty huber(double x, double D, double bound) {
  if (std::abs(x) * D < bound) return half_parabola(x, D, true);
  return {VectorXd::Constant(1, x > 0 ? -bound : bound), MatrixXd::Zero(1, 1)};
}

Penalty cone(const VectorXd& x, const VectorXd& D, const VectorXd& friction) {
  const int dim = static_cast<int>(x.size());
  // D_t1 / D_n = R_n / R_t1
  const double mu = friction[0] * std::sqrt(D[0] / D[1]);
  VectorXd scale(dim);
  scale << mu, friction;
  const VectorXd u = scale.cwiseProduct(x);
  const double N = u[0], T = u.tail(dim - 1).norm();
  if (N >= mu * T) return {VectorXd::Zero(dim), MatrixXd::Zero(dim, dim)};
  if (mu * N + T <= 0) return {-D.cwiseProduct(x), D.asDiagonal()};

  const double weight = D[0] / (mu * mu * (1 + mu * mu));
  const VectorXd along = u.tail(dim - 1) / T;
  VectorXd slope(dim);
  slope << 1, -mu * along;
  MatrixXd hessian = slope * slope.transpose();
  const MatrixXd across = MatrixXd::Identity(dim - 1, dim - 1) - along * along.transpose();
  hessian.bottomRightCorner(dim - 1, dim - 1) -= (N - mu * T) * mu / T * across;
  return {-weight * (N - mu * T) * scale.cwiseProduct(slope),
          weight * (scale.asDiagonal() * hessian * scale.asDiagonal())};
}

Penalty penalty(const RowBlock& block, const VectorXd& x, const VectorXd& D) {
  switch (row_set(block.type)) {
    case RowSet::kFree:
      return half_parabola(x[0], D[0], true);
    case RowSet::kBounded:
      return huber(x[0], D[0], block.bound);
    case RowSet::kCone:
      return cone(x, D, block.mu.head(block.size - 1));
    case RowSet::kNonnegative:
      break;
  }
  return half_parabola(x[0], D[0], x[0] < 0);
}

class Problem {
 public:
  explicit Problem(const Data& d) : d_(d), blocks_(row_blocks(d)), reached_(blocks_.size()) {
    find_reached();
  }

  VectorXd residual(const VectorXd& a) const { return d_.efc_J * a - d_.efc_aref; }

  VectorXd force(const VectorXd& x) const {
    VectorXd l(x.size());
    for (const RowBlock& b : blocks_) l.segment(b.start, b.size) = at(b, x).force;
    return l;
  }

  // M + J' H J
  BlockMatrix hessian(const VectorXd& x) const {
    BlockMatrix result(bounds_);
    result.add(1, d_.M_hat);
    for (size_t k = 0; k < blocks_.size(); ++k) {
      stop_if_told();
      const RowBlock& b = blocks_[k];
      const MatrixXd J = d_.efc_J(Eigen::seqN(b.start, b.size), reached_[k]);
      const MatrixXd sum = J.transpose() * at(b, x).hessian * J;
      for (size_t j = 0; j < reached_[k].size(); ++j)
        for (size_t i = 0; i < reached_[k].size(); ++i) result(reached_[k][i], reached_[k][j]) += sum(i, j);
    }
    return result;
  }

  // the step along p that minimizes the objective: root of its derivative, which never falls
  double line_search(const VectorXd& a, const VectorXd& p) const {
    const VectorXd x = residual(a), xp = d_.efc_J * p, Mp = d_.M_hat * p;
    const double curvature = p.dot(Mp), slope = Mp.dot(a - d_.qacc_smooth);
    double low = 0, high = 0, t = 1;
    bool bracketed = false;
    double best = 0, best_value = -1;
    for (int i = 0; i < 200; i++) {
      stop_if_told();
      double first = slope + t * curvature, second = curvature,
             size = std::abs(slope) + std::abs(t * curvature);
      for (const RowBlock& b : blocks_) {
        const Penalty at_t = at(b, x + t * xp);
        const auto step = xp.segment(b.start, b.size);
        first -= at_t.force.dot(step);
        second += step.dot(at_t.hessian * step);
        size += std::abs(at_t.force.dot(step));
      }
      if (!std::isfinite(first)) break;
      if (best_value < 0 || std::abs(first) < best_value) {
        best_value = std::abs(first);
        best = t;
      }
      if (std::abs(first) <= 1e-16 * size) break;
      if (first > 0) {
        high = t;
        bracketed = true;
      } else {
        low = t;
      }
      double next = t - first / second;
      if (bracketed && (next <= low || next >= high)) next = (low + high) / 2;
      if (next == t || (bracketed && high - low <= 1e-16 * high)) break;
      t = next;
    }
    return best;
  }

  const std::vector<RowBlock>& blocks() const { return blocks_; }

 private:
  Penalty at(const RowBlock& b, const VectorXd& x) const {
    return penalty(b, x.segment(b.start, b.size), d_.efc_D.segment(b.start, b.size));
  }

  // the dofs that each block of rows reaches, and the blocks of the sum
  void find_reached() {
    std::vector<int> block_of(d_.nefc());
    for (size_t k = 0; k < blocks_.size(); ++k)
      std::fill_n(block_of.begin() + blocks_[k].start, blocks_[k].size, static_cast<int>(k));
    Spans spans(d_.M_hat.rows());
    for (const BlockMatrix::Block& block : d_.M_hat.blocks())
      spans.join(block.begin, block.begin + block.size() - 1);
    for (int dof = 0; dof < d_.M_hat.rows(); ++dof) {
      stop_if_told();
      for (int row = 0; row < d_.nefc(); ++row) {
        if (d_.efc_J(row, dof) == 0) continue;
        std::vector<int>& reached = reached_[block_of[row]];
        if (reached.empty() || reached.back() != dof) reached.push_back(dof);
        spans.join(reached.front(), dof);
      }
    }
    bounds_ = spans.bounds();
  }

  const Data& d_;
  std::vector<RowBlock> blocks_;
  std::vector<std::vector<int>> reached_;
  std::vector<Eigen::Index> bounds_;
};

// forces of a contact's rows in its frame
void store_contact_forces(const Model& m, Data* d) {
  for (Contact& c : d->contacts) {
    c.force.setZero();
    if (c.efc_address < 0) continue;
    const int row = c.efc_address;
    if (c.dim == 1 || m.opt.cone == Cone::kElliptic) {
      c.force.head(c.dim) = d->efc_force.segment(row, c.dim);
      continue;
    }
    for (int k = 0; k < c.dim - 1; k++) {
      const double plus = d->efc_force[row + 2 * k], minus = d->efc_force[row + 2 * k + 1];
      c.force[0] += plus + minus;
      c.force[k + 1] = c.friction[k] * (plus - minus);
    }
  }
}

}  // namespace

void solve_constraints(const Model& m, Data* d) {
  d->qacc = d->qacc_smooth;
  d->iterations = 0;
  d->residual = 0;
  const Problem problem(*d);

  // down the objective until the step left is nothing against the way gone; from there to the least gradient
  VectorXd best = d->qacc;
  double least = -1;
  for (int stalled = 0; d->nefc() > 0 && stalled < 4 && d->iterations < 500; d->iterations++) {
    stop_if_told();
    const VectorXd x = problem.residual(d->qacc);
    const VectorXd change = d->qacc - d->qacc_smooth;
    const VectorXd inertial = d->M_hat * change;
    const VectorXd constraint = d->efc_J.transpose() * problem.force(x);
    const VectorXd gradient = inertial - constraint;
    const double size = gradient.norm();
    if (!std::isfinite(size)) break;
    const VectorXd step = -solve_symmetric(problem.hessian(x), gradient);
    const bool near = -gradient.dot(step) <= 1e-16 * change.dot(inertial);
    stalled = near && least >= 0 && size > 0.5 * least ? stalled + 1 : 0;
    if (least < 0 || !near || size < least) {
      least = size;
      best = d->qacc;
    }
    if (size <= 1e-16 * (inertial.norm() + constraint.norm())) break;
    d->qacc += problem.line_search(d->qacc, step) * step;
  }
  d->qacc = best;
  d->efc_force = problem.force(problem.residual(d->qacc));
  // J'l up to the gradient that is left, and without the rounding of forces that cancel: those of rows that should be rigid
  // are a million times a million times as large as what they leave
  d->qfrc_constraint = d->M_hat * (d->qacc - d->qacc_smooth);
  store_contact_forces(m, d);
  if (d->nefc() > 0) {
    d->residual = dual_residual(*d, problem.blocks());
  }
}

}  // namespace dualstep::reference
