// Constraint rows, in MuJoCo's order (equality constraints, friction loss, joint limits, contacts).
//
// solves    Jacobian, position, and the sets they live in
// equation  a row says J v; positive means the constraint opens. Contacts: J v is the velocity of the second body's
//           point less the first's in the frame n, t1, t2, then of the angular velocities; a pyramid has two edges
//           n +- mu_i t_i for every direction of friction. Equality rows are the first object less the second
// reads     poses, qpos, contacts
// writes    efc_type, efc_id, efc_J, efc_pos, efc_margin, efc_frictionloss, efc_address; impedance.cpp then adds the
//           parameters
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "host/interruption.h"
#include "host/model/element_rows.h"
#include "host/reference/constraint.h"
#include "host/reference/contact_model.h"
#include "host/reference/impedance.h"

namespace dualstep::reference {

namespace {

// rows as they are found
struct Rows {
  std::vector<VectorXd> jacobian;
  std::vector<RowType> type;
  std::vector<int> id;
  std::vector<char> of_tendon;
  std::vector<double> pos, margin, frictionloss;

  void add(const VectorXd& j, RowType row_type, int row_id, double row_pos, double row_margin,
           double loss = 0) {
    jacobian.push_back(j);
    type.push_back(row_type);
    id.push_back(row_id);
    pos.push_back(row_pos);
    margin.push_back(row_margin);
    frictionloss.push_back(loss);
    of_tendon.push_back(0);
  }
  // a constraint of one row: where no dof moves it there is none
  bool add_alone(const VectorXd& j, RowType row_type, int row_id, double row_pos, double row_margin,
                 double loss = 0) {
    if (j.isZero(0)) return false;
    add(j, row_type, row_id, row_pos, row_margin, loss);
    return true;
  }
};

VectorXd single_row(int nv, int dof, double value) {
  VectorXd row = VectorXd::Zero(nv);
  row[dof] = value;
  return row;
}

// true where some degree of freedom moves one body and not the other
bool relative_freedom(const Model& m, int b1, int b2) {
  auto dofs = [&](int body) {
    std::vector<bool> moves(m.nv, false);
    for (int b = body; b > 0; b = m.body_parentid[b]) {
      for (int i = 0; i < m.body_dofnum[b]; i++) moves[m.body_dofadr[b] + i] = true;
    }
    return moves;
  };
  return dofs(b1) != dofs(b2);
}

void add_connect_or_weld(const Model& m, const Data& d, int i, Rows* rows) {
  const EqualityFrames e = equality_frames(m, d, i);
  MatrixXd jacp1, jacr1, jacp2, jacr2;
  point_jacobian(m, d, e.body1, e.point1, &jacp1, &jacr1);
  point_jacobian(m, d, e.body2, e.point2, &jacp2, &jacr2);
  const MatrixXd jacp = jacp1 - jacp2, jacr = jacr1 - jacr2;
  // nothing can move one against the other
  if (jacp.isZero(0) && (m.eq_type[i] == kEqConnect || jacr.isZero(0))) return;
  const Vector3d offset = e.point1 - e.point2;
  for (int k = 0; k < 3; k++) rows->add(jacp.row(k), RowType::kEquality, i, offset[k], 0);
  if (m.eq_type[i] != kEqWeld) return;

  // orientation: the vector part of q2* q1, in units of torquescale; its rate is 1/2 q2* (w1 - w2) q1
  const Vector3d turn = (e.quat2.conjugate() * e.quat1).vec() * e.torquescale;
  MatrixXd rate(3, m.nv);
  for (int dof = 0; dof < m.nv; dof++) {
    const Quaterniond w(0, jacr(0, dof), jacr(1, dof), jacr(2, dof));
    rate.col(dof) = 0.5 * e.torquescale * (e.quat2.conjugate() * (w * e.quat1)).vec();
  }
  for (int k = 0; k < 3; k++) rows->add(rate.row(k), RowType::kEquality, i, turn[k], 0);
}

// q1 - q1_0 = polynomial of (q2 - q2_0); without a second joint, a constant
void add_joint_coupling(const Model& m, const Data& d, int i, Rows* rows) {
  const auto c = row::eq_data(m, i);
  const int j1 = m.eq_obj1id[i], j2 = m.eq_obj2id[i];
  auto displacement = [&](int joint) { return d.qpos[m.jnt_qposadr[joint]] - m.qpos0[m.jnt_qposadr[joint]]; };
  double pos = displacement(j1) - c[0];
  VectorXd row = single_row(m.nv, m.jnt_dofadr[j1], 1);
  if (j2 >= 0) {
    const double x = displacement(j2);
    pos -= x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])));
    row[m.jnt_dofadr[j2]] -= c[1] + x * (2 * c[2] + x * (3 * c[3] + x * 4 * c[4]));
  }
  rows->add_alone(row, RowType::kEquality, i, pos, 0);
}

// L1 - L1_0 = polynomial of (L2 - L2_0), likewise
void add_tendon_coupling(const Model& m, const Data& d, int i, Rows* rows) {
  const auto c = row::eq_data(m, i);
  const int t1 = m.eq_obj1id[i], t2 = m.eq_obj2id[i];
  double pos = d.ten_length[t1] - m.tendon_length0[t1] - c[0];
  VectorXd row = d.ten_J.row(t1);
  if (t2 >= 0) {
    const double x = d.ten_length[t2] - m.tendon_length0[t2];
    double power = 1;
    for (int k = 1; k < 5; k++) {
      row -= k * c[k] * power * d.ten_J.row(t2).transpose();
      power *= x;
      pos -= c[k] * power;
    }
  }
  rows->add_alone(row, RowType::kEquality, i, pos, 0);
}

void add_tendon_limits(const Model& m, const Data& d, Rows* rows) {
  for (int t = 0; t < m.ntendon; t++) {
    if (!m.tendon_limited[t]) continue;
    for (const int side : {1, -1}) {
      const double distance = side * (d.ten_length[t] - row::tendon_range(m, t)[side < 0]);
      if (distance >= m.tendon_margin[t]) continue;
      if (rows->add_alone(side * d.ten_J.row(t), RowType::kLimit, t, distance, m.tendon_margin[t]))
        rows->of_tendon.back() = 1;
    }
  }
}

void add_limits(const Model& m, const Data& d, Rows* rows) {
  const bool own = mujoco_contacts(m.opt);
  for (const LimitRow& limit : limit_rows(m, d)) {
    const double given = m.jnt_margin[limit.joint];
    const double margin = own ? given : std::max(given, m.opt.contact_margin);
    // MuJoCo leaves out a row exactly at its margin
    const bool within = own ? limit.distance < margin : limit.distance <= margin;
    if (within) rows->add(limit.jacobian, RowType::kLimit, limit.joint, limit.distance, given);
  }
}

void add_contact(const Model& m, const Data& d, int index, Contact* contact, Rows* rows) {
  contact->efc_address = -1;
  const bool within = mujoco_contacts(m.opt) ? contact->dist < contact->includemargin
                                             : contact->dist <= contact->includemargin;
  if (!within) return;
  const int b1 = m.geom_bodyid[contact->geom1], b2 = m.geom_bodyid[contact->geom2];
  if (!relative_freedom(m, b1, b2)) return;
  contact->efc_address = static_cast<int>(rows->type.size());

  const MatrixXd jac = contact_jacobian(m, d, *contact);
  // MuJoCo measures from the margin; elsewhere it only says how early a row appears
  const double dist = contact->dist, margin = mujoco_contacts(m.opt) ? contact->includemargin : 0;
  if (contact->dim == 1) {
    rows->add(jac.row(0), RowType::kContactFrictionless, index, dist, margin);
  } else if (m.opt.cone == Cone::kPyramidal && !frame_rows(m.opt)) {
    for (int k = 1; k < contact->dim; k++) {
      for (double side : {1.0, -1.0}) {
        rows->add(jac.row(0) + side * contact->friction[k - 1] * jac.row(k), RowType::kContactPyramidal,
                  index, dist, margin);
      }
    }
  } else {
    for (int k = 0; k < contact->dim; k++) {
      rows->add(jac.row(k), RowType::kContactElliptic, index, k == 0 ? dist : 0, k == 0 ? margin : 0);
    }
  }
}

}  // namespace

std::vector<LimitRow> limit_rows(const Model& m, const Data& d) {
  std::vector<LimitRow> rows;
  for (int j = 0; j < m.njnt; j++) {
    if (!m.jnt_limited[j]) continue;
    stop_if_told();
    const int adr = m.jnt_qposadr[j], dof = m.jnt_dofadr[j];
    if (m.jnt_type[j] == kHinge || m.jnt_type[j] == kSlide) {
      const Bounds range = bounds(row::jnt_range(m, j));
      rows.push_back({j, d.qpos[adr] - range.lower, single_row(m.nv, dof, 1)});
      rows.push_back({j, range.upper - d.qpos[adr], single_row(m.nv, dof, -1)});
    } else if (m.jnt_type[j] == kBall) {
      // the rotation's angle in [0, pi] against the larger bound, along its axis
      Eigen::Vector4d q = d.qpos.segment<4>(adr);
      q = q.norm() < kMinVal ? Eigen::Vector4d(1, 0, 0, 0) : Eigen::Vector4d(q / q.norm());
      const double sine = q.tail<3>().norm();
      const Vector3d axis = sine < kMinVal ? Vector3d::UnitX() : Vector3d(q.tail<3>() / sine);
      double angle = 2 * std::atan2(sine, q[0]);
      if (angle > M_PI) angle -= 2 * M_PI;
      const Bounds range = bounds(row::jnt_range(m, j));
      const double dist = std::max(range.lower, range.upper) - std::abs(angle);
      VectorXd row = VectorXd::Zero(m.nv);
      row.segment<3>(dof) = angle < 0 ? axis : Vector3d(-axis);
      rows.push_back({j, dist, row});
    }
  }
  return rows;
}

MatrixXd contact_jacobian(const Model& m, const Data& d, const Contact& c) {
  MatrixXd jacp1, jacr1, jacp2, jacr2;
  point_jacobian(m, d, m.geom_bodyid[c.geom1], c.pos, &jacp1, &jacr1);
  point_jacobian(m, d, m.geom_bodyid[c.geom2], c.pos, &jacp2, &jacr2);
  MatrixXd jac(6, m.nv);
  jac << c.frame * (jacp2 - jacp1), c.frame * (jacr2 - jacr1);
  return jac;
}

bool hard_rows(const Model& m) {
  if (m.opt.disabled(kDisableConstraint) || m.opt.disabled(kDisableEquality)) return false;
  if (!m.prescribed.empty()) return true;
  return m.opt.equality_alpha >= 0 &&
         std::any_of(m.eq_active0.begin(), m.eq_active0.end(), [](int active) { return active != 0; });
}

EqualityFrames equality_frames(const Model& m, const Data& d, int i) {
  const auto data = row::eq_data(m, i);
  const int obj1 = m.eq_obj1id[i], obj2 = m.eq_obj2id[i];
  const bool weld = m.eq_type[i] == kEqWeld;
  EqualityFrames e;
  if (m.eq_objtype[i] == kObjBody) {
    // anchors in the frame of their body; a weld stores the second's first
    const Eigen::Map<const Vector3d> a(&data[0]), b(&data[3]);
    e.body1 = obj1;
    e.body2 = obj2;
    e.point1 = d.xpos[obj1] + d.xmat[obj1] * (weld ? b : a);
    e.point2 = d.xpos[obj2] + d.xmat[obj2] * (weld ? a : b);
    if (weld) {
      e.quat1 = d.xquat[obj1] * Quaterniond(data[6], data[7], data[8], data[9]);
      e.quat2 = d.xquat[obj2];
    }
  } else {
    auto site_quat = [&](int site) {
      const auto q = row::site_quat(m, site);
      return d.xquat[m.site_bodyid[site]] * Quaterniond(q[0], q[1], q[2], q[3]);
    };
    e.body1 = m.site_bodyid[obj1];
    e.body2 = m.site_bodyid[obj2];
    e.point1 = d.site_xpos[obj1];
    e.point2 = d.site_xpos[obj2];
    e.quat1 = site_quat(obj1);
    e.quat2 = site_quat(obj2);
  }
  e.torquescale = weld ? data[10] : 0;
  return e;
}

void make_rows(const Model& m, Data* d) {
  Rows rows;
  if (!m.opt.disabled(kDisableConstraint)) {
    if (!m.opt.disabled(kDisableEquality)) {
      for (int i = 0; i < m.neq; i++) {
        stop_if_told();
        if (!m.eq_active0[i]) continue;
        if (m.eq_type[i] == kEqConnect || m.eq_type[i] == kEqWeld) add_connect_or_weld(m, *d, i, &rows);
        if (m.eq_type[i] == kEqJoint) add_joint_coupling(m, *d, i, &rows);
        if (m.eq_type[i] == kEqTendon) add_tendon_coupling(m, *d, i, &rows);
      }
      for (size_t i = 0; i < m.prescribed.size(); i++) {
        const int dof = m.jnt_dofadr[m.prescribed[i].joint];
        rows.add(single_row(m.nv, dof, 1), RowType::kPrescribed, static_cast<int>(i), 0, 0);
      }
    }
    if (!m.opt.disabled(kDisableFrictionLoss)) {
      for (int dof = 0; dof < m.nv; dof++) {
        if (m.dof_frictionloss[dof] == 0) continue;
        rows.add(single_row(m.nv, dof, 1), RowType::kFrictionLoss, dof, 0, 0, m.dof_frictionloss[dof]);
      }
      for (int t = 0; t < m.ntendon; t++) {
        if (m.tendon_frictionloss[t] == 0) continue;
        rows.add(d->ten_J.row(t), RowType::kFrictionLoss, t, 0, 0, m.tendon_frictionloss[t]);
        rows.of_tendon.back() = 1;
      }
    }
    if (!m.opt.disabled(kDisableLimit)) {
      add_limits(m, *d, &rows);
      add_tendon_limits(m, *d, &rows);
    }
    // explicit laws of contact have no rows
    const bool explicit_law = contact_form(m.opt).forces;
    for (size_t c = 0; c < d->contacts.size(); c++) {
      stop_if_told();
      d->contacts[c].efc_address = -1;
      if (explicit_law && !mujoco_contacts(m.opt)) continue;
      add_contact(m, *d, static_cast<int>(c), &d->contacts[c], &rows);
    }
  }

  const int n = static_cast<int>(rows.type.size());
  d->efc_type = rows.type;
  d->efc_of_tendon = rows.of_tendon;
  d->efc_id = rows.id;
  d->efc_J.resize(n, m.nv);
  for (int i = 0; i < n; i++) {
    stop_if_told();
    d->efc_J.row(i) = rows.jacobian[i];
  }
  d->efc_pos = VectorXd::Map(rows.pos.data(), n);
  d->efc_margin = VectorXd::Map(rows.margin.data(), n);
  d->efc_frictionloss = VectorXd::Map(rows.frictionloss.data(), n);
  set_impedance(m, d);
}

}  // namespace dualstep::reference
