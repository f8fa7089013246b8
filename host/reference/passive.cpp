// Passive forces: springs and dampers of joints, gravity compensation, fluid.
//
// solves    the passive force on each dof
// equation  spring  -k (q (-) q_spring), with the rotation vector as difference for quaternions
//           damper  -d qvel
//           tendons likewise, the spring relaxed within a range
//           gravity compensation  -gravcomp m g at each center of mass
//           fluid   drag on the box of equal inertia: viscous as on a sphere of the mean edge (Stokes), quadratic
//                   per axis with the box's faces; or ellipsoids (fluid.cpp)
// source    MuJoCo's documentation, "Passive forces"; Todorov, Erez & Tassa 2012
// deviation none known
// reads     qpos, qvel, cvel and the kinematics
// cost      O(nv + nbody depth)
#include <algorithm>

#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

void joint_springs(const Model& m, Data* d) {
  for (int j = 0; j < m.njnt; ++j) {
    const double k = m.jnt_stiffness[j];
    if (k == 0) continue;
    int q = m.jnt_qposadr[j], dof = m.jnt_dofadr[j];
    if (m.jnt_type[j] == kSlide || m.jnt_type[j] == kHinge) {
      d->qfrc_spring[dof] -= k * (d->qpos[q] - m.qpos_spring[q]);
      continue;
    }
    if (m.jnt_type[j] == kFree) {
      for (int c = 0; c < 3; ++c) d->qfrc_spring[dof + c] -= k * (d->qpos[q + c] - m.qpos_spring[q + c]);
      q += 3;
      dof += 3;
    }
    // the turn from the spring's orientation to the joint's, in body axes
    const Vector3d turn = quat_log(unit_quat(&m.qpos_spring[q]).conjugate() * unit_quat(&d->qpos[q]));
    d->qfrc_spring.segment<3>(dof) -= k * turn;
  }
}

void gravity_compensation(const Model& m, Data* d) {
  for (int i = 1; i < m.nbody; ++i) {
    if (m.body_gravcomp[i] == 0) continue;
    const Vector3d lift = -m.body_mass[i] * m.body_gravcomp[i] * gravity(m);
    d->qfrc_gravcomp += project_wrench(m, *d, i, d->xipos[i], lift, Vector3d::Zero());
  }
}

void fluid(const Model& m, Data* d) {
  const double viscosity = m.opt.viscosity, density = m.opt.density;
  for (int i = 1; i < m.nbody; ++i) {
    if (!fluid_acts(m, i)) continue;
    if (has_fluid_ellipsoids(m, i)) {
      add_ellipsoid_fluid(m, i, d);
      continue;
    }
    const Vector3d box = inertia_box(m, i);
    const Vector6d flow = flow_velocity(m, *d, i);
    const Vector3d w = angular(flow), v = linear(flow);

    const double diameter = box.mean();
    Vector3d torque = -kPi * std::pow(diameter, 3) * viscosity * w;
    Vector3d force = -3 * kPi * diameter * viscosity * v;
    for (int k = 0; k < 3; ++k) {
      const double a = box[(k + 1) % 3], b = box[(k + 2) % 3];
      force[k] -= 0.5 * density * a * b * std::abs(v[k]) * v[k];
      torque[k] -= density * box[k] * (std::pow(a, 4) + std::pow(b, 4)) * std::abs(w[k]) * w[k] / 64;
    }
    d->qfrc_fluid += project_wrench(m, *d, i, d->xipos[i], d->ximat[i] * force, d->ximat[i] * torque);
  }
}

}  // namespace

bool fluid_acts(const Model& m, int body) {
  return (m.opt.viscosity > 0 || m.opt.density > 0) && m.body_mass[body] >= kTiny;
}

Vector3d inertia_box(const Model& m, int body) {
  const Vector3d I = vec3(m.body_inertia, body);
  Vector3d box;
  for (int k = 0; k < 3; ++k) box[k] = std::sqrt(std::max(kTiny, I.sum() - 2 * I[k]) / m.body_mass[body] * 6);
  return box;
}

Vector6d flow_velocity(const Model& m, const Data& d, int body) {
  // the wind blows past bodies that cannot move, too, but moves no joint there
  Vector6d v = shift_motion(d.cvel[body], spatial_origin(m, d, body), d.xipos[body]);
  v.tail<3>() -= Vector3d(m.opt.wind[0], m.opt.wind[1], m.opt.wind[2]);
  return rotate_into(d.ximat[body], v);
}

void passive_forces(const Model& m, Data* d) {
  for (VectorXd* f :
       {&d->qfrc_spring, &d->qfrc_damper, &d->qfrc_gravcomp, &d->qfrc_fluid, &d->qfrc_passive}) {
    f->setZero();
  }
  // with both switched off, MuJoCo has no passive force of any kind
  const bool springs = !m.opt.disabled(kDisableSpring), dampers = !m.opt.disabled(kDisableDamper);
  if (!springs && !dampers) return;

  if (springs) joint_springs(m, d);
  if (dampers) {
    for (int i = 0; i < m.nv; ++i) d->qfrc_damper[i] -= m.dof_damping[i] * d->qvel[i];
  }
  for (int t = 0; t < m.ntendon; ++t) {
    const VectorXd J = d->ten_J.row(t);
    if (springs) d->qfrc_spring -= m.tendon_stiffness[t] * tendon_stretch(m, *d, t) * J;
    if (dampers) d->qfrc_damper -= m.tendon_damping[t] * d->ten_velocity[t] * J;
  }
  gravity_compensation(m, d);
  fluid(m, d);

  d->qfrc_passive = d->qfrc_spring + d->qfrc_damper + d->qfrc_fluid;
  for (int i = 0; i < m.nv; ++i) {
    // some joints get their share through the actuators
    if (!m.jnt_actgravcomp[m.dof_jntid[i]]) d->qfrc_passive[i] += d->qfrc_gravcomp[i];
  }
}

}  // namespace dualstep::reference
