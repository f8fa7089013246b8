// The contact dual of one step: two block sweeps, then Newton on the active set they found.
//
// See kernels/solver/README.md for the mathematics, what was tried and what it costs. The sweeps start from
// zero forces; their result competes with the acceleration of the last step, and Newton starts from the
// cheaper of the two, so a quiet scene needs one step and a reset leaves nothing behind but a bad guess. The
// residual reported, after the last evaluation of a call, is that of the dual at the forces returned: | l -
// P_K(l - y / a) | / |l|, y = (A + R) l + b, a the mean diagonal of A + R over the rows in use; elliptic
// cones are measured in coordinates scaled by 1/mu_i, where they are circular. Reads rows.h's output,
// qacc_warmstart.
// Writes qacc, qfrc_constraint, con_f, forces, residual, iterations.
#pragma once

#include "kernels/contact/contact_law.h"
#include "kernels/solver/newton.h"
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
template <int kDim, bool kElliptic, class E>
DS_STAGE void choose_start(E& env) {
  using Real = typename E::Real;
  const auto w = env.w(), dw = env.dw(), grad = env.grad();
  const int nv = env.t.n.nv;
  const auto half_square = [&](const auto& x) {
    return Real(0.5) * env.accumulate(nv, [&](int i, const Real& s) { return fma(x[i], x[i], s); });
  };
  residuals<kDim>(env);
  const Real swept = half_square(w) + row_cost<kDim, kElliptic>(env);
  each_residual<kDim>(env, [](const Real& y, Real& kept) { kept = y; });
  whiten_acceleration(env, env.qacc_warmstart(), dw);
  env.each(nv, [&](int i) {
    grad[i] = w[i];
    w[i] = dw[i];
  });
  env.sync();
  residuals<kDim>(env);
  const Real warm = half_square(w) + row_cost<kDim, kElliptic>(env);
  const auto keep = warm < swept;
  if (all(keep)) return;
  env.sync();
  env.each(nv, [&](int i) { w[i] = select(keep, w[i], grad[i]); });
  each_residual<kDim>(env, [&](Real& y, const Real& kept) { y = select(keep, y, kept); });
  env.sync();
}

// relative natural residual of the dual at the forces that the present y gives; grad must be current
template <int kDim, bool kElliptic, class E>
DS_STAGE typename E::Real natural_residual(E& env) {
  using Real = typename E::Real;
  const auto dw = env.dw(), grad = env.grad();
  // Z l = w - grad; y of the dual differs from y of the primal by Z'(Z l - w) = -Z' grad
  env.each(env.t.n.nv, [&](int i) { dw[i] = -grad[i]; });
  env.sync();
  direction_rows<kDim>(env);
  MeanDiagonal<Real> diagonal;
  each_kind<kDim, kElliptic>(env, [&](const auto& kind) { kind.add_diagonal(&diagonal); });
  NaturalResidual<Real> residual{diagonal.mean()};
  each_kind<kDim, kElliptic>(env, [&](const auto& kind) { kind.add_natural(&residual); });
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
template <int kDim, bool kElliptic, class E>
DS_STAGE void finish_pgs(E& env) {
  residuals<kDim>(env);
  (void)row_laws<kDim, kElliptic, false>(env);
}

// what an impact knows of itself: 0 none, 1 some, 2 not solved
template <class E>
DS_HD typename E::Real& impact_flag(const E& env) {
  return env.impact_state()[0];
}
// whether an environment's impact is sought at the present scale of restitution
template <class E>
DS_HD typename E::Mask impact_sought(const E& env) {
  return env.impact_state()[1] > typename E::Real(0);
}
// Newton for those, to where only rounding is left
template <int kDim, bool kElliptic, class E>
DS_HD typename E::Mask newton_of_impact(E& env, const typename E::Mask& live) {
  using Real = typename E::Real;
  return newton<kDim, kElliptic>(env, 50, Real(sizeof(ScalarOf<Real>) == 4 ? 1e-4 : 1e-9), live);
}
template <int kDim, bool kElliptic, class E>
DS_HD typename E::Mask newton_of_impact(E& env) {
  return newton_of_impact<kDim, kElliptic>(env, impact_sought(env));
}

// Coulomb's law on top of the cone's solution: the normal row of each contact is raised by mu |y_t|, the
// speed at which it slides (of a pyramid the largest mu_i |y_i|), until that does not change. Where contacts
// jam, the plain iteration swings: each round goes a share of the way, after Irons & Tuck 1969. An
// environment that is done is left alone. con_kb keeps y0 without a raise, and the last round's change.
// kShifted: the rows of impacts (impact.h), whose y0 is shifted against their weight, and has the raise that
// con_kb says
template <int kDim, bool kElliptic, bool kShifted, class E>
DS_STAGE void coulomb(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto y0 = env.con_y0(), y = env.con_y(), kept = env.con_kb();
  const Real zero(0), one(1);
  // hard rows are solved to their weight, not to rounding
  constexpr bool kSingle = sizeof(ScalarOf<Real>) == 4;
  const Real tolerance(kShifted                      ? (kSingle ? 1e-5 : 1e-12)
                       : t.o.contact_law == kLawHard ? 10 * hard_share<Real>()
                       : kSingle                     ? 1e-5
                                                     : 1e-10);
  env.each(env.ncon_max, [&](int slot) {
    kept[3 * slot] = kShifted ? y0[kDim * slot] - kept[3 * slot + 2] : Real(y0[kDim * slot]);
    kept[3 * slot + 1] = zero;
  });
  env.done();
  auto live = kShifted ? impact_sought(env) : all_true<Real>();
  Real share = one;
  for (int round = 0; round < 80; round++) {
    const auto change_of = [&](int slot) {
      const auto p = cone_params<kDim>(env, slot);
      const Real R = one / select(p.D > zero, p.D, one), cone = select(p.cone_mu > zero, p.cone_mu, one);
      Real square_of = zero, most = zero;
      DS_UNROLL
      for (int r = 1; r < kDim; r++) {
        const auto rubs = mask_and(p.dim > Real(r), p.mu[r - 1] > zero);
        const Real mu = select(rubs, p.mu[r - 1], one);
        const Real slip =
            kShifted ? y[kDim * slot + r] + env.impact_s()[kDim * slot + r]
                     : fma(R * (cone / mu) * (cone / mu), env.con_f()[kDim * slot + r], y[kDim * slot + r]);
        const Real s = select(rubs, mu * slip, zero);
        square_of = fma(s, s, square_of);
        most = max(most, abs(s));
      }
      const Real raise = kElliptic && !env.l1_cone ? sqrt(square_of) : most;
      return select(p.D > zero, (kept[3 * slot] + raise) - y0[kDim * slot], zero);
    };
    const auto sum = [&](const auto& f) {
      return env.accumulate(env.ncon_max, [&](int slot, const Real& s) { return s + f(slot); });
    };
    const Real change = sum([&](int slot) { return square(change_of(slot)); });
    const Real size = sum([&](int slot) { return square(y0[kDim * slot]); });
    live = mask_and(live, change > tolerance * tolerance * size);
    if (!any(live)) break;
    if (round > 0) {
      const auto turn_of = [&](int slot) { return change_of(slot) - kept[3 * slot + 1]; };
      const Real turn = sum([&](int slot) { return square(turn_of(slot)); });
      const Real along = sum([&](int slot) { return kept[3 * slot + 1] * turn_of(slot); });
      const Real next = -share * along / select(turn > zero, turn, one);
      share = select(mask_and(live, turn > zero), clamp(next, Real(0.02), Real(1.5)), share);
    }
    // what follows overwrites only what every lane has read by now: it went into the sums
    env.each(env.ncon_max, [&](int slot) {
      const Real d = change_of(slot), up = select(live, share * d, zero);
      kept[3 * slot + 1] = d;
      y[kDim * slot] = y[kDim * slot] + up;
      y0[kDim * slot] = y0[kDim * slot] + up;
      if (kShifted) kept[3 * slot + 2] = kept[3 * slot + 2] + up;
    });
    env.done();
    if constexpr (kShifted)
      (void)newton_of_impact<kDim, kElliptic>(env, live);
    else
      (void)newton<kDim, kElliptic>(env, t.o.newton, law_tolerance(env, hard_share<Real>()), live);
  }
  env.unsolved = mask_or(env.unsolved, live);
}

// what a law of its own does before the solver, after it, and to what it found
template <int kDim, class E>
DS_STAGE void begin_law(E& env) {
  using Real = typename E::Real;
  const auto& o = env.t.o;
  if (o.contact_law == kLawExplicit) {
    if (o.anchored) match_anchors<kDim>(env);
    explicit_contacts<kDim>(env);
  }
  if (o.contact_law == kLawSpringDamper || o.contact_law == kLawHard || o.spring_damper_rows)
    law_weights(env, o.contact_law == kLawSpringDamper ? Real(o.epsilon) : Real(kFirstShare));
}
template <int kDim, bool kElliptic, class E>
DS_STAGE void finish_law(E& env) {
  using Real = typename E::Real;
  const auto& o = env.t.o;
  // hard rows: from the softer problem to the harder one
  if (o.contact_law == kLawHard)
    for (double share = 1e-6; share >= 0.99 * hard_share<Real>(); share *= 1e-2) {
      law_weights(env, Real(share));
      env.unsolved = newton<kDim, kElliptic>(env, o.newton, law_tolerance(env, share), all_true<Real>());
    }
  if (o.coulomb) coulomb<kDim, kElliptic, false>(env);
}
template <int kDim, class E>
DS_STAGE void add_explicit(E& env) {
  env.sync();  // the forces were read for the residual
  env.each(env.t.n.nv, [&](int i) { env.w()[i] = env.w()[i] + env.w_explicit()[i]; });
  env.each(kDim * env.ncon_max, [&](int i) { env.con_f()[i] = env.con_y0()[i]; });
  env.done();
}

template <int kDim, bool kElliptic, class E>
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
    env.each(7 * t.n.nanchor, [&](int i) { env.next_anchors()[i] = zero; });
    env.done();
    return;
  }
  diagonal_blocks<kDim>(env);
  if (t.o.contact_law != kLawMujoco) begin_law<kDim>(env);
  pgs<kDim, kElliptic>(env, t.o.sweeps);
  env.time_stage(kStage_sweeps);
  if (t.o.pgs_only) {
    env.iterations = Real(t.o.sweeps);
    finish_pgs<kDim, kElliptic>(env);
  } else {
    choose_start<kDim, kElliptic>(env);
    dual_space<kDim>(env);
    env.unsolved =
        newton<kDim, kElliptic>(env, t.o.newton, law_tolerance(env, kFirstShare), all_true<Real>());
    if (t.o.contact_law == kLawHard || t.o.coulomb) finish_law<kDim, kElliptic>(env);
    env.time_stage(kStage_newton);
  }
  if (env.ends_call) {
    gradient<kDim>(env, all_true<Real>());
    env.residual = natural_residual<kDim, kElliptic>(env);
  }
  if (t.o.contact_law == kLawExplicit) add_explicit<kDim>(env);
  unwhiten(env);
  env.time_stage(kStage_finish);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
