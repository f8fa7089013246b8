// Which dofs the whitened rows reach, as sets of 32 dofs a word; and which single-dof rows are in use.
//
// solves    the support of each row: the dofs at which its row of Z may have an entry
// equation  whitening carries an entry of J to the ancestors of its dof, so
//             support = dofs with an entry of J, and all their ancestors
//           A dense scalar row's is the model's (dense_support); of a contact slot it is the union over the pairs that the
//           environments of a pack have there (pair_support)
// source    Featherstone 2008, section 6.5: the ancestors of a dof's ancestor are its own ancestors
// deviation none. An entry outside its row's set is an exact zero, so what a set has too much changes no bit
// reads     dense_support, pair_support, pair_sign, con_pair, con_dim
// writes    the sets that its callers name
// cost      O(slots nword), and per slot as many steps as its environments have pairs
#pragma once

#include "kernels/rows/whiten.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the single-dof rows in use, as a set: those with a friction loss, and with a limit that pushes on some
// environment or may. No others are made, and nobody reads them
template <class E>
DS_HD typename E::Words single_rows_in_use(const E& env) {
  return env.words(env.t.n.single_begin + (E::kPack > 1 && env.subset ? env.t.n.nsingleword : 0));
}
// the dofs that a dense scalar row reaches
template <class E>
DS_HD const int* dense_support(const E& env, int dense_row) {
  return env.t.dense_support + static_cast<long>(dense_row) * env.t.n.nword;
}

// the set of dofs that some environment's contact in this slot moves
template <class E>
DS_HD typename E::Words slot_support(const E& env, int slot) {
  return env.words(slot * env.t.n.nword);
}

// the pair that the contact of an environment comes from
template <class E>
DS_HD int pair_of(const E& env, int slot, int lane = 0) {
  return pair_of_id(static_cast<int>(lane_of(env.con_pair()[slot], lane)));
}
// calls f(pair, environments) for the pairs that environments of a set have in a slot in use
template <class E, class F>
DS_HD void each_pair_of(const E& env, int slot, [[maybe_unused]] typename E::Mask set, F f) {
  using Real = typename E::Real;
  if constexpr (E::kPack == 1) {
    f(pair_of(env, slot), set);
  } else {
    const Real id = env.con_pair()[slot];
    set = mask_and(set, env.con_dim()[slot] > Real(0));
    for (unsigned bits = mask_word(set); bits != 0;) {
      const int pair = pair_of(env, slot, bit_count_trailing(bits));
      const Real first(contact_id(pair, 0));
      const auto here = mask_and(set, mask_and(id >= first, id < first + Real(kManifoldContacts)));
      bits &= ~mask_word(here);
      f(pair, here);
    }
  }
}
// calls f(pair, environments) for the contacts in a slot
template <class E, class F>
DS_HD void each_pair_in(const E& env, int slot, F f) {
  const auto used = env.con_dim()[slot] > typename E::Real(0);
  if (any(used)) each_pair_of(env, slot, used, f);
}
// calls f(slot, pair, environments) for the contacts in order
template <class E, class F>
DS_HD void each_contact(const E& env, F f) {
  for (int slot = 0; slot < env.ncon_max; slot++)
    each_pair_in(env, slot, [&](int pair, const auto& here) { f(slot, pair, here); });
}
// the dofs that the contacts of a set of environments in a slot reach, as a set; calls f as each_pair_of does
template <class E, class F>
DS_HD void find_support(const E& env, int slot, const typename E::Mask& set, const typename E::Words& out,
                        F f) {
  const int nword = env.t.n.nword;
  for (int k = 0; k < nword; k++) out[k] = 0;
  each_pair_of(env, slot, set, [&](int pair, const auto& here) {
    for (int k = 0; k < nword; k++) out[k] |= env.t.pair_support[pair * nword + k];
    f(pair, here);
  });
}
// how the dofs move the bodies of a pair
template <class E>
DS_HD const int* signs_of(const E& env, int pair) {
  return env.t.pair_sign + static_cast<long>(pair) * env.t.n.nv;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
