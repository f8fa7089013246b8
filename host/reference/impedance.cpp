// R and aref in MuJoCo's parameterization.
//
// solves    regularizer R and reference acceleration aref of every row
// equation
//   aref = -B (J v) - K d(r) r,   R = (1 - d) / d  A_approx,   r = pos - margin
//
// d(r) in (0, 1) is the impedance: solimp = (d0, d1, width, midpoint, power) rises from d0 at r = 0 to d1 at
// |r| = width along a power sigmoid.
//   solref = (timeconst, dampratio) > 0    K = 1 / (d1 timeconst dampratio)^2,  B = 2 / (d1 timeconst)
//   solref = (-stiffness, -damping) < 0    K = stiffness / d1^2,  B = damping / d1
// A_approx is the diagonal of J M^-1 J' at qpos0, from the inverse weights that the model stores. Within a
// contact R is tied together: R_t1 = R_n / impratio and R_i mu_i^2 the same for all directions of friction, so
// that the cone stays projectable in closed form; the edges of a pyramid share 2 mu^2 R_n of the cone's
// mu = mu_1 sqrt(R_t1 / R_n).
//
// The integrator discrete takes aref where its step ends: with k = h^2 K d, b = h B and s = 1 + b + k, a row of velocity v is
//
//   aref = (-B v - K d (r + h v)) / s,   R = (1 - d) / (d s) A_approx sum_i(J_i^2 / M^_ii) / sum_i(J_i^2 / M_ii)
//
// M^ the inertia of the step (contact_model.h); a contact's share of the sums is its first row's, and s of its R as well. In
// place of the floor of 2 h under timeconst, rows of contacts and limits with k > 1 are softened to k = 1, their damping by the
// root of the same.
//
// aref of connect and weld rows also holds -(dJ/dt) v, so that these close at the wanted rate while turning fast.
//
// source    MuJoCo documentation, "Computation: Constraint model"; Todorov 2014; of discrete MuJoCo 3.13's notes, the
//           sums and the root as MuJoCo 4.0.1 has them
#include "host/reference/impedance.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "host/interruption.h"
#include "host/model/element_rows.h"
#include "host/reference/constraint.h"

namespace dualstep::reference {

namespace {

struct Impedance {
  double stiffness = 0, damping = 0;  // K, B
  double value = 0;                   // d(r)
};

double impedance_at(std::span<const double> solimp, double r) {
  auto within = [](double x) { return std::clamp(x, kMinImpedance, kMaxImpedance); };
  const double d0 = within(solimp[0]), d1 = within(solimp[1]), width = std::max(0.0, solimp[2]);
  const double midpoint = within(solimp[3]), power = std::max(1.0, solimp[4]);
  if (d0 == d1 || width <= kMinVal) return (d0 + d1) / 2;
  const double x = std::abs(r / width);
  if (x >= 1) return d1;
  if (x <= 0) return d0;
  double y = x;
  if (power != 1) {
    y = x <= midpoint ? std::pow(x, power) / std::pow(midpoint, power - 1)
                      : 1 - std::pow(1 - x, power) / std::pow(1 - midpoint, power - 1);
  }
  return d0 + y * (d1 - d0);
}

// stiffness and damping of a reference; `fallback` where its two numbers differ in sign
void reference(const Model& m, std::span<const double> solimp, std::array<double, 2> ref,
               const std::array<double, 2>& fallback, double* stiffness, double* damping) {
  if ((ref[0] > 0) != (ref[1] > 0)) ref = fallback;
  const bool floor = !m.opt.disabled(kDisableRefSafe) && m.opt.integrator != Integrator::kDiscrete;
  if (floor && ref[0] > 0) ref[0] = std::max(ref[0], 2 * m.opt.timestep);
  const double d1 = std::clamp(solimp[1], kMinImpedance, kMaxImpedance);
  *stiffness = ref[0] > 0 ? 1 / std::max(kMinVal, d1 * d1 * ref[0] * ref[0] * ref[1] * ref[1])
                          : -ref[0] / std::max(kMinVal, d1 * d1);
  *damping = ref[1] > 0 ? 2 / std::max(kMinVal, d1 * ref[0]) : -ref[1] / std::max(kMinVal, d1);
}

constexpr std::array<double, 2> kDefaultReference = {0.02, 1};

// that of the largest impedance, below which discrete leaves no row
constexpr double kLeastSoftness = (1 - kMaxImpedance) / kMaxImpedance;

// under the integrator discrete: what a row is divided by to hold at the end of the step
double at_end(double h, double stiffness, double damping) { return 1 + h * damping + h * h * stiffness; }

// a contact or limit that is stiffer than the step resolves, by the stiffest that it does, and with no more damping than
// leaves it the least softness; one that is given by its stiffness stays as it is
void soften(const Model& m, RowType type, std::span<const double> solref, double impedance, double* stiffness,
            double* damping) {
  if (type == RowType::kEquality || type == RowType::kFrictionLoss || m.opt.disabled(kDisableRefSafe)) return;
  const double h = m.opt.timestep, k = h * h * *stiffness * impedance;
  if ((solref[0] <= 0 && solref[1] <= 0) || k <= 1) return;
  *stiffness /= k;
  const double softness = (1 - impedance) / impedance;
  *damping = std::min(*damping / std::sqrt(k), std::max(0.0, (softness / kLeastSoftness - 2) / h));
}

// how much less of the inertia of the step a row moves than of M, by the diagonals
double share_of_step(const Data& d, int row) {
  const auto J2 = d.efc_J.row(row).transpose().array().square();
  const double of_M = (J2 / d.M.diagonal().array()).sum();
  return of_M > 0 ? (J2 / d.M_hat.diagonal().array()).sum() / of_M : 1;
}

// rows that share one position
int group_size(const Model& m, const Data& d, int row) {
  const int id = d.efc_id[row];
  switch (d.efc_type[row]) {
    case RowType::kPrescribed:
      return 1;
    case RowType::kEquality:
      return m.eq_type[id] == kEqWeld ? 6 : m.eq_type[id] == kEqConnect ? 3 : 1;
    case RowType::kContactElliptic:
      return d.contacts[id].dim;
    case RowType::kContactPyramidal:
      return 2 * (d.contacts[id].dim - 1);
    default:
      return 1;
  }
}

std::span<const double> solimp_of(const Model& m, const Data& d, int row) {
  const int id = d.efc_id[row];
  switch (d.efc_type[row]) {
    case RowType::kEquality:
      return row::eq_solimp(m, id);
    case RowType::kFrictionLoss:
      return d.of_tendon(row) ? row::tendon_solimp_fri(m, id) : row::dof_solimp(m, id);
    case RowType::kLimit:
      return d.of_tendon(row) ? row::tendon_solimp_lim(m, id) : row::jnt_solimp(m, id);
    default:
      return d.contacts[id].solimp;
  }
}

std::span<const double> solref_of(const Model& m, const Data& d, int row) {
  const int id = d.efc_id[row];
  switch (d.efc_type[row]) {
    case RowType::kEquality:
      return row::eq_solref(m, id);
    case RowType::kFrictionLoss:
      return d.of_tendon(row) ? row::tendon_solref_fri(m, id) : row::dof_solref(m, id);
    case RowType::kLimit:
      return d.of_tendon(row) ? row::tendon_solref_lim(m, id) : row::jnt_solref(m, id);
    default:
      return d.contacts[id].solref;
  }
}

// approximate diagonal of J M^-1 J' for row `k` of the group that starts at `row`
double inverse_weight(const Model& m, const Data& d, int row, int k) {
  const int id = d.efc_id[row];
  auto bodies = [&](int b1, int b2, bool rotation) {
    return row::body_invweight0(m, b1)[rotation] + row::body_invweight0(m, b2)[rotation];
  };
  auto joint = [&](int j) { return m.dof_invweight0[m.jnt_dofadr[j]]; };
  switch (d.efc_type[row]) {
    case RowType::kEquality: {
      if (m.eq_type[id] == kEqJoint) {
        return joint(m.eq_obj1id[id]) + (m.eq_obj2id[id] >= 0 ? joint(m.eq_obj2id[id]) : 0);
      }
      if (m.eq_type[id] == kEqTendon) {
        const int second = m.eq_obj2id[id];
        return m.tendon_invweight0[m.eq_obj1id[id]] + (second >= 0 ? m.tendon_invweight0[second] : 0);
      }
      const EqualityFrames e = equality_frames(m, d, id);
      return bodies(e.body1, e.body2, k > 2);
    }
    case RowType::kFrictionLoss:
      return d.of_tendon(row) ? m.tendon_invweight0[id] : m.dof_invweight0[id];
    case RowType::kLimit:
      return d.of_tendon(row) ? m.tendon_invweight0[id] : joint(id);
    default:
      break;
  }
  const Contact& c = d.contacts[id];
  const int b1 = m.geom_bodyid[c.geom1], b2 = m.geom_bodyid[c.geom2];
  const double translation = bodies(b1, b2, false), rotation = bodies(b1, b2, true);
  if (d.efc_type[row] == RowType::kContactPyramidal) {
    const int direction = k / 2;
    const double mu = c.friction[direction];
    return translation + mu * mu * (direction < 2 ? translation : rotation);
  }
  return k < 3 ? translation : rotation;
}

// R of a contact's rows from R of its first one
void tie_contact(const Model& m, const Contact& c, RowType type, int row, VectorXd* R) {
  const double normal = (*R)[row], tangent = normal / std::max(kMinVal, m.opt.impratio);
  const double mu1 = std::max(kMinMu, c.friction[0]);
  if (type == RowType::kContactElliptic) {
    for (int k = 1; k < c.dim; k++) {
      // contacts that are not MuJoCo's may have no friction at all
      const double mu = std::max(kMinMu, c.friction[k - 1]);
      (*R)[row + k] = tangent * mu1 * mu1 / (mu * mu);
    }
  } else {
    const double mu = mu1 * std::sqrt(tangent / normal);
    R->segment(row, 2 * (c.dim - 1)).setConstant(2 * mu * mu * normal);
  }
}

// velocity of a geom's surface at a point, in the world: MuJoCo's documentation, "geom/surfacevel"
struct SurfaceVelocity {
  Vector3d linear, angular;
};
SurfaceVelocity surface_velocity(const Model& m, const Data& d, int geom, const Vector3d& point) {
  const auto given = row::geom_surfacevel(m, geom);
  const Vector3d angular = d.geom_xmat[geom] * Vector3d(given[3], given[4], given[5]);
  const Vector3d linear = d.geom_xmat[geom] * Vector3d(given[0], given[1], given[2]);
  return {linear + angular.cross(point - d.geom_xpos[geom]), angular};
}

// contacts see the velocity relative to surfaces that move: along both tangents and about the normal
void add_surface_velocities(const Model& m, Data* d) {
  for (const Contact& c : d->contacts) {
    if (c.efc_address < 0 || !(surface_moves(m, c.geom1) || surface_moves(m, c.geom2))) continue;
    stop_if_told();
    Eigen::Matrix<double, 6, 1> seen = Eigen::Matrix<double, 6, 1>::Zero();
    seen.segment<3>(1) = surface_velocity_at(m, *d, c);
    const int row = c.efc_address;
    if (d->efc_type[row] == RowType::kContactPyramidal) {
      for (int k = 1; k < c.dim; ++k) {
        d->efc_vel[row + 2 * k - 2] += c.friction[k - 1] * seen[k];
        d->efc_vel[row + 2 * k - 1] -= c.friction[k - 1] * seen[k];
      }
    } else {
      for (int k = 1; k < c.dim; ++k) d->efc_vel[row + k] += seen[k];
    }
  }
}

}  // namespace

Vector3d surface_velocity_at(const Model& m, const Data& d, const Contact& c) {
  const SurfaceVelocity first = surface_velocity(m, d, c.geom1, c.pos),
                        second = surface_velocity(m, d, c.geom2, c.pos);
  const Vector3d along = c.frame * (second.linear - first.linear);
  return {along[1], along[2], c.frame.row(0).dot(second.angular - first.angular)};
}

VectorXd bias_of_equality(const Model& m, const Data& d, int i) {
  if (m.eq_type[i] == kEqJoint) {
    // of q1 - polynomial(q2): minus its second derivative times the square of the rate
    if (m.eq_obj2id[i] < 0) return VectorXd::Zero(1);
    const auto c = row::eq_data(m, i);
    const int j2 = m.eq_obj2id[i];
    const double x = d.qpos[m.jnt_qposadr[j2]] - m.qpos0[m.jnt_qposadr[j2]], rate = d.qvel[m.jnt_dofadr[j2]];
    return VectorXd::Constant(1, -(2 * c[2] + x * (6 * c[3] + x * 12 * c[4])) * rate * rate);
  }
  const EqualityFrames e = equality_frames(m, d, i);
  Vector3d a1, a2, alpha1, alpha2;
  bias_acceleration(m, d, e.body1, e.point1, &a1, &alpha1);
  bias_acceleration(m, d, e.body2, e.point2, &a2, &alpha2);
  if (m.eq_type[i] == kEqConnect) return a1 - a2;
  // second derivative of q2* q1 with q' = 1/2 w q, w in world axes
  const Vector3d w1 = angular_velocity(m, d, e.body1), w2 = angular_velocity(m, d, e.body2), w = w1 - w2;
  auto pure = [](const Vector3d& x) { return Quaterniond(0, x.x(), x.y(), x.z()); };
  const Quaterniond left = pure(w2) * pure(w), right = pure(w) * pure(w1);
  const Vector3d alpha = alpha1 - alpha2;
  const Quaterniond middle((right.w() - left.w()) / 2, alpha.x() + (right.x() - left.x()) / 2,
                           alpha.y() + (right.y() - left.y()) / 2, alpha.z() + (right.z() - left.z()) / 2);
  VectorXd result(6);
  result << a1 - a2, 0.5 * e.torquescale * (e.quat2.conjugate() * (middle * e.quat1)).vec();
  return result;
}

void set_impedance(const Model& m, Data* d) {
  const int n = d->nefc();
  d->efc_R.resize(n);
  d->efc_diagApprox.resize(n);
  VectorXd stiffness(n), damping(n), impedance(n);
  const bool discrete = m.opt.integrator == Integrator::kDiscrete;
  const double h = m.opt.timestep;
  for (int row = 0, size = 0; row < n; row += size) {
    stop_if_told();
    size = group_size(m, *d, row);
    const RowType type = d->efc_type[row];
    if (type == RowType::kPrescribed) {
      // a demand on the velocity alone; set_formulation writes it
      stiffness[row] = damping[row] = 0;
      impedance[row] = 0.5;
      d->efc_R[row] = 1;
      continue;
    }
    const auto solimp = solimp_of(m, *d, row), solref = solref_of(m, *d, row);
    // connect and weld rows count as far off as their error is long
    const double pos =
        type == RowType::kEquality && size > 1 ? d->efc_pos.segment(row, size).norm() : d->efc_pos[row];
    const double value = impedance_at(solimp, pos - d->efc_margin[row]);

    std::array<double, 2> across = {solref[0], solref[1]};
    if (type == RowType::kContactElliptic) {
      // friction may have a reference of its own
      const Contact& c = d->contacts[d->efc_id[row]];
      const bool valid = (c.solreffriction[0] > 0) == (c.solreffriction[1] > 0);
      const bool given = c.solreffriction[0] != 0 || c.solreffriction[1] != 0;
      if (valid && given) across = {c.solreffriction[0], c.solreffriction[1]};
    }
    for (int k = 0; k < size; k++) {
      const bool friction = type == RowType::kContactElliptic && k > 0;
      const std::array<double, 2> ref = friction ? across : std::array<double, 2>{solref[0], solref[1]};
      reference(m, solimp, ref, kDefaultReference, &stiffness[row + k], &damping[row + k]);
      if (friction || type == RowType::kFrictionLoss) stiffness[row + k] = 0;
      impedance[row + k] = value;
      double softness = (1 - value) / value;
      if (discrete) {
        soften(m, type, ref, value, &stiffness[row + k], &damping[row + k]);
        softness /= at_end(h, stiffness[row + k] * value, damping[row + k]);
        softness = std::max(softness, kLeastSoftness) * share_of_step(*d, row + k);
      }
      d->efc_R[row + k] = std::max(kMinVal, softness * inverse_weight(m, *d, row, k));
    }
    if (type == RowType::kContactElliptic || type == RowType::kContactPyramidal) {
      tie_contact(m, d->contacts[d->efc_id[row]], type, row, &d->efc_R);
    }
  }
  d->efc_D = d->efc_R.cwiseInverse();
  d->efc_diagApprox = d->efc_R.array() * impedance.array() / (1 - impedance.array());

  d->efc_vel = d->efc_J * d->qvel;
  add_surface_velocities(m, d);
  d->efc_aref = -damping.array() * d->efc_vel.array() -
                stiffness.array() * impedance.array() * (d->efc_pos - d->efc_margin).array();
  for (int row = 0, size = 0; row < n; row += size) {
    stop_if_told();
    size = group_size(m, *d, row);
    if (d->efc_type[row] != RowType::kEquality || size == 1) continue;
    d->efc_aref.segment(row, size) -= bias_of_equality(m, *d, d->efc_id[row]);
  }
  if (discrete) {
    const auto k = stiffness.array() * impedance.array();
    d->efc_aref = (d->efc_aref.array() - h * k * d->efc_vel.array()) / (1 + h * damping.array() + h * h * k);
  }
  set_formulation(m, d);
}

}  // namespace dualstep::reference
