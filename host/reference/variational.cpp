// The midpoint variational integrator, with constraints, contacts and friction.
//
// solves    for the velocity v of a step and the impulses at its start:
//             p_k + J_k'L = Jr(hv)^-1 [ M(q_m) v - h/2 Jr(hv/2)  G(q_m, v) ],   q_m = q_k (+) hv/2
//             p_{k+1}     = Jl(hv)^-1 [ M(q_m) v + h/2 Jl(hv/2)  G(q_m, v) ],   q_{k+1} = q_k (+) hv
//           G = 1/2 d(v'Mv)/dq + forces at the midpoint; Jr, Jl the right and left Jacobians of the
//           exponential on rotations (1 on all else); qvel = M(q_k)^-1 p_k is what users see
// equation  equalities c(q_{k+1}) = 0; prescribed v_j = u(t + h/2); contacts 0 <= L_n _|_ phi(q_{k+1}) >= 0 with
//           friction -mu L_n v_t / |v_t|, v_t = J_t(q_k) v, or any force of the disc where v_t = 0; joint stops
//           likewise, without friction. Newton on v; each step of it is a contact dual with Coulomb's law
// source    Marsden & West 2001; lecture notes on discrete mechanics with impacts and friction (the gap is paired
//           with the next configuration: pairing it with the present one cannot be stepped forward);
//           Bou-Rabee & Marsden 2009 for the exponential
// deviation L = f - l'C as printed there would pull: the impulse enters with plus. The slope of the left side is
//           taken by differences once a step, its symmetric part kept. The gradient of kinetic energy comes
//           from the momenta of subtrees: e_j . (dS_j/dt)'h, exact for every joint
// reads     qpos, qvel, M, contacts, inputs
// writes    qacc = (v_{k+1} - v_k)/h, midpoint_velocity, qfrc_constraint, Contact::force, residual, iterations
// cost      O(nv) evaluations and a dual per iteration
#include <algorithm>
#include <cmath>

#include "host/reference/contact_matching.h"
#include "host/reference/contact_model.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

constexpr int kIterations = 60;

Matrix3d right_jacobian(const Vector3d& r) {
  const double angle = r.norm();
  const Matrix3d x = skew(r);
  if (angle < 1e-3) {
    const double a2 = angle * angle;
    return Matrix3d::Identity() - (0.5 - a2 / 24) * x + (1. / 6 - a2 / 120) * x * x;
  }
  return Matrix3d::Identity() - (1 - std::cos(angle)) / (angle * angle) * x +
         (angle - std::sin(angle)) / (angle * angle * angle) * x * x;
}

// f(dof, 3x3 block) for every joint that turns freely
template <class F>
void for_rotations(const Model& m, F f) {
  for (int j = 0; j < m.njnt; ++j) {
    if (m.jnt_type[j] == kBall) f(m.jnt_dofadr[j]);
    if (m.jnt_type[j] == kFree) f(m.jnt_dofadr[j] + 3);
  }
}

// half of d(v'Mv)/dq at fixed v
VectorXd kinetic_gradient(const Model& m, const Data& d) {
  std::vector<Vector6d> momentum(m.nbody, Vector6d::Zero());
  for (int b = 1; b < m.nbody; ++b) momentum[b] = d.cinert[b] * d.cvel[b];
  for (int b = m.nbody - 1; b > 0; --b) {
    if (m.body_parentid[b] > 0) momentum[m.body_parentid[b]] += momentum[b];
  }
  VectorXd g(m.nv);
  for (int i = 0; i < m.nv; ++i) g[i] = d.cdof_dot.col(i).dot(momentum[m.dof_bodyid[i]]);
  // a free rotation is told in its own axes: what those turn by themselves is no change of the configuration
  for_rotations(m, [&](int dof) {
    const Vector6d own = d.cdof.middleCols<3>(dof) * d.qvel.segment<3>(dof);
    for (int i = dof; i < dof + 3; ++i)
      g[i] -= cross_motion(own, d.cdof.col(i)).dot(momentum[m.dof_bodyid[i]]);
  });
  return g;
}

class Step {
 public:
  Step(const Model& m, const Data& d) : m_(m), d_(d), mid_(d), end_(d), h_(m.opt.timestep), p_(d.M * d.qvel) {
    for (size_t i = 0; i < d.contacts.size(); ++i) {
      const Contact& c = d.contacts[i];
      if (c.dist > c.includemargin) continue;
      const MatrixXd J = contact_jacobian(m, d, c).topRows(c.dim);
      if (J.isZero(0)) continue;
      add(c.dim == 1 ? RowType::kContactFrictionless : RowType::kContactElliptic, J, false);
      blocks_.back().mu = c.friction;
      contacts_.push_back(static_cast<int>(i));
      contact_rows_.push_back(blocks_.back().start);
      marks_.push_back(mark_of(m, d, c));
    }
    if (!m.opt.disabled(kDisableConstraint) && !m.opt.disabled(kDisableLimit)) {
      const std::vector<LimitRow> limits = limit_rows(m, d);
      for (size_t i = 0; i < limits.size(); ++i) {
        const double margin = std::max(m.jnt_margin[limits[i].joint], m.opt.contact_margin);
        if (limits[i].distance > margin) continue;
        add(RowType::kLimit, limits[i].jacobian.transpose(), false);
        limits_.push_back(static_cast<int>(i));
      }
    }
    Data bilateral = d;
    bilateral.contacts.clear();
    make_rows(m, &bilateral);
    for (int i = 0; i < bilateral.nefc(); ++i) {
      const RowType type = bilateral.efc_type[i];
      if (row_set(type) != RowSet::kFree) continue;
      add(type, bilateral.efc_J.row(i), true);
      equalities_.push_back(i);
    }
    J_.resize(static_cast<int>(rows_.size()), m.nv);
    for (size_t i = 0; i < rows_.size(); ++i) J_.row(static_cast<int>(i)) = rows_[i];
  }

  // left side minus p_k
  VectorXd defect(const VectorXd& v) {
    evaluate(v);
    return twisted(v, 1) - p_;
  }
  // what the momentum is at the step's end; evaluate() has been called
  VectorXd end_momentum(const VectorXd& v) const { return twisted(v, -1); }

  MatrixXd slope(const VectorXd& v, const VectorXd& at_v) {
    MatrixXd K(m_.nv, m_.nv);
    for (int i = 0; i < m_.nv; ++i) {
      const double e = 1e-6 * std::max(1.0, std::abs(v[i]));
      VectorXd moved = v;
      moved[i] += e;
      K.col(i) = (defect(moved) - at_v) / e;
    }
    return 0.5 * (K + K.transpose());
  }

  // distances and errors at q_{k+1}, over h; tangents and prescribed rows hold what J v is compared with
  VectorXd gaps(const VectorXd& v) {
    end_.qpos = integrate_position(m_, d_.qpos, v, h_);
    end_.qvel = v;
    end_.time = d_.time + 0.5 * h_;
    kinematics(m_, &end_);
    center_of_mass(m_, &end_);
    velocities(m_, &end_);
    VectorXd out = J_ * v;
    if (!contacts_.empty()) {
      // found however far the step has taken them apart
      Model wide = m_;
      wide.opt.contact_margin = std::max(1.0, 2 * m_.opt.contact_margin);
      collide(wide, &end_);
      std::vector<ContactMark> now;
      for (const Contact& c : end_.contacts) now.push_back(mark_of(m_, end_, c));
      const std::vector<int> match = match_contacts(marks_, now);
      for (size_t i = 0; i < contacts_.size(); ++i) {
        const int row = contact_rows_[i];
        out[row] = match[i] >= 0 ? end_.contacts[match[i]].dist / h_
                                 : d_.contacts[contacts_[i]].dist / h_ + out[row];
      }
      end_.contacts.clear();
    }
    int row = contact_row_count();
    if (!limits_.empty()) {
      const std::vector<LimitRow> limits = limit_rows(m_, end_);
      for (int index : limits_) out[row++] = limits[index].distance / h_;
    }
    if (!equalities_.empty()) {
      make_rows(m_, &end_);
      for (int index : equalities_) {
        if (end_.efc_type[index] == RowType::kPrescribed) {
          const Model::Prescribed& p = m_.prescribed[end_.efc_id[index]];
          out[row] -= p.offset + p.amplitude * std::cos(p.frequency * end_.time + p.phase);
          ++row;
        } else {
          out[row++] = end_.efc_pos[index] / h_;
        }
      }
    }
    return out;
  }

  // one Newton step: v, and the impulses that go with it
  VectorXd next(const VectorXd& v, const VectorXd& at_v, const Eigen::LLT<MatrixXd>& K, RowSolution* dual) {
    const VectorXd free = v - K.solve(at_v);
    if (J_.rows() == 0) return free;
    const VectorXd b = gaps(v) + J_ * (free - v);
    RowLaw law;
    law.coulomb = true;
    *dual = solve_dual(K.matrixL().solve(J_.transpose()), VectorXd::Zero(b.size()), b, blocks_, hard_, law);
    return free + K.solve(J_.transpose() * dual->force);
  }

  void store_forces(const VectorXd& impulse, Data* d) const {
    d->qfrc_constraint = VectorXd::Zero(m_.nv);
    d->efc_force = VectorXd::Zero(d->nefc());
    if (impulse.size() == 0) return;
    const int first = static_cast<int>(impulse.size() - equalities_.size());
    for (size_t i = 0; i < equalities_.size(); ++i)
      d->efc_force[equalities_[i]] = impulse[first + static_cast<int>(i)] / h_;
    d->qfrc_constraint = J_.transpose() * impulse / h_;
    for (size_t i = 0; i < contacts_.size(); ++i) {
      Contact& c = d->contacts[contacts_[i]];
      c.force.head(c.dim) = impulse.segment(contact_rows_[i], c.dim) / h_;
    }
  }

  const Data& middle() const { return mid_; }
  int rows() const { return static_cast<int>(J_.rows()); }

 private:
  void add(RowType type, const MatrixXd& J, bool is_hard) {
    RowBlock b;
    b.type = type;
    b.start = static_cast<int>(rows_.size());
    b.size = static_cast<int>(J.rows());
    blocks_.push_back(b);
    for (int k = 0; k < b.size; ++k) rows_.push_back(J.row(k));
    hard_.insert(hard_.end(), b.size, is_hard);
  }
  int contact_row_count() const {
    int n = 0;
    for (int i : contacts_) n += d_.contacts[i].dim;
    return n;
  }

  void evaluate(const VectorXd& v) {
    mid_.qpos = integrate_position(m_, d_.qpos, v, 0.5 * h_);
    mid_.qvel = v;
    mid_.time = d_.time + 0.5 * h_;
    state_stages(m_, &mid_);
    passive_forces(m_, &mid_);
    actuation(m_, &mid_);
    smooth_acceleration(m_, &mid_);
    // gravity alone is what is left of the bias at rest
    const VectorXd gradient = kinetic_gradient(m_, mid_), moving = mid_.qfrc_bias;
    mid_.qvel.setZero();
    velocities(m_, &mid_);
    push_ = gradient + mid_.qfrc_smooth + moving - rnea(m_, mid_, nullptr);
    momentum_ = mid_.M * v;
  }

  // side 1: the momentum at the start; side -1: at the end
  VectorXd twisted(const VectorXd& v, double side) const {
    VectorXd out = momentum_ - side * 0.5 * h_ * push_;
    for_rotations(m_, [&](int dof) {
      const Vector3d turn = side * h_ * v.segment<3>(dof);
      const Vector3d inner =
          momentum_.segment<3>(dof) - side * 0.5 * h_ * (right_jacobian(0.5 * turn) * push_.segment<3>(dof));
      out.segment<3>(dof) = right_jacobian(turn).partialPivLu().solve(inner);
    });
    return out;
  }

  const Model& m_;
  const Data& d_;
  Data mid_, end_;
  double h_;
  VectorXd p_, momentum_, push_;
  std::vector<VectorXd> rows_;
  MatrixXd J_;
  std::vector<RowBlock> blocks_;
  std::vector<char> hard_;
  std::vector<int> contacts_, contact_rows_, limits_, equalities_;
  std::vector<ContactMark> marks_;
};

}  // namespace

void variational_acceleration(const Model& m, Data* d) {
  for (Contact& c : d->contacts) c.force.setZero();
  make_rows(m, d);
  Step step(m, *d);
  VectorXd v = d->qvel, at_v = step.defect(v);
  Eigen::LLT<MatrixXd> K(step.slope(v, at_v));
  if (K.info() != Eigen::Success) K.compute(d->M.dense());

  // Newton goes on until the change no longer shrinks
  RowSolution dual;
  const double scale = 1e-300 + d->qvel.norm() + m.opt.timestep * d->qacc_smooth.norm();
  double last = -1;
  d->iterations = 0;
  for (; d->iterations < kIterations; ++d->iterations) {
    const VectorXd next = step.next(v, at_v, K, &dual);
    const double change = (next - v).norm() / scale;
    v = next;
    at_v = step.defect(v);
    d->residual = change;
    if (change <= 1e-15 || (last >= 0 && last < 1e-11 && change >= last)) break;
    last = change;
  }
  if (dual.softened) d->status |= kStatusNotConverged;

  // velocity of the end: its momentum on its own inertia
  const VectorXd momentum = step.end_momentum(v);
  Data end = *d;
  end.qpos = integrate_position(m, d->qpos, v, m.opt.timestep);
  kinematics(m, &end);
  center_of_mass(m, &end);
  mass_matrix(m, &end);
  d->midpoint_velocity = v;
  d->qacc = (end.M_llt.solve(momentum) - d->qvel) / m.opt.timestep;
  step.store_forces(dual.force, d);
}

}  // namespace dualstep::reference
