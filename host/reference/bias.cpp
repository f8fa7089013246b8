// Inverse dynamics by recursive Newton-Euler, and the Coriolis matrix.
//
// solves    tau of a motion
// equation  outward  a_i = a_parent + S qacc + dS/dt qvel,  a_world = -gravity
//           inward   f_i = I a_i + v_i x* I v_i + sum of children's f,  tau = S' f (+ armature qacc)
// source    Featherstone 2008, section 5.3
// deviation all spatial quantities are at one origin per tree and in world axes, so no transforms appear
// reads     cinert, cdof, cdof_dot, cvel, qvel
// cost      O(nv)
#include "host/interruption.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

VectorXd rnea(const Model& m, const Data& d, const VectorXd* qacc) {
  std::vector<Vector6d> a(m.nbody), f(m.nbody);
  a[0] = spatial(Vector3d::Zero(), -gravity(m));
  f[0].setZero();
  for (int i = 1; i < m.nbody; ++i) {
    a[i] = a[m.body_parentid[i]];
    for (int c = m.body_dofadr[i]; c < m.body_dofadr[i] + m.body_dofnum[i]; ++c) {
      a[i] += d.cdof_dot.col(c) * d.qvel[c];
      if (qacc) a[i] += d.cdof.col(c) * (*qacc)[c];
    }
    f[i] = d.cinert[i] * a[i] + cross_force(d.cvel[i], d.cinert[i] * d.cvel[i]);
  }
  for (int i = m.nbody - 1; i > 0; --i) {
    if (m.body_parentid[i] > 0) f[m.body_parentid[i]] += f[i];
  }

  VectorXd tau(m.nv);
  for (int i = 0; i < m.nv; ++i) {
    tau[i] = d.cdof.col(i).dot(f[m.dof_bodyid[i]]);
    if (qacc) tau[i] += m.dof_armature[i] * (*qacc)[i];
  }
  return tau;
}

// C = sum over bodies of J' (I dJ/dt + B J), all in world axes. Since M = sum J' I J and
// dI/dt = v x* I - I v x, dM/dt - 2 C is skew for every B with B + B' = dI/dt; two are used:
//   B = v x* I: Kane's method with body Jacobians. For ball and free joints, where qvel is no derivative of coordinates.
//   B = (v x* I - I v x + (I v) xbar*) / 2 with f xbar* the matrix of u -> u x* f: gives the Christoffel
//       symbols where qvel = dqpos/dt (Echeandia & Wensing 2021).
MatrixXd coriolis_matrix(const Model& m, const Data& d) {
  bool coordinates = true;
  for (int type : m.jnt_type) coordinates = coordinates && (type == kSlide || type == kHinge);

  MatrixXd C = MatrixXd::Zero(m.nv, m.nv);
  for (int i = 1; i < m.nbody; ++i) {
    stop_if_told();
    std::vector<int> moving;
    for (int c = last_dof(m, i); c >= 0; c = m.dof_parentid[c]) moving.push_back(c);
    const MatrixXd J = d.cdof(Eigen::all, moving), Jdot = d.cdof_dot(Eigen::all, moving);
    const Matrix6d& I = d.cinert[i];
    const Matrix6d force_cross = cross_force_matrix(d.cvel[i]);
    Matrix6d B = force_cross * I;
    if (coordinates) {
      Matrix6d bar;
      const Vector6d momentum = I * d.cvel[i];
      for (int k = 0; k < 6; ++k) bar.col(k) = cross_force(Vector6d::Unit(k), momentum);
      const Matrix6d motion_cross = cross_motion_matrix(d.cvel[i]);
      B = 0.5 * (force_cross * I - I * motion_cross + bar);
    }
    C(moving, moving) += J.transpose() * (I * Jdot + B * J);
  }
  return C;
}

}  // namespace dualstep::reference
