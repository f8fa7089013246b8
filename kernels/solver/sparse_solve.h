// The system of dense_solve.h where there are several trees, on a CPU: blocks of S that are zeros in all environments of a
// pack are passed over.
//
// Rows of different trees do not push on each other, so that S is zero between them, and its factor too. What is passed over
// would have subtracted exact zeros: the numbers are those of dense_solve.h.
//
// solves    S x = b
// equation  that of dense_solve.h, by blocks of four rows and four columns; block (a, c) of L D is filled where that of S is, or
//           where blocks (a, k) and (c, k) are for some k < c
// source    George & Liu 1981, symbolic factorization, along with the numbers
// deviation none
// reads     dual_S, dual_b
// writes    dual_S, dual_b (x), Hinv (1 / D), coefficient
// cost      O(blocks^2) to find the blocks, and that of those that are filled
#pragma once

#include "kernels/base/bits.h"
#include "kernels/solver/dense_solve.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class E>
struct SparseSolve {
  using Real = typename E::Real;
  using Set = unsigned long long;
  static constexpr int kSide = 4, kMostBlocks = 64;
  E& env;
  Set filled[kMostBlocks];  // of each four rows the fours of columns before them whose block is not zero

  DS_HD static bool has_room(int n) { return n <= kSide * kMostBlocks; }
  DS_HD static bool has(Set set, int c) { return (set >> c) & 1u; }
  DS_HD static Set before(int c) { return (Set(1) << c) - 1u; }
  template <class F>
  DS_HD static void each(Set set, F f) {
    for (; set != 0; set &= set - 1) f(kSide * lowest_bit(set));
  }

  // the blocks of kRows rows that are not zeros
  template <int kRows>
  DS_HD Set find(int first) const {
    const auto rows = rows_of_triangle<kRows>(env.dual_S(), first);
    Set set = 0;
    for (int j = 0; j < first; j += kSide) {
      auto some = all_false<Real>();
      DS_UNROLL
      for (int r = 0; r < kRows; r++) DS_UNROLL
      for (int c = 0; c < kSide; c++) some = mask_or(some, rows[r][j + c] != Real(0));
      if (any(some)) set |= Set(1) << (j / kSide);
    }
    return set;
  }

  // kRows rows in the columns before them
  template <int kRows>
  DS_HD void reduce_before(int first) {
    const auto Dinv = env.Hinv(), l = env.coefficient();
    const auto rows = rows_of_triangle<kRows>(env.dual_S(), first);
    Set own = find<kRows>(first);
    for (int j = 0; j < first; j += kSide) {
      const int at = j / kSide;
      const Set common = own & filled[at] & before(at);
      if (!has(own, at) && common == 0) continue;
      own |= Set(1) << at;
      Real x[kRows][kSide];
      DS_UNROLL
      for (int r = 0; r < kRows; r++) DS_UNROLL
      for (int c = 0; c < kSide; c++) x[r][c] = rows[r][j + c];
      const auto above = rows_of_triangle<kSide>(env.dual_S(), j);
      each(common, [&](int from) {
        for (Index k = from; k < from + kSide; k++) {
          Real other[kSide];
          DS_UNROLL
          for (int c = 0; c < kSide; c++) other[c] = above[c][k];
          DS_UNROLL
          for (int r = 0; r < kRows; r++) {
            const Real m = -l[kSide * k + r];
            DS_UNROLL
            for (int c = 0; c < kSide; c++) x[r][c] = fma(m, other[c], x[r][c]);
          }
        }
      });
      DS_UNROLL
      for (int k = 0; k < kSide; k++) {
        const Real inverse = Dinv[j + k];
        DS_UNROLL
        for (int r = 0; r < kRows; r++) {
          const Real m = x[r][k] * inverse;
          rows[r][j + k] = x[r][k];
          l[kSide * (j + k) + r] = m;
          DS_UNROLL
          for (int c = k + 1; c < kSide; c++) x[r][c] = fma(-m, above[c][j + k], x[r][c]);
        }
      }
    }
    filled[first / kSide] = own;
  }
  // the same among themselves, and of the right side
  template <int kRows>
  DS_HD void reduce_own(int first) const {
    const auto Dinv = env.Hinv(), b = env.dual_b(), l = env.coefficient();
    const auto rows = rows_of_triangle<kRows>(env.dual_S(), first);
    Real x[kRows][kRows], y[kRows];
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      y[r] = b[first + r];
      DS_UNROLL
      for (int c = 0; c <= r; c++) x[r][c] = rows[r][first + c];
    }
    each(filled[first / kSide], [&](int from) {
      for (Index k = from; k < from + kSide; k++) {
        DS_UNROLL
        for (int r = 0; r < kRows; r++) {
          const Real m = -l[kSide * k + r];
          y[r] = fma(m, b[k], y[r]);
          DS_UNROLL
          for (int c = 0; c <= r; c++) x[r][c] = fma(m, rows[c][k], x[r][c]);
        }
      }
    });
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
      for (int c = 0; c <= k; c++) rows[k][first + c] = x[k][c];
    }
  }
  template <int kRows>
  DS_HD void reduce(int first) {
    reduce_before<kRows>(first);
    reduce_own<kRows>(first);
  }

  // x from b
  DS_HD void substitute(int n) const {
    const auto S = env.dual_S(), Dinv = env.Hinv(), b = env.dual_b();
    for (int k = n - 1; k >= 0; k--) {
      const Real x = b[k] * Dinv[k];
      const auto row = S.from(triangle(k));
      const auto subtract = [&](int i) { b[i] = fma(-x, row[i], b[i]); };
      each(filled[k / kSide], [&](int from) {
        DS_UNROLL
        for (int i = 0; i < kSide; i++) subtract(from + i);
      });
      for (int i = k / kSide * kSide; i < k; i++) subtract(i);
      b[k] = x;
    }
  }

  DS_HD void run(int n) {
    const int whole = n / kSide * kSide, rest = n - whole;
    for (int i = 0; i < whole; i += kSide) reduce<kSide>(i);
    if (rest == 1) reduce<1>(whole);
    if (rest == 2) reduce<2>(whole);
    if (rest == 3) reduce<3>(whole);
    substitute(n);
  }
};

template <class E>
DS_STAGE void solve_sparse(E& env, int n) {
  SparseSolve<E> solve{.env = env, .filled = {}};
  solve.run(n);
}

// S x = b, in place: x takes the place of b
template <class E>
DS_HD void solve_among_rows(E& env, int n) {
  if constexpr (E::kPack > 1)
    if (env.t.n.ntree > 1 && SparseSolve<E>::has_room(n)) return solve_sparse(env, n);
  solve_dense(env, n);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
