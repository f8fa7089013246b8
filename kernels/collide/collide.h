// Contacts: bounding spheres, then the pair functions, then one slot a contact.
//
// solves    which of the candidate pairs touch, and where
// equation  a pair is close where |x_b - x_a| < r_a + r_b + margin, r the radii of bounding spheres; of a
//           plane with normal n where n.(x_b - x_a) < r_b + margin. Then the function of its kind (table.h)
// source    the files of the pairs; MuJoCo's for what a contact is
// deviation candidate pairs are fixed per model and sorted by kind, so that lanes run the same pair function.
//           Slots are filled in the order of the pairs (count, then write: no atomics). An environment that
//           runs out of slots keeps as many contacts of one pair as of another, of each the deepest and those
//           far from it, still in the order of pairs, and its overflow bit is set; the others notice nothing.
//           What depends on the pair (mixed friction, impedance, stiffness) is evaluated here, where the pair
//           is the same for a whole pack, and stored with the contact
// reads     xpos, xquat
// writes    geom_xpos, geom_xmat, con_*, ncon, ncon_needed, ncon_max, overflow_bits
// cost      O(npair), and the pair functions of those that are close
#pragma once

#include "kernels/collide/near_pairs.h"
#include "kernels/collide/pair_contacts.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// whether these kernels have a kind. Generic kernels of a GPU leave out what is searched for, whose polytopes take a
// stack of 3 KB and a third more registers from every model; a specialised kernel has what its model has
template <class AnyTables, int kKind>
constexpr bool kKindCompiled = kKindPossible<AnyTables, kKind> && !(DS_FOR_GPU && is_searched_kind(kKind));
template <class AnyTables, int kKind>
requires requires { AnyTables::kKindPresent; }
constexpr bool kKindCompiled<AnyTables, kKind> = kKindPossible<AnyTables, kKind>;

template <int kKind, class E>
DS_HD void try_kind(E& env) {
  if constexpr (kKindCompiled<StepTables<typename E::Scalar>, kKind>) {
    if constexpr (E::kPack > 1 && kStandSideBySide<kKind>)
      if (env.t.n.nisland > 0 || is_searched_kind(kKind)) return collide_side_by_side<kKind>(env);
    collide_kind<kKind>(env);
    env.sync_block();
  }
}

template <class E>
DS_FN void collide(E& env) {
  env.ncon = env.ncon_needed = typename E::Int(0);
  env.ncon_max = 0;
  if (env.t.n.npair > 0) {
    geom_poses(env);
    env.sync_block();
    if constexpr (E::kPack > 1)
      if (env.t.n.nisland > 0) {
        put_geom_records(env);
        if (env.t.n.ntreepair > 0) find_near_trees(env);
      }
    // the kinds one after the other, in the order of the pair table
    [&]<int... kKind>(IntList<kKind...>) { (try_kind<kKind>(env), ...); }
    (PairKinds{});
  }
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
