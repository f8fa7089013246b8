// Which environments have an acceleration that is right, whatever ended the search for it.
//
// Right is an acceleration w that is as near to the solution w* as README.md ("Measured") promises: its error is
// |w - w*| / |w*|. How the search ended says little about it. Newton ends where a step keeps the active set, or where the
// decrement is small; but that step may have been inexact, and a decrement made of rounding says nothing. Or it ends at its
// cap of iterations; but it may be at the solution, where what is left of a stiff row is rounding. So each is judged anew:
//
//   bound      the gradient bounds the error (first line below): where that is small enough w is right
//   estimate   else the rows' y are computed anew from w, since they carry the rounding of all steps, and one more Newton
//              step is computed: its length estimates the error (second line)
//   pursuit    where that is too large, the search goes on from there and is judged by the estimate again, kPursuits times
//              at most
//
// Numbers that are not finite pass no comparison, so they are never right.
//
// Both tests take Z and the rows' weights for exact. Where rows contradict each other, their forces grow until R stops them,
// and cancel in Z l. A rounding error of an entry of Z times such a force is then an error d of the gradient, and H^-1 d one of
// w: much where no row opposes it. And a row on a body without an inverse weight should be rigid (conditioning.h): if all of
// them were stiffer by a factor, w would change by some H^-1 Z l, l their forces. The end of a call computes both
// (are_made_of_rounding), in environments where forces are so large, of rows alone that are so stiff that rounding could move
// w by a share of what they ask (could_be_rounding), or where rigid rows give way (could_be_soft).
//
// Where a row's weight is bounded for other reasons it may have been meant stiffer by any factor. By ten, say: then w is
// wrong by some 2 / sqrt(D A) of the term of Z l (is_softer_than_meant).
//
// solves    whether w is as near to w* as promised, environment by environment
// equation  f(w) = 1/2 |w|^2 + s(y0 + Z'w) is convex with H >= 1, so that
//             |w - w*| <= |grad f(w)|                       always, and
//             |w - w*| about |H^-1 grad f(w)|               near w*, where forces of stiff rows make the first bound loose
// source    Boyd & Vandenberghe 2004, section 9.1.2 (strong convexity), 9.5.1 (Newton decrement)
// deviation none
// reads     what newton.h leaves; LD, Dscale, qacc_smooth
// writes    unsolved, and what newton.h writes
// cost      a gradient; a Newton step for those in doubt
#pragma once

#include "kernels/contact/with_law.h"
#include "kernels/solver/newton.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the error that is still right, of |w*|: by the bound, and by the estimate, which may be short by a fifth
constexpr double kRightByBound = 1e-2, kRightByEstimate = 8e-3;
template <class Real>
DS_HD Real right_by_bound(const Real& ww) {
  return Real(kRightByBound * kRightByBound) * ww;
}
template <class Real>
DS_HD Real right_by_estimate(const Real& ww) {
  return Real(kRightByEstimate * kRightByEstimate) * ww;
}

// a square that overflows is not small, whatever it is compared with
template <class Real>
DS_HD MaskOf<Real> is_small(const Real& square_of, const Real& bound) {
  return mask_and(square_of <= bound, square_of < Real(kVast));
}

// what rounding does to w, of the size of the acceleration without constraints and of what rows ask for
template <class Real>
constexpr double kRoundingOfSize = kSingle<Real> ? 2e-6 : 4e-15;
template <class Real>
constexpr double kRoundingOfAsked = kSingle<Real> ? 2.4e-7 : 4.8e-16;

// the square of what rounding does to w: of the acceleration without constraints, and of what rows ask for, given the
// squares of their sizes. Where the rows' are y0 in error, w is by at most 1/2 |sqrt(D) y0|
template <class Real>
DS_HD Real rounding_of(const Real& size, const Real& asked) {
  const Real u(kRoundingOfSize<Real>), v(kRoundingOfAsked<Real>);
  return fma(u * u, size, v * v * asked);
}
template <int kDim, bool kByRows, class E>
DS_STAGE typename E::Real rounding_squared(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD(), Dscale = env.Dscale(), smooth = env.qacc_smooth();
  const Real size = env.accumulate(t.n.nv, [&](int k, const Real& sum) {
    const int row = t.M_rowadr[k], n = t.M_rowadr[k + 1] - row;
    Real s = smooth[k];
    for (int e = 1; e < n; e++) s = fma(LD[row + e], smooth[t.M_col[row + e]], s);
    s = s / Dscale[k];
    return fma(s, s, sum);
  });
  Real asked(0);
  each_kind<kDim, kByRows>(env, [&](const auto& kind) {
    asked = asked + kind.dual_sum(0, [](int, const Real& R, const Real& y0) { return y0 * y0 / R; });
  });
  return rounding_of(size, asked);
}

// whether rounding of Z l could hide w, whether rigid rows could be soft, and whether rows whose weight is bounded are
template <class Real>
DS_HD MaskOf<Real> could_be_rounding(const Real& ww, const StiffTerms<Real>& stiff) {
  const Real u(kRoundingOfRows<Real>);
  return mask_not(is_small(u * u * stiff.all, right_by_bound(ww)));
}
template <class Real>
DS_HD MaskOf<Real> could_be_soft(const Real& ww, const StiffTerms<Real>& stiff) {
  return mask_not(is_small(stiff.rigid, Real(kRightByBound) * ww));
}
template <class Real>
DS_HD MaskOf<Real> in_doubt(const Real& ww, const StiffTerms<Real>& stiff) {
  return mask_or(could_be_rounding(ww, stiff), could_be_soft(ww, stiff));
}
template <class Real>
DS_HD MaskOf<Real> is_softer_than_meant(const Real& ww, const StiffTerms<Real>& stiff) {
  return mask_not(is_small(Real(4 / kStiffest<Real>) * stiff.bounded, right_by_bound(ww)));
}
// The square of an error that is right, also where w is all but nothing: rows that balance leave of it what rounding makes of
// what they ask for, y / |z|. Its square is a l^2 / (D A)^2, and D A of stiff rows is at least kStiff; or R l^2 / (D A), and
// D A of rigid ones is at most kRigid, and less in some rows of a contact: ten times the rounding
template <class Real>
DS_HD Real right_of_balance(const Real& ww, const StiffTerms<Real>& stiff) {
  const Real u(kRoundingOfRows<Real>), of_stiff(1 / (kStiff<Real> * kStiff<Real>)),
      of_rigid(100 / kRigid<Real>);
  return max(right_by_bound(ww), u * u * fma(of_rigid, stiff.rigid, of_stiff * stiff.all));
}
// those of `doubtful` whose w moves by more than `right`, a square. Curvatures and forces become those of the present y
template <int kDim, bool kByRows, class E>
DS_STAGE typename E::Mask are_made_of_rounding(E& env, typename E::Mask doubtful,
                                               const typename E::Real& right) {
  using Real = typename E::Real;
  const auto dw = env.dw(), grad = env.grad();
  env.sync();
  (void)row_laws<kDim, kByRows, true>(env);
  put_terms<Terms::kSquares, kDim>(env, doubtful, grad);
  const bool rigid = env.t.o.has_rigid;
  if (rigid) put_terms<Terms::kRigid, kDim>(env, doubtful, dw);
  env.each(env.t.n.nv, [&](int i) {
    const Real rounding = rounding_of_terms(i, Real(grad[i]));
    grad[i] = rigid ? dw[i] + rounding : rounding;
  });
  newton_direction<kDim, kByRows>(env, doubtful);
  const Real moved = env.accumulate(env.t.n.nv, [&](int i, const Real& s) { return fma(dw[i], dw[i], s); });
  env.done();
  return mask_and(doubtful, mask_not(is_small(moved, right)));
}

// a share of what rounding does
constexpr double kNothing = 1e-2;
// Whether the step that is left, of the square `left`, shows that w is right: where it is nothing beside rounding; or is
// still small after the search went on. For where rows turn along a short step, the one behind it need not be short
template <class Real>
DS_HD MaskOf<Real> is_arrived(const Real& ww, const Real& left, const Real& least, bool pursued) {
  const Real nothing = Real(kNothing * kNothing) * least;
  return is_small(left, pursued ? max(right_by_estimate(ww), least) : nothing);
}

// how often the search goes on with environments whose acceleration is not right
constexpr int kPursuits = 2;
// and how much nearer it goes then
template <class Real>
DS_HD Real pursuit_tolerance(const Real& tolerance) {
  return Real(1e-2) * tolerance;
}
// those of `doubtful` whose acceleration is not right, after going on with them
template <int kDim, bool kByRows, class E>
DS_STAGE typename E::Mask pursue(E& env, const typename E::Real& tolerance, typename E::Mask doubtful) {
  using Real = typename E::Real;
  const auto w = env.w(), dw = env.dw();
  const Real least = rounding_squared<kDim, kByRows>(env);
  for (int round = 0;; round++) {
    // those that are right keep their y, whoever shares their pack
    each_residual<kDim>(env, [](const Real& y, Real& kept) { kept = y; });
    env.sync();
    residuals<kDim>(env);
    each_residual<kDim>(env, [&](Real& y, const Real& kept) { y = select(doubtful, y, kept); });
    env.sync();
    (void)row_laws<kDim, kByRows, true>(env);
    gradient<kDim>(env, doubtful);
    newton_direction<kDim, kByRows>(env, doubtful);
    using Sum = Sums<Real, 2>;
    const Sum sum = env.template accumulate<Sum>(env.t.n.nv, [&](int i, Sum s) {
      s.of[0] = fma(w[i], w[i], s.of[0]);
      s.of[1] = fma(dw[i], dw[i], s.of[1]);
      return s;
    });
    env.done();
    doubtful = mask_and(doubtful, mask_not(is_arrived(sum.of[0], sum.of[1], least, round > 0)));
    if (round == kPursuits || !any(doubtful)) return doubtful;
    (void)newton<kDim, kByRows>(env, env.t.o.newton, pursuit_tolerance(tolerance), doubtful);
  }
}

// the environments whose acceleration is not right. Leaves the gradient current
template <int kDim, bool kByRows, class E>
DS_STAGE typename E::Mask not_right(E& env, const typename E::Real& tolerance) {
  using Real = typename E::Real;
  const auto w = env.w(), grad = env.grad();
  gradient<kDim>(env, all_true<Real>());
  using Sum = Sums<Real, 2>;
  const Sum sum = env.template accumulate<Sum>(env.t.n.nv, [&](int i, Sum s) {
    s.of[0] = fma(w[i], w[i], s.of[0]);
    s.of[1] = fma(grad[i], grad[i], s.of[1]);
    return s;
  });
  env.done();
  auto doubtful = mask_not(is_small(sum.of[1], right_by_bound(sum.of[0])));
  if (!any(doubtful)) return doubtful;
  doubtful = pursue<kDim, kByRows>(env, tolerance, doubtful);
  gradient<kDim>(env, all_true<Real>());
  return doubtful;
}

template <int kDim, bool kByRows, class E>
DS_HD void judge(E& env) {
  // Coulomb's law has an iteration of its own around the search, which raises rows and judges itself
  if (!env.t.o.coulomb) env.unsolved = not_right<kDim, kByRows>(env, law_tolerance(env, true));
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
