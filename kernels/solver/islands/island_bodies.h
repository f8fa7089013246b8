// The motion of every body that contacts can move, whitened. It serves all contacts of the body.
//
// A record is
//   16             S qvel, and from 8 on S qacc_smooth
//   16             squares of the rows, and from 8 on the tree's centre of mass
//   6 x ntreepad   D^-1/2 L^-T S': for each eight of the tree's dofs its six rows. Eights that hold no dof of the body's
//                  chain are not written (chain_eights)
//
// solves    a record for each body
// equation  a wrench f on the body is the row (D^-1/2 L^-T S') f,   S the motions of the dofs that move it
// source    rows/kinds/contact_rows.h
// deviation none
// reads     cdof, cvel, qacc_smooth, tree_com, LD, Dscale, con_pair, ncon
// writes    body_record, body_whitening; of the arena body_eights, body_users
// cost      O(bodies x a tree's depth^2), environments side by side
#pragma once

#include "kernels/data/eight.h"
#include "kernels/data/records.h"
#include "kernels/solver/islands/island_env.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Sizes>
DS_HD int body_record_size(const Sizes& n) {
  return 2 * kRecordRun + 6 * n.ntreepad;
}
template <class E>
DS_HD auto body_record(const E& env, int body, int element) {
  return record_of<E>(env.body_record(), body, body_record_size(env.t.n), element);
}
// where the six rows of the eight that begins with dof c of a tree begin
DS_HD constexpr int motion_of_eight(int c) { return 2 * kRecordRun + 6 * c; }

// a set of eights of the dofs of a tree; trees of more than 32 eights have all of them in the last
struct Eights {
  unsigned set;
  DS_HD static Eights of_dof(int k) { return {1u << (k / kEight < 31 ? k / kEight : 31)}; }
  DS_HD bool has(int c) const { return (set >> (c / kEight < 31 ? c / kEight : 31)) & 1u; }
};
template <class E>
struct IslandBodies {
  using Real = typename E::Real;
  E& env;

  DS_HD int tree_of(int dof) const { return env.t.body_tree[env.t.dof_body[dof]]; }
  // those that hold a dof of the chain from `last` to the root of its tree
  DS_HD Eights chain_eights(int last) const {
    const int first = env.t.tree_dof[tree_of(last)];
    Eights e{0};
    for (int k = env.t.M_rowadr[last]; k < env.t.M_rowadr[last + 1]; k++)
      e.set |= Eights::of_dof(env.t.M_col[k] - first).set;
    return e;
  }
  using Motion = Spatial<Real>;
  // motions dof by dof of a tree; bodies of a tree take turns
  DS_HD Field<Real, E::kStride> whitening(int tree) const {
    const int room = E::Lanes::kWidth > 1 ? tree : 0;
    return env.body_whitening().from(static_cast<Index>(6 * env.t.n.ntreepad) * room);
  }

  DS_HD static Motion none() {
    const Real zero(0);
    return {{zero, zero, zero}, {zero, zero, zero}};
  }
  DS_HD static void put_motion_in(const Motion& x, Real* run) {
    run[0] = x.ang.x, run[1] = x.ang.y, run[2] = x.ang.z, run[3] = x.lin.x, run[4] = x.lin.y,
    run[5] = x.lin.z;
  }
  // T <- L^-T S' along the chain of the last dof, from there to the root; S qacc_smooth. Ancestors stand in a row of L one
  // after the other
  DS_HD Motion put_motion(int last, int first, const Field<Real, E::kStride>& T) const {
    const auto& t = env.t;
    const int chain = t.M_rowadr[last], length = t.M_rowadr[last + 1] - chain;
    const auto LD = env.LD();
    Motion rate = none();
    for (int a = 0; a < length; a++) {
      const int above = t.M_col[chain + a];
      Motion x = env.cdof().spatial(above);
      rate = axpy(x, Real(env.qacc_smooth()[above]), rate);
      for (int i = 0; i < a; i++) {
        const int d = t.M_col[chain + i];
        x = axpy(T.spatial(d - first), Real(-LD[t.M_rowadr[d] + (a - i)]), x);
      }
      T.set(above - first, x);
    }
    return rate;
  }
  // D^-1/2 T by rows, as a record holds them, and their squares
  DS_HD void put_rows(int body, int first, int dofs, Eights chain, unsigned users,
                      const Field<Real, E::kStride>& T, Real* squares) const {
    const auto record = [&](int l) { return body_record(env, body, l); };
    Eight<Real, 1> square[6];
    DS_UNROLL
    for (int c = 0; c < 6; c++) square[c] = Eight<Real, 1>(Real(0));
    for (int k = 0; k < dofs; k += kEight) {
      if (!chain.has(k)) continue;
      Real scale[kEight];
      DS_UNROLL
      for (int i = 0; i < kEight; i++) scale[i] = k + i < dofs ? Real(env.Dscale()[first + k + i]) : Real(0);
      for (int c = 0; c < 6; c += 2) {
        Real run[kRecordRun];
        DS_UNROLL
        for (int i = 0; i < kRecordRun; i++)
          run[i] = k + i % kEight < dofs ? T[6 * (k + i % kEight) + (c + i / kEight)] * scale[i % kEight]
                                         : Real(0);
        for (int i = 0; i < kRecordRun; i++) {
          Real& s = square[c + i / kEight].part[i % kEight];
          s = fma(run[i], run[i], s);
        }
        store_records(record, motion_of_eight(k) + kEight * c, run, users);
      }
    }
    DS_UNROLL
    for (int c = 0; c < 6; c++) squares[c] = square[c].fold();
  }

  // the records of those environments that have their bit in `users`
  DS_HD void put_body(int body, Eights chain, unsigned users) const {
    const auto& t = env.t;
    const int last = t.body_dof[body];
    const auto record = [&](int l) { return body_record(env, body, l); };
    Real rates[kRecordRun], rest[kRecordRun];
    DS_UNROLL
    for (int k = 0; k < kRecordRun; k++) rates[k] = rest[k] = Real(0);
    if (last >= 0) {
      const int tree = tree_of(last), first = t.tree_dof[tree], dofs = t.tree_dof[tree + 1] - first;
      const auto T = whitening(tree);
      for (int k = 0; k < dofs; k++)
        if (chain.has(k)) T.set(k, none());
      const Motion acceleration = put_motion(last, first, T);
      put_rows(body, first, dofs, chain, users, T, rest);
      put_motion_in(env.cvel().spatial(body), rates);
      put_motion_in(acceleration, rates + kEight);
      for (int c = 0; c < 3; c++) rest[kEight + c] = env.tree_com()[3 * tree + c];
    }
    store_records(record, 0, rates, users);
    store_records(record, kRecordRun, rest, users);
  }

  // `reached`: of each body that a contact of any environment moves the eights of its chain, else 0; `users`: those
  // environments
  template <class Ints>
  DS_HD void find_reached(const Ints& reached, const Ints& users) const {
    const auto& t = env.t;
    for (int b = 0; b < t.n.nbody; b++) reached[b] = users[b] = 0;
    for (int slot = 0; slot < env.ncon_max; slot++)
      for (int l = 0; l < E::kPack; l++) {
        if (slot >= lane_of(env.ncon, l)) continue;
        const int pair = pair_of(env, slot, l);
        for (int of = 0; of < 2; of++) {
          const int body = moved_by(t, pair, of).body;
          if (body == 0) continue;
          if (reached[body] == 0) reached[body] = static_cast<int>(chain_eights(t.body_dof[body]).set);
          users[body] |= static_cast<int>(1u << l);
        }
      }
  }
  // the world has a record too: whatever does not move
  template <class Ints>
  DS_HD void run(const Ints& reached, const Ints& users) const {
    if (env.lanes.rank() == 0) {
      find_reached(reached, users);
      put_body(0, {0}, ~0u);
    }
    env.sync();
    env.each(env.t.n.ntree, [&](int tree) {
      for (int k = env.t.tree_adr[tree]; k < env.t.tree_adr[tree + 1]; k++) {
        const int body = env.t.tree_body[k];
        if (reached[body] != 0)
          put_body(body, {static_cast<unsigned>(reached[body])}, static_cast<unsigned>(users[body]));
      }
    });
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
