// Energy, and the momenta of subtrees.
//
// solves    both energies, and the momenta of each body's subtree
// equation  potential  -sum m_i g.x_i + 1/2 k |q (-) q_spring|^2 over springs of joints and tendons
//           kinetic    1/2 qvel' M qvel (armature included)
// reads     qpos, qvel, M, cvel and the kinematics
// cost      O(nv^2 + nbody)
#include <algorithm>

#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

double potential_energy(const Model& m, const Data& d) {
  double energy = 0;
  for (int i = 1; i < m.nbody; ++i) energy -= m.body_mass[i] * gravity(m).dot(d.xipos[i]);
  if (m.opt.disabled(kDisableSpring)) return energy;

  for (int j = 0; j < m.njnt; ++j) {
    if (m.jnt_stiffness[j] == 0) continue;
    int q = m.jnt_qposadr[j];
    double stretch2 = 0;
    if (m.jnt_type[j] == kSlide || m.jnt_type[j] == kHinge) {
      stretch2 = std::pow(d.qpos[q] - m.qpos_spring[q], 2);
    } else {
      if (m.jnt_type[j] == kFree) {
        for (int c = 0; c < 3; ++c) stretch2 += std::pow(d.qpos[q + c] - m.qpos_spring[q + c], 2);
        q += 3;
      }
      stretch2 += quat_log(unit_quat(&m.qpos_spring[q]).conjugate() * unit_quat(&d.qpos[q])).squaredNorm();
    }
    energy += 0.5 * m.jnt_stiffness[j] * stretch2;
  }
  for (int t = 0; t < m.ntendon; ++t)
    energy += 0.5 * m.tendon_stiffness[t] * std::pow(tendon_stretch(m, d, t), 2);
  return energy;
}

double kinetic_energy(const Data& d) { return 0.5 * d.qvel.dot(d.M * d.qvel); }

void subtree_velocities(const Model& m, Data* d) {
  // momentum and angular momentum about the world's origin, summed over subtrees, then referred to each
  // subtree's own center of mass
  std::vector<double> mass(m.body_mass);
  std::vector<Vector3d> p(m.nbody), L(m.nbody);
  for (int i = 0; i < m.nbody; ++i) {
    const Vector6d v = shift_motion(d->cvel[i], spatial_origin(m, *d, i), d->xipos[i]);
    const Matrix3d inertia = d->ximat[i] * vec3(m.body_inertia, i).asDiagonal() * d->ximat[i].transpose();
    p[i] = m.body_mass[i] * linear(v);
    L[i] = d->xipos[i].cross(p[i]) + inertia * angular(v);
  }
  for (int i = m.nbody - 1; i > 0; --i) {
    mass[m.body_parentid[i]] += mass[i];
    p[m.body_parentid[i]] += p[i];
    L[m.body_parentid[i]] += L[i];
  }
  for (int i = 0; i < m.nbody; ++i) {
    d->subtree_linvel[i] = p[i] / std::max(kTiny, mass[i]);
    d->subtree_angmom[i] = L[i] - d->subtree_com[i].cross(p[i]);
  }
}

}  // namespace dualstep::reference
