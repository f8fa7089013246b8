// The half of integrator implicit's system that is not symmetric: derivatives of Coriolis and centripetal forces, and of those of
// a medium on ellipsoids (fluid.h).
//
// solves    x = (M - h dF/dv)^-1 b, F = actuators + passive forces - bias
// equation  for dofs i and j of a branch, c the body of the one farther from the root, S their motions about the
//           tree's centre of mass, Ic and Bc sums over the subtree of c:
//             d bias_i / d v_j = S_i' (Ic A_j + Bc S_j)
//             A_j = (v before j's joint + v after it) x S_j; of translations of a free body, the second term alone
//             B S = I (S x v) + S x* I v + v x* I S = (T w, 2 w x p)
//             T w = tr(I) w x w_v + 2 w_v x I w + 2 (h'u_v w - h'w u_v),  w the angular part of S,
//             (w_v, u_v) = v, I the body's rotational inertia, h its first moment, p its momentum
//           then U D L, from the last dof k to the first, for ancestors i and j of k: H_ij -= H_ik H_kj / H_kk
// source    Echeandia & Wensing 2021 (B and its sum over subtrees); Featherstone 2008, section 6.5 (no fill)
// deviation none; no pivots are sought, as in MuJoCo: a small step leaves the matrix close to M
// reads     M's sparsity, the symmetric part in LD, qvel, cvel, cdof, xpos, xquat, xipos, tree_com
// writes    LD and Dinv, the lower half of the factor, LD_upper, the other one; cinert, bias_motion, bias_slope
// cost      O(sum of depth^2), as factorize.h
#pragma once

#include "kernels/smooth/bias.h"
#include "kernels/smooth/fluid.h"
#include "kernels/smooth/inertia.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// bias_slope of a body: the columns of T, then the momentum p
enum BiasSlope : int {
  kSlopeT = 0,
  kSlopeMomentum = 3,
  kSlopeVecs = 4,
  kSlopeNumbers = kSlopeVecs * kVecNumbers
};
static_assert(kSlopeNumbers == 12, "as the field table has it");

// A of each dof
template <class E>
DS_STAGE void bias_motions(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qvel = env.qvel(), cdof = env.cdof(), motion = env.bias_motion();
  env.each(t.n.nbody, [&](int b) {
    if (b == 0) return;
    Spatial<Real> v = env.cvel().spatial(t.body_parent[b]);
    for (int j = t.body_jntadr[b]; j < t.body_jntadr[b] + t.body_jntnum[b]; j++) {
      int dof = t.jnt_dofadr[j];
      const int type = t.jnt_type[j];
      if (type == kFree) {
        for (int i = 0; i < 3; i++) v = axpy(cdof.spatial(dof + i), qvel[dof + i], v);
        for (int i = 0; i < 3; i++) motion.set(dof + i, cross_motion(v, cdof.spatial(dof + i)));
        dof += 3;
      }
      const int n = is_scalar_joint(type) ? 1 : 3;
      const Spatial<Real> before = v;
      for (int i = dof; i < dof + n; i++) v = axpy(cdof.spatial(i), qvel[i], v);
      for (int i = dof; i < dof + n; i++) motion.set(i, cross_motion(before + v, cdof.spatial(i)));
    }
  });
}

// B of each body's subtree: T by columns, then p; and Ic in the place of cinert
template <class E>
DS_STAGE void bias_slopes(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto slope = env.bias_slope();
  const Real two(2);
  body_inertias(env);
  env.each(t.n.nbody, [&](int b) {
    const Inertia10<Real> I = env.cinert().inertia(b);
    const Spatial<Real> v = env.cvel().spatial(b);
    const Real trace = I.xx + I.yy + I.zz, hu = two * dot(I.h, v.lin);
    const Vec3<Real> row[3] = {{I.xx, I.xy, I.xz}, {I.xy, I.yy, I.yz}, {I.xz, I.yz, I.zz}};
    const Real h[3] = {I.h.x, I.h.y, I.h.z};
    for (int k = 0; k < 3; k++) {
      const Vec3<Real> e{Real(k == 0), Real(k == 1), Real(k == 2)};
      const Vec3<Real> column = cross(e, v.ang) * trace + cross(v.ang, row[k]) * two;
      slope.set(kSlopeVecs * b + kSlopeT + k, axpy(v.lin, -(two * h[k]), axpy(e, hu, column)));
    }
    slope.set(kSlopeVecs * b + kSlopeMomentum, v.lin * I.mass - cross(I.h, v.ang));
  });
  // which first sums into bodies above the last level, behind a barrier of its own
  composite_inertias(env);
  sum_subtrees<kSlopeNumbers>(env, slope);
}

// both halves of the system, of which LD holds the symmetric part
template <class E>
DS_STAGE void add_bias_derivatives(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD(), upper = env.LD_upper();
  const auto cdof = env.cdof(), motion = env.bias_motion();
  const Real h(t.o.timestep), two(2);
  bias_motions(env);
  bias_slopes(env);
  env.each(t.n.nv, [&](int i) {
    const int b = t.dof_body[i], row = t.M_rowadr[i];
    const Inertia10<Real> Ic = env.crb().inertia(b);
    const Spatial<Real> s = cdof.spatial(i);
    const auto slope = env.bias_slope().vec_run(kSlopeVecs * b);
    const Vec3<Real> Tx = slope.vec(kSlopeT), Ty = slope.vec(kSlopeT + 1), Tz = slope.vec(kSlopeT + 2),
                     p = slope.vec(kSlopeMomentum);
    // i farther from the root: the force on it by velocities of its ancestors
    const Spatial<Real> momentum = multiply(Ic, s);
    const Vec3<Real> turning =
        Vec3<Real>{dot(Tx, s.ang), dot(Ty, s.ang), dot(Tz, s.ang)} + cross(p, s.lin) * two;
    // and the forces on them by its own
    Spatial<Real> force = multiply(Ic, motion.spatial(i));
    force.ang = force.ang + axpy(Tx, s.ang.x, axpy(Ty, s.ang.y, Tz * s.ang.z));
    force.lin = force.lin + cross(s.ang, p) * two;
    for (int e = row; e < t.M_rowadr[i + 1]; e++) {
      const int c = t.M_col[e];
      upper[e] = fma(h, dot(cdof.spatial(c), force), LD[e]);
      LD[e] = fma(h, dot(motion.spatial(c), momentum) + dot(cdof.spatial(c).ang, turning), LD[e]);
    }
  });
  env.sync();
}

// what is antisymmetric in the derivatives of ellipsoids' forces
template <class E>
DS_STAGE void add_ellipsoid_halves(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD(), upper = env.LD_upper();
  const Real h(t.o.timestep);
  env.each(t.n.nv, [&](int i) {
    each_ellipsoid_slope(env, i, [&](int b, const Flow<Real>& flow, const auto&, const Spatial<Real>& slope) {
      for (int e = t.M_rowadr[i]; e < t.M_rowadr[i + 1]; e++) {
        const Real part = h * dot(slope, motion_in(env, b, flow, t.M_col[e]));
        LD[e] = LD[e] - part;
        upper[e] = upper[e] + part;
      }
    });
  });
  env.sync();
}

// the factor of the system, in place, and Dinv
template <class E>
DS_STAGE void eliminate_halves(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD(), upper = env.LD_upper(), Dinv = env.Dinv();
  for (int k = t.n.nv - 1; k >= 0; k--) {
    const int row = t.M_rowadr[k], n = t.M_rowadr[k + 1] - row;
    const Real inv = Real(1) / LD[row];
    for (int a = 1 + env.lanes.rank(); a < n; a += env.lanes.width()) {
      const int up = t.M_rowadr[t.M_col[row + a]];
      const Real l = LD[row + a] * inv, u = upper[row + a] * inv;
      LD[up] = fma(-u, LD[row + a], LD[up]);
      for (int e = 1; e < n - a; e++) {
        LD[up + e] = fma(-u, LD[row + a + e], LD[up + e]);
        upper[up + e] = fma(-l, upper[row + a + e], upper[up + e]);
      }
    }
    env.sync();
    for (int a = 1 + env.lanes.rank(); a < n; a += env.lanes.width()) {
      LD[row + a] = LD[row + a] * inv;
      upper[row + a] = upper[row + a] * inv;
    }
    if (env.lanes.rank() == 0) Dinv[k] = inv;
  }
}

// x <- (M - h dF/dv)^-1 x, in place; LD holds the symmetric part
template <class E, class F>
DS_STAGE void solve_implicit(E& env, const F& x) {
  const auto& t = env.t;
  const auto upper = env.LD_upper(), Dinv = env.Dinv();
  add_bias_derivatives(env);
  if constexpr (kCompiledFor<StepTables<typename E::Scalar>, &Sizes::nfluid>)
    if (t.n.nfluid > 0 && medium_acts(t.o)) add_ellipsoid_halves(env);
  eliminate_halves(env);
  for (int k = t.n.nv - 1; k >= 0; k--) {
    const int row = t.M_rowadr[k], n = t.M_rowadr[k + 1] - row;
    const auto xk = x[k];
    for (int a = 1 + env.lanes.rank(); a < n; a += env.lanes.width()) {
      const int i = t.M_col[row + a];
      x[i] = fma(-upper[row + a], xk, x[i]);
    }
    env.sync();
  }
  env.each(t.n.nv, [&](int i) { x[i] = x[i] * Dinv[i]; });
  solve_L(env, x);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
