// The space of the constraint rows: which environments are solved in it, where their rows stand, and A.
//
// An environment has few rows where its contacts stand in the first ncone slots and at most nlocal single-dof rows are in
// use (build_dual_sizes in host/tables/layout.cpp says how many those are). Which rule is the environment's own, so neither
// the rest of its pack nor its lanes change a bit. Single-dof rows that are in use are copied, each environment's to its own
// places, so that packs hold no rows that none of their environments use.
//
// solves    which environments have few rows, and A for these
// equation  A = Z'Z,   rows by place: dense scalar rows, contacts (kDim each), single-dof rows in use
// source    the dual of Todorov 2014
// deviation none
// reads     Z, Linv, lim_D, con_dim
// writes    row_space, nlocal_max, single_place, rows of Z behind the contacts', dual_A
// cost      O(rows^2 nv), once a step
#pragma once

#include "kernels/rows/kinds/kinds.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// Rows by their place in A: dense scalar rows, contacts, single-dof rows. A block is one row, or a contact's
// kDim. where single-dof rows begin
template <int kDim, class E>
DS_HD int first_single(const E& env) {
  return env.t.n.ndense + kDim * env.t.n.ncone;
}
// the row of Z at a place
template <int kDim, class E>
DS_HD int row_at(const E& env, int place) {
  const int singles = first_single<kDim>(env);
  return place < singles ? place : env.t.n.nrow + (place - singles);
}
// the dofs that a single-dof row's copy reaches, in any environment
template <class E>
DS_HD typename E::Words single_support(const E& env, int p) {
  return env.words(env.t.n.dual_begin + p * env.t.n.nword);
}
// which environments use a single-dof row, as bits
template <class E>
DS_HD typename E::Words single_users(const E& env) {
  return env.words(env.t.n.dual_begin + env.t.n.nlocal * env.t.n.nword);
}
// calls f(p, environments) for the places at which environments of a set, all of them small, have a
// single-dof row
template <class E, class F>
DS_HD void each_place(const E& env, int u, const typename E::Mask& set, F f) {
  using Real = typename E::Real;
  const Real place = env.single_place()[u];
  for (unsigned bits = static_cast<unsigned>(single_users(env)[u]) & mask_word(set); bits != 0;) {
    const ScalarOf<Real> first = lane_of(place, bit_count_trailing(bits));
    const auto there = mask_and(set, place == Real(first));
    bits &= ~mask_word(there);
    f(static_cast<int>(first), there);
  }
}
// blocks in use: place, and first row of S
template <class E>
DS_HD typename E::Words block_list(const E& env) {
  return single_users(env).from(env.t.n.nsingle);
}

// the dofs that the rows at a place reach, or so many single-dof rows from there on; those that two share
template <int kDim, class E>
struct Reach {
  const E& env;
  int place;
  int count = 1;
  DS_HD unsigned operator[](int k) const {
    const int ndense = env.t.n.ndense, singles = first_single<kDim>(env);
    if (place < ndense) return static_cast<unsigned>(dense_support(env, place)[k]);
    if (place < singles) return static_cast<unsigned>(slot_support(env, (place - ndense) / kDim)[k]);
    auto set = static_cast<unsigned>(single_support(env, place - singles)[k]);
    if constexpr (E::kPack > 1)
      for (int i = 1; i < count; i++)
        set |= static_cast<unsigned>(single_support(env, place - singles + i)[k]);
    return set;
  }
};
template <int kDim, class E>
struct SharedReach {
  Reach<kDim, E> one, other;
  DS_HD unsigned operator[](int k) const { return one[k] & other[k]; }
};

// a block of A; no more than three of its rows at once, for the registers of a GPU
template <int kDim, int kRows, int kColumns, class E>
DS_HD void gram_block(const E& env, int place, int other) {
  using Real = typename E::Real;
  constexpr int kTile = kRows < 3 ? kRows : 3;
  const auto Z = env.Z(), A = env.dual_A();
  const int nv = env.t.n.nv;
  const auto b = rows_of<kColumns>(Z, row_at<kDim>(env, other), nv);
  for (int first = 0; first < kRows; first += kTile) {
    const auto a = rows_of<kTile>(Z, row_at<kDim>(env, place) + first, nv);
    Real sum[kTile][kColumns];
    DS_UNROLL
    for (int i = 0; i < kTile; i++) DS_UNROLL
    for (int j = 0; j < kColumns; j++) sum[i][j] = Real(0);
    const SharedReach<kDim, E> shared{{env, place, kRows}, {env, other, kColumns}};
    each_member(shared, env.t.n.nword, [&](Index d) {
      DS_UNROLL
      for (int i = 0; i < kTile; i++) {
        const Real x = a[i][d];
        DS_UNROLL
        for (int j = 0; j < kColumns; j++) sum[i][j] = fma(x, b[j][d], sum[i][j]);
      }
    });
    // of a block with itself the lower triangle
    DS_UNROLL
    for (int i = 0; i < kTile; i++) DS_UNROLL
    for (int j = 0; j < kColumns; j++)
      if (place != other || j <= first + i) A[triangle(place + first + i) + other + j] = sum[i][j];
  }
}

// A, a block at a time, those of one shape together: of contacts, and of the dense and single rows on both sides of them
template <int kDim, class E>
DS_HD void put_gram(E& env, int singles) {
  const auto& n = env.t.n;
  const int contacts = env.ncon_max < n.ncone ? env.ncon_max : n.ncone;
  const int behind = first_single<kDim>(env);
  const auto contact_at = [&](int slot) { return n.ndense + kDim * slot; };
  const auto each_pair = [&](int count, auto f) {
    int i = 0;  // a lane's pairs are in order
    env.each(triangle(count), [&](int pair) {
      while (triangle(i + 1) <= pair) i++;
      f(i, pair - triangle(i));
    });
  };
  each_pair(contacts, [&](int i, int j) { gram_block<kDim, kDim, kDim>(env, contact_at(i), contact_at(j)); });
  env.each(n.ndense * contacts,
           [&](int i) { gram_block<kDim, kDim, 1>(env, contact_at(i / n.ndense), i % n.ndense); });
  // single-dof rows of packs go by threes, whose sums do not wait for each other. Ungrouped are all dense scalar rows, and
  // behind them the single-dof rows that are left over
  constexpr int kMany = E::kPack > 1 ? 3 : 1;
  const int groups = kMany > 1 ? singles / kMany : 0, alone = singles - kMany * groups;
  const auto group_at = [&](int i) { return behind + kMany * i; };
  const auto ungrouped_at = [&](int i) { return i < n.ndense ? i : group_at(groups) + (i - n.ndense); };
  if constexpr (kMany > 1) {
    each_pair(groups, [&](int i, int j) { gram_block<kDim, kMany, kMany>(env, group_at(i), group_at(j)); });
    for (int i = 0; i < groups; i++) {
      for (int g = 0; g < n.ndense; g++) gram_block<kDim, kMany, 1>(env, group_at(i), g);
      for (int slot = 0; slot < contacts; slot++)
        gram_block<kDim, kMany, kDim>(env, group_at(i), contact_at(slot));
      for (int k = 0; k < alone; k++)
        gram_block<kDim, 1, kMany>(env, ungrouped_at(n.ndense + k), group_at(i));
    }
  }
  each_pair(n.ndense + alone,
            [&](int i, int j) { gram_block<kDim, 1, 1>(env, ungrouped_at(i), ungrouped_at(j)); });
  env.each(alone * contacts, [&](int i) {
    gram_block<kDim, 1, kDim>(env, ungrouped_at(n.ndense + i % alone), contact_at(i / alone));
  });
}

// which environments are small, their single-dof rows' copies, and A
template <int kDim, class E>
DS_STAGE void dual_space(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto& n = t.n;
  const Real zero(0), one(1);
  const int nv = n.nv, rank = env.lanes.rank();
  const auto Z = env.Z(), Linv = env.Linv(), place = env.single_place();
  const auto users = single_users(env);
  env.row_space = all_false<Real>();
  if (n.ncone == 0) return;
  // a limit or loss that is in use takes the next place
  Real taken = zero;
  each_single(env, [&](int u) {
    const auto used = single_users(env, u);
    if (rank == 0) {
      place[u] = select(used, taken, Real(-1));
      users[u] = static_cast<int>(mask_word(used));
    }
    taken = taken + select(used, one, zero);
  });
  env.row_space = taken <= Real(n.nlocal);
  if (env.ncon_max > n.ncone) env.row_space = mask_and(env.row_space, env.con_dim()[n.ncone] == zero);
  if (!any(env.row_space)) return;
  int singles = 0;
  for (int l = 0; l < E::kPack; l++) {
    const int count = mask_bit(env.row_space, l) ? static_cast<int>(lane_of(taken, l)) : 0;
    if (count > singles) singles = count;
  }
  env.nlocal_max = singles;
  env.each(singles * nv, [&](int i) { Z[n.nrow * nv + i] = zero; });
  if (rank == 0)
    for (int i = 0; i < singles * n.nword; i++) single_support(env, 0)[i] = 0;
  env.sync();
  env.each(n.nsingle, [&](int u) {
    if (!in_set(single_rows_in_use(env), u)) return;
    const int row = t.M_rowadr[t.single_dof[u]], depth = t.M_rowadr[t.single_dof[u] + 1] - row;
    each_place(env, u, env.row_space, [&](int p, const auto& there) {
      const auto z = Z.from((n.nrow + p) * nv);
      const auto support = single_support(env, p);
      for (int a = 0; a < depth; a++) {
        const Index d = t.M_col[row + a];
        z[d] = select(there, Linv[row + a], z[d]);
      }
      for (int k = 0; k < n.nword; k++) support[k] |= t.single_support[u * n.nword + k];
    });
  });
  env.sync();
  put_gram<kDim>(env, singles);
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
