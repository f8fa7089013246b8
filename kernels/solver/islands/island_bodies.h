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
// cost      O(bodies that an environment touches x a tree's depth^2)
#pragma once

#include "kernels/data/eight.h"
#include "kernels/data/records.h"
#include "kernels/solver/islands/island_env.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// where its parts begin
enum BodyRecord : int {
  kBodyVelocity = 0,
  kBodyAcceleration = kBodyVelocity + kEight,
  kBodySquares = kBodyAcceleration + kEight,
  kBodyCentre = kBodySquares + kEight,
  kBodyMotion = kBodyCentre + kEight
};
static_assert(kBodySquares == kRecordRun && kBodyMotion == 2 * kRecordRun, "two eights are read at once");
template <class Sizes>
DS_HD int body_record_size(const Sizes& n) {
  return kBodyMotion + kSpatialNumbers * n.ntreepad;
}
template <class E>
DS_HD auto body_records(const E& env, int body) {
  return records_of<E>(env.body_record(), body, body_record_size(env.t.n));
}
// where the six rows of the eight that begins with dof c of a tree begin
DS_HD constexpr int motion_of_eight(int c) { return kBodyMotion + kSpatialNumbers * c; }

// a set of eights of the dofs of a tree; trees of more than 32 eights have all of them in the last
struct Eights {
  unsigned set;
  DS_HD static Eights of_dof(int k) { return {1u << (k / kEight < 31 ? k / kEight : 31)}; }
  DS_HD bool has(int c) const { return (set >> (c / kEight < 31 ? c / kEight : 31)) & 1u; }
};

// Whose motions are worked out at once: those of one environment, or of all of a pack
template <class E>
struct OneEnvironment {
  using Number = typename E::Scalar;
  static constexpr int kWide = E::kPack < kEight ? E::kPack : kEight;
  int element;

  template <class F>
  DS_HD Number at(const F& field, Index i) const {
    return lane_of(field[i], element);
  }
  // sixteen numbers of the records of a body
  template <class R>
  DS_HD void put(const R& records, int first, const Eight<Number, kWide>& x,
                 const Eight<Number, kWide>& y) const {
    x.store(records(element), first);
    y.store(records(element), first + kEight);
  }
};
template <class E>
struct AllEnvironments {
  using Number = typename E::Real;
  static constexpr int kWide = 1;

  template <class F>
  DS_HD Number at(const F& field, Index i) const {
    return field[i];
  }
  template <class R>
  DS_HD void put(const R& records, int first, const Eight<Number, 1>& x, const Eight<Number, 1>& y) const {
    Number run[kRecordRun];
    DS_UNROLL
    for (int k = 0; k < kRecordRun; k++) run[k] = k < kEight ? x.part[k % kEight] : y.part[k % kEight];
    store_records(records, first, run);
  }
};

// the motion of a body that moves
template <class E, class Whose>
struct BodyMotion {
  using Number = typename Whose::Number;
  using Numbers = Eight<Number, Whose::kWide>;
  using Motions = Field<typename E::Real, E::kStride>;
  const E& env;
  Whose whose;
  int body, last, tree;
  Motions motions;  // room for those along the chain: six numbers each, or an eight with two zeros

  DS_HD static Numbers none() { return Numbers(Number(0)); }
  DS_HD Numbers motion_at(const Motions& field, int i) const {
    Numbers x = none();
    const auto run = field.from(kSpatialNumbers * i);
    DS_UNROLL
    for (int k = 0; k < kSpatialNumbers; k++) x.set(k, whose.at(run, k));
    return x;
  }
  DS_HD auto wide() const { return Field<Number, 1>{reinterpret_cast<Number*>(motions.p)}; }
  DS_HD void put_along(int i, const Numbers& x) const {
    if constexpr (Whose::kWide > 1)
      x.store(wide(), kEight * i);
    else
      for (int k = 0; k < kSpatialNumbers; k++) motions[kSpatialNumbers * i + k] = x.part[k];
  }
  DS_HD Numbers along(int i) const {
    if constexpr (Whose::kWide > 1)
      return Numbers(wide(), kEight * i);
    else
      return motion_at(motions, i);
  }

  // T = L^-T S' along the chain of the last dof, from there to the root; S qacc_smooth. Ancestors stand in a row of L one
  // after the other
  DS_HD Numbers whiten() const {
    const auto& t = env.t;
    const int chain = t.M_rowadr[last], length = t.M_rowadr[last + 1] - chain;
    const auto LD = env.LD(), smooth = env.qacc_smooth();
    Numbers acceleration = none();
    for (int a = 0; a < length; a++) {
      const int above = t.M_col[chain + a];
      Numbers x = motion_at(env.cdof(), above);
      acceleration.template add_first<kSpatialNumbers>(whose.at(smooth, above), x);
      for (int i = 0; i < a; i++)
        x.template add_first<kSpatialNumbers>(-whose.at(LD, t.M_rowadr[t.M_col[chain + i]] + (a - i)),
                                              along(i));
      put_along(a, x);
    }
    return acceleration;
  }
  // D^-1/2 T by rows into the records; their squares. `set`: the eights of the chain
  template <class R>
  DS_HD Numbers put_rows(const R& records, Eights set) const {
    const auto& t = env.t;
    const auto scale = env.Dscale();
    const int first = t.tree_dof[tree], chain = t.M_rowadr[last];
    Numbers square[kSpatialNumbers];
    DS_UNROLL
    for (int c = 0; c < kSpatialNumbers; c++) square[c] = none();
    int above = t.M_rowadr[last + 1] - chain - 1;  // of the chain the lowest dof that is not done
    for (int k = 0; first + k < t.tree_dof[tree + 1]; k += kEight) {
      if (!set.has(k)) continue;
      Numbers x[kEight];
      DS_UNROLL
      for (int i = 0; i < kEight; i++) {
        x[i] = none();
        if (above < 0 || t.M_col[chain + above] != first + k + i) continue;
        x[i] = along(above).scaled(whose.at(scale, first + k + i));
        above--;
      }
      transpose(x);
      DS_UNROLL
      for (int c = 0; c < kSpatialNumbers; c += 2) {
        whose.put(records, motion_of_eight(k) + kEight * c, x[c], x[c + 1]);
        square[c].add_product(x[c], x[c]);
        square[c + 1].add_product(x[c + 1], x[c + 1]);
      }
    }
    Numbers squares = none();
    DS_UNROLL
    for (int c = 0; c < kSpatialNumbers; c++) squares.set(c, square[c].fold());
    return squares;
  }
  DS_HD void run(Eights set) const {
    const auto records = body_records(env, body);
    whose.put(records, kBodyVelocity, motion_at(env.cvel(), body), whiten());
    Numbers com = none();
    const auto centre = env.tree_com().vec_run(tree);
    for (int c = 0; c < kVecNumbers; c++) com.set(c, whose.at(centre, c));
    whose.put(records, kBodySquares, put_rows(records, set), com);
  }
};

template <class E>
struct IslandBodies {
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
  // bodies of a tree take turns with the room for motions
  template <class Whose>
  DS_HD BodyMotion<E, Whose> motion_of(int body, Whose whose) const {
    const int last = env.t.body_dof[body], tree = tree_of(last), room = E::Lanes::kWidth > 1 ? tree : 0;
    return {
        .env = env,
        .whose = whose,
        .body = body,
        .last = last,
        .tree = tree,
        .motions = env.body_whitening().from(static_cast<Index>(kSpatialNumbers * env.t.n.ntreepad) * room)};
  }
  // of the environments in `users`, which are worked out one by one where they are few
  DS_HD void put_body(int body, Eights set, unsigned users) const {
    if constexpr (E::kPack > 1)
      if (3 * bit_count(users) > E::kPack) return motion_of(body, AllEnvironments<E>{}).run(set);
    each_element<typename E::Real>(users, [&](int l) { motion_of(body, OneEnvironment<E>{l}).run(set); });
  }
  // the world has records too: whatever does not move
  DS_HD void put_world() const {
    const auto none = Eight<typename E::Real, 1>(typename E::Real(0));
    for (int c = 0; c < kBodyMotion; c += kRecordRun)
      AllEnvironments<E>{}.put(body_records(env, 0), c, none, none);
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
        for (int of = 0; of < kPairSides; of++) {
          const int body = moved_by(t, pair, of).body;
          if (body == 0) continue;
          if (reached[body] == 0) reached[body] = static_cast<int>(chain_eights(t.body_dof[body]).set);
          users[body] |= static_cast<int>(1u << l);
        }
      }
  }
  template <class Ints>
  DS_HD void run(const Ints& reached, const Ints& users) const {
    if (env.lanes.rank() == 0) {
      find_reached(reached, users);
      put_world();
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
