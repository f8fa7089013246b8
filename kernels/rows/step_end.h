// Rows of the integrator discrete: their references are taken where the step ends.
//
// solves    softness and weight of a row
// equation  with r the position and v the velocity at the start, K imp and B those of rows.h, s = 1 + h B + h^2 K imp:
//             aref = -(B v + K imp (r + h v)) / s,   R = (1 - imp) / (imp s) diag share
//             share = sum_i(J_i^2 / M^_ii) / sum_i(J_i^2 / M_ii),   M^ the inertia of the step (step_inertia.h)
//             (1 - imp) / (imp s) is no less than that of the largest impedance alone
//           rows of contacts and limits have K imp of at most 1 / h^2; where that bounds it B is less by the root of the same,
//           and no more than leaves (1 - imp) / (imp s) there
// source    MuJoCo's notes on discrete (3.13); the share, the root and both bounds as MuJoCo 4.0.1 has them. Derivation:
//             f = -D (a - aref(r + h v + h^2 a, v + h a)),   solved for a
// deviation friction losses go below the least R, by which MuJoCo bounds theirs too: a ten-thousandth of their acceleration
//           A contact's share is that of its normal row, on pyramids of its first edge
// reads     M, step_diagonal; of a dense scalar row Z
// writes    dense_D of the row it is given
// cost      O(1), of the share O(dofs of a row)
#pragma once

#include "kernels/rows/whiten.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// K imp and B of a row as y0 = J (qacc_smooth + B v) + K imp r asks for them, what its weight is multiplied by, and s
template <class Real>
struct RowEnd {
  Real K, B, weight, s;
};

// Of a row of impedance imp. stiffest(): the largest K imp that the step resolves; of a row that asks for more B is bounded
// too. No row is stiffer than the largest impedance makes it. Under other integrators K imp and B as they are
template <class E, class F, class Real = typename E::Real>
DS_HD RowEnd<Real> row_end(const E& env, const Real& imp, const Real& stiffness, const Real& B, F stiffest) {
  const Real one(1), K = stiffness * imp;
  if (env.t.o.integrator != kDiscrete) return {K, B, one, one};
  const Real h(env.t.o.timestep), most(stiffest()), rigid(kMaxImpedance);
  const Real softness = ((one - imp) / imp) / ((one - rigid) / rigid);
  const auto stiff = K > most;
  const Real k = select(stiff, most, K);
  // h^2 k is 1 there
  const Real bounded = min(B * sqrt(k / select(stiff, K, one)), max((softness - Real(2)) / h, Real(0)));
  const Real b = select(stiff, bounded, B);
  const Real s = fma(h, fma(h, k, b), one);
  return {k / s, fma(h, k, b) / s, min(s, softness), s};
}
// of a row without a position, and of any impedance
template <class E, class Real = typename E::Real>
DS_HD RowEnd<Real> row_end(const E& env, const Real& B) {
  const Real one(1), zero(0);
  if (env.t.o.integrator != kDiscrete) return {zero, B, one, one};
  const Real s = fma(Real(env.t.o.timestep), B, one);
  return {zero, B / s, s, s};
}

// one over the share of a row of one dof
template <class E>
DS_HD typename E::Real weight_of_dof(const E& env, int dof) {
  return env.step_diagonal()[dof] / env.M()[env.t.M_rowadr[dof]];
}
// likewise of a row whose squares sum to these over M^ and over M
template <class Real>
struct RowShares {
  Real of_step = Real(0), of_M = Real(0);
  template <class E>
  DS_HD void add(const E& env, int dof, const Real& j) {
    of_step = of_step + j * j / env.step_diagonal()[dof];
    of_M = of_M + j * j / env.M()[env.t.M_rowadr[dof]];
  }
  DS_HD Real weight() const {
    const auto moves = of_step > Real(0);
    return select(moves, of_M / select(moves, of_step, Real(1)), Real(1));
  }
};

// the weight of dense scalar row g, whose J stands in Z, from that of its impedance alone
template <class E>
DS_HD void weigh_dense_row(E& env, int g, const typename E::Real& weight) {
  if (env.t.o.integrator != kDiscrete) return;
  const int nv = env.t.n.nv;
  RowShares<typename E::Real> shares;
  for (int d = 0; d < nv; d++) shares.add(env, d, env.Z()[g * nv + d]);
  env.dense_D()[g] = env.dense_D()[g] * weight * shares.weight();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
