// Newton's direction in the space of the constraint rows, for environments with few of them.
//
//   H = 1 + Z C Z',  C = G G'   =>   H^-1 = 1 - Z G S^-1 G'Z',   S = 1 + G'A G,   A = Z'Z
//
// Source: Woodbury 1950; contact-space Newton after Todorov 2014. C is block diagonal (cone.h), G its root,
// upper triangular by blocks. A does not change within a step: it is formed once, for the rows that can push;
// S is formed from the rows that do, and factored densely as L D L'. An environment is small where it has at
// most ncone contacts and nlocal single-dof rows in use (build_dual_sizes says how many those are); which rule is
// the environment's own, so neither the rest of its pack nor its lanes change a bit. Single-dof rows that are in
// use are copied, each environment's to its own places, so that packs hold no rows that none of their
// environments use. Reads Z, Linv, grad, con_h, single_h, dense_h. Writes dual_A, dual_root, dual_b, H, dw. Cost:
// O(rows^2 nv) once, O(rows^3) a direction.
#pragma once

#include "kernels/solver/pgs.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// Rows by their place in A: dense scalar rows, contacts, single-dof rows. A block is one row, or a contact's kDim.
// where single-dof rows begin
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
// calls f(p, environments) for the places at which environments of a set, all of them small, have a single-dof row
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

// the dofs that the rows at a place reach; those that two places share
template <int kDim, class E>
struct Reach {
  const E& env;
  int place;
  DS_HD unsigned operator[](int k) const {
    const int ndense = env.t.n.ndense, singles = first_single<kDim>(env);
    if (place < ndense) return static_cast<unsigned>(dense_support(env, place)[k]);
    if (place < singles) return static_cast<unsigned>(slot_support(env, (place - ndense) / kDim)[k]);
    return static_cast<unsigned>(single_support(env, place - singles)[k]);
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
    const SharedReach<kDim, E> shared{{env, place}, {env, other}};
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
  // blocks of A, those of one shape together: of contacts, and of the single rows on both sides of them
  const int contacts = env.ncon_max < n.ncone ? env.ncon_max : n.ncone, narrow = n.ndense + singles;
  const int behind = first_single<kDim>(env);
  const auto contact_at = [&](int slot) { return n.ndense + kDim * slot; };
  const auto narrow_at = [&](int i) { return i < n.ndense ? i : behind + (i - n.ndense); };
  const auto each_pair = [&](int count, auto f) {
    int i = 0;  // a lane's pairs are in order
    env.each(triangle(count), [&](int pair) {
      while (triangle(i + 1) <= pair) i++;
      f(i, pair - triangle(i));
    });
  };
  each_pair(contacts, [&](int i, int j) { gram_block<kDim, kDim, kDim>(env, contact_at(i), contact_at(j)); });
  each_pair(narrow, [&](int i, int j) { gram_block<kDim, 1, 1>(env, narrow_at(i), narrow_at(j)); });
  env.each(n.ndense * contacts,
           [&](int i) { gram_block<kDim, kDim, 1>(env, contact_at(i / n.ndense), i % n.ndense); });
  env.each(singles * contacts,
           [&](int i) { gram_block<kDim, 1, kDim>(env, behind + i % singles, contact_at(i / singles)); });
  env.done();
}

// G of a positive semidefinite block C = G G', upper triangular: entry (i, j), j >= i, at triangle(j) + i.
// Where a pivot is rounding, its column is nothing
template <bool kArrow, int kDim, class Real, class F>
DS_HD void block_root(const F& C, Real* G) {
  const Real zero(0), one(1), least(sizeof(ScalarOf<Real>) == 4 ? 1e-6 : 1e-14);
  DS_UNROLL
  for (int j = kDim - 1; j >= 0; j--) {
    const Real whole = C(j, j);
    Real pivot = whole;
    DS_UNROLL
    for (int k = j + 1; k < kDim; k++) {
      if (kArrow && j != 0) continue;
      pivot = fma(-G[triangle(k) + j], G[triangle(k) + j], pivot);
    }
    const auto sound = pivot > least * whole;
    const Real root = sqrt(select(sound, pivot, one));
    G[triangle(j) + j] = select(sound, root, zero);
    DS_UNROLL
    for (int i = 0; i < j; i++) {
      if (kArrow && i != 0) {
        G[triangle(j) + i] = zero;
        continue;
      }
      Real x = C(j, i);
      DS_UNROLL
      for (int k = j + 1; k < kDim; k++) {
        if (kArrow) continue;
        x = fma(-G[triangle(k) + i], G[triangle(k) + j], x);
      }
      G[triangle(j) + i] = select(sound, x / root, zero);
    }
  }
}

// rows first .. first + kRows - 1 of a lower triangle
template <int kRows, class F>
DS_HD Rows<kRows, F> rows_of_triangle(const F& lower, int first) {
  Rows<kRows, F> rows;
  DS_UNROLL
  for (int r = 0; r < kRows; r++) rows.row[r] = lower.from(triangle(first + r));
  return rows;
}
// the same without their addresses, for which a thread of a GPU may have no registers
template <class F>
struct TriangleRows {
  F lower;
  int first;
  DS_HD F operator[](int r) const { return lower.from(triangle(first + r)); }
};
// rows first .. first + kRows - 1 of S = L D L' and of the right side, after all rows before them; for one
// lane. kRows divides `first`
template <int kRows, class E>
DS_HD void dense_rows(E& env, int first) {
  using Real = typename E::Real;
  const auto S = env.H(), Dinv = env.Hinv(), b = env.dual_b(), l = env.coefficient();
  // in columns before these rows, as many at once
  for (int j = 0; j < first; j += kRows) {
    Real x[kRows][kRows];
    DS_UNROLL
    for (int r = 0; r < kRows; r++) DS_UNROLL
    for (int c = 0; c < kRows; c++) x[r][c] = S[triangle(first + r) + j + c];
    const auto above = rows_of_triangle<kRows>(S, j);
    for (Index k = 0; k < j; k++) {
      Real other[kRows];
      DS_UNROLL
      for (int c = 0; c < kRows; c++) other[c] = above[c][k];
      DS_UNROLL
      for (int r = 0; r < kRows; r++) {
        const Real m = -l[kRows * k + r];
        DS_UNROLL
        for (int c = 0; c < kRows; c++) x[r][c] = fma(m, other[c], x[r][c]);
      }
    }
    DS_UNROLL
    for (int k = 0; k < kRows; k++) {
      const Real inverse = Dinv[j + k];
      DS_UNROLL
      for (int r = 0; r < kRows; r++) {
        const Real m = x[r][k] * inverse;
        S[triangle(first + r) + j + k] = x[r][k];
        l[kRows * (j + k) + r] = m;
        DS_UNROLL
        for (int c = k + 1; c < kRows; c++) x[r][c] = fma(-m, above[c][j + k], x[r][c]);
      }
    }
  }
  // among themselves
  Real x[kRows][kRows], y[kRows];
  DS_UNROLL
  for (int r = 0; r < kRows; r++) {
    y[r] = b[first + r];
    DS_UNROLL
    for (int c = 0; c <= r; c++) x[r][c] = S[triangle(first + r) + first + c];
  }
  const auto own = rows_of_triangle<kRows>(S, first);
  for (Index k = 0; k < first; k++) {
    const Real right = b[k];
    Real other[kRows];
    DS_UNROLL
    for (int c = 0; c < kRows; c++) other[c] = own[c][k];
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      const Real m = -l[kRows * k + r];
      y[r] = fma(m, right, y[r]);
      DS_UNROLL
      for (int c = 0; c <= r; c++) x[r][c] = fma(m, other[c], x[r][c]);
    }
  }
  DS_UNROLL
  for (int k = 0; k < kRows; k++) {
    const Real inverse = Real(1) / x[k][k];
    Dinv[first + k] = inverse;
    b[first + k] = y[k];
    DS_UNROLL
    for (int r = k + 1; r < kRows; r++) {
      const Real m = x[r][k] * inverse;
      y[r] = fma(-m, y[k], y[r]);
      DS_UNROLL
      for (int c = k + 1; c <= r; c++) x[r][c] = fma(-m, x[c][k], x[r][c]);
    }
    DS_UNROLL
    for (int c = 0; c <= k; c++) S[triangle(first + k) + first + c] = x[k][c];
  }
}

// S = L D L' in place and S x = b: x takes the place of b. Below the diagonal S keeps L D; Dinv has 1 / D.
// Entries are reduced by columns in their order, whoever does it
template <class E>
DS_STAGE void solve_dense(E& env, int n) {
  using Real = typename E::Real;
  const auto S = env.H(), Dinv = env.Hinv(), b = env.dual_b();
  const int rank = env.lanes.rank(), width = env.lanes.width();
  if constexpr (E::Lanes::kWidth == 1) {
    // the sums of a thread of a GPU have less room in registers
    constexpr int kRows = E::kPack > 1 ? 4 : 2;
    int i = 0;
    for (; i + kRows <= n; i += kRows) dense_rows<kRows>(env, i);
    for (; i < n; i++) dense_rows<1>(env, i);
  } else {
    for (int k = 0; k < n; k++) {
      const Real inverse = Real(1) / S[triangle(k) + k], y = b[k];
      if (rank == 0) Dinv[k] = inverse;
      for (int i = k + 1 + rank; i < n; i += width) {
        const Real m = S[triangle(i) + k] * inverse;
        for (int j = k + 1; j <= i; j++) S[triangle(i) + j] = fma(-m, S[triangle(j) + k], S[triangle(i) + j]);
        b[i] = fma(-m, y, b[i]);
      }
      env.sync();
    }
  }
  for (int k = n - 1; k > 0; k--) {
    const Real x = b[k] * Dinv[k];
    env.each(k, [&](int i) { b[i] = fma(-x, S[triangle(k) + i], b[i]); });
    env.sync();
  }
  env.each(n, [&](int k) { b[k] = b[k] * Dinv[k]; });
  env.sync();
}

// dw = -H^-1 grad for the environments in `live`, all of them small
template <int kDim, bool kElliptic, class E>
DS_STAGE void row_space_direction(E& env, const typename E::Mask& live) {
  using Real = typename E::Real;
  constexpr int kRoot = kTriangle<kDim>;
  const auto& t = env.t;
  const auto& n = t.n;
  const Real zero(0), one(1);
  const int nv = n.nv, rank = env.lanes.rank();
  const int behind = first_single<kDim>(env), singles = env.nlocal_max;
  const auto Z = env.Z(), A = env.dual_A(), S = env.H(), b = env.dual_b(), grad = env.grad(), dw = env.dw();
  const auto con_h = env.con_h(), single_h = env.single_h(), dense_h = env.dense_h();
  // roots: of dense scalar rows, of contacts, of single-dof rows
  const auto root = env.dual_root(), contact_root = root.from(n.ndense),
             single_root = root.from(n.ndense + kRoot * n.ncone);
  const int contacts = env.ncon_max < n.ncone ? env.ncon_max : n.ncone;
  env.each(n.ndense, [&](int g) { root[g] = select(live, sqrt(dense_h[g]), zero); });
  env.each(contacts, [&](int slot) {
    Real G[kRoot];
    const auto C = [&](int i, int j) { return select(live, con_h[kRoot * slot + triangle(i) + j], zero); };
    block_root<!kElliptic, kDim>(C, G);
    DS_UNROLL
    for (int k = 0; k < kRoot; k++) contact_root[kRoot * slot + k] = G[k];
  });
  env.each(singles, [&](int p) { single_root[p] = zero; });
  env.sync();
  env.each(n.nsingle, [&](int u) {
    if (!in_set(single_rows_in_use(env), u)) return;
    const Real weight = sqrt(single_h[u]);
    each_place(env, u, live,
               [&](int p, const auto& there) { single_root[p] = select(there, weight, single_root[p]); });
  });
  env.sync();
  // blocks that push on some environment
  const auto list = block_list(env);
  int blocks = 0, rows = 0;
  const auto add = [&](bool pushes, int place, int size) {
    if (!pushes) return;
    if (rank == 0) {
      list[2 * blocks] = place;
      list[2 * blocks + 1] = rows;
    }
    blocks++;
    rows += size;
  };
  for (int g = 0; g < n.ndense; g++) add(any(root[g] > zero), g, 1);
  for (int slot = 0; slot < contacts; slot++) {
    bool pushes = false;
    for (int k = 0; k < kDim; k++)
      pushes = pushes || any(contact_root[kRoot * slot + triangle(k) + k] > zero);
    add(pushes, n.ndense + kDim * slot, kDim);
  }
  for (int p = 0; p < singles; p++) add(any(single_root[p] > zero), behind + p, 1);
  env.sync();
  const auto wide = [&](int place) { return place >= n.ndense && place < behind; };
  const auto scale = [&](int place) { return place < n.ndense ? root[place] : single_root[place - behind]; };
  const auto roots_of = [&](int place, Real* G) {
    DS_UNROLL
    for (int k = 0; k < kRoot; k++) G[k] = contact_root[kRoot * ((place - n.ndense) / kDim) + k];
  };
  // x <- G'x of a contact
  const auto apply_transposed = [&](const Real* G, Real* x) {
    DS_UNROLL
    for (int j = kDim - 1; j >= 0; j--) {
      Real s = zero;
      DS_UNROLL
      for (int k = 0; k <= j; k++)
        if (kElliptic || k == 0 || k == j) s = fma(G[triangle(j) + k], x[k], s);
      x[j] = s;
    }
  };
  // S = 1 + G'A G and b = G'Z'grad, a row of blocks at a time
  env.each(blocks, [&](int i) {
    const int place = list[2 * i], row = list[2 * i + 1];
    if (wide(place)) {
      Real G[kRoot], v[kDim];
      roots_of(place, G);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) v[r] = zero;
      const auto z = rows_of<kDim>(Z, place, nv);
      each_member(Reach<kDim, E>{env, place}, n.nword, [&](Index d) {
        const Real g = grad[d];
        DS_UNROLL
        for (int r = 0; r < kDim; r++) v[r] = fma(z[r][d], g, v[r]);
      });
      apply_transposed(G, v);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) b[row + r] = v[r];
      const auto rows_from = [](const auto& lower, int first) {
        if constexpr (E::kPack > 1)
          return rows_of_triangle<kDim>(lower, first);
        else
          return TriangleRows<decltype(S)>{lower, first};
      };
      const auto a = rows_from(A, place), out = rows_from(S, row);
      for (int k = 0; k <= i; k++) {
        const Index other = list[2 * k], column = list[2 * k + 1];
        if (!wide(static_cast<int>(other))) {
          Real x[kDim];
          const Real s = scale(static_cast<int>(other));
          DS_UNROLL
          for (int r = 0; r < kDim; r++) x[r] = s * a[r][other];
          apply_transposed(G, x);
          DS_UNROLL
          for (int r = 0; r < kDim; r++) out[r][column] = x[r];
          continue;
        }
        // a column of A times the other's root, then this one's
        const auto P = contact_root.from(kRoot * ((other - n.ndense) / kDim));
        const auto columns = [&](const auto& entry, const auto& put) {
          DS_UNROLL_PACKS
          for (int c = 0; c < kDim; c++) {
            Real x[kDim];
            DS_UNROLL
            for (int r = 0; r < kDim; r++) {
              Real sum = zero;
              for (int q = 0; q <= c; q++)
                if (kElliptic || q == 0 || q == c) sum = fma(P[triangle(c) + q], entry(r, q), sum);
              x[r] = sum;
            }
            apply_transposed(G, x);
            DS_UNROLL
            for (int r = 0; r < kDim; r++) put(r, c, x[r]);
          }
        };
        if (E::kPack > 1 && k < i) {
          columns([&](int r, int q) -> Real { return a[r][other + q]; },
                  [&](int r, int c, const Real& x) { out[r][column + c] = x; });
          continue;
        }
        columns(
            [&](int r, int q) -> Real {
              const int up = place + r, down = static_cast<int>(other) + q;
              return up > down ? A[triangle(up) + down] : A[triangle(down) + up];
            },
            [&](int r, int c, const Real& x) {
              if (k < i || c <= r) out[r][column + c] = k == i && c == r ? one + x : x;
            });
      }
    } else {
      const Real s = scale(place);
      const auto z = Z.from(row_at<kDim>(env, place) * nv), a = A.from(triangle(place)),
                 out = S.from(triangle(row));
      Real v = zero;
      each_member(Reach<kDim, E>{env, place}, n.nword, [&](Index d) { v = fma(z[d], grad[d], v); });
      b[row] = s * v;
      for (int k = 0; k <= i; k++) {
        const Index other = list[2 * k], column = list[2 * k + 1];
        if (!wide(static_cast<int>(other))) {
          const Real x = s * scale(static_cast<int>(other)) * a[other];
          out[column] = k == i ? one + x : x;
          continue;
        }
        Real P[kRoot], x[kDim];
        roots_of(static_cast<int>(other), P);
        DS_UNROLL
        for (int c = 0; c < kDim; c++) x[c] = s * a[other + c];
        apply_transposed(P, x);
        DS_UNROLL
        for (int c = 0; c < kDim; c++) out[column + c] = x[c];
      }
    }
  });
  env.sync();
  solve_dense(env, rows);
  // b <- G b, then dw = Z b - grad
  env.each(blocks, [&](int i) {
    const int place = list[2 * i], row = list[2 * i + 1];
    if (!wide(place)) {
      b[row] = scale(place) * b[row];
      return;
    }
    Real G[kRoot];
    roots_of(place, G);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) {
      Real s = zero;
      DS_UNROLL
      for (int c = r; c < kDim; c++)
        if (kElliptic || r == 0 || c == r) s = fma(G[triangle(c) + r], b[row + c], s);
      b[row + r] = s;
    }
  });
  env.sync();
  env.each(nv, [&](int d) { dw[d] = select(live, zero - grad[d], dw[d]); });
  for (int i = 0; i < blocks; i++) {
    const int place = list[2 * i], row = list[2 * i + 1];
    const Reach<kDim, E> support{env, place};
    if (wide(place)) {
      Real c[kDim];
      DS_UNROLL
      for (int r = 0; r < kDim; r++) c[r] = b[row + r];
      add_rows<kDim>(env, support, place, c, dw);
    } else {
      const Real c = b[row];
      add_rows<1>(env, support, row_at<kDim>(env, place), &c, dw);
    }
  }
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
