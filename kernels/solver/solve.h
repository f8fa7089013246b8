// The contact dual of one step: two block sweeps, then Newton on the active set they found.
//
// See kernels/solver/README.md for the mathematics, what was tried and what it costs. The sweeps start from zero forces;
// their result competes with the acceleration of the last step, and Newton starts from the cheaper of the two, so a quiet
// scene needs one step and a reset leaves nothing behind but a bad guess. Models whose trees are solved apart go to
// islands/ instead.
//
// solves    minimize over l in K   1/2 l'(A + R) l + l' b   (rows.h), as the primal   min over w   1/2 |w|^2 + s(b + Z'w)
// equation  qacc = qacc_smooth + L^-1 D^-1/2 w,   qfrc_constraint = L' D^1/2 w = M (qacc - qacc_smooth)
//           residual, after the last evaluation of a call, at the forces returned:
//             |l - P_K(l - y / a)| / |l|,   y = (A + R) l + b,   a the mean diagonal of A + R over the rows in use
// source    Todorov 2014 for the dual and the primal; pgs.h, newton.h, judge.h for the methods
// deviation qfrc_constraint is J'l up to the gradient that is left over, so that the equation of motion holds to rounding.
//           In the residual elliptic cones are measured in coordinates scaled by 1 / mu_i, where they are circular. Laws of
//           contact (kernels/contact) may change rows before they are solved, and go on after
// reads     what rows.h leaves, qacc_warmstart, qacc_smooth, LD, Dscale
// writes    qacc, qfrc_constraint, con_f, residual, iterations, unsolved; con_A, and what pgs.h, row_space.h, newton.h and
//           judge.h write
// cost      O(rows nv) a sweep and a Newton step, and the direction's of each step; where rows are few A once, O(rows^2 nv)
#pragma once

#include "kernels/contact/with_law.h"
#include "kernels/rows/conditioning.h"
#include "kernels/solver/islands/solve_islands.h"
#include "kernels/solver/judge.h"
#include "kernels/solver/pgs.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// w of an acceleration: D^1/2 L (a - qacc_smooth)
template <class E, class F>
DS_FN void whiten_acceleration(E& env, const F& a, const F& out) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD(), Dscale = env.Dscale(), smooth = env.qacc_smooth();
  env.each(t.n.nv, [&](int k) {
    const int row = t.M_rowadr[k], n = t.M_rowadr[k + 1] - row;
    Real s = a[k] - smooth[k];
    for (int e = 1; e < n; e++) {
      const int i = t.M_col[row + e];
      s = fma(LD[row + e], a[i] - smooth[i], s);
    }
    out[k] = s / Dscale[k];
  });
  env.sync();
}

// start from the acceleration of the last step where it is cheaper than what the sweeps found; leaves y
// current
template <int kDim, bool kByRows, class E>
DS_STAGE void choose_start(E& env) {
  using Real = typename E::Real;
  const auto w = env.w(), dw = env.dw(), grad = env.grad();
  const int nv = env.t.n.nv;
  const auto half_square = [&](const auto& x) {
    return Real(0.5) * env.accumulate(nv, [&](int i, const Real& s) { return fma(x[i], x[i], s); });
  };
  residuals<kDim>(env);
  const Real swept = half_square(w) + row_cost<kDim, kByRows>(env);
  each_residual<kDim>(env, [](const Real& y, Real& kept) { kept = y; });
  whiten_acceleration(env, env.qacc_warmstart(), dw);
  env.each(nv, [&](int i) {
    grad[i] = w[i];
    w[i] = dw[i];
  });
  env.sync();
  residuals<kDim>(env);
  const Real warm = half_square(w) + row_cost<kDim, kByRows>(env);
  const auto keep = warm < swept;
  if (all(keep)) return;
  env.sync();
  env.each(nv, [&](int i) { w[i] = select(keep, w[i], grad[i]); });
  each_residual<kDim>(env, [&](Real& y, const Real& kept) { y = select(keep, y, kept); });
  env.sync();
}

// relative natural residual of the dual at the forces that the present y gives; grad must be current. Where these forces
// make an acceleration out of rounding, it is unsolved
template <int kDim, bool kByRows, class E>
DS_STAGE typename E::Real natural_residual(E& env) {
  using Real = typename E::Real;
  const auto w = env.w(), dw = env.dw(), grad = env.grad();
  // Z l = w - grad; y of the dual differs from y of the primal by Z'(Z l - w) = -Z' grad
  env.each(env.t.n.nv, [&](int i) { dw[i] = -grad[i]; });
  env.sync();
  direction_rows<kDim>(env);
  MeanDiagonal<Real> diagonal;
  each_kind<kDim, kByRows>(env, [&](const auto& kind) { kind.add_diagonal(&diagonal); });
  const Real ww = env.accumulate(env.t.n.nv, [&](int i, const Real& s) { return fma(w[i], w[i], s); });
  env.unsolved = mask_or(env.unsolved, is_softer_than_meant(ww, diagonal.stiff));
  NaturalResidual<Real> residual{diagonal.mean()};
  each_kind<kDim, kByRows>(env, [&](const auto& kind) { kind.add_natural(&residual); });
  const auto doubtful = mask_and(in_doubt(ww, diagonal.stiff), mask_not(env.unsolved));
  if (any(doubtful))
    env.unsolved = mask_or(env.unsolved, are_made_of_rounding<kDim, kByRows>(
                                             env, doubtful, right_of_balance(ww, diagonal.stiff)));
  const Real error = sqrt(residual.error), size = residual.size;
  return error / select(size > Real(0), sqrt(size), Real(1));
}

// qacc = qacc_smooth + L^-1 D^-1/2 w;  qfrc_constraint = L' D^1/2 w = M (qacc - qacc_smooth), so that the
// equation of motion holds to rounding; it is J' l up to the gradient that the solver left over
template <class E>
DS_STAGE void unwhiten(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w(), dw = env.dw(), grad = env.grad(), Dscale = env.Dscale(), LD = env.LD();
  const auto qacc = env.qacc(), smooth = env.qacc_smooth(), out = env.qfrc_constraint();
  env.each(t.n.nv, [&](int i) {
    dw[i] = w[i] * Dscale[i];
    grad[i] = w[i] / Dscale[i];
  });
  solve_L(env, dw);
  env.each(t.n.nv, [&](int i) {
    qacc[i] = smooth[i] + dw[i];
    // of dof i itself and of those below it, from the root outwards
    Real sum = Real(0) + grad[i];
    for (int e = t.Mt_adr[i]; e < t.Mt_adr[i + 1]; e++) sum = fma(LD[t.Mt_entry[e]], grad[t.Mt_row[e]], sum);
    out[i] = sum;
  });
  env.done();
}

// forces of the sweeps as contact forces, when nothing follows them
template <int kDim, bool kByRows, class E>
DS_STAGE void finish_pgs(E& env) {
  residuals<kDim>(env);
  (void)row_laws<kDim, kByRows, false>(env);
}

// Newton from where it stands, for what solves the rows more than once (kernels/contact)
template <int kDim, bool kByRows>
struct NewtonAgain {
  template <class E>
  DS_HD typename E::Mask operator()(E& env, const typename E::Real& tolerance,
                                    const typename E::Mask& live) const {
    return newton<kDim, kByRows>(env, env.t.o.newton, tolerance, live);
  }
};

template <int kDim, bool kByRows, class E>
DS_FN void solve(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real zero(0);
  env.residual = zero;
  env.iterations = zero;
  env.unsolved = all_false<Real>();
  if (t.n.nsingle + t.n.ndense == 0 && env.ncon_max == 0) {
    env.each(t.n.nv, [&](int i) {
      // adding zero turns -0 into 0, as the full path does
      env.qacc()[i] = env.qacc_smooth()[i] + zero;
      env.qfrc_constraint()[i] = zero;
    });
    idle_law(env);
    env.done();
    return;
  }
  if constexpr (kCompiledFor<StepTables<typename E::Scalar>, &Sizes::nisland>)
    if (t.n.nisland > 0) {
      whiten_acceleration(env, env.qacc_warmstart(), env.dw());
      solve_islands<kDim, kByRows>(env);
      env.time_stage(kStage_newton);
      unwhiten(env);
      env.time_stage(kStage_finish);
      return;
    }
  // without rows of their own, environments without contacts are not here
  const bool together = t.n.nsingle + t.n.ndense > 0;
  const auto meet = [&] {
    if (together) env.sync_block();
  };
  diagonal_blocks<kDim>(env);
  meet();
  begin_law<kDim>(env);
  condition_rows<kDim, kByRows>(env);
  pgs<kDim, kByRows>(env, t.o.sweeps);
  meet();
  env.time_stage(kStage_sweeps);
  if (t.o.pgs_only) {
    // of those that have rows: others may be in the pack for its sake alone
    const bool all = t.n.nsingle + t.n.ndense > 0;
    for (int l = 0; l < E::kPack; l++)
      set_lane(env.iterations, l, typename E::Scalar(all || lane_of(env.ncon, l) > 0 ? t.o.sweeps : 0));
    finish_pgs<kDim, kByRows>(env);
  } else {
    choose_start<kDim, kByRows>(env);
    meet();
    dual_space<kDim>(env);
    env.unsolved =
        newton<kDim, kByRows>(env, t.o.newton, law_tolerance(env, false), all_true<Real>(), together);
    meet();
    finish_law<kDim, kByRows>(env, NewtonAgain<kDim, kByRows>());
    judge<kDim, kByRows>(env);
    meet();
    env.time_stage(kStage_newton);
  }
  if (env.ends_call) {
    if (t.o.pgs_only || t.o.coulomb) gradient<kDim>(env, all_true<Real>());
    env.residual = natural_residual<kDim, kByRows>(env);
    // a residual that is no number tells nothing right
    env.unsolved = mask_or(env.unsolved, mask_not(env.residual < Real(kVast)));
  }
  add_law<kDim>(env);
  unwhiten(env);
  env.time_stage(kStage_finish);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
