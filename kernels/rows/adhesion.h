// Actuators on bodies: adhesion, once contacts are known.
//
// solves    what actuators on bodies add to qfrc_actuator, and the accelerations with them
// equation  a body with n contacts of normals N_c is pulled at each by a share of the actuator's force f:
//             qfrc_actuator -= f / n  sum over c of J_c' N_c,   J_c the relative motion of the two bodies there
//           then the limits of the joints' total forces, and smooth_acceleration.h
// source    MuJoCo's documentation, "Actuation model", "Transmission"
// deviation a length is 0, as in MuJoCo; no force depends on the velocity, which is not known before contacts are
// reads     con_dim, con_pair, con_pos, con_frame, actuator_force, tree_com, cdof, and as smooth_acceleration.h
// writes    adhesion_share, con_pull, qfrc_actuator, actuator_vel_gain, qfrc_smooth, qacc_smooth; body_force is scratch
// cost      O(contacts (nactuator + nbody)); nothing in models without actuators on bodies
#pragma once

#include "kernels/data/acts_on.h"
#include "kernels/rows/support.h"
#include "kernels/smooth/smooth_acceleration.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class E>
DS_STAGE void add_adhesion(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real zero(0), one(1);
  const auto share = env.adhesion_share(), pull = env.con_pull(), force = env.actuator_force();
  const auto on_body = [&](int a) { return transmission_has<kActsByContacts>(t.act_trn[a]); };
  env.each(t.n.nactuator, [&](int a) {
    Real count = zero;
    if (on_body(a))
      each_contact(env, [&](int, int pair, const auto& here) {
        if (sides_of_body(t, pair, t.act_id[a])) count = count + select(here, one, zero);
      });
    share[a] = select(count > zero, force[a] / max(count, one), zero);
  });
  env.sync();
  env.each(env.ncon_max, [&](int slot) {
    Real sum = zero;
    each_pair_in(env, slot, [&](int pair, const auto& here) {
      for (int a = 0; a < t.n.nactuator; a++)
        if (on_body(a) && sides_of_body(t, pair, t.act_id[a])) sum = select(here, sum + share[a], sum);
    });
    pull[slot] = sum;
  });
  env.sync();
  env.each(t.n.nbody, [&](int b) {
    const Vec3<Real> none{zero, zero, zero};
    Spatial<Real> f{none, none};
    if (t.body_tree[b] >= 0) {
      const Vec3<Real> centre = env.tree_com().vec(t.body_tree[b]);
      each_contact(env, [&](int slot, int pair, const auto& here) {
        const int sides = sides_of_body(t, pair, b);
        if (sides == 0) return;
        // towards the other body
        const Real strength = select(here, sides == kFirstSide ? Real(pull[slot]) : -Real(pull[slot]), zero);
        const Vec3<Real> n = contact_normal(env, slot) * strength;
        f = f + Spatial<Real>{cross(env.con_pos().vec(slot) - centre, n), n};
      });
    }
    env.body_force().set(b, f);
  });
  add_body_forces(env, env.qfrc_actuator(), [](int) { return true; });
}

template <class E, class Xfrc>
DS_STAGE void adhesion(E& env, Xfrc xfrc) {
  add_adhesion(env);
  limit_joint_forces(env);
  env.done();
  smooth_acceleration(env, env.any_xfrc, xfrc);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
