// The workspace of the reference: one environment, double precision, Eigen, everything dense and plain.
// Grouped by the stage that writes it. Shares no code with kernels/.
#pragma once

#include <Eigen/Dense>
#include <vector>

#include "host/model/model.h"
#include "host/reference/blocks.h"

namespace dualstep::reference {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using Eigen::VectorXd;
using RowMatrixXd = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector6d = Eigen::Matrix<double, 6, 1>;  // spatial: angular part first
using Matrix6d = Eigen::Matrix<double, 6, 6>;

// one contact point; frame rows are n (from geom1 to geom2), t1, t2 in world axes
struct Contact {
  int geom1 = -1, geom2 = -1, dim = 3;
  double dist = 0;                        // signed distance, negative in penetration [m]
  Vector3d pos = Vector3d::Zero();        // midpoint of the witness points, world [m]
  Matrix3d frame = Matrix3d::Identity();  // rows n, t1, t2
  double includemargin = 0;               // rows exist while dist < includemargin
  Eigen::Matrix<double, 5, 1> friction = Eigen::Matrix<double, 5, 1>::Zero();  // t1, t2, spin, roll1, roll2
  double solref[2] = {0, 0}, solreffriction[2] = {0, 0}, solimp[5] = {0, 0, 0, 0, 0};
  int efc_address = -1;  // first row, -1 where the contact has no rows
  Eigen::Matrix<double, 6, 1> force = Eigen::Matrix<double, 6, 1>::Zero();  // contact frame [N, N m]
};

// what may go wrong in a step; a set bit stays until reset
enum StatusBit : unsigned { kStatusDiverged = 1, kStatusContactOverflow = 2, kStatusNotConverged = 4 };

enum class RowType {
  kEquality,
  kFrictionLoss,
  kLimit,
  kContactFrictionless,
  kContactPyramidal,
  kContactElliptic,
  kPrescribed  // velocity of a joint as a function of time, among the equalities
};

// the tangential spring of one contact under soft_anchor, kept from step to step
struct Anchor {
  int geom1 = -1, geom2 = -1;
  Vector3d local = Vector3d::Zero();    // where the contact was, in the axes of geom2's body
  Vector3d stretch = Vector3d::Zero();  // how far the second body has slid since the first touch, world [m]
};

struct Data {
  // state and inputs, set by the user
  VectorXd qpos, qvel, act, ctrl, qfrc_applied;
  VectorXd ctrl_history;              // last controls of those with a delay, oldest first, control by control
  RowMatrixXd xfrc_applied;           // (nbody, 6): force, torque at the body's com, world axes
  RowMatrixXd mocap_pos, mocap_quat;  // (nmocap, 3), (nmocap, 4)
  double time = 0;
  double step_share = 0;                      // steps since the last whole one: those of Runge and Kutta
  unsigned status = 0;                        // StatusBit
  std::vector<Anchor> anchors, next_anchors;  // of this step's start, and of the next one's

  // kinematics (position)
  std::vector<Vector3d> xpos, xipos, geom_xpos, site_xpos, xanchor, xaxis, subtree_com;
  std::vector<Quaterniond> xquat;
  std::vector<Matrix3d> xmat, ximat, geom_xmat, site_xmat;

  // spatial quantities of a body refer to subtree_com of its root, in world axes
  std::vector<Matrix6d> cinert;  // inertia of the body alone
  MatrixXd cdof;                 // (6, nv): motion per unit of each velocity coordinate
  VectorXd ten_length, ten_velocity;
  RowMatrixXd ten_J;  // (ntendon, nv): d ten_length / d q
  VectorXd actuator_length;
  RowMatrixXd actuator_moment;  // (nactuator, nv): d actuator_length / d q, or the wrench of the gear

  // inertia
  BlockMatrix M;  // (nv, nv), armature included; a block a kinematic tree
  BlockCholesky M_llt;

  // inertia of the step: M, and what contact_model.h lists beyond it
  BlockMatrix M_hat;
  BlockCholesky M_hat_llt;
  VectorXd qfrc_step;  // discrete: qfrc_smooth less what springs gain at the velocity of the start
  VectorXd pulled;     // discrete: what tendons and actuators add to the inertia of the step at each dof

  // velocity
  std::vector<Vector6d> cvel;
  MatrixXd cdof_dot;  // (6, nv): d cdof / dt
  VectorXd actuator_velocity;
  VectorXd qfrc_bias, qfrc_passive, qfrc_spring, qfrc_damper, qfrc_gravcomp, qfrc_fluid;

  // actuation, smooth acceleration
  std::vector<char> ten_saturated;  // whether the total actuator force is at its limit
  std::vector<char> act_saturated;  // whether each actuator's force is at its limit, drag of a motor aside
  VectorXd actuator_force, act_dot, qfrc_actuator, qfrc_smooth, qacc_smooth;

  // constraints: rows in MuJoCo's order (equality, friction loss, limits, contacts)
  std::vector<Contact> contacts;  // every contact with dist < margin, those inside the gap included
  std::vector<RowType> efc_type;
  std::vector<int> efc_id;          // equality, dof, joint, tendon or contact that the row comes from
  std::vector<char> efc_of_tendon;  // of friction losses and limits, whether they are a tendon's
  MatrixXd efc_J;                   // (nefc, nv)
  VectorXd efc_pos, efc_margin, efc_frictionloss, efc_diagApprox, efc_R, efc_D, efc_vel, efc_aref, efc_force;
  VectorXd qfrc_constraint, qacc;
  VectorXd midpoint_velocity;  // variational: what qpos moves along
  double residual = 0;         // relative natural residual of the dual at efc_force
  int iterations = 0;

  // accelerations and forces of bodies, for the sensors
  std::vector<Vector6d> cacc, cfrc_int, cfrc_ext;
  std::vector<Vector3d> subtree_linvel, subtree_angmom;

  // outputs
  VectorXd sensordata;
  double energy[2] = {0, 0};  // potential, kinetic

  bool of_tendon(int row) const {
    return row < static_cast<int>(efc_of_tendon.size()) && efc_of_tendon[row] != 0;
  }
  int nefc() const { return static_cast<int>(efc_type.size()); }
};

// a workspace of the model's sizes, at qpos0
Data make_data(const Model& m);
// the state and inputs of a keyframe, or of qpos0 where key is -1; clears the status
void reset_state(const Model& m, int key, Data* d);

// position Jacobians (3, nv) of a world point fixed to a body, linear and angular
void point_jacobian(const Model& m, const Data& d, int body, const Vector3d& point, MatrixXd* jacp,
                    MatrixXd* jacr);

}  // namespace dualstep::reference
