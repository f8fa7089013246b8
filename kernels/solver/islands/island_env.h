// What the islands of one environment see: its element of a pack, and the arena.
//
// solves    nothing: names of the arena's arrays, walks over trees, contacts and rows of an island, and its sums
// equation  dot(a, b) over the eights of an island's dofs; sums over its contacts and rows in stripes (base/lanes.h)
// source    data/island_arena.inl for the arrays; partition.h for the lists it walks
// deviation none
// reads     the arena; of the workspace what its callers name; LD, Dscale, qacc_smooth (add_smooth_squares)
// writes    what its callers name; iterations, residual (note_steps, note_residual)
// cost      O(dofs of the island) a product
#pragma once

#include "kernels/data/eight.h"
#include "kernels/data/island_arena.h"
#include "kernels/rows/kinds/kinds.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// kOneEight: no tree has more dofs than an eight holds
template <class E, bool kOneEight>
struct IslandEnv {
  using Environment = E;
  using Scalar = typename E::Scalar;
  // contacts and scalar rows side by side, where environments stand side by side elsewhere
  using Real = typename E::Real;
  static constexpr int kPack = E::kPack;
  // whether islands may go into packs (island_pack.h)
  static constexpr bool kIntoPacks = kPack > 1 && !kOneEight;
  static constexpr int kStride = kPack > 1 ? 1 : E::kStride;
  using Reals = Field<Scalar, kStride>;
  using Ints = Field<int, kStride>;
  using Numbers = Eight<Scalar, (kPack < kEight ? kPack : kEight)>;

  E& env;
  int element;  // of the pack
  IslandLayout layout;
  Ints ints;
  Reals reals;

  DS_HD IslandEnv(E& e, int l) : env(e), element(l), layout(island_layout(e.t.n)) {
    int* const begin = e.pool + static_cast<long>(e.t.n.arena_begin) * E::kStride;
    ints = {begin};
    reals = {reinterpret_cast<Scalar*>(begin + static_cast<long>(layout.ints) * kStride)};
  }

#define ISLAND_I(name, size, meaning) \
  DS_HD Ints name() const { return ints.from(layout.name); }
#define ISLAND_R(name, size, meaning) \
  DS_HD Reals name() const { return reals.from(layout.name); }
#define ISLAND_ALIAS(name, array, meaning) \
  DS_HD Ints name() const { return array(); }
#include "kernels/data/island_arena.inl"

  // a number of this environment's workspace
  template <class F>
  DS_HD Scalar at(const F& field, Index i) const {
    return lane_of(field[i], element);
  }
  template <class F>
  DS_HD Vec3<Scalar> vec(const F& field, int i) const {
    const int x = kVecNumbers * i;
    return {at(field, x), at(field, x + 1), at(field, x + 2)};
  }
  template <class F>
  DS_HD void put(const F& field, Index i, Scalar x) const {
    set_lane(field[i], element, x);
  }

  DS_HD int islands() const { return head()[kHeadIslands]; }
  DS_HD int contacts() const { return head()[kHeadContacts]; }
  DS_HD int rows() const { return head()[kHeadRows]; }
  DS_HD int slots() const { return with_island_room(env.t.n.ncon); }
  DS_HD int scalars() const { return with_island_room(env.t.n.nrow1); }

  // dofs of a tree, those with their padding, where they begin
  DS_HD int dofs(int tree) const { return env.t.tree_dof[tree + 1] - env.t.tree_dof[tree]; }
  DS_HD int padded(int tree) const {
    return kOneEight ? kEight : env.t.tree_pad[tree + 1] - env.t.tree_pad[tree];
  }
  DS_HD int begin(int tree) const { return kOneEight ? kEight * tree : env.t.tree_pad[tree]; }
  // of a contact's row on any tree
  DS_HD int width() const { return kOneEight ? kEight : env.t.n.ntreepad; }
  DS_HD int tree_of_dof(int d) const { return env.t.body_tree[env.t.dof_body[d]]; }

  // the first or second tree that the contact of a slot moves
  DS_HD int& tree_of_slot(int slot, int side) const { return con_tree()[kPairSides * slot + side]; }
  // how many contacts and rows an island has
  DS_HD int contacts_of(int island) const { return con_adr()[island + 1] - con_adr()[island]; }
  DS_HD int rows_of(int island) const {
    return env.t.n.kdim * contacts_of(island) + row_adr()[island + 1] - row_adr()[island];
  }
  // calls f(tree) for the trees of an island
  template <class F>
  DS_HD void each_tree(int island, F f) const {
    for (int k = tree_adr()[island]; k < tree_adr()[island + 1]; k++) f(tree_list()[k]);
  }
  // f(island) for the live ones: a lane has whole islands
  template <class F>
  DS_HD void each_live(F f) const {
    env.each(islands(), [&](int island) {
      if (live()[island] != 0) f(island);
    });
  }

  // f(i, kPack or fewer of them) for contacts (or scalar rows) of islands in a set, packs where there are packs: a
  // pack may hold neighbours of other islands, whose numbers are made again
  template <class F>
  DS_HD void each_pack(const Ints& adr, const Ints& set, F f) const {
    if constexpr (kPack > 1) {
      int next = 0;
      for (int island = 0; island < islands(); island++) {
        const int first = adr[island], end = adr[island + 1];
        if (set[island] == 0 || first == end) continue;
        int i = first / kPack * kPack;
        for (i = i > next ? i : next; i < end; i += kPack) f(i);
        next = i;
      }
    } else {
      const int all = adr[islands()];
      env.each(all, [&](int i) {
        if (set[island_at(adr, i)] != 0) f(i);
      });
    }
  }
  DS_HD int island_at(const Ints& adr, int i) const {
    return adr.p == con_adr().p ? con_island()[i] : row_island()[i];
  }
  DS_HD Real load(const Reals& run, int i) const {
    if constexpr (kPack > 1)
      return load_pack<Real>(run.p + i);
    else
      return run[i];
  }
  DS_HD void store(const Reals& run, int i, const Real& x) const {
    if constexpr (kPack > 1)
      store_pack(run.p + i, x);
    else
      run[i] = lane_of(x, 0);
  }
  // of each of them its island's number
  DS_HD Real of_island(const Reals& run, const Ints& island, int i) const {
    Real x(0);
    for (int k = 0; k < kPack; k++) set_lane(x, k, run[island[i + k]]);
    return x;
  }
  // the sum over the contacts or scalar rows of an island, in stripes
  DS_HD Scalar sum(const Reals& run, int first, int end) const {
    const auto part = run.from(first);
    return SerialLanes::accumulate<Scalar>(end - first,
                                           [&](Index i, const Scalar& s) { return s + part[i]; });
  }
  // an island's sum of the parts of its rows, the first or the second of them
  DS_HD Scalar parts(int island, int which) const {
    const auto con = this->con_part().from(which * this->slots()),
               row = this->row_part().from(which * this->scalars());
    return this->sum(row, this->row_adr()[island], this->row_adr()[island + 1]) +
           this->sum(con, this->con_adr()[island], this->con_adr()[island + 1]);
  }
  // calls f(i) for every eight of an island's dofs, from number i of w and its like on
  template <class F>
  DS_HD void each_eight(int island, F f) const {
    each_tree(island, [&](int tree) {
      for (int c = begin(tree); c < begin(tree) + padded(tree); c += kEight) f(c);
    });
  }
  DS_HD Scalar dot(int island, const Reals& a, const Reals& b) const {
    Numbers s(Scalar(0));
    each_eight(island, [&](int c) { s.add_product(Numbers(a, c), Numbers(b, c)); });
    return s.fold();
  }
  // the squares of the whitened acceleration without constraints of a tree, added to a sum
  DS_HD Scalar add_smooth_squares(int tree, Scalar size) const {
    const auto& t = env.t;
    for (int k = t.tree_dof[tree]; k < t.tree_dof[tree + 1]; k++) {
      Scalar s = at(env.qacc_smooth(), k);
      for (int e = t.M_rowadr[k] + 1; e < t.M_rowadr[k + 1]; e++)
        s = fma(at(env.LD(), e), at(env.qacc_smooth(), t.M_col[e]), s);
      s = s / at(env.Dscale(), k);
      size = fma(s, s, size);
    }
    return size;
  }
  // to <- -from
  DS_HD void negate(int island, const Reals& from, const Reals& to) const {
    each_eight(island, [&](int c) {
      Numbers s(Scalar(0));
      s.add(Scalar(-1), Numbers(from, c));
      s.store(to, c);
    });
  }
};

// the most of the steps, and the largest residual, of the islands of an environment; a residual that is no number stays
template <class E>
DS_HD void note_steps(E& env, int element, typename E::Scalar steps) {
  if (steps > lane_of(env.iterations, element)) set_lane(env.iterations, element, steps);
}
template <class E>
DS_HD void note_residual(E& env, int element, typename E::Scalar residual) {
  const auto worst = lane_of(env.residual, element);
  if (!(residual <= worst || worst != worst)) set_lane(env.residual, element, residual);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
