// Tendons: strings through joints (fixed) or through sites and around geoms (spatial).
//
// solves    length L of each tendon, its rate, its moment J = dL/dq
// equation  fixed     L = sum_k c_k q_k,   J_k = c_k
//           spatial   L = sum over stretches of (length of the pieces + length on the geom) / divisor;
//                     a piece from x on body a to y on body b, u its direction:
//                       J_i += u . (S_i at y) / divisor where dof i moves b alone, -u . (S_i at x) where a alone
//           rate      J v
//           force     spring and damper: -k (L - [lower, upper]) - b rate
//           armature  M += a J'J on M's sparsity,   qfrc_bias += a J' (dJ/dt v)
// source    MuJoCo's documentation, "Tendon"; wrapping in tendon_wrap.h
// deviation none. The path is the model's, so are the dofs that move each piece; whether a string touches its
//           geom is a mask. Armature between dofs of different branches is left out, as in MuJoCo
// reads     qpos, qvel, xpos, xquat, tree_com, cdof, cvel, cacc
// writes    ten_length, ten_velocity, ten_J, ten_force; adds to M, qfrc_bias, qfrc_passive
// cost      O(stretches and the dofs that move them)
#pragma once

#include "kernels/data/views.h"
#include "kernels/smooth/tendon_wrap.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class E>
DS_FN Vec3<typename E::Real> site_xpos(const E& env, int site) {
  const int b = env.t.site_body[site];
  return env.xpos().vec(b) + rotate(env.xquat().quat(b), env.vec(env.t.site_pos, site));
}

// the string from x to y around a geom, in the world
template <class E, class Real = typename E::Real>
DS_FN Wrap<Real> wrap_geom(const E& env, int stretch, const Vec3<Real>& x, const Vec3<Real>& y) {
  const auto& t = env.t;
  const int geom = t.path_geom[stretch], side = t.path_sidesite[stretch];
  const int b = t.allgeom_body[geom];
  const Quat<Real> q = env.xquat().quat(b);
  const Vec3<Real> centre = env.xpos().vec(b) + rotate(q, env.vec(t.allgeom_pos, geom));
  const Mat3<Real> r = to_matrix(mul(q, env.quat(t.allgeom_quat, geom)));
  const Vec3<Real> beside = side < 0 ? centre : site_xpos(env, side);
  Wrap<Real> w = wrap(rotate_transposed(r, x - centre), rotate_transposed(r, y - centre),
                      t.allgeom_type[geom] == kSphere, side >= 0, rotate_transposed(r, beside - centre),
                      env.vec(t.allgeom_size, geom).x);
  w.first = centre + rotate(r, w.first);
  w.last = centre + rotate(r, w.last);
  return w;
}

template <class Real>
DS_HD Vec3<Real> direction(const Vec3<Real>& x, const Vec3<Real>& y) {
  Real length;
  return normalize(y - x, Vec3<Real>{Real(1), Real(0), Real(0)}, &length);
}

// calls f(body, point, body, point, where) for the straight pieces of a stretch
template <class E, class F>
DS_FN void each_piece(const E& env, int stretch, F f) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const int a = t.path_site1[stretch], b = t.path_site2[stretch], geom = t.path_geom[stretch];
  const Vec3<Real> x = site_xpos(env, a), y = site_xpos(env, b);
  auto free = all_true<Real>();
  if (geom >= 0) {
    const Wrap<Real> w = wrap_geom(env, stretch, x, y);
    free = mask_not(w.touches);
    f(t.site_body[a], x, t.allgeom_body[geom], w.first, w.touches);
    f(t.allgeom_body[geom], w.last, t.site_body[b], y, w.touches);
  }
  f(t.site_body[a], x, t.site_body[b], y, free);
}

// adds a StretchPiece, from x to y, to the moment where `here` holds
template <class E, class Mask, class Real = typename E::Real>
DS_FN void add_piece(E& env, int stretch, int piece, const Vec3<Real>& x, const Vec3<Real>& y,
                     const Mask& here) {
  const auto& t = env.t;
  const auto J = env.ten_J(), com = env.tree_com(), cdof = env.cdof();
  const int k = kStretchPieces * stretch + piece, begin = t.path_move_adr[k], end = t.path_move_adr[k + 1];
  if (begin == end) return;
  const Vec3<Real> u = direction(x, y);
  for (int m = begin; m < end; m++) {
    const int entry = t.path_move_entry[m], dof = t.ten_dof[entry];
    const bool far = t.path_move_sign[m] > 0;
    const Spatial<Real> s = cdof.spatial(dof);
    const Vec3<Real> arm = (far ? y : x) - com.vec(t.body_tree[t.dof_body[dof]]);
    const Real rate = dot(u, s.lin + cross(s.ang, arm)) * env.path_scale(stretch);
    J[entry] = J[entry] + select(here, far ? rate : -rate, Real(0));
  }
}

template <class E>
DS_STAGE void tendons(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  if (t.n.ntendon == 0) return;
  const auto J = env.ten_J(), qpos = env.qpos(), qvel = env.qvel();
  const auto length = env.ten_length(), velocity = env.ten_velocity();
  env.each(t.n.ntendon, [&](int ten) {
    const int begin = t.ten_adr[ten], end = t.ten_adr[ten + 1];
    Real sum(0), rate(0);
    for (int e = begin; e < end; e++) J[e] = Real(0);
    for (int k = t.fixed_adr[ten]; k < t.fixed_adr[ten + 1]; k++) {
      const int entry = t.fixed_entry[k];
      sum = fma(env.fixed_coef(k), qpos[t.fixed_qposadr[k]], sum);
      J[entry] = J[entry] + env.fixed_coef(k);
    }
    for (int k = t.path_adr[ten]; k < t.path_adr[ten + 1]; k++) {
      const Vec3<Real> x = site_xpos(env, t.path_site1[k]), y = site_xpos(env, t.path_site2[k]);
      Real way = norm(y - x);
      auto free = all_true<Real>();
      if (t.path_geom[k] >= 0) {
        const Wrap<Real> w = wrap_geom(env, k, x, y);
        free = mask_not(w.touches);
        if (any(w.touches)) {
          way = select(free, way, norm(w.first - x) + w.length + norm(y - w.last));
          add_piece(env, k, kPieceToGeom, x, w.first, w.touches);
          add_piece(env, k, kPieceFromGeom, w.last, y, w.touches);
        }
      }
      if (any(free)) add_piece(env, k, kPieceFree, x, y, free);
      sum = fma(way, env.path_scale(k), sum);
    }
    for (int e = begin; e < end; e++) rate = fma(J[e], qvel[t.ten_dof[e]], rate);
    length[ten] = sum;
    velocity[ten] = rate;
  });
  env.done();
}

// calls f(entry of row i of M, entry of the moment) for the dofs of a moment that stand in row i of M: dof_of(k) is
// that of entry k, and rises from `first`; e is the entry of dof i itself
template <class E, class D, class F>
DS_HD void each_in_row(const E& env, int i, int first, int e, D dof_of, F f) {
  const auto& t = env.t;
  const int end = t.M_rowadr[i + 1];
  int m = t.M_rowadr[i];
  for (int k = e; k >= first && m < end; k--) {
    while (m < end && t.M_col[m] > dof_of(k)) m++;
    if (m < end && t.M_col[m] == dof_of(k)) f(m, k);
  }
}
// likewise, of a tendon
template <class E, class F>
DS_HD void each_in_row(const E& env, int i, int ten, int e, F f) {
  const auto& t = env.t;
  each_in_row(
      env, i, t.ten_adr[ten], e, [&](int k) { return t.ten_dof[k]; }, f);
}
// calls f(tendon, entry of its moment) for the tendons that dof i moves
template <class E, class F>
DS_HD void each_tendon_of(const E& env, int i, F f) {
  const auto& t = env.t;
  for (int k = t.dof_ten_adr[i]; k < t.dof_ten_adr[i + 1]; k++) f(t.dof_ten[k], t.dof_ten_entry[k]);
}
// out_i += J' ten_force
template <class E, class F>
DS_HD void add_tendon_forces(E& env, const F& out) {
  env.each(env.t.n.nv, [&](int i) {
    each_tendon_of(env, i,
                   [&](int ten, int e) { out[i] = fma(env.ten_J()[e], env.ten_force()[ten], out[i]); });
  });
}

// M += armature J'J; rows of M are those of `inertia`
template <class E>
DS_FN void add_tendon_inertia(E& env) {
  const auto& t = env.t;
  if (!t.o.has_ten_armature) return;
  const auto M = env.M(), J = env.ten_J();
  env.each(t.n.nv, [&](int i) {
    each_tendon_of(env, i, [&](int ten, int e) {
      const typename E::Real a = env.ten_armature(ten) * J[e];
      each_in_row(env, i, ten, e, [&](int m, int k) { M[m] = fma(a, J[k], M[m]); });
    });
  });
}

// acceleration of a site where no joint accelerates
template <class E, class Real = typename E::Real>
DS_FN void site_motion(const E& env, int site, const Vec3<Real>& x, Vec3<Real>* v, Vec3<Real>* a) {
  const auto& t = env.t;
  const int b = t.site_body[site], tree = t.body_tree[b];
  *v = *a = {Real(0), Real(0), Real(0)};
  if (tree < 0) return;
  const Vec3<Real> arm = x - env.tree_com().vec(tree);
  const Spatial<Real> s = env.cvel().spatial(b), c = env.cacc().spatial(b);
  *v = s.lin + cross(s.ang, arm);
  // cacc falls with the world
  *a = (c.lin - env.cacc().spatial(0).lin) + cross(c.ang, arm) + cross(s.ang, *v);
}

// dJ/dt v of a tendon through sites alone, as all with armature are
template <class E, class Real = typename E::Real>
DS_FN Real tendon_acceleration(const E& env, int ten) {
  const auto& t = env.t;
  Real sum(0);
  if (!t.o.has_ten_armature) return sum;
  for (int k = t.path_adr[ten]; k < t.path_adr[ten + 1]; k++) {
    const int a = t.path_site1[k], b = t.path_site2[k];
    if (t.site_body[a] == t.site_body[b]) continue;
    const Vec3<Real> x = site_xpos(env, a), y = site_xpos(env, b);
    Vec3<Real> vx, ax, vy, ay;
    site_motion(env, a, x, &vx, &ax);
    site_motion(env, b, y, &vy, &ay);
    Real length;
    const Vec3<Real> u = normalize(y - x, Vec3<Real>{Real(1), Real(0), Real(0)}, &length);
    const Vec3<Real> v = vy - vx;
    const Real along = dot(u, v), across = max(dot(v, v) - along * along, Real(0));
    const auto some = length > Real(kMinVal);
    const Real turning = select(some, across / select(some, length, Real(1)), Real(0));
    sum = fma(dot(u, ay - ax) + turning, env.path_scale(k), sum);
  }
  return sum;
}

// qfrc_bias += armature J' (dJ/dt v); each lane adds to dofs of its own
template <class E>
DS_FN void add_tendon_bias(E& env) {
  const auto& t = env.t;
  if (!t.o.has_ten_armature) return;
  const auto force = env.ten_force();
  env.each(t.n.ntendon, [&](int ten) { force[ten] = env.ten_armature(ten) * tendon_acceleration(env, ten); });
  env.sync();
  add_tendon_forces(env, env.qfrc_bias());
}

// force of the spring, with its dead band, and of the damper
template <class E, class Real = typename E::Real>
DS_FN Real passive_tendon_force(const E& env, int ten) {
  const auto& o = env.t.o;
  const Real L = env.ten_length()[ten], lower = env.ten_spring_lower(ten), upper = env.ten_spring_upper(ten);
  const Real stretch = select(L > upper, upper - L, select(L < lower, lower - L, Real(0)));
  Real f(0);
  if (!disabled(o, kDisableSpring)) f = env.ten_stiffness(ten) * stretch;
  if (!disabled(o, kDisableDamper)) f = fma(-env.ten_damping(ten), env.ten_velocity()[ten], f);
  return f;
}
template <class E>
DS_FN void add_tendon_passive(E& env) {
  const auto& t = env.t;
  if (!t.o.has_ten_passive || (disabled(t.o, kDisableSpring) && disabled(t.o, kDisableDamper))) return;
  const auto force = env.ten_force();
  env.each(t.n.ntendon, [&](int ten) { force[ten] = passive_tendon_force(env, ten); });
  env.sync();
  add_tendon_forces(env, env.qfrc_passive());
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
