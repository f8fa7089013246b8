// Products with whitened rows, over the dofs that each of them reaches.
//
// Rows of limits and friction losses reach the ancestors of one dof, and are rows of Linv themselves ("single-dof rows").
//
// solves    nothing: products of rows with a vector, and sums of rows
// equation  Z_row . x;   x <- x + sum of c_r Z_r;   x <- x + the squares of c_r Z_r, entry by entry;   of a single-dof row
//           also its product with itself
// source    rows.h for the rows
// deviation none. Sums over dofs run in the stripes of lanes.h
// reads     Z, Linv, the supports of rows (support.h)
// writes    its arguments
// cost      O(dofs that the row reaches)
#pragma once

#include "kernels/rows/support.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// which of the terms of a sum of rows: all; their squares, entry by entry; those of rows that are meant to be rigid
enum class Terms { kAll, kSquares, kRigid };

// Z_row . x over the dofs of a support
template <class E, class Set, class F>
DS_HD typename E::Real dense_dot(const E& env, const Set& support, int row, const F& x) {
  using Real = typename E::Real;
  const auto z = env.Z().from(row * env.t.n.nv);
  return env.accumulate_in(support, env.t.n.nv, [&](Index d, const Real& s) { return fma(z[d], x[d], s); });
}
template <class E, class F>
DS_HD typename E::Real dense_dot(const E& env, int g, const F& x) {
  return dense_dot(env, dense_support(env, g), g, x);
}
// Z_row . x of all rows of a contact, three at once
template <int kDim, class E, class F>
DS_HD void contact_dots(const E& env, int slot, const F& x, typename E::Real* out) {
  using Sum = Sums<typename E::Real, 3>;
  const auto Z = env.Z();
  const auto support = slot_support(env, slot);
  const int nv = env.t.n.nv;
  DS_UNROLL
  for (int first = 0; first < kDim; first += 3) {
    const auto z = rows_of<3>(Z, env.t.n.ndense + kDim * slot + first, nv);
    const Sum dots = env.template accumulate_in<Sum>(support, nv, [&](Index d, Sum s) {
      const auto value = x[d];
      DS_UNROLL
      for (int r = 0; r < 3; r++) s.of[r] = fma(z[r][d], value, s.of[r]);
      return s;
    });
    DS_UNROLL
    for (int r = 0; r < 3; r++) out[first + r] = dots.of[r];
  }
}
// x <- x + sum of c_r Z_r over kRows rows from `first` on, which reach a support; or + the squares of their entries. Every
// lane does its own dofs
template <int kRows, Terms kTerms = Terms::kAll, class E, class Set, class Real, class F>
DS_HD void add_rows(const E& env, const Set& support, int first, const Real* c, const F& x) {
  const int nv = env.t.n.nv;
  const auto z = rows_of<kRows>(env.Z(), first, nv);
  const auto add = [&](Index d) {
    Real s = x[d];
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      const Real term = z[r][d] * c[r];
      s = kTerms == Terms::kSquares ? fma(term, term, s) : fma(z[r][d], c[r], s);
    }
    x[d] = s;
  };
  if constexpr (E::Lanes::kWidth == 1) {
    each_member(support, env.t.n.nword, add);
  } else {
    env.each(nv, [&](int d) {
      if (in_set(support, d)) add(d);
    });
  }
}
// the single-dof row of a dof: its entries, and the dofs that they belong to
template <class E>
struct SingleDofRow {
  int n;
  Field<typename E::Real, E::kStride> z;
  const int* dof;
  DS_HD SingleDofRow(const E& env, int i)
      : n(env.t.M_rowadr[i + 1] - env.t.M_rowadr[i]),
        z(env.Linv().from(env.t.M_rowadr[i])),
        dof(env.t.M_col + env.t.M_rowadr[i]) {}
};
// single-dof row of dof i . x
template <class E, class F>
DS_HD typename E::Real single_dot(const E& env, int i, const F& x) {
  using Real = typename E::Real;
  const SingleDofRow<E> row(env, i);
  return env.accumulate(row.n, [&](Index a, const Real& s) { return fma(row.z[a], x[row.dof[a]], s); });
}
template <Terms kTerms = Terms::kAll, class E, class F>
DS_HD void single_axpy(const E& env, int i, const typename E::Real& s, const F& x) {
  const SingleDofRow<E> row(env, i);
  env.each(row.n, [&](int a) {
    const auto term = row.z[a] * s;
    x[row.dof[a]] =
        kTerms == Terms::kSquares ? fma(term, term, x[row.dof[a]]) : fma(row.z[a], s, x[row.dof[a]]);
  });
  env.sync();
}
// calls f(u) for the single-dof rows in use
template <class E, class F>
DS_HD void each_single(const E& env, F f) {
  each_member(single_rows_in_use(env), env.t.n.nsingleword, f);
}
// single-dof row of dof i . x, and . itself
template <class E, class F>
DS_HD void single_dots(const E& env, int i, const F& x, typename E::Real* dot, typename E::Real* diag) {
  using Sum = Sums<typename E::Real, 2>;
  const SingleDofRow<E> row(env, i);
  const Sum sum = env.template accumulate<Sum>(row.n, [&](Index a, Sum s) {
    const auto z = row.z[a];
    s.of[0] = fma(z, x[row.dof[a]], s.of[0]);
    s.of[1] = fma(z, z, s.of[1]);
    return s;
  });
  *dot = sum.of[0];
  *diag = sum.of[1];
}
template <class E>
DS_HD typename E::Real single_diag(const E& env, int i) {
  using Real = typename E::Real;
  const SingleDofRow<E> row(env, i);
  return env.accumulate(row.n, [&](Index a, const Real& s) { return fma(row.z[a], row.z[a], s); });
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
