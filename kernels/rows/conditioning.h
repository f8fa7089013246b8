// Rows that the precision cannot carry: those that no dof can move, and those that are all but rigid.
//
// MuJoCo takes R from the inverse weights of bodies. A body that turns about its own centre has none, so its rows have
// R = 1e-15. Then a normal that runs through the axis is a row of rounding with an all but infinite weight: it throws
// the body about, and the factors of Newton's system lose every direction that it does not push on. Such a row is
// zero, and a contact or constraint all of whose rows are lost carries no force. What is left of it keeps a weight
// whose product with A the factors can hold; the acceleration changes by 1 / c of what the row asks for. Models whose
// rows have impedances below 1 - 1/c and bodies with an inverse weight keep every bit.
//
// solves    which rows are zero, and the weights of the others
// equation  lost    (J M^-1 J')_rr <= (16 u)^2 s_r,   s_r = sum over dofs of (|lin|^2 + |ang|^2 (|p - com|^2 + |p|^2)) / D_d
//           weight  D <= c / a,   a = max over rows of what D weighs (of a cone by rows the normal's alone, where there is
//                                                      an inverse weight),   c = 1e6 in single precision, 1e12 in double
//           without an inverse weight   D = min(k / A_max, k / a)   as in rigid_weight.h
//           u is the unit roundoff, D_d the pivots of M = L'DL
// source    own derivation
// deviation from MuJoCo: as said
// reads     con_A, con_D, con_mu, con_dim, dense_D, Z; of the rows that are looked at closely con_pos, con_dist, con_pair,
//           cdof, tree_com, Dscale, xpos, xquat
// writes    con_D, dense_D, and lost rows in Z and con_A
// cost      O(contacts) and O(dense scalar rows x nv); of the few that are looked at closely O(nv) a row
#pragma once

#include "kernels/rows/kinds/kinds.h"
#include "kernels/rows/row_scale.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the largest D A
template <class Real>
DS_HD Real stiffest() {
  return Real(kStiffest<Real>);
}
// a weight that only a body without inverse weight gives
template <class Real>
DS_HD Real weight_without_inverse_mass() {
  return Real(1e13);
}

// The largest diagonal entry of A that the weight of a contact weighs. `all`: with the tangents of a cone by rows, whose
// ratios of friction raise their weights far above the normal's where it slides with ease and does not turn so: capped with
// them, the normal would be soft. They are bounded by the factors alone (judge.h tells), but where there is no inverse weight
template <bool kByRows, int kDim, class Real, class F>
DS_HD Real weighed_diagonal(const ConeParams<Real, kDim>& p, const F& A, const MaskOf<Real>& all) {
  Real most = A[0];
  if (kByRows && !any(all)) return most;
  DS_UNROLL
  for (int r = 1; r < kDim; r++) {
    const Real ratio = kByRows ? p.mu[r - 1] / select(p.cone_mu > Real(0), p.cone_mu, Real(1)) : p.mu[r - 1];
    const Real weighed = max(most, ratio * ratio * A[triangle(r) + r]);
    most = kByRows ? select(all, weighed, most) : weighed;
  }
  return most;
}

// a contact that is all but rigid in the environments of a set
template <int kDim, bool kByRows, class E>
DS_FN void condition_contact(E& env, int slot, const typename E::Mask& stiff) {
  using Real = typename E::Real;
  const Real zero(0);
  const auto A = env.con_A().from(kTriangle<kDim> * slot);
  const auto z = rows_of<kDim>(env.Z(), env.t.n.ndense + kDim * slot, env.t.n.nv);
  const Vec3<Real> p = env.con_pos().vec(slot);
  RowScale<Real> scale;
  each_pair_of(env, slot, stiff, [&](int pair, const auto& here) {
    const int* const sign = signs_of(env, pair);
    RowScale<Real> of_pair;
    for (Index d = 0; d < env.t.n.nv; d++)
      if (sign[d] != 0) of_pair.add(env, d, p);
    scale.along = select(here, of_pair.along, scale.along);
    scale.about = select(here, of_pair.about, scale.about);
    scale.arm2 = select(here, of_pair.arm2, scale.arm2);
  });
  const Real D = env.con_D()[slot];
  const auto doubtful = mask_and(stiff, D > weight_without_inverse_mass<Real>());
  DS_UNROLL
  for (int r = 0; r < kDim; r++) {
    const auto lost = mask_and(doubtful, A[triangle(r) + r] <= scale.lost(r >= 3));
    if (!any(lost)) continue;
    for (Index d = 0; d < env.t.n.nv; d++) z[r][d] = select(lost, zero, z[r][d]);
    for (int c = 0; c < kDim; c++) {
      const int entry = c > r ? triangle(c) + r : triangle(r) + c;
      A[entry] = select(lost, zero, A[entry]);
    }
  }
  const Real most = weighed_diagonal<kByRows>(cone_params<kDim>(env, slot), A, doubtful);
  // where nothing moves the normal, faces that only touch, to rounding, would hold each other by friction
  const auto touches = mask_and(mask_and(doubtful, A[0] <= zero), env.con_dist()[slot] >= -scale.rounding(p));
  const auto moves = mask_and(most > zero, mask_not(touches));
  const Real weighed = select(moves, most, Real(1));
  const Real rigid = rigid_weight_for(rigid_weight_of_slot(env, slot, stiff), weighed);
  const Real bound = select(moves, select(doubtful, rigid, stiffest<Real>() / weighed), zero);
  env.con_D()[slot] = select(stiff, min(D, bound), D);
}

template <int kDim, bool kByRows, class E>
DS_STAGE void condition_contacts(E& env) {
  using Real = typename E::Real;
  env.each(env.ncon_max, [&](int slot) {
    const Real D = env.con_D()[slot];
    const auto doubtful = D > weight_without_inverse_mass<Real>();
    const Real most = weighed_diagonal<kByRows>(cone_params<kDim>(env, slot),
                                                env.con_A().from(kTriangle<kDim> * slot), doubtful);
    const auto stiff = mask_or(doubtful, D * most > stiffest<Real>());
    if (any(stiff)) condition_contact<kDim, kByRows>(env, slot, stiff);
  });
  env.done();
}

// Whitened dense scalar row g counts as rounding where its squared norm is at most this: what its kind says, or zero for
// kinds whose entries are not differences, so that none is lost
template <class E>
DS_HD typename E::Real lost_row(const E& env, int g) {
  return DenseKinds::with_kind(env, g, [&](const auto& kind, int first) {
    if constexpr (requires { kind.lost(env, g, first); })
      return kind.lost(env, g, first);
    else
      return typename E::Real(0);
  });
}

template <class E>
DS_STAGE void condition_dense_rows(E& env) {
  using Real = typename E::Real;
  const auto& n = env.t.n;
  const Real zero(0);
  const auto Z = env.Z(), weight = env.dense_D();
  env.each(n.ndense, [&](int g) {
    const Real D = weight[g];
    Real a = zero;
    each_member(dense_support(env, g), n.nword,
                [&](Index d) { a = fma(Z[g * n.nv + d], Z[g * n.nv + d], a); });
    const auto doubtful = D > weight_without_inverse_mass<Real>();
    if (!any(mask_or(doubtful, D * a > stiffest<Real>()))) return;
    const auto lost = mask_and(doubtful, a <= lost_row(env, g));
    const Real weighed = select(a > zero, a, Real(1));
    const Real bound = select(doubtful, rigid_weight_for(rigid_weight_of_dense_row(env, g), weighed),
                              stiffest<Real>() / weighed);
    weight[g] = select(lost, zero, min(D, bound));
  });
  env.done();
}

// after the rows have their weights, before they are solved
template <int kDim, bool kByRows, class E>
DS_HD void condition_rows(E& env) {
  if (env.t.n.ndense > 0) condition_dense_rows(env);
  if (env.ncon_max > 0 && law_has<kLawSoftRows>(env.t.o)) condition_contacts<kDim, kByRows>(env);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
