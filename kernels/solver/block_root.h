// The root G of a contact's curvature C = G G', upper triangular.
//
// Source: Golub & Van Loan, section 4.2 (Cholesky, from the last column). Deviations: a pivot that is rounding has no
// column.
#pragma once

#include "kernels/rows/cone.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

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

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
