// The sum of the smooth forces, and the acceleration that it gives.
//
// solves    qacc_smooth, the acceleration without constraints
// equation  qfrc_smooth = qfrc_passive - qfrc_bias + qfrc_applied + J' xfrc_applied + qfrc_actuator
//           qacc_smooth = M^-1 qfrc_smooth;   discrete: M^-1 (qfrc_smooth - h K v), M that of step_inertia.h
// source    Featherstone 2008, section 3.1
// deviation none
// reads     qfrc_passive, qfrc_bias, qfrc_actuator, qfrc_applied, xfrc_applied, xipos, tree_com, cdof, LD, Dinv
// writes    qfrc_smooth, qacc_smooth; body_force is scratch
// cost      O(nbody + nv), and a solve with M
#pragma once

#include "kernels/smooth/actuation.h"
#include "kernels/smooth/factorize.h"
#include "kernels/smooth/passive.h"
#include "kernels/smooth/step_inertia.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// xfrc(b) is the user's (force, torque) on body b
template <class E, class Xfrc>
DS_STAGE void smooth_acceleration(E& env, bool any_xfrc, Xfrc xfrc) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto out = env.qfrc_smooth(), qacc = env.qacc_smooth();
  const auto passive = env.qfrc_passive(), bias = env.qfrc_bias(), applied = env.qfrc_applied();
  const auto actuator = env.qfrc_actuator();
  env.each(t.n.nv, [&](int i) { out[i] = (passive[i] - bias[i]) + (applied[i] + actuator[i]); });
  if (any_xfrc) {
    const auto force = env.body_force();
    const Vec3<Real> zero{Real(0), Real(0), Real(0)};
    env.each(t.n.nbody, [&](int b) {
      if (t.body_tree[b] < 0) {
        force.set(b, Spatial<Real>{zero, zero});
        return;
      }
      const Spatial<Real> f = xfrc(b);
      force.set(b, at_tree_centre(env, b, f.lin, f.ang));
    });
    add_body_forces(env, out, [&](int) { return true; });
  }
  const bool discrete = t.o.integrator == kDiscrete;
  env.each(t.n.nv, [&](int i) { qacc[i] = discrete ? out[i] - stiffness_on_the_way(env, i) : Real(out[i]); });
  env.sync();
  solve_M(env, qacc);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
