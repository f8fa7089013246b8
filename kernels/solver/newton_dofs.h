// Newton's direction among the dofs, for environments with many rows.
//
// Rows Z reach only the ancestors of the bodies in touch, so H has the tree's sparsity, plus fill where a contact joins two
// branches; the set of entries is that of the whole pack (an entry more is an exact zero). A row of H is summed from its
// sources in registers, each entry written once: single-dof rows, dense scalar rows, contacts, then the rows of H that are
// done.
//
// solves    H dw = -grad
// equation  H = 1 + Z curvature(y) Z' = L'DL
// source    factorize.h for the factor, leaves first
// deviation none
// reads     Z, Linv, grad, con_h, single_h, dense_h, con_dim, con_pair
// writes    H, Hinv, dw, coefficient
// cost      O(contacts nv^2 + fill)
#pragma once

#include "kernels/solver/row_space.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// The sets of the pool, in their order: supports of the slots (rows/support.h), those of the environments that go on,
// rows and columns of H's pattern. Behind them its lists; pool_words (tables.h) says how many words all of them are
template <class E>
struct PoolSets {
  const E& env;
  DS_HD int live_supports() const { return env.t.n.ncon; }
  DS_HD int pattern_rows() const { return live_supports() + env.t.n.ncon; }
  DS_HD int pattern_columns() const { return pattern_rows() + env.t.n.nv; }
  DS_HD int end() const { return pattern_columns() + env.t.n.nv; }
  DS_HD typename E::Words at(int set) const { return env.words(set * env.t.n.nword); }
};
template <class E>
DS_HD typename E::Words live_support(const E& env, int slot) {
  const PoolSets<E> sets{env};
  return sets.at(sets.live_supports() + slot);
}
// columns j < i of row i of H that can be nonzero
template <class E>
DS_HD typename E::Words pattern_row(const E& env, int i) {
  const PoolSets<E> sets{env};
  return sets.at(sets.pattern_rows() + i);
}
// rows k > i of H that can be nonzero in column i
template <class E>
DS_HD typename E::Words pattern_column(const E& env, int i) {
  const PoolSets<E> sets{env};
  return sets.at(sets.pattern_columns() + i);
}
template <class E>
DS_HD typename E::Words column_list(const E& env) {
  const PoolSets<E> sets{env};
  return sets.at(sets.end());
}
template <class E>
DS_HD typename E::Words source_list(const E& env) {
  return column_list(env).from(env.t.n.nv);
}
template <class E>
DS_HD typename E::Words slot_list(const E& env) {
  return source_list(env).from(env.t.n.nrow + env.t.n.nv);
}

// the members of a set of dofs, highest first; returns how many
template <class Words>
DS_HD int list_set(const Words& words, int nword, const Words& out) {
  int n = 0;
  each_member_down(words, nword, [&](int i) { out[n++] = i; });
  return n;
}

// the pattern of H and of its factor, for the contacts of the environments in `live`. Columns are there after
// the next barrier
template <class E>
DS_STAGE void symbolic(E& env, const typename E::Mask& live) {
  const auto& t = env.t;
  const int nword = t.n.nword, nv = t.n.nv;
  env.each(nv, [&](int i) {
    const auto row = pattern_row(env, i), column = pattern_column(env, i);
    for (int k = 0; k < nword; k++) row[k] = column[k] = 0;
    for (int e = t.M_rowadr[i] + 1; e < t.M_rowadr[i + 1]; e++)
      row[t.M_col[e] >> 5] |= static_cast<int>(1u << (t.M_col[e] & 31));
  });
  env.sync();
  if (env.lanes.rank() == 0) {
    const auto add_below = [&](const auto& set, int i) {
      const auto row = pattern_row(env, i);
      for (int k = 0; k < (i >> 5); k++) row[k] |= set[k];
      row[i >> 5] |= static_cast<int>(static_cast<unsigned>(set[i >> 5]) & ((1u << (i & 31)) - 1u));
    };
    // the deepest dof of a set takes the whole of it; elimination passes it on
    const auto add_to_deepest = [&](const auto& set, int last) {
      for (int k = last; k >= 0; k--)
        if (set[k] != 0) {
          add_below(set, 32 * k + highest_bit(static_cast<unsigned>(set[k])));
          return;
        }
    };
    for (int g = DenseKinds::first_joining(env); g < t.n.ndense; g++)
      add_to_deepest(dense_support(env, g), nword - 1);
    for (int slot = 0; slot < env.ncon_max; slot++) {
      const auto set = live_support(env, slot);
      find_support(env, slot, live, set, [](int, const auto&) {});
      add_to_deepest(set, nword - 1);
    }
    for (int i = nv - 1; i > 0; i--) add_to_deepest(pattern_row(env, i), i >> 5);
  }
  env.sync();
  const auto add = [&](int j, int k) { pattern_column(env, j)[k >> 5] |= static_cast<int>(1u << (k & 31)); };
  if constexpr (E::Lanes::kWidth == 1) {
    for (int k = nv - 1; k > 0; k--)
      each_member(pattern_row(env, k), (k >> 5) + 1, [&](int j) { add(j, k); });
  } else {
    env.each(nv, [&](int j) {
      for (int k = j + 1; k < nv; k++)
        if (in_set(pattern_row(env, k), j)) add(j, k);
    });
  }
}

// entries first .. first + kTile - 1 of a row of H: to(c) += sum over sources s in [begin, end) of
// coefficient[s] from(source[s], c), in registers
template <int kTile, class E, class From, class To>
DS_HD void accumulate_entries(const E& env, int first, int begin, int end, From from, To to) {
  using Real = typename E::Real;
  const auto coefficient = env.coefficient();
  const auto source = source_list(env);
  Real acc[kTile];
  DS_UNROLL
  for (int c = 0; c < kTile; c++) acc[c] = to(first + c);
  for (int s = begin; s < end; s++) {
    const Real x = coefficient[s];
    const int at = source[s];
    DS_UNROLL
    for (int c = 0; c < kTile; c++) acc[c] = fma(x, from(at, first + c), acc[c]);
  }
  DS_UNROLL
  for (int c = 0; c < kTile; c++) to(first + c) = acc[c];
}
// the same for entries 0 .. n - 1, shared out among the lanes
template <class E, class From, class To>
DS_HD void accumulate_row(const E& env, int n, int begin, int end, From from, To to) {
  constexpr int kTile = E::Lanes::kWidth == 1 ? 4 : 1;
  int c = env.lanes.rank() * kTile;
  for (; c + kTile <= n; c += env.lanes.width() * kTile)
    accumulate_entries<kTile>(env, c, begin, end, from, to);
  for (; c < n; c++) accumulate_entries<1>(env, c, begin, end, from, to);
}

// row i of H before any other row or contact has a part in it: one on the diagonal, zeros outside the pattern
// too, since rows above read them, and the single-dof rows of this dof and of those below it, on its
// ancestors
template <class E>
DS_HD void begin_row(E& env, const typename E::Mask& live, int i) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto H = env.H(), Linv = env.Linv(), coefficient = env.coefficient(), single_h = env.single_h();
  const auto source = source_list(env);
  const int chain = t.M_rowadr[i], depth = t.M_rowadr[i + 1] - chain, row = triangle(i);
  int nsingle = 0;
  each_single(env, [&](int u) {
    const int dof = t.single_dof[u], at = t.M_rowadr[dof + 1] - depth;
    if (at < t.M_rowadr[dof] || t.M_col[at] != i || !any(mask_and(live, single_h[u] > Real(0)))) return;
    if (env.lanes.rank() == nsingle % env.lanes.width()) {
      source[nsingle] = at;
      coefficient[nsingle] = single_h[u] * Linv[at];
    }
    nsingle++;
  });
  env.each(i + 1, [&](int j) { H[row + j] = Real(j == i ? 1 : 0); });
  env.sync();
  if (nsingle == 0) return;
  accumulate_row(
      env, depth, 0, nsingle, [&](int at, int a) -> Real { return Linv[at + a]; },
      [&](int a) -> Real& { return H[row + t.M_col[chain + a]]; });
  env.sync();
}

// rows of a contact that push on some environment in `live`; packs ask how many of six these have
template <int kDim, class E>
DS_HD int live_rows(E& env, const typename E::Mask& live, int slot) {
  using Real = typename E::Real;
  const Real dim = env.con_dim()[slot];
  const auto more_than = [&](int rows) { return any(mask_and(live, dim > Real(rows))); };
  if constexpr (E::kPack > 1 && kDim == 6)
    if (!more_than(4)) return more_than(3) ? 4 : more_than(1) ? 3 : 1;
  return more_than(1) ? kDim : 1;
}
// row r of a contact's curvature times column i of its rows of Z
template <int kDim, bool kByRows, class E>
DS_HD typename E::Real curved(E& env, int slot, int rows, int r, int i) {
  using Real = typename E::Real;
  const int nv = env.t.n.nv;
  const auto h = env.con_h().from(triangle(kDim) * slot);
  const auto z = env.Z().from((env.t.n.ndense + kDim * slot) * nv + i);
  Real x(0);
  if (!kByRows && r > 0) {  // a pyramid's curvature is an arrow
    x = fma(h[triangle(r)], z[0], x);
    return fma(h[triangle(r) + r], z[r * nv], x);
  }
  for (int c = 0; c < rows; c++) x = fma(h[r > c ? triangle(r) + c : triangle(c) + r], z[c * nv], x);
  return x;
}

// row i of H = L'DL, and of the right side; `nslot` contacts push
template <int kDim, bool kByRows, class E>
DS_HD void direction_row(E& env, const typename E::Mask& live, int nslot, int i) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto H = env.H(), dw = env.dw(), Z = env.Z(), inv = env.Hinv(), coefficient = env.coefficient();
  const int nv = t.n.nv, nword = t.n.nword, rank = env.lanes.rank(), width = env.lanes.width();
  const auto columns = column_list(env), source = source_list(env), slots = slot_list(env);
  const int row = triangle(i);
  // the columns of this row: the diagonal, then those of the pattern
  int n = 1;
  for (int w = 0; w <= (i >> 5); w++) n += bit_count(static_cast<unsigned>(pattern_row(env, i)[w]));
  if (rank == 0) {
    columns[0] = i;
    list_set(pattern_row(env, i), (i >> 5) + 1, columns.from(1));
  }
  begin_row(env, live, i);
  // dense constraint rows, then the rows of H that are done
  int nz = 0;
  for (int g = 0; g < t.n.ndense; g++) {
    if (!in_set(dense_support(env, g), i)) continue;
    if (rank == nz % width) {
      source[nz] = g * nv;
      coefficient[nz] = env.dense_h()[g] * Z[g * nv + i];
    }
    nz++;
  }
  for (int k = 0; k < nslot; k++) {
    const int slot = slots[k];
    if (!in_set(live_support(env, slot), i)) continue;
    const int rows = live_rows<kDim>(env, live, slot);
    if (rank == nz % width)
      for (int r = 0; r < rows; r++) {
        source[nz + r] = (t.n.ndense + kDim * slot + r) * nv;
        coefficient[nz + r] = curved<kDim, kByRows>(env, slot, rows, r, i);
      }
    nz += rows;
  }
  int nsource = nz;
  Real y = -env.grad()[i];
  each_member_down(pattern_column(env, i), nword, [&](int k) {
    const Real x = -(H[triangle(k) + i] * inv[k]);
    if (rank == nsource % width) {
      source[nsource] = triangle(k);
      coefficient[nsource] = x;
    }
    y = fma(x, dw[k], y);
    nsource++;
  });
  env.sync();
  const auto entry = [&](int c) -> Real& { return H[row + columns[c]]; };
  accumulate_row(
      env, n, 0, nz, [&](int at, int c) -> Real { return Z[at + columns[c]]; }, entry);
  accumulate_row(
      env, n, nz, nsource, [&](int at, int c) -> Real { return H[at + columns[c]]; }, entry);
  // column 0, the diagonal, is this lane's own work
  if (rank == 0) {
    inv[i] = Real(1) / H[row + i];
    dw[i] = y;
  }
  env.sync();
}

// the dofs that any of four sets has
template <class Words>
struct AnyOfFour {
  Words set[4];
  DS_HD unsigned operator[](int k) const {
    return static_cast<unsigned>(set[0][k] | set[1][k] | set[2][k] | set[3][k]);
  }
};

// the same for rows top .. top - 3, which share what they load; for packs, whose sums have room in registers.
// Entries are reduced in the order of direction_row: sources that reach only some of the rows add exact zeros
// to the others
template <int kDim, bool kByRows, class E>
struct FourRows {
  using Real = typename E::Real;
  static constexpr int kRows = 4, kTile = 4;
  E& env;
  const int top, last;
  int nz = 0, nsource = 0;  // sources among the constraint rows, and all of them
  // entry (r, c), c >= r, among the columns of these rows; below the diagonal what a row is weighted with in
  // one after it
  Real own[kRows][kRows];
  Real y[kRows];  // the right side
  Real x[kRows];  // what a source is weighted with

  DS_HD FourRows(E& e, int first) : env(e), top(first), last(first - kRows + 1) {}

  template <class Set>
  DS_HD bool reaches(const Set& set) const {
    return in_set(set, top) || in_set(set, top - 1) || in_set(set, top - 2) || in_set(set, last);
  }
  template <class Row>
  DS_HD AnyOfFour<typename E::Words> any_of(Row row) const {
    return {{row(env, top), row(env, top - 1), row(env, top - 2), row(env, last)}};
  }

  DS_HD void begin(const typename E::Mask& live) {
    for (int r = 0; r < kRows; r++) begin_row(env, live, top - r);
    const auto H = env.H();
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      y[r] = -env.grad()[top - r];
      DS_UNROLL
      for (int c = r; c < kRows; c++) own[r][c] = H[triangle(top - r) + top - c];
    }
  }
  // a source, row `at` of Z or of H, weighted with x
  template <class F>
  DS_HD void add(int at, const F& rows) {
    const auto coefficient = env.coefficient();
    Real from[kRows];
    source_list(env)[nsource] = at;
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      from[r] = rows[at + top - r];
      coefficient[kRows * nsource + r] = x[r];
    }
    DS_UNROLL
    for (int r = 0; r < kRows; r++) DS_UNROLL
    for (int c = r; c < kRows; c++) own[r][c] = fma(x[r], from[c], own[r][c]);
    nsource++;
  }
  // dense scalar rows, then contacts
  DS_HD void add_constraint_rows(const typename E::Mask& live, int nslot) {
    const auto Z = env.Z(), dense_h = env.dense_h();
    const int ndense = env.t.n.ndense, nv = env.t.n.nv;
    const auto slots = slot_list(env);
    for (int g = 0; g < ndense; g++) {
      if (!reaches(dense_support(env, g))) continue;
      DS_UNROLL
      for (int r = 0; r < kRows; r++) x[r] = dense_h[g] * Z[g * nv + top - r];
      add(g * nv, Z);
    }
    for (int k = 0; k < nslot; k++) {
      const int slot = slots[k];
      if (!reaches(live_support(env, slot))) continue;
      const int rows = live_rows<kDim>(env, live, slot);
      for (int row = 0; row < rows; row++) {
        DS_UNROLL
        for (int r = 0; r < kRows; r++) x[r] = curved<kDim, kByRows>(env, slot, rows, row, top - r);
        add((ndense + kDim * slot + row) * nv, Z);
      }
    }
    nz = nsource;
  }
  // the rows of H that are done
  DS_HD void add_rows_below() {
    const auto H = env.H(), dw = env.dw(), inv = env.Hinv();
    const auto below = any_of([](const E& e, int i) { return pattern_column(e, i); });
    each_member_down(below, env.t.n.nword, [&](int k) {
      if (k <= top) return;
      DS_UNROLL
      for (int r = 0; r < kRows; r++) {
        x[r] = -(H[triangle(k) + top - r] * inv[k]);
        y[r] = fma(x[r], dw[k], y[r]);
      }
      add(triangle(k), H);
    });
  }
  // these rows among themselves
  DS_HD void reduce_own() {
    const auto H = env.H(), dw = env.dw(), inv = env.Hinv();
    DS_UNROLL
    for (int k = 0; k < kRows; k++) {
      const Real inverse = Real(1) / own[k][k];
      inv[top - k] = inverse;
      dw[top - k] = y[k];
      DS_UNROLL
      for (int r = k + 1; r < kRows; r++) {
        const Real m = own[r][k] = -(own[k][r] * inverse);
        y[r] = fma(m, y[k], y[r]);
        DS_UNROLL
        for (int c = r; c < kRows; c++) own[r][c] = fma(m, own[k][c], own[r][c]);
      }
      DS_UNROLL
      for (int c = k; c < kRows; c++) H[triangle(top - k) + top - c] = own[k][c];
    }
  }
  // four of the other columns
  DS_HD void reduce_columns(Index c0, Index c1, Index c2, Index c3) const {
    const auto H = env.H(), Z = env.Z(), coefficient = env.coefficient();
    const auto source = source_list(env);
    Real sum[kRows][kTile];
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      const auto row = H.from(triangle(top - r));
      sum[r][0] = row[c0], sum[r][1] = row[c1], sum[r][2] = row[c2], sum[r][3] = row[c3];
    }
    const auto accumulate = [&](const auto& rows, Index s, Index end) {
      for (; s < end; s++) {
        const auto row = rows.from(source[s]);
        const auto weight = coefficient.from(kRows * s);
        const Real f0 = row[c0], f1 = row[c1], f2 = row[c2], f3 = row[c3];
        DS_UNROLL
        for (int r = 0; r < kRows; r++) {
          const Real m = weight[r];
          sum[r][0] = fma(m, f0, sum[r][0]);
          sum[r][1] = fma(m, f1, sum[r][1]);
          sum[r][2] = fma(m, f2, sum[r][2]);
          sum[r][3] = fma(m, f3, sum[r][3]);
        }
      }
    };
    accumulate(Z, 0, nz);
    accumulate(H, nz, nsource);
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      DS_UNROLL
      for (int k = 0; k < r; k++) DS_UNROLL
      for (int c = 0; c < kTile; c++) sum[r][c] = fma(own[r][k], sum[k][c], sum[r][c]);
      const auto row = H.from(triangle(top - r));
      row[c0] = sum[r][0], row[c1] = sum[r][1], row[c2] = sum[r][2], row[c3] = sum[r][3];
    }
  }
  // the other columns of their patterns, a few at a time
  DS_HD void reduce_other_columns() const {
    const auto columns = column_list(env);
    int n = 0;
    const auto before = any_of([](const E& e, int i) { return pattern_row(e, i); });
    each_member_down(before, (last >> 5) + 1, [&](int j) {
      if (j < last) columns[n++] = j;
    });
    // a column less than a tile has is done twice
    if (n == 0) return;
    for (; n % kTile != 0; n++) columns[n] = columns[n - 1];
    for (int begin = 0; begin < n; begin += kTile)
      reduce_columns(columns[begin], columns[begin + 1], columns[begin + 2], columns[begin + 3]);
  }
};
template <int kDim, bool kByRows, class E>
DS_HD void direction_rows_of_four(E& env, const typename E::Mask& live, int nslot, int top) {
  FourRows<kDim, kByRows, E> four(env, top);
  four.begin(live);
  four.add_constraint_rows(live, nslot);
  four.add_rows_below();
  four.reduce_own();
  four.reduce_other_columns();
}

// dw = -H^-1 grad for the environments in `live`
template <int kDim, bool kByRows, class E>
DS_STAGE void dof_space_direction(E& env, const typename E::Mask& live) {
  using Real = typename E::Real;
  const auto H = env.H(), dw = env.dw(), inv = env.Hinv(), con_h = env.con_h();
  const int nv = env.t.n.nv, rank = env.lanes.rank();
  const auto slots = slot_list(env);
  // slots that push on some environment that still searches
  int nslot = 0;
  for (int slot = 0; slot < env.ncon_max; slot++)
    if (any(mask_and(live, con_h[triangle(kDim) * slot] > Real(0)))) {
      if (rank == 0) slots[nslot] = slot;
      nslot++;
    }
  symbolic(env, live);
  int i = nv - 1;
  if constexpr (E::kPack > 1)
    for (; i >= 3; i -= 4) direction_rows_of_four<kDim, kByRows>(env, live, nslot, i);
  for (; i >= 0; i--) direction_row<kDim, kByRows>(env, live, nslot, i);
  for (int k = 0; k < nv && rank == 0; k++) {
    const int row = triangle(k);
    Real s(0);
    each_member(pattern_row(env, k), (k >> 5) + 1, [&](Index j) { s = fma(H[row + j], dw[j], s); });
    dw[k] = (dw[k] - s) * inv[k];
  }
  env.sync();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
