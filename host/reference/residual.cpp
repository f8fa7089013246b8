// The dual's optimality, told by its natural residual, and the projection onto the rows' sets that it needs.
//
// solves    how far l is from the solution of  min over K of 1/2 l'(A + R) l + l' b
// equation  l solves it exactly where   l = P_K(l - y / abar),   y = (A + R) l + b
//           (any abar > 0 will do; the mean diagonal makes l and y / abar alike in size.) P_K acts block by block.
//           On an elliptic cone |diag(mu)^-1 l_t| <= l_n the nearest point is found from its normal part t: the
//           tangent then is x_i mu_i^2 t / (t (1 + mu_i^2) - x_n), and t is the root of a function that falls from
//           above zero to -1
// source    Parikh & Boyd 2014, section 6.3.2 for mu = 1
#include <algorithm>
#include <cmath>

#include "host/reference/constraint.h"

namespace dualstep::reference {

namespace {

VectorXd project_onto_cone(const VectorXd& x, const VectorXd& mu) {
  const double normal = x[0];
  const VectorXd tangent = x.tail(x.size() - 1);
  if (normal >= 0 && tangent.cwiseQuotient(mu).norm() <= normal) return x;
  // the polar cone: nothing of it is left
  const VectorXd weighted = tangent.cwiseProduct(mu);
  if (-normal >= weighted.norm()) return VectorXd::Zero(x.size());

  const VectorXd slope = 1 + mu.array().square();
  auto excess = [&](double t) {
    return (weighted.array() / (t * slope.array() - normal)).square().sum() - 1;
  };
  double low = std::max(0.0, normal), high = std::max(1e-300, low + weighted.norm() + std::abs(normal));
  while (excess(high) > 0) high *= 2;
  for (int i = 0; i < 2000 && high - low > 0; i++) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (excess(middle) > 0 ? low : high) = middle;
  }
  const double t = high;
  VectorXd result(x.size());
  result[0] = t;
  result.tail(tangent.size()) = tangent.array() * mu.array().square() * t / (t * slope.array() - normal);
  return result;
}

}  // namespace

std::vector<RowBlock> row_blocks(const Data& d) {
  std::vector<RowBlock> blocks;
  for (int row = 0; row < d.nefc(); row += blocks.back().size) {
    RowBlock block;
    block.type = d.efc_type[row];
    block.start = row;
    if (row_set(block.type) == RowSet::kBounded) block.bound = d.efc_frictionloss[row];
    if (row_set(block.type) == RowSet::kCone) {
      const Contact& c = d.contacts[d.efc_id[row]];
      block.size = c.dim;
      block.mu = c.friction;
    }
    blocks.push_back(block);
  }
  return blocks;
}

VectorXd project_onto_rows(const std::vector<RowBlock>& blocks, const VectorXd& l) {
  VectorXd result = l;
  for (const RowBlock& block : blocks) {
    switch (row_set(block.type)) {
      case RowSet::kFree:
        break;
      case RowSet::kBounded:
        result[block.start] = std::clamp(l[block.start], -block.bound, block.bound);
        break;
      case RowSet::kCone:
        result.segment(block.start, block.size) =
            project_onto_cone(l.segment(block.start, block.size), block.mu.head(block.size - 1));
        break;
      case RowSet::kNonnegative:
        result[block.start] = std::max(0.0, l[block.start]);
    }
  }
  return result;
}

namespace {

double natural_residual(const VectorXd& y, double abar, const VectorXd& l,
                        const std::vector<RowBlock>& blocks) {
  const double distance = (l - project_onto_rows(blocks, l - y / abar)).norm();
  return distance == 0 ? 0 : distance / l.norm();
}

}  // namespace

double kkt_residual(const MatrixXd& A, const VectorXd& R, const VectorXd& b, const VectorXd& l,
                    const std::vector<RowBlock>& blocks) {
  if (l.size() == 0) return 0;
  return natural_residual(A * l + R.cwiseProduct(l) + b, (A.diagonal() + R).mean(), l, blocks);
}

double dual_residual(const Data& d, const std::vector<RowBlock>& blocks) {
  if (d.nefc() == 0) return 0;
  // A = W'W
  const MatrixXd W = d.M_hat_llt.half_solve(d.efc_J.transpose());
  const VectorXd& l = d.efc_force;
  const VectorXd y = W.transpose() * (W * l) + d.efc_R.cwiseProduct(l) + d.efc_J * d.qacc_smooth - d.efc_aref;
  const VectorXd diagonal = W.colwise().squaredNorm().transpose();
  return natural_residual(y, (diagonal + d.efc_R).mean(), l, blocks);
}

}  // namespace dualstep::reference
