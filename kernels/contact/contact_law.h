// The laws of contact beside MuJoCo's soft rows, on the same slots and rows.
//
//   law        a contact's rows                               its weight 1 / D
//   kSeed      aref = -2 J v / k - phi / k^2 (phi on n only)  R_n = eps A_nn, R_t = R_n / impratio
//   kHard      aref = -(J v + max(phi / h, -2 m/s)) / h       R_n = tiny A_nn
//   kExplicit  none: the force is a function of phi and J v   -
//   kSoft      MuJoCo's, from phi = 0 whatever the margin     MuJoCo's (collide.h)
//
// Source: Todorov 2014 (spring-damper contacts, k > 0 the time constant); Anitescu 2006 and Stewart & Trinkle
// 1996 (hard rows, y = J v' / h + ...); Hunt & Crossley 1975 and Stribeck's curve (explicit forces). Under
// Coulomb's law (de Saxce & Feng 1998) the normal row of each contact is raised by mu |y_t|, which makes the
// cone's complementarity that of Signorini and of maximum dissipation; the raise is iterated. All stand on
// the factor of M + h diag(damping) (factorize.h), so that qacc is the step's (v' - v) / h.
// Deviations: hard rows keep a weight, tiny = 1e-8 (1e-4 in float), because Newton on the primal needs one;
// it moves forces by that share, and is reached in steps of 100. A gap deeper than 2 m/s h is corrected at
// that speed. Reads con_*, Z, con_A, con_y0. Writes con_D, lim_D, w_explicit. Cost: O(contacts nv).
#pragma once

#include "kernels/contact/anchor.h"
#include "kernels/solver/pgs.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the rows of a new contact before its J is known; c.dist and c.mu stand
template <class E, class Record>
DS_FN void law_record(const E& env, Record* c) {
  using Real = typename E::Real;
  const auto& o = env.t.o;
  c->D = Real(1);
  const Real h(o.timestep);
  if (o.contact_law == kLawSpringDamper) {
    const Real rate = Real(1) / Real(o.kappa);
    c->kterm = c->dist * rate * rate;
    c->Bn = c->Bt = Real(2) * rate;
  } else if (o.contact_law == kLawExplicit) {
    c->kterm = c->Bn = c->Bt = Real(0);
  } else {
    c->kterm = max(c->dist / h, Real(-2)) / h;
    c->Bn = c->Bt = Real(1) / h;
  }
}

// the weight of a hard row, as a share of A's diagonal: at first, and at last
constexpr double kFirstShare = 1e-4;
template <class Real>
DS_HD double hard_share() {
  return sizeof(ScalarOf<Real>) == 4 ? 1e-4 : 1e-8;
}

// the solver's tolerance where rows weigh a share of A's diagonal: an error e |w| of the whitened
// acceleration is one of the forces by e / sqrt(share), so hard rows ask for more, but for no more than
// rounding leaves
template <class E>
DS_HD typename E::Real law_tolerance(const E& env, double share) {
  using Real = typename E::Real;
  const Real given(env.t.o.tolerance), least(sizeof(typename E::Scalar) == 4 ? 1e-4 : 1e-9);
  if (env.t.o.contact_law != kLawHard) return given;
  return min(given, max(given * sqrt(Real(share)), least));
}

// weights that are shares of A's diagonal
template <class E>
DS_STAGE void law_weights(E& env, const typename E::Real& share) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real zero(0), one(1), least(1e-12);
  const auto A = env.con_A(), D = env.con_D();
  env.each(env.ncon_max, [&](int slot) {
    const Real R = max(share * A[triangle(t.n.kdim) * slot], least);
    D[slot] = select(D[slot] > zero, one / R, zero);
  });
  if (t.o.spring_damper_rows) {
    const auto lim = env.lim_D();
    each_limit(env, [&](int s, int dof) {
      const Real R = max(Real(t.o.epsilon) * single_diag(env, dof), least);
      if (env.lanes.rank() == 0) lim[s] = select(lim[s] > zero, one / R, zero);
    });
  }
  env.done();
}

// from 0 to 1 with level ends
template <class Real>
DS_HD Real smooth_step(const Real& x) {
  return x * x * x * fma(x, fma(x, Real(6), Real(-15)), Real(10));
}

template <class E>
DS_HD typename E::Real friction_at(const E& env, const typename E::Real& ratio, const typename E::Real& mu) {
  using Real = typename E::Real;
  const Real one(1), slow = mu * Real(env.t.o.dynamic_friction);
  if (!env.t.o.stribeck) return slow * min(one, ratio);
  const Real rise = mu * smooth_step(min(ratio, one));
  const Real fall = fma(slow - mu, smooth_step(clamp(Real(0.5) * (ratio - one), Real(0), one)), mu);
  return select(ratio < one, rise, fall);
}

// forces of contacts in touch from phi and J v (in con_y0), which they replace there; contacts then have no
// rows, and the other rows see the acceleration that the forces give
template <int kDim, class E>
DS_STAGE void explicit_contacts(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto& o = t.o;
  const auto y0 = env.con_y0(), mu = env.con_mu(), A = env.con_A(), D = env.con_D(), Z = env.Z();
  const auto w_explicit = env.w_explicit();
  const Real zero(0), one(1), half_of(0.5);
  const auto in_touch = [&](int slot) {
    return mask_and(env.con_dim()[slot] > zero, env.con_dist()[slot] < zero);
  };
  // each share of friction could stop the sliding alone: together they must not turn it around
  const Real slides = o.anchored ? zero : one;
  const Real terms = env.accumulate(env.ncon_max, [&](int slot, const Real& s) {
    const auto touching = in_touch(slot);
    Real sum = s + select(mask_and(touching, mu[5 * slot] > zero), slides, zero);
    if constexpr (kDim > 3) {
      sum = sum + select(mask_and(touching, mu[5 * slot + 2] > zero), one, zero);
      sum = sum + select(mask_and(touching, mu[5 * slot + 3] > zero), one, zero);
    }
    return sum;
  });
  env.each(env.ncon_max, [&](int slot) {
    const auto touching = in_touch(slot);
    Real u[kDim], f[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) u[r] = y0[kDim * slot + r];
    const Real depth = max(-env.con_dist()[slot], zero), rate = -u[0];
    if (o.hunt_crossley) {
      const Real power = pow(max(depth, Real(1e-30)), Real(o.exponent));
      f[0] = Real(o.stiffness) * power * max(fma(Real(o.contact_damping), rate, one), zero);
    } else {
      f[0] = max(fma(Real(o.stiffness), depth, Real(o.contact_damping) * rate), zero);
    }
    const auto block = [&](int i, int j) { return A[kTriangle<kDim> * slot + triangle(i) + j]; };
    const auto part = [&](int first, int size, int coefficient) {
      const Real m = min(mu[5 * slot + coefficient], Real(1e6));
      Real largest = block(first, first), speed = abs(u[first]);
      if (size == 2) {
        const Real a = block(first, first), d = block(first + 1, first + 1), b = block(first + 1, first);
        const Real apart = half_of * (a - d);
        largest = fma(half_of, a + d, sqrt(fma(apart, apart, b * b)));
        speed = sqrt(fma(u[first], u[first], u[first + 1] * u[first + 1]));
      }
      // turning counts by the speed at which its moment does work
      const Real ratio = (first == 1 ? speed : m * speed) / Real(o.stiction_speed);
      const auto moves = mask_and(mask_and(speed > zero, largest > zero), m > zero);
      const Real wanted = friction_at(env, ratio, m) * f[0] / select(moves, speed, one);
      const Real bound = one / (Real(o.timestep) * max(terms, one) * select(moves, largest, one));
      const Real drag = select(moves, min(wanted, bound), zero);
      for (int k = first; k < first + size; k++) f[k] = -(drag * u[k]);
    };
    if (o.anchored)
      anchored_friction<kDim>(env, slot, touching, u, f);
    else
      part(1, 2, 0);
    if constexpr (kDim > 3) {
      part(3, 1, 2);
      part(4, 2, 3);
    }
    DS_UNROLL
    for (int r = 0; r < kDim; r++) y0[kDim * slot + r] = select(touching, f[r], zero);
    D[slot] = zero;
  });
  env.sync();
  env.each(t.n.nv, [&](int d) {
    Real s = zero;
    for (int slot = 0; slot < env.ncon_max; slot++)
      for (int r = 0; r < kDim; r++)
        s = fma(Z[(t.n.ndense + kDim * slot + r) * t.n.nv + d], y0[kDim * slot + r], s);
    w_explicit[d] = s;
  });
  env.sync();
  each_limit(env, [&](int s, int dof) {
    const Real lift = single_dot(env, dof, w_explicit);
    if (env.lanes.rank() == 0) {
      Real& y = env.lim_y0()[s];
      y = select(env.lim_D()[s] > zero, fma(Real(s & 1 ? -1 : 1), lift, y), y);
    }
  });
  for (int k = 0; k < t.n.nloss; k++) {
    const Real lift = single_dot(env, t.loss_dof[k], w_explicit);
    if (env.lanes.rank() == 0) env.loss_y0()[k] = env.loss_y0()[k] + lift;
  }
  for (int g = 0; g < t.n.ndense; g++) {
    const Real lift = dense_dot(env, g, w_explicit);
    if (env.lanes.rank() == 0) env.dense_y0()[g] = env.dense_y0()[g] + lift;
  }
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
