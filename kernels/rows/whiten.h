// What all constraint rows share: how soft they are, and how a row of J becomes a whitened row of Z.
//
// solves    imp and R of a row; its whitened row
// equation  imp = d0 + y(|r| / width) (dmax - d0),   y the power sigmoid of solimp
//           R = max((1 - imp)/imp A, 1e-15)
//           Z = D^-1/2 L^-T J',   from the last dof to the first, for the ancestors i of dof k:  x_i -= L_ki x_k
// source    MuJoCo's documentation, "Solver parameters" (Todorov 2014 for the model behind it); factorize.h for the solve
// deviation none. A set says which dofs have entries, in any environment of a pack
// reads     LD, Dscale
// writes    the rows it is given
// cost      O(the M entries of the dofs that a row reaches)
#pragma once

#include "kernels/base/bits.h"
#include "kernels/smooth/factorize.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// imp(|dist - margin| / width) between d0 and dmax; prm(k) are d0, dmax, width, mid, power, 1/mid^(p-1),
// 1/(1-mid)^(p-1)
template <class Real, class Prm>
DS_FN Real impedance(const Real& distance, Prm prm) {
  const Real d0 = prm(0), dmax = prm(1), width = prm(2), mid = prm(3), power = prm(4);
  const auto flat = mask_or(d0 == dmax, width <= Real(kMinVal));
  const Real x = abs(distance) / select(flat, Real(1), width);
  const auto low = x <= mid;
  const Real base = select(low, x, Real(1) - x);
  Real p = base * base;
  if (any(power != Real(2)))
    p = select(power == Real(2), p, select(power == Real(1), base, pow(base, power)));
  Real y = select(low, prm(5) * p, Real(1) - prm(6) * p);
  y = select(power == Real(1), x, y);
  Real imp = fma(y, dmax - d0, d0);
  imp = select(x >= Real(1), dmax, select(x <= Real(0), d0, imp));
  return select(flat, Real(0.5) * (d0 + dmax), imp);
}

// the largest impedance of a row
constexpr double kMaxImpedance = 0.9999;
template <class Real>
DS_HD Real regularizer(const Real& imp, const Real& diag) {
  return max((Real(1) - imp) * diag / imp, Real(kMinVal));
}

template <class Words>
DS_HD bool in_set(const Words& words, Index i) {
  return (static_cast<unsigned>(words[i >> 5]) >> (i & 31)) & 1u;
}

// calls f(i) for the members of a set, lowest first
template <class Words, class F>
DS_HD void each_member(const Words& set, int nword, F f) {
  for (int k = 0; k < nword; k++) {
    const Index first = 32 * k;
    each_bit(static_cast<unsigned>(set[k]), f, first);
  }
}

// likewise, highest first
template <class Words, class F>
DS_HD void each_member_down(const Words& set, int nword, F f) {
  for (int k = nword - 1; k >= 0; k--)
    for (unsigned word = static_cast<unsigned>(set[k]); word != 0;) {
      const int bit = highest_bit(word);
      word &= ~(1u << bit);
      f(32 * k + bit);
    }
}

// x <- D^-1/2 L^-T x for kRows dense rows at once, which have entries at the dofs of a set, in any
// environment
template <int kRows, class E, class F, class Words>
DS_HD void whiten(E& env, const F& Z, int first, const Words& set) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD(), Dscale = env.Dscale();
  const auto z = rows_of<kRows>(Z, first, t.n.nv);
  each_member_down(set, t.n.nword, [&](int k) {
    const Index row = t.M_rowadr[k], n = t.M_rowadr[k + 1] - row;
    const int* const dofs = t.M_col + row;
    const auto L = LD.from(row);
    Real x[kRows];
    const Real scale = Dscale[k];
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      x[r] = z[r][k];
      z[r][k] = x[r] * scale;
    }
    for (Index a = 1; a < n; a++) {
      const Index i = dofs[a];
      const Real l = L[a];
      DS_UNROLL
      for (int r = 0; r < kRows; r++) z[r][i] = fma(-l, x[r], z[r][i]);
    }
  });
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
