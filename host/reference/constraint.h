// The constrained half of a reference step: contacts, constraint rows, and the solution of the contact dual.
//
//   minimize over l in K   1/2 l'(A + R) l + l' b,   A = J M^-1 J',   b = J qacc_smooth - aref
//
// K is the product of the rows' sets: free (equality), |l| <= bound (friction loss), l >= 0 (limits,
// frictionless contacts, pyramid edges), and sum (l_i / mu_i)^2 <= l_n^2, l_n >= 0 (elliptic contacts).
// Todorov 2014, "Convex and analytically-invertible dynamics with contacts and constraints"; the parameters
// are MuJoCo's.
#pragma once

#include <vector>

#include "host/model/model.h"
#include "host/reference/data.h"

namespace dualstep::reference {

// MuJoCo's floors and ceilings
constexpr double kMinVal = 1e-15;
constexpr double kMinMu = 1e-5;
constexpr double kMinImpedance = 1e-4;
constexpr double kMaxImpedance = 0.9999;

// contacts of the current poses, in MuJoCo's order. Reads geom_xpos, geom_xmat; writes contacts
void collide(const Model& m, Data* d);

// every row of the problem with its parameters. Reads poses, qpos, qvel, contacts, M, M_hat; writes efc_* but for
// efc_force, and Contact::efc_address
void make_rows(const Model& m, Data* d);
// every joint stop, near or far: its distance and the Jacobian of that
struct LimitRow {
  int joint = -1;
  double distance = 0;
  VectorXd jacobian;
};
std::vector<LimitRow> limit_rows(const Model& m, const Data& d);
// whether some rows admit no softness: equalities under equality_alpha, prescribed motions
bool hard_rows(const Model& m);

// qacc by Newton on the primal, to the limit of double precision. Reads M_hat, M_hat_llt, qacc_smooth, efc_*; writes
// qacc, efc_force, qfrc_constraint, Contact::force, residual, iterations
void solve_constraints(const Model& m, Data* d);

// the set that a row's force lies in
enum class RowSet {
  kFree,         // any force: the row holds exactly, in impacts too
  kBounded,      // |l| <= bound
  kNonnegative,  // l >= 0
  kCone          // sum (l_i / mu_i)^2 <= l_n^2, l_n >= 0
};
constexpr RowSet row_set(RowType type) {
  switch (type) {
    case RowType::kEquality:
    case RowType::kPrescribed:
      return RowSet::kFree;
    case RowType::kFrictionLoss:
      return RowSet::kBounded;
    case RowType::kContactElliptic:
      return RowSet::kCone;
    case RowType::kLimit:
    case RowType::kContactFrictionless:
    case RowType::kContactPyramidal:
      break;
  }
  return RowSet::kNonnegative;
}
// one factor of K: consecutive rows that share a set
struct RowBlock {
  RowType type = RowType::kEquality;
  int start = 0, size = 1;
  double bound = 0;  // of a bounded row
  Eigen::Matrix<double, 5, 1> mu =
      Eigen::Matrix<double, 5, 1>::Zero();  // of a cone: coefficients of rows 1..5
};
std::vector<RowBlock> row_blocks(const Data& d);

// the point of K nearest to l
VectorXd project_onto_rows(const std::vector<RowBlock>& blocks, const VectorXd& l);

// |l - P_K(l - y / abar)| / |l| with y = (A + R) l + b and abar the mean diagonal of A + R: zero exactly at
// the solution; 0 where there are no rows
double kkt_residual(const MatrixXd& A, const VectorXd& R, const VectorXd& b, const VectorXd& l,
                    const std::vector<RowBlock>& blocks);

// that of efc_force, with A = J M_hat^-1 J' and b as make_rows left them
double dual_residual(const Data& d, const std::vector<RowBlock>& blocks);

// second derivative of the motion at zero qacc (the product dJ/dt v): of a world point fixed to a body, and
// the body's angular acceleration
void bias_acceleration(const Model& m, const Data& d, int body, const Vector3d& point, Vector3d* linear,
                       Vector3d* angular);
// angular velocity of a body, world axes
Vector3d angular_velocity(const Model& m, const Data& d, int body);

}  // namespace dualstep::reference
