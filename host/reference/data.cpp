// The workspace of the reference: its sizes, and what it begins with.
#include "host/reference/data.h"

#include "host/model/element_rows.h"
#include "host/model/unsupported.h"
#include "host/reference/spatial.h"

namespace dualstep::reference {

Data make_data(const Model& m) {
  Data d;
  const auto points = [](std::vector<Vector3d>* v, int n) { v->assign(n, Vector3d::Zero()); };
  const auto turns = [](std::vector<Matrix3d>* v, int n) { v->assign(n, Matrix3d::Identity()); };
  for (auto* v : {&d.xpos, &d.xipos, &d.subtree_com, &d.subtree_linvel, &d.subtree_angmom})
    points(v, m.nbody);
  for (auto* v : {&d.xanchor, &d.xaxis}) points(v, m.njnt);
  points(&d.geom_xpos, m.ngeom);
  points(&d.site_xpos, m.nsite);
  for (auto* v : {&d.xmat, &d.ximat}) turns(v, m.nbody);
  turns(&d.geom_xmat, m.ngeom);
  turns(&d.site_xmat, m.nsite);
  d.xquat.assign(m.nbody, Quaterniond::Identity());
  d.cinert.assign(m.nbody, Matrix6d::Zero());
  for (auto* v : {&d.cvel, &d.cacc, &d.cfrc_int, &d.cfrc_ext}) v->assign(m.nbody, Vector6d::Zero());
  d.cdof = d.cdof_dot = MatrixXd::Zero(6, m.nv);
  Spans trees(m.nv);
  for (int i = 0; i < m.nv; ++i)
    if (m.dof_parentid[i] >= 0) trees.join(m.dof_parentid[i], i);
  d.M = BlockMatrix(trees.bounds());
  d.actuator_moment = RowMatrixXd::Zero(m.nactuator, m.nv);
  d.ten_J = RowMatrixXd::Zero(m.ntendon, m.nv);
  d.ten_length = d.ten_velocity = VectorXd::Zero(m.ntendon);
  d.actuator_length = d.actuator_velocity = d.actuator_force = VectorXd::Zero(m.nactuator);
  for (VectorXd* v :
       {&d.qfrc_bias, &d.qfrc_passive, &d.qfrc_spring, &d.qfrc_damper, &d.qfrc_gravcomp, &d.qfrc_fluid,
        &d.qfrc_actuator, &d.qfrc_smooth, &d.qacc_smooth, &d.qfrc_constraint, &d.qacc}) {
    *v = VectorXd::Zero(m.nv);
  }
  d.act_dot = VectorXd::Zero(m.na);
  d.sensordata = VectorXd::Zero(m.nsensordata);
  reset_state(m, -1, &d);
  return d;
}

void reset_state(const Model& m, int key, Data* d) {
  const auto vector = [](std::span<const double> from) {
    return Eigen::Map<const VectorXd>(from.data(), static_cast<long>(from.size()));
  };
  d->time = 0;
  d->status = 0;
  d->anchors.clear();
  d->next_anchors.clear();
  d->qpos = vector(m.qpos0);
  d->qvel = VectorXd::Zero(m.nv);
  d->act = VectorXd::Zero(m.na);
  d->ctrl = VectorXd::Zero(m.nu);
  d->ctrl_history = VectorXd::Zero(kept_controls(m).back());
  d->qfrc_applied = VectorXd::Zero(m.nv);
  d->xfrc_applied = RowMatrixXd::Zero(m.nbody, 6);
  d->mocap_pos = RowMatrixXd::Zero(m.nmocap, 3);
  d->mocap_quat = RowMatrixXd::Zero(m.nmocap, 4);
  for (int i = 0; i < m.nbody; ++i) {
    const int mocap = m.body_mocapid[i];
    if (mocap < 0) continue;
    d->mocap_pos.row(mocap) = vec3(m.body_pos, i).transpose();
    d->mocap_quat.row(mocap) = Eigen::Map<const Eigen::RowVector4d>(row::body_quat(m, i).data());
  }
  if (key < 0) return;

  d->time = m.key_time[key];
  d->qpos = vector(row::key_qpos(m, key));
  d->qvel = vector(row::key_qvel(m, key));
  d->act = vector(row::key_act(m, key));
  d->ctrl = vector(row::key_ctrl(m, key));
  d->mocap_pos = Eigen::Map<const RowMatrixXd>(row::key_mpos(m, key).data(), m.nmocap, d->mocap_pos.cols());
  d->mocap_quat =
      Eigen::Map<const RowMatrixXd>(row::key_mquat(m, key).data(), m.nmocap, d->mocap_quat.cols());
}

}  // namespace dualstep::reference
