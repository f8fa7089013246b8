// A small dense system, symmetric and positive definite, in place.
//
// Packs factor four rows at a time, so that what is loaded once serves sixteen multiplications. Entries are reduced by
// columns in their order, whoever does it: one lane by rows, or many lanes by columns.
//
// solves    S x = b
// equation  S = L D L':   S_ij <- S_ij - sum over k < j of (L D)_ik L_jk,   then D L'x = L^-1 b by columns, last first
// source    Golub & Van Loan, section 4.1 (L D L')
// deviation none
// reads     dual_S, dual_b
// writes    dual_S, dual_b (x), Hinv (1 / D), coefficient
// cost      O(n^3)
#pragma once

#include "kernels/rows/cone.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

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
// rows first .. first + kRows - 1 of S, in the columns before them, after all rows before them
template <int kRows, class E>
DS_HD void reduce_columns_before(E& env, int first) {
  using Real = typename E::Real;
  const auto S = env.dual_S(), Dinv = env.Hinv(), l = env.coefficient();
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
}
// the same among themselves, and of the right side
template <int kRows, class E>
DS_HD void reduce_own_columns(E& env, int first) {
  using Real = typename E::Real;
  const auto S = env.dual_S(), Dinv = env.Hinv(), b = env.dual_b(), l = env.coefficient();
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
// rows first .. first + kRows - 1 of S = L D L' and of the right side, after all rows before them; for one
// lane. kRows divides `first`
template <int kRows, class E>
DS_HD void dense_rows(E& env, int first) {
  reduce_columns_before<kRows>(env, first);
  reduce_own_columns<kRows>(env, first);
}

// S = L D L' in place and S x = b: x takes the place of b. Below the diagonal S keeps L D; Dinv has 1 / D.
// Entries are reduced by columns in their order, whoever does it
template <class E>
DS_STAGE void solve_dense(E& env, int n) {
  using Real = typename E::Real;
  const auto S = env.dual_S(), Dinv = env.Hinv(), b = env.dual_b();
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

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
