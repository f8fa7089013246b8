// Kinematics: where every body, joint, geom and site is, and how each velocity coordinate moves the bodies.
//
// solves    poses, joint axes and motions
// equation  x_i = x_parent (x) offset_i (x) joint_1 (x) ... (x) joint_k, outward over the tree
// source    Featherstone 2008, chapter 4; several joints of a body act in order, as a chain of massless bodies
// deviation spatial quantities refer to the center of mass of the root's subtree instead of each body's frame, which
//           keeps them in world axes and free of transforms between bodies
// reads     qpos, mocap_pos, mocap_quat
// cost      O(nbody + ngeom + nsite)
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

// the pose of a body before its joints act
void place_on_parent(const Model& m, const Data& d, int body, Vector3d* pos, Quaterniond* rot) {
  const int parent = m.body_parentid[body];
  const int mocap = m.body_mocapid[body];
  const Vector3d offset = mocap >= 0 ? Vector3d(d.mocap_pos.row(mocap).transpose()) : vec3(m.body_pos, body);
  const Quaterniond turn = mocap >= 0 ? unit_quat(d.mocap_quat(mocap, 0), d.mocap_quat(mocap, 1),
                                                  d.mocap_quat(mocap, 2), d.mocap_quat(mocap, 3))
                                      : quat(m.body_quat, body);
  *pos = d.xpos[parent] + d.xmat[parent] * offset;
  *rot = d.xquat[parent] * turn;
}

// move a body's pose by one joint; the anchor stays where it is
void apply_joint(const Model& m, int jnt, Data* d, Vector3d* pos, Quaterniond* rot) {
  const double* q = &d->qpos[m.jnt_qposadr[jnt]];
  const double q0 = m.qpos0[m.jnt_qposadr[jnt]];
  const Vector3d axis = vec3(m.jnt_axis, jnt), anchor = vec3(m.jnt_pos, jnt);

  if (m.jnt_type[jnt] == kFree) {
    *pos = Vector3d(q[0], q[1], q[2]);
    *rot = unit_quat(q + 3);
    d->xanchor[jnt] = *pos;
    d->xaxis[jnt] = axis;
    return;
  }
  d->xaxis[jnt] = *rot * axis;
  d->xanchor[jnt] = *pos + *rot * anchor;
  if (m.jnt_type[jnt] == kSlide) {
    *pos += d->xaxis[jnt] * (q[0] - q0);
  } else {
    *rot = *rot * (m.jnt_type[jnt] == kBall ? unit_quat(q) : quat_exp(axis * (q[0] - q0)));
    *pos = d->xanchor[jnt] - *rot * anchor;
  }
}

}  // namespace

void kinematics(const Model& m, Data* d) {
  // the world
  d->xpos[0].setZero();
  d->xipos[0].setZero();
  d->xquat[0].setIdentity();
  d->xmat[0].setIdentity();
  d->ximat[0].setIdentity();

  // bodies, parents first
  for (int i = 1; i < m.nbody; ++i) {
    Vector3d pos;
    Quaterniond rot;
    place_on_parent(m, *d, i, &pos, &rot);
    for (int k = 0; k < m.body_jntnum[i]; ++k) apply_joint(m, m.body_jntadr[i] + k, d, &pos, &rot);
    d->xpos[i] = pos;
    d->xquat[i] = rot.normalized();
    d->xmat[i] = rotation(d->xquat[i]);
    d->xipos[i] = pos + d->xmat[i] * vec3(m.body_ipos, i);
    d->ximat[i] = rotation(d->xquat[i] * quat(m.body_iquat, i));
  }

  // what is fixed to them
  for (int i = 0; i < m.ngeom; ++i) {
    const int body = m.geom_bodyid[i];
    d->geom_xpos[i] = d->xpos[body] + d->xmat[body] * vec3(m.geom_pos, i);
    d->geom_xmat[i] = rotation(d->xquat[body] * quat(m.geom_quat, i));
  }
  for (int i = 0; i < m.nsite; ++i) {
    const int body = m.site_bodyid[i];
    d->site_xpos[i] = d->xpos[body] + d->xmat[body] * vec3(m.site_pos, i);
    d->site_xmat[i] = rotation(d->xquat[body] * quat(m.site_quat, i));
  }
}

void center_of_mass(const Model& m, Data* d) {
  // mass moments, children before parents
  std::vector<double> mass(m.nbody);
  for (int i = 0; i < m.nbody; ++i) {
    mass[i] = m.body_mass[i];
    d->subtree_com[i] = m.body_mass[i] * d->xipos[i];
  }
  for (int i = m.nbody - 1; i > 0; --i) {
    mass[m.body_parentid[i]] += mass[i];
    d->subtree_com[m.body_parentid[i]] += d->subtree_com[i];
  }
  for (int i = 0; i < m.nbody; ++i) {
    if (mass[i] < kTiny) {
      d->subtree_com[i] = d->xipos[i];
    } else {
      d->subtree_com[i] /= mass[i];
    }
  }

  // inertias about the root's center of mass
  d->cinert[0].setZero();
  for (int i = 1; i < m.nbody; ++i) {
    const Matrix3d inertia = d->ximat[i] * vec3(m.body_inertia, i).asDiagonal() * d->ximat[i].transpose();
    d->cinert[i] = spatial_inertia(m.body_mass[i], inertia, d->xipos[i] - spatial_origin(m, *d, i));
  }

  // motion per unit of each velocity coordinate
  d->cdof.setZero();
  for (int j = 0; j < m.njnt; ++j) {
    const int body = m.jnt_bodyid[j], dof = m.jnt_dofadr[j];
    const Vector3d arm = spatial_origin(m, *d, body) - d->xanchor[j];
    const auto rotation = [&](const Vector3d& axis) { return spatial(axis, axis.cross(arm)); };
    switch (m.jnt_type[j]) {
      case kFree:
        // translations along world axes, rotations about body axes
        for (int k = 0; k < 3; ++k) {
          d->cdof.col(dof + k) = spatial(Vector3d::Zero(), Vector3d::Unit(k));
          d->cdof.col(dof + 3 + k) = rotation(d->xmat[body].col(k));
        }
        break;
      case kBall:
        for (int k = 0; k < 3; ++k) d->cdof.col(dof + k) = rotation(d->xmat[body].col(k));
        break;
      case kSlide:
        d->cdof.col(dof) = spatial(Vector3d::Zero(), d->xaxis[j]);
        break;
      default:
        d->cdof.col(dof) = rotation(d->xaxis[j]);
    }
  }
}

void velocities(const Model& m, Data* d) {
  // outward: v_i = v_parent + S qvel, dS/dt = v x S
  d->cvel[0].setZero();
  d->cdof_dot.setZero();
  for (int i = 1; i < m.nbody; ++i) {
    Vector6d v = d->cvel[m.body_parentid[i]];
    for (int k = 0; k < m.body_jntnum[i]; ++k) {
      const int jnt = m.body_jntadr[i] + k, dof = m.jnt_dofadr[jnt], type = m.jnt_type[jnt];
      const int n = dof_count(type);
      for (int c = dof; c < dof + n; ++c) v += d->cdof.col(c) * d->qvel[c];
      // the translations of a free joint stay along world axes; all others turn with the body
      for (int c = type == kFree ? dof + 3 : dof; c < dof + n; ++c) {
        d->cdof_dot.col(c) = cross_motion(v, d->cdof.col(c));
      }
    }
    d->cvel[i] = v;
  }
  d->ten_velocity = d->ten_J * d->qvel;
  if (m.opt.disabled(kDisableActuation)) {
    d->actuator_velocity.setZero();
  } else {
    d->actuator_velocity = d->actuator_moment * d->qvel;
  }
}

void point_jacobian(const Model& m, const Data& d, int body, const Vector3d& point, MatrixXd* jacp,
                    MatrixXd* jacr) {
  jacp->setZero(3, m.nv);
  jacr->setZero(3, m.nv);
  const Vector3d arm = point - spatial_origin(m, d, body);
  for (int i = last_dof(m, body); i >= 0; i = m.dof_parentid[i]) {
    const Vector3d w = d.cdof.col(i).head<3>();
    jacr->col(i) = w;
    jacp->col(i) = d.cdof.col(i).tail<3>() + w.cross(arm);
  }
}

VectorXd project_wrench(const Model& m, const Data& d, int body, const Vector3d& point, const Vector3d& force,
                        const Vector3d& torque) {
  VectorXd tau = VectorXd::Zero(m.nv);
  const Vector3d arm = point - spatial_origin(m, d, body);
  for (int i = last_dof(m, body); i >= 0; i = m.dof_parentid[i]) {
    const Vector3d w = d.cdof.col(i).head<3>();
    tau[i] = (d.cdof.col(i).tail<3>() + w.cross(arm)).dot(force) + w.dot(torque);
  }
  return tau;
}

}  // namespace dualstep::reference
