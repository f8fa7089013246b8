// Sensors of subtrees: a body and all that it carries, whose ids follow each other.
//
// solves    subtreecom, subtreelinvel, subtreeangmom
// equation  c = sum of m x / sum of m,   v = sum of m v / sum of m
//           L = sum of I w + m (x - c) x (v_i - v)
// source    MuJoCo's documentation, "Sensors"
// deviation none
// reads     xipos, xquat, tree_com, cvel
// writes    sensordata
// cost      O(bodies of the subtree)
#pragma once

#include "kernels/sensors/sensor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the inertia of a body about its centre of mass, times a vector
template <class E, class Real = typename E::Real>
DS_FN Vec3<Real> inertia_times(const E& env, int body, const Vec3<Real>& v) {
  const Quat<Real> q = mul(env.xquat().quat(body), env.quat(env.t.body_iquat, body));
  const Vec3<Real> I = env.vec(env.t.body_inertia, body), local = rotate(conjugate(q), v);
  return rotate(q, Vec3<Real>{local.x * I.x, local.y * I.y, local.z * I.z});
}

// the mass of bodies and the sum of m x
template <class Real>
struct MassSum {
  Real mass;
  Vec3<Real> moment;
  DS_HD void add(const Real& m, const Vec3<Real>& x) {
    mass = mass + m;
    moment = axpy(x, m, moment);
  }
  DS_HD Vec3<Real> centre(const Vec3<Real>& massless) const { return weighted_mean(moment, mass, massless); }
};
// where MuJoCo takes moments of a body: the centre of mass of all below the child of the world that carries it
template <class E, class Real = typename E::Real>
DS_FN Vec3<Real> moment_point(const E& env, int b) {
  const auto& t = env.t;
  if (t.body_tree[b] >= 0) return env.tree_com().vec(t.body_tree[b]);
  int root = b;
  while (t.body_parent[root] > 0) root = t.body_parent[root];
  const Real mass = env.body_mass(root);
  MassSum<Real> sum{mass, env.xipos().vec(root) * mass};
  DS_ROLLED
  for (int c = root + 1; c < t.body_end[root]; c++) sum.add(env.body_mass(c), env.xipos().vec(c));
  return sum.centre(env.xipos().vec(root));
}

struct SubtreeSensors {
  DS_HD static constexpr bool serves(int type) { return type >= kSubtreeCom && type <= kSubtreeAngMom; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto& t = env.t;
    const int type = t.sensor_type[s], root = t.sensor_objid[s], end = t.body_end[root];
    const Vec3<Real> zero{Real(0), Real(0), Real(0)};
    MassSum<Real> sum{Real(0), zero};
    Vec3<Real> momentum = zero;
    for (int b = root; b < end; b++) {
      const Real m = env.body_mass(b);
      const Vec3<Real> x = env.xipos().vec(b);
      sum.add(m, x);
      if (type != kSubtreeCom) momentum = axpy(point_velocity(env, b, x).lin, m, momentum);
    }
    const Vec3<Real> com = sum.centre(env.xipos().vec(root));
    const Vec3<Real> velocity = weighted_mean(momentum, sum.mass, zero);
    if (type != kSubtreeAngMom) {
      put_reading(out, 0, type == kSubtreeCom ? com : velocity);
      return;
    }
    Vec3<Real> spin = zero;
    for (int b = root; b < end; b++) {
      if (t.body_tree[b] < 0 && b == 0) continue;
      const Vec3<Real> x = env.xipos().vec(b);
      const Spatial<Real> v = point_velocity(env, b, x);
      spin = spin + inertia_times(env, b, v.ang) + cross(x - com, v.lin - velocity) * env.body_mass(b);
    }
    put_reading(out, 0, spin);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
