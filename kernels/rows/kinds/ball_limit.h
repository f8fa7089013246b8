// Limits of ball joints: one dense scalar row each, on the axis of the rotation from the reference.
//
// solves    J, y0 and D of the rows of ball limits
// equation  r = bound - |turn| - margin,   J = -axis on the joint's three dofs
//           aref = -B J v - K imp(r) r,    l >= 0
//           with turn = |turn| axis the rotation vector of the joint
// source    MuJoCo's documentation, "Constraint model"
// deviation none
// reads     qpos, qvel, qacc_smooth, LD, Dscale, ball_param
// writes    its rows of Z, dense_y0, dense_D
// cost      O(limited balls (nv + the M entries of three dofs))
#pragma once

#include "kernels/rows/kinds/dense_scalar.h"
#include "kernels/rows/kinds/limit_reading.h"
#include "kernels/rows/step_end.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the rotation of the joint of a limit from its reference, and how far it is from the bound, less the margin
template <class Real>
struct BallTurn {
  Vec3<Real> axis;
  Real distance;
};
template <class E, class Real = typename E::Real>
DS_HD BallTurn<Real> ball_turn(const E& env, int k) {
  const auto& t = env.t;
  const Vec3<Real> turn = rotation_vector(normalize(env.qpos().quat_at(t.jnt_qposadr[t.ball_jnt[k]])));
  Real angle;
  const Vec3<Real> axis = normalize(turn, Vec3<Real>{Real(1), Real(0), Real(0)}, &angle);
  return {axis, env.ball_range(k) - angle - env.ball_margin(k)};
}

template <class E>
DS_STAGE void ball_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qvel = env.qvel(), qacc = env.qacc_smooth(), Z = env.Z();
  const auto y0 = env.dense_y0(), D = env.dense_D();
  const int nv = t.n.nv;
  env.each(t.n.nball, [&](int k) {
    const int dof = t.jnt_dofadr[t.ball_jnt[k]];
    for (int d = 0; d < nv; d++) Z[k * nv + d] = Real(0);
    const auto [axis, r] = ball_turn(env, k);
    const auto active = r < Real(0);
    const Real imp = impedance(r, [&](int c) { return env.ball_solimp(k, c); });
    const auto end = row_end(env, imp, Real(env.ball_K(k)), Real(env.ball_B(k)),
                             [&] { return Real(env.ball_stiffest(k)); });
    const Real B = end.B;
    const Vec3<Real> rate{fma(B, qvel[dof], qacc[dof]), fma(B, qvel[dof + 1], qacc[dof + 1]),
                          fma(B, qvel[dof + 2], qacc[dof + 2])};
    y0[k] = select(active, end.K * r - dot(axis, rate), Real(0));
    D[k] = select(active, Real(1) / regularizer(imp, env.ball_approx_A(k)), Real(0));
    Z[k * nv + dof] = select(active, -axis.x, Real(0));
    Z[k * nv + dof + 1] = select(active, -axis.y, Real(0));
    Z[k * nv + dof + 2] = select(active, -axis.z, Real(0));
    weigh_dense_row(env, k, end.weight);
    whiten<1>(env, Z, k, dense_support(env, k));
  });
}

// a kind of dense scalar rows
struct BallLimits {
  static constexpr bool kJoinsBranches = false;
  template <class E>
  DS_HD static int count(const E& env) {
    return env.t.n.nball;
  }
  template <class E>
  DS_HD static OneSided law(const E&, int, int) {
    return {};
  }
  template <class E>
  DS_HD static void make(E& env, int) {
    ball_rows(env);
  }
  template <class E, class Real = typename E::Real>
  DS_HD static LimitReading<Real> reading(const E& env, int first, int k) {
    const auto [axis, distance] = ball_turn(env, k);
    const Real D = env.dense_D()[first + k];
    return {D, distance, -dot(axis, env.qvel().vec_at(env.t.jnt_dofadr[env.t.ball_jnt[k]])),
            OneSided::force(Real(env.dense_y()[first + k]), D)};
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
