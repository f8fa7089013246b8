// Rows of equality constraints, dense scalar rows: connect (3), weld (6), coupling of joints or tendons (1).
//
// The accelerations at zero joint acceleration are those of bias.h, told at the points: a_p = a + alpha x r + w x v_p. A
// weld's second derivative follows from q' = 1/2 w q twice. The three or six rows of one constraint share one impedance,
// that of the length of r.
//
// solves    J, y0 and D of the rows of equality constraints
// equation  connect   r = p1 - p2                               J = J1(p1) - J2(p2)
//           weld      and r = torquescale vec(q2* q1)           J = torquescale/2 vec(q2* (w1 - w2) q1), per dof
//           joint     r = dq1 - poly(dq2)                       J = e_1 - poly'(dq2) e_2
//           tendon    r = dL1 - poly(dL2)                       J = J_1 - poly'(dL2) J_2
//           aref = -B J v - K imp(|r|) r - (dJ/dt) v,           any l
// source    MuJoCo's documentation, "Constraint model" (its version 4 subtracts (dJ/dt) v of connect and weld);
//           Featherstone 2008 for the accelerations
// deviation none
// reads     xpos, xquat, cdof, cvel, cacc, tree_com, qpos, qvel, qacc_smooth, ten_length, ten_J, LD, Dscale
// writes    its rows of Z, dense_y0, dense_D
// cost      O(neq (nv + nM))
#pragma once

#include "kernels/rows/kinds/tendon.h"
#include "kernels/rows/row_scale.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// which bodies of an equality a dof moves, as SideBits
template <class AnyTables>
DS_HD int equality_moves(const AnyTables& t, int e, Index d) {
  return t.eq_moves[static_cast<long>(e) * t.n.nv + d];
}

// one side of a connect or weld: a point of a body, and how it moves
template <class Real>
struct EqualitySide {
  Vec3<Real> point, spin, acceleration, turning;  // p, w, a_p, alpha: the last two at zero joint acceleration
  Vec3<Real> arm;                                 // from the tree's centre of mass to p
  Quat<Real> quat;
};

template <class E>
DS_FN EqualitySide<typename E::Real> equality_side(const E& env, int e, int side) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const int b = equality_object(t, e, side), tree = t.body_tree[b];
  const Real zero(0);
  const Quat<Real> q = env.xquat().quat(b);
  EqualitySide<Real> s;
  s.point = env.xpos().vec(b) + rotate(q, env.vec(t.eq_point, equality_side(e, side)));
  s.quat = mul(q, env.quat(t.eq_quat, equality_side(e, side)));
  s.spin = s.acceleration = s.turning = s.arm = {zero, zero, zero};
  if (tree < 0) return s;
  s.arm = s.point - env.tree_com().vec(tree);
  const Spatial<Real> v = env.cvel().spatial(b), a = env.cacc().spatial(b);
  s.spin = v.ang;
  s.turning = a.ang;
  // cacc falls with the world: what is left is the motion's own
  const Vec3<Real> at_centre = a.lin - env.cacc().spatial(0).lin;
  s.acceleration = at_centre + cross(a.ang, s.arm) + cross(v.ang, v.lin + cross(v.ang, s.arm));
  return s;
}

// vec(q2* (0, w) q1)
template <class Real>
DS_HD Vec3<Real> between(const Quat<Real>& q2, const Quat<Real>& middle, const Quat<Real>& q1) {
  const Quat<Real> q = mul(conjugate(q2), mul(middle, q1));
  return {q.x, q.y, q.z};
}

// D, and y0 = J (qacc_smooth + B v) + K imp r + (dJ/dt) v, of one row whose J stands in Z
template <class E>
DS_HD void equality_target(E& env, int e, int row, bool rotation, const typename E::Real& r,
                           const typename E::Real& length, const typename E::Real& rate) {
  using Real = typename E::Real;
  const int nv = env.t.n.nv;
  const auto Z = env.Z(), qvel = env.qvel(), qacc = env.qacc_smooth();
  const Real imp = impedance(length, [&](int c) { return env.eq_solimp(e, c); });
  const auto end = row_end(env, imp, Real(env.eq_K(e)), Real(env.eq_B(e)), [] { return Real(kVast); });
  Real y = fma(end.K, r, env.t.o.integrator == kDiscrete ? rate / end.s : rate);
  for (int d = 0; d < nv; d++) y = fma(Z[row * nv + d], fma(end.B, qvel[d], qacc[d]), y);
  env.dense_y0()[row] = y;
  env.dense_D()[row] = Real(1) / regularizer(imp, env.eq_approx_A(e, rotation ? 1 : 0));
  weigh_dense_row(env, row, end.weight);
}

template <class E>
DS_FN void tie_bodies(E& env, int e) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto Z = env.Z(), cdof = env.cdof();
  const int row = t.eq_row[e], nv = t.n.nv;
  const bool weld = t.eq_type[e] == kEqWeld;
  const Real zero(0), half(0.5);
  const auto one = equality_side(env, e, 0), two = equality_side(env, e, 1);
  const Vec3<Real> offset = one.point - two.point, rate = one.acceleration - two.acceleration;
  const Real scale = env.eq_poly(e);
  Vec3<Real> turn{zero, zero, zero}, turn_rate = turn;
  if (weld) {
    const Quat<Real> q = mul(conjugate(two.quat), one.quat);
    turn = Vec3<Real>{q.x, q.y, q.z} * scale;
    // 2 (q2* q1)'' = q2* (alpha + (w w1 - w2 w) / 2) q1, w = w1 - w2, products of pure quaternions
    const Vec3<Real> w = one.spin - two.spin, alpha = one.turning - two.turning;
    const Vec3<Real> mixed = alpha + (cross(w, one.spin) - cross(two.spin, w)) * half;
    const Real real_part = half * (dot(two.spin, w) - dot(w, one.spin));
    turn_rate =
        between(two.quat, Quat<Real>{real_part, mixed.x, mixed.y, mixed.z}, one.quat) * (half * scale);
  }
  for (int d = 0; d < nv; d++) {
    const int moves = equality_moves(t, e, d);
    Vec3<Real> lin{zero, zero, zero}, ang = lin;
    if (moves != 0) {
      const Spatial<Real> s = cdof.spatial(d);
      if (moves & kFirstSide) lin = lin + s.lin + cross(s.ang, one.arm);
      if (moves & kSecondSide) lin = lin - (s.lin + cross(s.ang, two.arm));
      if (moves == kFirstSide) ang = s.ang;
      if (moves == kSecondSide) ang = -s.ang;
    }
    Z[row * nv + d] = lin.x;
    Z[(row + 1) * nv + d] = lin.y;
    Z[(row + 2) * nv + d] = lin.z;
    if (!weld) continue;
    const Vec3<Real> j = between(two.quat, Quat<Real>{zero, ang.x, ang.y, ang.z}, one.quat) * (half * scale);
    Z[(row + 3) * nv + d] = j.x;
    Z[(row + 4) * nv + d] = j.y;
    Z[(row + 5) * nv + d] = j.z;
  }
  const Real length = sqrt(dot(offset, offset) + dot(turn, turn));
  equality_target(env, e, row, false, offset.x, length, rate.x);
  equality_target(env, e, row + 1, false, offset.y, length, rate.y);
  equality_target(env, e, row + 2, false, offset.z, length, rate.z);
  if (weld) {
    equality_target(env, e, row + 3, true, turn.x, length, turn_rate.x);
    equality_target(env, e, row + 4, true, turn.y, length, turn_rate.y);
    equality_target(env, e, row + 5, true, turn.z, length, turn_rate.z);
  }
  const int* support = dense_support(env, row);
  for (int k = 0; k < (weld ? 6 : 3); k += 3) whiten<3>(env, Z, row + k, support);
}

template <class E>
DS_FN void couple_joints(E& env, int e) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto Z = env.Z(), qpos = env.qpos();
  const int row = t.eq_row[e], nv = t.n.nv, j1 = t.eq_obj1[e], j2 = t.eq_obj2[e];
  const Real zero(0);
  const auto moved = [&](int j) { return qpos[t.jnt_qposadr[j]] - env.qpos0(t.jnt_qposadr[j]); };
  const auto c = [&](int k) { return env.eq_poly(e, k); };
  for (int d = 0; d < nv; d++) Z[row * nv + d] = zero;
  Z[row * nv + t.jnt_dofadr[j1]] = Real(1);
  Real r = moved(j1) - c(0);
  if (j2 >= 0) {
    const Real x = moved(j2);
    r = r - x * fma(x, fma(x, fma(x, c(4), c(3)), c(2)), c(1));
    const Real slope = fma(x, fma(x, fma(x, Real(4) * c(4), Real(3) * c(3)), Real(2) * c(2)), c(1));
    Real& z = Z[row * nv + t.jnt_dofadr[j2]];
    z = z - slope;
  }
  equality_target(env, e, row, false, r, abs(r), zero);
  const int* support = dense_support(env, row);
  whiten<1>(env, Z, row, support);
}

// slope of the polynomial of a coupling of two tendons, where the second stands
template <class E>
DS_HD typename E::Real coupling_slope(const E& env, int e) {
  using Real = typename E::Real;
  const int ten = env.t.eq_obj2[e];
  const Real x = env.ten_length()[ten] - env.ten_length0(ten);
  const auto c = [&](int k) { return env.eq_poly(e, k); };
  return fma(x, fma(x, fma(x, Real(4) * c(4), Real(3) * c(3)), Real(2) * c(2)), c(1));
}

template <class E>
DS_FN void couple_tendons(E& env, int e) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const int row = t.eq_row[e], ten1 = t.eq_obj1[e], ten2 = t.eq_obj2[e];
  const auto moved = [&](int ten) { return env.ten_length()[ten] - env.ten_length0(ten); };
  const auto c = [&](int k) { return env.eq_poly(e, k); };
  clear_row(env, row);
  add_tendon_row(env, row, ten1, Real(1));
  Real r = moved(ten1) - c(0);
  if (ten2 >= 0) {
    const Real x = moved(ten2);
    r = r - x * fma(x, fma(x, fma(x, c(4), c(3)), c(2)), c(1));
    add_tendon_row(env, row, ten2, -coupling_slope(env, e));
  }
  equality_target(env, e, row, false, r, abs(r), Real(0));
  whiten<1>(env, env.Z(), row, dense_support(env, row));
}

template <class E>
DS_STAGE void equality_rows(E& env) {
  env.each(env.t.n.neq, [&](int e) {
    if (env.t.eq_type[e] == kEqJoint)
      couple_joints(env, e);
    else if (env.t.eq_type[e] == kEqTendon)
      couple_tendons(env, e);
    else
      tie_bodies(env, e);
  });
}

// takes from a wrench what a connect or weld does to some bodies
template <class E, class Bodies, class Wrench>
DS_FN void subtract_tie(const E& env, int e, const Bodies& bodies, Wrench* wrench) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto one = equality_side(env, e, 0), two = equality_side(env, e, 1);
  const int row = t.eq_row[e];
  const auto force_of = [&](int k) { return force_of_row(env, TwoSided{}, row + k); };
  const Vec3<Real> force{force_of(0), force_of(1), force_of(2)};
  const Real zero(0), unit(1);
  Vec3<Real> torque{zero, zero, zero};
  if (t.eq_type[e] == kEqWeld) {
    // its rows measure the vector part of q2* q1, whose rate is 1/2 q2* w q1: the torque is the transpose
    const Vec3<Real> f{force_of(3), force_of(4), force_of(5)};
    const Real scale = Real(0.5) * env.eq_poly(e);
    torque = {scale * dot(between(two.quat, Quat<Real>{zero, unit, zero, zero}, one.quat), f),
              scale * dot(between(two.quat, Quat<Real>{zero, zero, unit, zero}, one.quat), f),
              scale * dot(between(two.quat, Quat<Real>{zero, zero, zero, unit}, one.quat), f)};
  }
  if (bodies.has(t.eq_obj1[e])) wrench->add(-force, -torque, one.point);
  if (bodies.has(t.eq_obj2[e])) wrench->add(force, torque, two.point);
}

// a kind of dense scalar rows
struct Equalities {
  static constexpr bool kHoldsInImpacts = true;
  template <class E>
  DS_HD static int count(const E& env) {
    return env.t.n.neqrow;
  }
  template <class E>
  DS_HD static TwoSided law(const E&, int, int) {
    return {};
  }
  template <class E>
  DS_HD static void make(E& env, int) {
    equality_rows(env);
  }
  // entries of connects and welds are differences of motions; of coupled joints and tendons they are not
  template <class E>
  DS_FN static typename E::Real lost(const E& env, int row, int) {
    using Real = typename E::Real;
    const auto& t = env.t;
    int e = 0;
    while (e + 1 < t.n.neq && t.eq_row[e + 1] <= row) e++;
    if (t.eq_type[e] != kEqConnect && t.eq_type[e] != kEqWeld) return Real(0);
    RowScale<Real> scale;
    for (int side = 0; side < kPairSides; side++) {
      const int b = equality_object(t, e, side), moves = side == 0 ? kFirstSide : kSecondSide;
      const Vec3<Real> p =
          env.xpos().vec(b) + rotate(env.xquat().quat(b), env.vec(t.eq_point, equality_side(e, side)));
      for (Index d = 0; d < t.n.nv; d++)
        if (equality_moves(t, e, d) & moves) scale.add(env, d, p);
    }
    const bool rotation = row >= t.eq_row[e] + 3;
    const Real length = rotation ? Real(0.5) * env.eq_poly(e) : Real(1);
    return length * length * scale.lost(rotation);
  }
  // of couplings of tendons
  template <class E, class Real = typename E::Real>
  DS_HD static Real add_pull(const E& env, int, int ten, Real f) {
    const auto& t = env.t;
    for (int e = 0; e < t.n.neq; e++) {
      if (t.eq_type[e] != kEqTendon) continue;
      if (t.eq_obj1[e] == ten) f = f + force_of_row(env, TwoSided{}, t.eq_row[e]);
      if (t.eq_obj2[e] == ten)
        f = fma(-coupling_slope(env, e), force_of_row(env, TwoSided{}, t.eq_row[e]), f);
    }
    return f;
  }
  // of connects and welds
  template <class E, class Bodies, class Wrench>
  DS_HD static void subtract_wrench(const E& env, int, const Bodies& bodies, Wrench* wrench) {
    const auto& t = env.t;
    for (int e = 0; e < t.n.neq; e++) {
      if (t.eq_type[e] != kEqConnect && t.eq_type[e] != kEqWeld) continue;
      if (bodies.has(t.eq_obj1[e]) || bodies.has(t.eq_obj2[e])) subtract_tie(env, e, bodies, wrench);
    }
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
