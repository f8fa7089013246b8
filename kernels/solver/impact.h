// Impacts before a step: contacts and joint stops that touch and are approaching, with restitution and Coulomb friction.
//
// solves    the velocity v+ after the impacts of a state, and their impulses L
// equation  v+ = v + M^-1 J'L,   0 <= n v+ + e n v  _|_  L_n >= 0,   L_t the most dissipative of mu L_n
//           rows of equality constraints keep their velocity; M is without damping, since an impact takes
//           no time
// method    the problem is that of a step's hard rows, with velocities in place of accelerations,
//             y0_n = (1 + e) n v,  y0_t = t v
//           solved on the primal with a weight on each row, a share of A's diagonal, and raised by Coulomb's law
//           (coulomb.h). What the weight moved is then taken back: y0 is shifted by -R L, at whose fixed point
//           there is no weight. Where friction and restitution together would raise the kinetic energy, every e
//           is scaled down by bisection until they do not
// source    Newton's law of restitution; Moreau 1988; Stewart & Trinkle 1996; the method of multipliers is
//           that of Hestenes 1969 and Powell 1969
// deviation velocities count in units of 1/S m/s, S a large power of two, in which the friction loss of
//           joints is nothing; limits of ball joints (host/model/contact_law.cpp) and rows of tendons take
//           no part
// reads     con_*, qvel, cvel, M
// writes    jump, impact_*, qvel_before, qvel (which the rows of the step are to see); what rows and
//           solver write, and it leaves the rest as it was
// cost      where nothing strikes O(contacts); else a factor, the rows and some ten Newton steps, 50 times
//           that with a bisection
#pragma once

#include "kernels/contact/coulomb.h"
#include "kernels/smooth/bias.h"
#include "kernels/solver/solve.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// contacts approaching more slowly than this do not strike [m/s]
constexpr double kBounceSpeed = 0.05;

// S: what a speed of 1 m/s counts
template <class Real>
constexpr double kImpactUnit = kSingle<Real> ? 16777216.0 : 1152921504606846976.0;
// the last weight of the rows, as a share of A's diagonal: forces are exact to the rounding over it. The first is so
// much larger
template <class Real>
constexpr double kImpactShare = kSingle<Real> ? 1e-3 : 1e-6;
constexpr double kFirstShareRatio = 100;
// how often a weight is taken back: each round leaves about its share of what was left
constexpr int kImpactRounds = 5;
// Newton's cap, and how exact it is, of the acceleration: to where only rounding is left
constexpr int kImpactNewtonSteps = 50;
template <class Real>
constexpr double kImpactTolerance = kSingle<Real> ? 1e-4 : 1e-9;
// how exact Coulomb's law is, of the raised rows
template <class Real>
constexpr double kImpactCoulombTolerance = kSingle<Real> ? 1e-5 : 1e-12;
// of twice the energy before: a gain that is rounding
template <class Real>
constexpr double kEnergyRounding = kSingle<Real> ? 1e-5 : 1e-12;
// trials of the scale of restitution: all of it, none, then halves until its last bit. From kLastHope on the
// search is given up where nothing is solved
template <class Real>
constexpr int kScaleTrials = kSingle<Real> ? 26 : 54;
enum ScaleTrial : int { kTrialOfAll = 0, kTrialOfNone = 1, kLastHope = 5 };

// what an impact knows of itself, in impact_found
enum ImpactState : int { kNoImpact = 0, kStruck = 1, kImpactUnsolved = 2 };
template <class E>
DS_HD typename E::Real& impact_flag(const E& env) {
  return env.impact_found()[0];
}
// whether an environment's impact is sought at the present scale of restitution
template <class E>
DS_HD typename E::Mask impact_sought(const E& env) {
  return env.impact_open()[0] > typename E::Real(0);
}
template <int kDim, bool kByRows>
struct NewtonOfImpact {
  template <class E>
  DS_HD typename E::Mask operator()(E& env, const typename E::Mask& live) const {
    using Real = typename E::Real;
    return newton<kDim, kByRows>(env, kImpactNewtonSteps, Real(kImpactTolerance<Real>), live);
  }
};

// side s of the limits: whether it is closed, and whether it is fast enough to bounce
template <class E>
DS_HD typename E::Mask limit_closed(const E& env, int s) {
  return Limits<E>{env}.gap(s) <= typename E::Real(0);
}
template <class E>
DS_HD typename E::Mask limit_strikes(const E& env, int s) {
  using Real = typename E::Real;
  return mask_and(limit_closed(env, s), -Limits<E>{env}.rate(s) > Real(kBounceSpeed));
}
// restitution of each closed contact (0 where it is too slow to bounce, -1 where the contact is apart), and
// where something strikes; whether it does in any environment
template <class E>
DS_STAGE bool find_impacts(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real zero(0), one(1), none(-1), fast(kBounceSpeed);
  const auto cvel = env.cvel(), com = env.tree_com(), pos = env.con_pos();
  Real hits = env.accumulate(env.ncon_max, [&](int slot, const Real& sum) {
    const auto closed = mask_and(env.con_dim()[slot] > zero, env.con_dist()[slot] <= zero);
    const Vec3<Real> p = pos.vec(slot), n = contact_normal(env, slot);
    Real speed = zero, restitution = zero;
    for (int l = 0; l < E::kPack; l++) {
      if (!mask_bit(closed, l)) continue;
      const int pair = pair_of(env, slot, l);
      const auto along = [&](int geom) {
        const int body = t.geom_body[geom], tree = t.body_tree[body];
        if (tree < 0) return zero;
        const Spatial<Real> v = cvel.spatial(body);
        return dot(n, v.lin + cross(v.ang, p - com.vec(tree)));
      };
      set_lane(speed, l, lane_of(along(geom_of_pair(t, pair, 0)) - along(geom_of_pair(t, pair, 1)), l));
      set_lane(restitution, l, lane_of(env.pair_restitution(pair), l));
    }
    const auto strikes = mask_and(closed, speed > fast);
    env.impact_e()[slot] = select(closed, select(strikes, restitution, zero), none);
    return sum + select(strikes, one, zero);
  });
  hits = hits + env.accumulate(kLimitSides * t.n.nlim, [&](int s, const Real& sum) {
    return sum + select(limit_strikes(env, s), one, zero);
  });
  const auto struck = mask_and(hits > zero, mask_not(env.diverged));
  if (env.lanes.rank() == 0) impact_flag(env) = select(struck, Real(kStruck), Real(kNoImpact));
  env.done();
  return any(struck);
}

// what the impact overwrites of a contact: its hint for t1, softness, weight
enum KeptNumber : int { kKeptHint = 0, kKeptKterm = 3, kKeptBn, kKeptBt, kKeptD, kKeptNumbers };
static_assert(kKeptNumbers == 7, "as the field table has it");
template <class E>
DS_HD auto kept_of(const E& env, int slot) {
  return env.impact_kept().from(kKeptNumbers * slot);
}

// dense scalar rows of the kinds that hold in impacts; what stands in the others is of another evaluation, and maybe of other
// environments
template <class E>
DS_STAGE void impact_dense_rows(E& env) {
  DenseKinds::each(env, [&]<class Kind>(const Kind& kind, int first) {
    if constexpr (holds_in_impacts<Kind>()) {
      static_assert(kSameType<decltype(kind.law(env, first, first)), TwoSided>,
                    "unweigh_impact takes what holds for two-sided");
      kind.make(env, first);
    } else {
      env.each(kind.count(env), [&](int k) {
        clear_row(env, first + k);
        env.dense_D()[first + k] = typename E::Real(0);
      });
    }
  });
}
// whitened rows of the impact, on the plain inertia; con_y0 = S J v, which impact_u keeps
template <int kDim, class E>
DS_STAGE void impact_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real zero(0), one(1), unit(kImpactUnit<Real>);
  const auto struck = impact_flag(env) > Real(kNoImpact);
  const auto D = env.con_D();
  env.each(env.ncon_max, [&](int slot) {
    const auto kept = kept_of(env, slot);
    kept.set_at(kKeptHint, contact_tangent(env, slot));
    kept[kKeptKterm] = env.con_kterm()[slot];
    kept[kKeptBn] = env.con_Bn()[slot], kept[kKeptBt] = env.con_Bt()[slot];
    kept[kKeptD] = D[slot];
    env.con_kterm()[slot] = zero;
    env.con_Bn()[slot] = env.con_Bt()[slot] = unit;
    D[slot] = select(mask_and(struck, env.impact_e()[slot] >= zero), one, zero);
  });
  // rows take qacc_smooth for zero
  const auto smooth = env.qacc_smooth(), away = env.qacc();
  env.each(t.n.nv, [&](int i) {
    away[i] = smooth[i];
    smooth[i] = zero;
  });
  // which single-dof rows are in use follows from the weights
  env.each(kLimitSides * t.n.nlim,
           [&](int s) { env.lim_D()[s] = select(mask_and(struck, limit_closed(env, s)), one, zero); });
  load_factor(env);
  eliminate_to_whiten(env);
  find_single_rows(env);
  single_rows(env);
  impact_dense_rows(env);
  env.done();
  contact_rows<kDim>(env);
  diagonal_blocks<kDim>(env);
  env.each(env.ncon_max, [&](int slot) {
    const auto u = rows_of_slot<kDim>(env.impact_u(), slot), y0 = rows_of_slot<kDim>(env.con_y0(), slot);
    for (int r = 0; r < kDim; r++) u[r] = select(D[slot] > zero, y0[r], zero);
  });
  each_single_kind(env, [](const auto& kind) {
    if constexpr (requires { kind.rest_in_impact(); }) kind.rest_in_impact();
  });
  env.each(t.n.ndense,
           [&](int g) { env.dense_D()[g] = select(mask_and(struck, env.dense_D()[g] > zero), one, zero); });
  env.done();
}

// the rows' weights, 1 / R with R a share of A's diagonal, at first a larger one
template <class E>
DS_STAGE void weigh_impact(E& env, bool first) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real zero(0), one(1), least(kLeastR);
  const Real share(first ? kFirstShareRatio * kImpactShare<Real> : kImpactShare<Real>);
  const auto weight = [&](const Real& D, const Real& a) {
    return select(D > zero, one / max(share * a, least), zero);
  };
  env.each(env.ncon_max, [&](int slot) {
    env.con_D()[slot] = weight(env.con_D()[slot], env.con_A()[triangle(t.n.kdim) * slot]);
  });
  each_limit(env, [&](int s, int dof) {
    const Real a = single_diag(env, dof);
    if (env.lanes.rank() == 0) env.lim_D()[s] = weight(env.lim_D()[s], a);
  });
  const auto Z = env.Z();
  for (int g = 0; g < t.n.ndense; g++) {
    const Real a = env.accumulate(
        t.n.nv, [&](int d, const Real& sum) { return fma(Z[g * t.n.nv + d], Z[g * t.n.nv + d], sum); });
    if (env.lanes.rank() == 0) env.dense_D()[g] = weight(env.dense_D()[g], a);
  }
  env.done();
}

// b of a contact's row, with all restitution scaled
template <int kDim, class E>
DS_HD typename E::Real impact_target(const E& env, int slot, int r, const typename E::Real& scale) {
  using Real = typename E::Real;
  const Real u = rows_of_slot<kDim>(env.impact_u(), slot)[r];
  return r == 0 ? fma(scale * max(env.impact_e()[slot], Real(0)), u, u) : u;
}
template <class E>
DS_HD typename E::Real limit_target(const E& env, int s, const typename E::Real& scale) {
  using Real = typename E::Real;
  const Real u = Real(kImpactUnit<Real>) * Limits<E>{env}.rate(s);
  const Real e = select(limit_strikes(env, s), Real(env.t.o.restitution), Real(0));
  return select(env.lim_D()[s] > Real(0), fma(scale * e, u, u), Real(0));
}

// y0 at the present scale of restitution, for the environments whose impact is sought: no raise, no shift
template <int kDim, class E>
DS_STAGE void aim_impact(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real zero(0), scale = env.impact_scale()[0];
  const auto live = impact_sought(env);
  env.each(env.ncon_max, [&](int slot) {
    const auto y0 = rows_of_slot<kDim>(env.con_y0(), slot), shift = rows_of_slot<kDim>(env.impact_s(), slot);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) {
      const Real kept = select(env.con_D()[slot] > zero, y0[r], zero);
      y0[r] = select(live, impact_target<kDim>(env, slot, r, scale), kept);
      shift[r] = zero;
    }
    env.coulomb_raise()[slot] = zero;
  });
  env.each(kLimitSides * t.n.nlim, [&](int s) {
    env.lim_y0()[s] =
        select(live, limit_target(env, s, scale), select(env.lim_D()[s] > zero, Real(env.lim_y0()[s]), zero));
  });
  env.each(t.n.ndense, [&](int g) { env.dense_y0()[g] = zero; });
  env.done();
}

// takes back what the weights moved: shifts y0 by -R L where a row pushes
template <int kDim, bool kByRows, class E>
DS_STAGE void unweigh_impact(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real zero(0), one(1);
  const auto live = impact_sought(env);
  env.each(env.ncon_max, [&](int slot) {
    const auto p = cone_params<kDim>(env, slot);
    const auto on = mask_and(live, p.D > zero);
    const Real R = one / select(p.D > zero, p.D, one), cone = select(p.cone_mu > zero, p.cone_mu, one);
    const auto y = rows_of_slot<kDim>(env.con_y(), slot), y0 = rows_of_slot<kDim>(env.con_y0(), slot);
    const auto shift = rows_of_slot<kDim>(env.impact_s(), slot), f = rows_of_slot<kDim>(env.con_f(), slot);
    const auto pushes = f[0] > zero;
    DS_UNROLL
    for (int r = 0; r < kDim; r++) {
      // of a pyramid's edges those that push have R L = -y, and the others keep their distance
      Real s = select(pushes, -y[r], zero);
      if (kByRows) {
        const Real mu = r == 0 ? one : p.mu[r - 1];
        s = (r == 0 ? R : R * square(cone / select(mu > zero, mu, one))) * f[r];
      }
      const Real change = select(on, shift[r] - s, zero);
      y[r] = y[r] + change;
      y0[r] = y0[r] + change;
      shift[r] = select(on, s, shift[r]);
    }
  });
  const auto scalar_row = [&](const Real& D, const Real& target, bool both_sides, Real& y0, Real& y) {
    const auto on = mask_and(live, D > zero);
    const Real next = select(on, target + (both_sides ? y : negative_part(y)), y0);
    y = y + (next - y0);
    y0 = next;
  };
  env.each(kLimitSides * t.n.nlim, [&](int s) {
    scalar_row(env.lim_D()[s], limit_target(env, s, env.impact_scale()[0]), false, env.lim_y0()[s],
               env.lim_y()[s]);
  });
  env.each(t.n.ndense,
           [&](int g) { scalar_row(env.dense_D()[g], zero, true, env.dense_y0()[g], env.dense_y()[g]); });
  env.done();
}

// no change of velocity yet, all of the restitution; jump is the whitened velocity until the impact is solved
template <int kDim, class E>
DS_STAGE void start_impact(E& env) {
  using Real = typename E::Real;
  const Real zero(0), one(1);
  const auto w = env.w(), found = env.qfrc_constraint(), f = env.impact_f();
  whiten_acceleration(env, env.qvel(), env.jump());
  env.each(env.t.n.nv, [&](int i) { w[i] = found[i] = zero; });
  env.each(kDim * env.ncon_max, [&](int i) { f[i] = zero; });
  if (env.lanes.rank() == 0) {
    env.impact_open()[0] = env.impact_found()[0];
    env.impact_scale()[0] = env.impact_scale_high()[0] = one;
    env.impact_scale_low()[0] = zero;
  }
  env.done();
}

// takes what gains no energy, and moves the scale of restitution of the others; whether any is still sought.
// Without restitution nothing gains; from there up by halves
template <int kDim, bool kByRows, class E>
DS_STAGE bool judge_impact(E& env, int trial) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w(), found = env.qfrc_constraint(), velocity = env.jump(), f = env.impact_f();
  const Real zero(0), one(1), half(0.5), unit(kImpactUnit<Real>);
  const Real scale = env.impact_scale()[0], low = env.impact_scale_low()[0],
             high = env.impact_scale_high()[0];
  const auto live = impact_sought(env);
  const auto lost = mask_and(env.unsolved, impact_flag(env) > Real(kStruck));
  env.sync();
  // 1/2 v+'M v+ - 1/2 v'M v
  const Real gain = env.accumulate(
      t.n.nv, [&](int i, const Real& s) { return fma(w[i], fma(half, w[i], unit * velocity[i]), s); });
  Real least = zero;
  if (trial <= kTrialOfNone) {
    const Real speed2 =
        env.accumulate(t.n.nv, [&](int i, const Real& s) { return fma(velocity[i], velocity[i], s); });
    least = Real(kEnergyRounding<Real>) * unit * unit * speed2;
  }
  const auto gains = mask_and(live, trial == kTrialOfNone ? all_false<Real>() : gain > least);
  const auto taken = mask_and(live, mask_not(gains));
  auto sought = trial == kTrialOfAll ? gains : live;
  // where the impact without restitution loses nothing any restitution gains; where neither what was taken nor
  // what is tried is solved, the search is given up
  if (trial == kTrialOfNone) sought = mask_and(live, mask_or(env.unsolved, gain < -least));
  if (trial >= kLastHope) sought = mask_and(live, mask_not(lost));
  env.each(t.n.nv, [&](int i) { found[i] = select(taken, w[i], found[i]); });
  env.each(kDim * env.ncon_max, [&](int i) { f[i] = select(taken, Real(env.con_f()[i]) / unit, f[i]); });
  if (env.lanes.rank() == 0) {
    impact_flag(env) =
        select(taken, select(env.unsolved, Real(kImpactUnsolved), Real(kStruck)), impact_flag(env));
    env.impact_open()[0] = select(sought, one, zero);
    const Real next_low = trial > kTrialOfNone ? select(gains, low, scale) : low;
    const Real next_high = trial > kTrialOfNone ? select(gains, scale, high) : high;
    env.impact_scale()[0] = trial == kTrialOfAll ? zero : half * (next_low + next_high);
    env.impact_scale_low()[0] = next_low;
    env.impact_scale_high()[0] = next_high;
  }
  env.done();
  return any(sought);
}

// the whitened change of velocity, in qfrc_constraint, and the impulses, in impact_f. What it knows stands in
// the workspace: values that lived on here across Newton would cost registers
template <int kDim, bool kByRows, class E>
DS_STAGE void solve_impact(E& env) {
  using Real = typename E::Real;
  const NewtonOfImpact<kDim, kByRows> solve;
  env.row_space = all_false<Real>();  // newton_rows.h knows the rows of the step, not these
  for (int trial = 0; trial < kScaleTrials<Real>; trial++) {
    aim_impact<kDim>(env);
    residuals<kDim>(env);
    weigh_impact(env, true);
    (void)solve(env, impact_sought(env));
    for (int round = 0; round < kImpactRounds; round++) {
      if (round == 0)
        weigh_impact(env, false);
      else
        unweigh_impact<kDim, kByRows>(env);
      env.unsolved = solve(env, impact_sought(env));
      coulomb<kDim, kByRows, true>(env, impact_sought(env), Real(kImpactCoulombTolerance<Real>), solve);
    }
    if (!judge_impact<kDim, kByRows>(env, trial)) break;
  }
}

// the rest of the step finds everything as it was, but for the velocity
template <int kDim, class E>
DS_STAGE void after_impacts(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real zero(0), unit(kImpactUnit<Real>);
  const auto struck = impact_flag(env) > Real(kNoImpact);
  const auto found = env.qfrc_constraint(), jump = env.jump();
  env.each(t.n.nv, [&](int i) { jump[i] = found[i] * env.Dscale()[i]; });
  solve_L(env, jump);
  env.each(t.n.nv, [&](int i) {
    jump[i] = select(struck, jump[i] / unit, zero);
    env.qvel_before()[i] = env.qvel()[i];
    env.qvel()[i] = select(struck, env.qvel()[i] + jump[i], env.qvel()[i]);
    env.qacc_smooth()[i] = env.qacc()[i];
  });
  env.each(env.ncon_max, [&](int slot) {
    const auto kept = kept_of(env, slot);
    frame_of(env, slot).set_at(kFrameTangent, kept.vec_at(kKeptHint));
    env.con_kterm()[slot] = kept[kKeptKterm];
    env.con_Bn()[slot] = kept[kKeptBn], env.con_Bt()[slot] = kept[kKeptBt];
    env.con_D()[slot] = kept[kKeptD];
  });
  env.done();
  factorize(env);
  if (t.n.neq > 0) velocities(env);  // ties turn with the bodies
}

template <int kDim, class E>
DS_STAGE void impacts(E& env) {
  if (!find_impacts(env)) return;
  env.l1_cone = false;  // a polygon of directions goes by edges here: no weight is left
  impact_rows<kDim>(env);
  start_impact<kDim>(env);
  if (env.t.o.round_impacts)
    solve_impact<kDim, true>(env);
  else
    solve_impact<kDim, false>(env);
  after_impacts<kDim>(env);
  env.l1_cone = env.t.o.l1_rows;
}

// the rows have seen the velocity after the impacts; the step starts from the one before
template <class E>
DS_STAGE void before_impacts(E& env) {
  if (!any(impact_flag(env) > typename E::Real(kNoImpact))) return;
  env.each(env.t.n.nv, [&](int i) { env.qvel()[i] = env.qvel_before()[i]; });
  env.done();
  if (env.t.n.neq > 0) velocities(env);
}

// the rows of a contact that impacts have: its normal and both tangents
constexpr int kSlidingRows = 3;
// the impacts as a part of the step's mean accelerations and forces
template <int kDim, class E>
DS_STAGE void add_impacts(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real rate = Real(1) / Real(t.o.timestep);
  const auto struck = impact_flag(env) > Real(kNoImpact);
  if (!any(struck)) return;
  env.unsolved = mask_or(env.unsolved, impact_flag(env) > Real(kStruck));
  const auto jump = env.jump(), momentum = env.momentum();
  multiply_M(env, jump, momentum);
  env.each(t.n.nv, [&](int i) {
    env.qacc()[i] = select(struck, fma(rate, jump[i], env.qacc()[i]), env.qacc()[i]);
    Real& total = env.qfrc_constraint()[i];
    total = select(struck, fma(rate, momentum[i], total), total);
  });
  env.each(env.ncon_max, [&](int slot) {
    const auto f = rows_of_slot<kDim>(env.con_f(), slot), impulse = rows_of_slot<kDim>(env.impact_f(), slot);
    for (int r = 0; r < kSlidingRows; r++) f[r] = select(struck, fma(rate, impulse[r], f[r]), f[r]);
  });
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
