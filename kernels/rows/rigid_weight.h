// The weight of rows on bodies without an inverse weight: those that turn about their own centre of mass.
//
// MuJoCo gives such rows R = 1e-15, all alike, and no factor holds D = 1e15. So each tree has one D for all of them, as great as
// the largest A that they can have allows (host/tables/rigid_bodies.h): where they contradict each other they share as in
// MuJoCo. Rows of far smaller A are soft by it where no other helps them; judge.h tells where that counts.
//
// solves    which D that is
// equation  k / A_max,   k = 3e5 in single precision, 1e9 in double;   of a row on two trees the smaller one
// source    own derivation
// deviation none
// reads     con_pair
// writes    nothing
// cost      O(nv); of a contact in a pack times the pairs that its environments have
#pragma once

#include "kernels/rows/support.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the largest D A of such a row
template <class Real>
constexpr double kRigid = kSingle<Real> ? 3e5 : 1e9;
// more than any weight
constexpr double kNoRigidWeight = 1e36;

template <class E>
DS_HD typename E::Real rigid_weight_of_tree(const E& env, int tree) {
  using Real = typename E::Real;
  return Real(kRigid<Real>) * Real(env.tree_rigid(tree));
}
template <class E>
DS_HD typename E::Real rigid_weight_of_dof(const E& env, Index d) {
  return rigid_weight_of_tree(env, env.t.body_tree[env.t.dof_body[d]]);
}
// of the contacts of a set of environments
template <class E>
DS_HD typename E::Real rigid_weight_of_slot(const E& env, int slot, const typename E::Mask& set) {
  using Real = typename E::Real;
  Real least(kNoRigidWeight);
  if (!env.t.o.has_rigid) return least;
  each_pair_of(env, slot, set, [&](int pair, const auto& here) {
    const int* const sign = signs_of(env, pair);
    for (Index d = 0; d < env.t.n.nv; d++)
      if (sign[d] != 0) least = select(here, min(least, rigid_weight_of_dof(env, d)), least);
  });
  return least;
}
template <class E>
DS_HD typename E::Real rigid_weight_of_dense_row(const E& env, int g) {
  using Real = typename E::Real;
  Real least(kNoRigidWeight);
  if (!env.t.o.has_rigid) return least;
  each_member(dense_support(env, g), env.t.n.nword,
              [&](Index d) { least = min(least, rigid_weight_of_dof(env, d)); });
  return least;
}

// the weight of a row that has none of its own for want of an inverse weight; a is what it weighs of A
template <class Real>
DS_HD Real rigid_weight_for(const Real& of_tree, const Real& a) {
  return min(of_tree, Real(kRigid<Real>) / a);
}
// l, or nothing, of a row whose D is that of rigid ones or more
template <class Real>
DS_HD Real if_rigid(const Real& of_tree, const Real& D, const Real& l) {
  return select(D >= of_tree, l, Real(0));
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
