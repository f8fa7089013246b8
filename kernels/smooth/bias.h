// Velocities and the bias force: recursive Newton-Euler at zero joint acceleration.
//
// solves    C(q, v), the joint forces of gravity and of velocities
// equation  from the root to the leaves, p the parent of i, S and qd of its joints:
//             v_i = v_p + S qd
//             a_i = a_p + Sdot qd,   a_0 = -g
//             f_i = I a_i + v_i x* I v_i
//           from the leaves to the root:
//             qfrc_bias = S' (sum of f over the subtree)
// source    Featherstone 2008, table 5.1
// deviation about the tree's centre of mass, in world axes. Sdot qd of a joint is the motion cross product
//           with the velocity of all dofs before it; the three dofs of a ball (or of a free body's rotation)
//           share the velocity before the first of them
// reads     qvel, cdof, xquat, xipos, tree_com
// writes    cinert (of each body by itself), cvel, cacc, cfrc, qfrc_bias
// cost      O(nbody + nv)
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// I of every body about its tree's centre of mass
template <class E>
DS_STAGE void body_inertias(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto xquat = env.xquat(), xipos = env.xipos(), com = env.tree_com(), cinert = env.cinert();
  env.each(t.n.nbody, [&](int b) {
    if (t.body_tree[b] < 0) {
      cinert.set(b, no_inertia<Real>());
      return;
    }
    const Mat3<Real> r = to_matrix(mul(xquat.quat(b), env.quat(t.body_iquat, b)));
    const Vec3<Real> I = env.vec(t.body_inertia, b);
    const Vec3<Real> d = xipos.vec(b) - com.vec(t.body_tree[b]);
    const Real m = env.body_mass(b);
    const Vec3<Real> x{r.m[0], r.m[1], r.m[2]}, y{r.m[3], r.m[4], r.m[5]}, z{r.m[6], r.m[7], r.m[8]};
    const Vec3<Real> Ix{I.x * x.x, I.y * x.y, I.z * x.z}, Iy{I.x * y.x, I.y * y.y, I.z * y.z};
    const Vec3<Real> Iz{I.x * z.x, I.y * z.y, I.z * z.z};
    Inertia10<Real> c;
    c.mass = m;
    c.h = d * m;
    c.xx = fma(m, fma(d.y, d.y, d.z * d.z), dot(Ix, x));
    c.yy = fma(m, fma(d.x, d.x, d.z * d.z), dot(Iy, y));
    c.zz = fma(m, fma(d.x, d.x, d.y * d.y), dot(Iz, z));
    c.xy = fma(-c.h.x, d.y, dot(Ix, y));
    c.xz = fma(-c.h.x, d.z, dot(Ix, z));
    c.yz = fma(-c.h.y, d.z, dot(Iy, z));
    cinert.set(b, c);
  });
  env.sync();
}

// gravity, where it is not disabled
template <class E>
DS_HD Vec3<typename E::Real> gravity_of(const E& env) {
  using Real = typename E::Real;
  if (disabled(env.t.o, kDisableGravity)) return {Real(0), Real(0), Real(0)};
  return env.vec(env.t.gravity, 0);
}

// body velocities, and accelerations at zero joint acceleration
template <class E>
DS_FN void velocities(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qvel = env.qvel(), cdof = env.cdof(), cvel = env.cvel(), cacc = env.cacc();
  const Vec3<Real> zero{Real(0), Real(0), Real(0)};
  if (env.lanes.rank() == 0) {
    cvel.set(0, Spatial<Real>{zero, zero});
    cacc.set(0, Spatial<Real>{zero, zero - gravity_of(env)});
  }
  env.sync();
  for (int level = 0; level < t.n.nlevel; level++) {
    for (int k = t.level_adr[level] + env.lanes.rank(); k < t.level_adr[level + 1]; k += env.lanes.width()) {
      const int b = t.level_body[k], parent = t.body_parent[b];
      Spatial<Real> v = cvel.spatial(parent), a = cacc.spatial(parent);
      const int first = t.body_jntadr[b], count = t.body_jntnum[b];
      for (int j = first; j < first + count; j++) {
        int dof = t.jnt_dofadr[j];
        const int type = t.jnt_type[j];
        if (type == kFree) {
          // the translations of a free body are world axes: their S does not turn
          for (int i = 0; i < 3; i++) v = axpy(cdof.spatial(dof + i), qvel[dof + i], v);
          dof += 3;
        }
        const int n = is_scalar_joint(type) ? 1 : 3;
        const Spatial<Real> before = v;
        for (int i = dof; i < dof + n; i++) {
          const Spatial<Real> s = cdof.spatial(i) * qvel[i];
          a = a + cross_motion(before, s);
          v = v + s;
        }
      }
      cvel.set(b, v);
      cacc.set(b, a);
    }
    env.sync();
  }
}

// adds each body's force to its parent's, leaves first; children in the order of their ids. Nothing is read
// on the deepest level, whose bodies have no children: its barrier completes what the caller wrote
template <class E, class F>
DS_STAGE void sum_to_root(E& env, const F& force) {
  using Real = typename E::Real;
  const auto& t = env.t;
  for (int level = t.n.nlevel - 1; level >= 0; level--) {
    for (int k = t.level_adr[level] + env.lanes.rank(); k < t.level_adr[level + 1]; k += env.lanes.width()) {
      const int b = t.level_body[k];
      if (t.child_adr[b] == t.child_adr[b + 1]) continue;
      Spatial<Real> f = force.spatial(b);
      for (int c = t.child_adr[b]; c < t.child_adr[b + 1]; c++) f = f + force.spatial(t.child_body[c]);
      force.set(b, f);
    }
    env.sync();
  }
}

template <class E>
DS_STAGE void bias(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  body_inertias(env);
  velocities(env);
  const auto cinert = env.cinert(), cvel = env.cvel(), cacc = env.cacc(), cfrc = env.cfrc(),
             cdof = env.cdof();
  const auto out = env.qfrc_bias();
  env.each(t.n.nbody, [&](int b) {
    const Inertia10<Real> I = cinert.inertia(b);
    const Spatial<Real> v = cvel.spatial(b);
    cfrc.set(b, multiply(I, cacc.spatial(b)) + cross_force(v, multiply(I, v)));
  });
  sum_to_root(env, cfrc);
  env.each(t.n.nv, [&](int i) { out[i] = dot(cdof.spatial(i), cfrc.spatial(t.dof_body[i])); });
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
