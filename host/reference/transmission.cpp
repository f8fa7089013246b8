// Transmissions of actuators.
//
// solves    the length of each actuator and its moment on every dof
// equation  slide, hinge  gear q; ball: gear . rotation vector; free: the wrench `gear`, without a length
//           tendon        gear times its length and moment
//           site          the wrench `gear` in the site's axes, without a length; seen from another site: place and
//                         rotation vector in the axes of that one, moved by what moves one of them alone
//           body          no length; minus the mean of its contacts' normal Jacobians, contacts within their gaps
//                         included
//           slider-crank  a.v - sqrt((a.v)^2 + rod^2 - v.v), a the slider's axis and v from its site to the crank's;
//                         a.v where the rod is too short
// source    MuJoCo's documentation, "Actuation model", "Transmission"
// reads     qpos, site_xpos, site_xmat, cdof, ten_length, ten_J
// cost      O(nactuator nv)
#include <cmath>

#include "host/model/actuator_kinds.h"
#include "host/model/element_rows.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

// row i of the moment and the length, for an actuator on a joint
void joint_transmission(const Model& m, int i, Data* d) {
  const int jnt = transmission_id(m, i), dof = m.jnt_dofadr[jnt];
  const double* q = &d->qpos[m.jnt_qposadr[jnt]];
  const auto gear = row::actuator_gear(m, i);
  const bool in_parent = m.actuator_trntype[i] == kTrnJointInParent;
  auto moment = d->actuator_moment.row(i);
  switch (m.jnt_type[jnt]) {
    case kBall: {
      const Quaterniond rot = unit_quat(q);
      Vector3d axis = vec3(gear.first(3));
      if (in_parent) axis = rot.conjugate() * axis;
      d->actuator_length[i] = quat_log(rot).dot(axis);
      moment.segment<3>(dof) = axis.transpose();
      break;
    }
    case kFree: {
      // a wrench: force along world axes, torque along body axes (or the parent's)
      Vector3d torque = vec3(gear.last(3));
      if (in_parent) torque = unit_quat(q + 3).conjugate() * torque;
      moment.segment<3>(dof) = vec3(gear.first(3)).transpose();
      moment.segment<3>(dof + 3) = torque.transpose();
      break;
    }
    default:
      d->actuator_length[i] = gear[0] * q[0];
      moment[dof] = gear[0];
  }
}

// whether a dof moves a body
bool moves(const Model& m, int dof, int body) {
  for (int b = body; b > 0; b = m.body_parentid[b])
    if (b == m.dof_bodyid[dof]) return true;
  return false;
}

void site_transmission(const Model& m, int i, Data* d) {
  const int site = transmission_id(m, i), ref = second_transmission_id(m, i), body = m.site_bodyid[site];
  const auto gear = row::actuator_gear(m, i);
  const Vector3d push = vec3(gear.first(3)), turn = vec3(gear.last(3));
  MatrixXd jacp, jacr;
  point_jacobian(m, *d, body, d->site_xpos[site], &jacp, &jacr);
  if (ref < 0) {
    const Matrix3d& own = d->site_xmat[site];
    d->actuator_moment.row(i) = (own * push).transpose() * jacp + (own * turn).transpose() * jacr;
    return;
  }
  MatrixXd jacp_ref, jacr_ref;
  point_jacobian(m, *d, m.site_bodyid[ref], d->site_xpos[ref], &jacp_ref, &jacr_ref);
  const Matrix3d& frame = d->site_xmat[ref];
  const Quaterniond between(Matrix3d(frame.transpose() * d->site_xmat[site]));
  d->actuator_length[i] = push.dot(frame.transpose() * (d->site_xpos[site] - d->site_xpos[ref])) +
                          turn.dot(quat_log(between.normalized()));
  VectorXd moment =
      (jacp - jacp_ref).transpose() * (frame * push) + (jacr - jacr_ref).transpose() * (frame * turn);
  // what moves both has no part
  for (int k = 0; k < m.nv; ++k)
    if (moves(m, k, body) && moves(m, k, m.site_bodyid[ref])) moment[k] = 0;
  d->actuator_moment.row(i) = moment.transpose();
}

void slider_crank(const Model& m, int i, Data* d) {
  const int crank = transmission_id(m, i), slider = second_transmission_id(m, i);
  const Vector3d axis = d->site_xmat[slider].col(2), v = d->site_xpos[crank] - d->site_xpos[slider];
  const double gear = scalar_gear(m, i), rod = m.actuator_cranklength[i];
  const double along = axis.dot(v), root2 = along * along + rod * rod - v.squaredNorm();
  double length = along;
  Vector3d by_v = axis, by_axis = v;
  if (root2 > 0) {
    const double root = std::sqrt(root2);
    length = along - root;
    by_v = (1 - along / root) * axis + v / root;
    by_axis = (1 - along / root) * v;
  }
  MatrixXd jacp, jacr, jacp_slider, jacr_slider;
  point_jacobian(m, *d, m.site_bodyid[crank], d->site_xpos[crank], &jacp, &jacr);
  point_jacobian(m, *d, m.site_bodyid[slider], d->site_xpos[slider], &jacp_slider, &jacr_slider);
  d->actuator_length[i] = gear * length;
  d->actuator_moment.row(i) =
      gear * (by_v.transpose() * (jacp - jacp_slider) + axis.cross(by_axis).transpose() * jacr_slider);
}

void tendon_transmission(const Model& m, int i, Data* d) {
  const int tendon = transmission_id(m, i);
  const double gear = scalar_gear(m, i);
  d->actuator_length[i] = gear * d->ten_length[tendon];
  d->actuator_moment.row(i) = gear * d->ten_J.row(tendon);
}

}  // namespace

void transmission(const Model& m, Data* d) {
  d->actuator_length.setZero();
  d->actuator_moment.setZero();
  for (int i = 0; i < m.nactuator; ++i) {
    switch (m.actuator_trntype[i]) {
      case kTrnJoint:
      case kTrnJointInParent:
        joint_transmission(m, i, d);
        break;
      case kTrnSliderCrank:
        slider_crank(m, i, d);
        break;
      case kTrnTendon:
        tendon_transmission(m, i, d);
        break;
      case kTrnSite:
        site_transmission(m, i, d);
        break;
      default:  // of a body contacts decide
        break;
    }
  }
}

bool body_transmission(const Model& m, Data* d) {
  bool any = false;
  for (int i = 0; i < m.nactuator; ++i) {
    if (!acts_by_contacts(m, i)) continue;
    any = true;
    VectorXd sum = VectorXd::Zero(m.nv);
    int count = 0;
    for (const Contact& c : d->contacts) {
      const int body1 = m.geom_bodyid[c.geom1], body2 = m.geom_bodyid[c.geom2], body = transmission_id(m, i);
      if (body1 != body && body2 != body) continue;
      ++count;
      MatrixXd first, second, turning;
      point_jacobian(m, *d, body1, c.pos, &first, &turning);
      point_jacobian(m, *d, body2, c.pos, &second, &turning);
      sum += (second - first).transpose() * c.frame.row(0).transpose();
    }
    d->actuator_moment.row(i).setZero();
    if (count > 0) d->actuator_moment.row(i) = -sum.transpose() / count;
  }
  return any;
}

}  // namespace dualstep::reference
