// The root of a contact's curvature, upper triangular.
//
// solves    G of C = G G', for a positive semidefinite C of kDim rows; x <- G'x; x <- G b; G'A P
// equation  from the last column j to the first:
//             G_jj = sqrt(C_jj - sum over k > j of G_jk^2),   G_ij = (C_ij - sum over k > j of G_ik G_jk) / G_jj for i < j
// source    Golub & Van Loan, section 4.2 (Cholesky, here from the last column)
// deviation a pivot that is rounding has no column. Of a pyramid's curvature only row 0 and the diagonal have entries (kArrow)
// reads     its arguments
// writes    its arguments
// cost      O(dim^3), of pyramids O(dim)
#pragma once

#include "kernels/rows/cone.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a pivot below this share of its diagonal entry is rounding
template <class Real>
constexpr double kPivotRounding = kSingle<Real> ? 1e-6 : 1e-14;
// G of a positive semidefinite block C = G G', upper triangular: entry (i, j), j >= i, at triangle(j) + i.
// Where a pivot is rounding, its column is nothing
template <bool kArrow, int kDim, class Real, class F>
DS_HD void block_root(const F& C, Real* G) {
  const Real zero(0), one(1), least(kPivotRounding<Real>);
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

// x <- G'x; kArrow: of a root that has entries in row 0 and on its diagonal alone
template <bool kArrow, int kDim, class Real>
DS_HD void apply_transposed_root(const Real* G, Real* x) {
  DS_UNROLL
  for (int j = kDim - 1; j >= 0; j--) {
    Real s(0);
    DS_UNROLL
    for (int k = 0; k <= j; k++)
      if (!kArrow || k == 0 || k == j) s = fma(G[triangle(j) + k], x[k], s);
    x[j] = s;
  }
}

// x <- G b
template <bool kArrow, int kDim, class Root, class In, class Real>
DS_HD void apply_root(const Root& G, const In& b, Real* x) {
  DS_UNROLL
  for (int r = 0; r < kDim; r++) {
    Real s(0);
    DS_UNROLL
    for (int c = r; c < kDim; c++)
      if (!kArrow || r == 0 || r == c) s = fma(G[triangle(c) + r], b[c], s);
    x[r] = s;
  }
}

// x <- column c of A P: kRows rows of A by their entry (r, q), and P by its entries as G is
template <bool kArrow, int kRows, class Real, class Root, class Entry>
DS_HD void column_of_product(const Entry& entry, const Root& P, int c, Real* x) {
  DS_UNROLL
  for (int r = 0; r < kRows; r++) {
    Real sum(0);
    for (int q = 0; q <= c; q++)
      if (!kArrow || q == 0 || q == c) sum = fma(P[triangle(c) + q], entry(r, q), sum);
    x[r] = sum;
  }
}

// G'A P, a column at a time: G of kRows rows, P of kColumns
template <bool kArrow, int kRows, int kColumns, class Real, class Root, class Entry, class Put>
DS_HD void put_block_between(const Real* G, const Root& P, const Entry& entry, const Put& put) {
  DS_UNROLL_PACKS
  for (int c = 0; c < kColumns; c++) {
    Real x[kRows];
    column_of_product<kArrow, kRows>(entry, P, c, x);
    apply_transposed_root<kArrow, kRows>(G, x);
    DS_UNROLL
    for (int r = 0; r < kRows; r++) put(r, c, x[r]);
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
