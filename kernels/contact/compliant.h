// Explicit forces: a contact in touch has a force in place of rows, a function of its depth and its velocity.
//
// solves    nothing; forces f of contacts, and the acceleration that they give the other rows
// equation  f_n = max(0, k x + c x')  or  k x^p max(0, 1 + d x'),   x = max(0, -phi)
//           f_t = -g u_t,  g = min(mu(s) f_n / |u_t|, bound),  s = |u_t| / v_s
//           spin and rolling likewise, with their coefficients and s = mu_i |u_i| / v_s
//           mu(s) Stribeck's quintic from mu_s to mu_d, or mu_d min(1, s)
//           w_explicit = Z f,  y0 <- y0 + Z_row' w_explicit on all other rows
// source    Hunt & Crossley 1975; Stribeck's curve as in Drake's user guide
// deviation bound = 1 / (h n lambda): n the frictional terms of the state, lambda the largest eigenvalue
//           of the term's block of A. Each term could stop its sliding alone; together they must not turn
//           it around
// reads     con_dist, con_mu, con_A, con_velocity, Z; with anchors (anchor.h) anchors
// writes    con_explicit (in place of con_velocity), con_D, w_explicit, lim_y0, loss_y0, dense_y0, next_anchors
// cost      O(contacts nv)
#pragma once

#include "kernels/contact/anchor.h"
#include "kernels/contact/law.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class E>
DS_HD typename E::Mask in_touch(const E& env, int slot) {
  const typename E::Real zero(0);
  return mask_and(env.con_dim()[slot] > zero, env.con_dist()[slot] < zero);
}

// from 0 to 1 with level ends
template <class Real>
DS_HD Real smooth_step(const Real& x) {
  return x * x * x * fma(x, fma(x, Real(6), Real(-15)), Real(10));
}

// mu(s)
template <class E>
DS_HD typename E::Real friction_at(const E& env, const typename E::Real& ratio, const typename E::Real& mu) {
  using Real = typename E::Real;
  const Real one(1), slow = mu * Real(env.t.o.dynamic_friction);
  if (!env.t.o.stribeck) return slow * min(one, ratio);
  const Real rise = mu * smooth_step(min(ratio, one));
  const Real fall = fma(slow - mu, smooth_step(clamp(Real(0.5) * (ratio - one), Real(0), one)), mu);
  return select(ratio < one, rise, fall);
}

// n, the frictional terms of the state: those that something can move
template <int kDim, class E>
DS_HD typename E::Real friction_terms(E& env) {
  using Real = typename E::Real;
  const Real zero(0), one(1), slides = env.t.o.anchored ? zero : one;
  return env.accumulate(env.ncon_max, [&](int slot, const Real& s) {
    const auto touching = in_touch(env, slot);
    const auto mu = friction_of(env, slot);
    const auto A = env.con_A().from(kTriangle<kDim> * slot);
    const auto of = [&](FrictionNumber part, const Real& moves, const Real& counts) {
      return select(mask_and(mask_and(touching, mu[part] > zero), moves > zero), counts, zero);
    };
    const auto diagonal = [&](int r) { return Real(A[triangle(r) + r]); };
    Real sum = s;
    if constexpr (kDim > 1) sum = sum + of(kSlide1, diagonal(1) + diagonal(2), slides);
    if constexpr (kDim > 3) {
      sum = sum + of(kSpin, diagonal(3), one);
      sum = sum + of(kRoll1, diagonal(4) + diagonal(5), one);
    }
    return sum;
  });
}

// [m]: less has no logarithm that a power could take
constexpr double kLeastDepth = 1e-30;
template <class E>
DS_HD typename E::Real normal_force(const E& env, int slot, const typename E::Real& rate) {
  using Real = typename E::Real;
  const auto& o = env.t.o;
  const Real zero(0), one(1), depth = max(-env.con_dist()[slot], zero);
  if (o.hunt_crossley) {
    const Real power = pow(max(depth, Real(kLeastDepth)), Real(o.exponent));
    return Real(o.stiffness) * power * max(fma(Real(o.contact_damping), rate, one), zero);
  }
  return max(fma(Real(o.stiffness), depth, Real(o.contact_damping) * rate), zero);
}

// a coefficient of friction that holds whatever pulls: more would only lose digits
constexpr double kInfiniteFriction = 1e6;
// sliding, spin or rolling: rows first .. first + size - 1 of a contact
struct FrictionTerm {
  int first, size;
  FrictionNumber coefficient;
};
// the friction of one, of `terms` of the state
template <int kDim, class E>
DS_HD void friction_part(const E& env, int slot, FrictionTerm part, const typename E::Real& terms,
                         const typename E::Real* u, typename E::Real* f) {
  using Real = typename E::Real;
  const int first = part.first, size = part.size;
  const auto A = env.con_A();
  const Real zero(0), one(1), half_of(0.5);
  const auto block = [&](int i, int j) { return A[kTriangle<kDim> * slot + triangle(i) + j]; };
  const Real m = min(friction_of(env, slot)[part.coefficient], Real(kInfiniteFriction));
  Real largest = block(first, first), speed = abs(u[first]);
  if (size == 2) {
    const Real a = block(first, first), d = block(first + 1, first + 1), b = block(first + 1, first);
    const Real apart = half_of * (a - d);
    largest = fma(half_of, a + d, sqrt(fma(apart, apart, b * b)));
    speed = sqrt(fma(u[first], u[first], u[first + 1] * u[first + 1]));
  }
  // turning counts by the speed at which its moment does work
  const Real ratio = (first == 1 ? speed : m * speed) / Real(env.t.o.stiction_speed);
  const auto moves = mask_and(mask_and(speed > zero, largest > zero), m > zero);
  const Real wanted = friction_at(env, ratio, m) * f[0] / select(moves, speed, one);
  const Real bound = one / (Real(env.t.o.timestep) * max(terms, one) * select(moves, largest, one));
  const Real drag = select(moves, min(wanted, bound), zero);
  for (int k = first; k < first + size; k++) f[k] = -(drag * u[k]);
}

// forces from phi and J v, in whose place they stand
template <int kDim, class E>
DS_STAGE void explicit_forces(E& env) {
  using Real = typename E::Real;
  const auto velocity = env.con_velocity(), force = env.con_explicit(), D = env.con_D();
  const Real zero(0), terms = friction_terms<kDim>(env);
  env.each(env.ncon_max, [&](int slot) {
    const auto touching = in_touch(env, slot);
    const auto rates = rows_of_slot<kDim>(velocity, slot), forces = rows_of_slot<kDim>(force, slot);
    Real u[kDim], f[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) u[r] = rates[r];
    f[0] = normal_force(env, slot, -u[0]);
    if (env.t.o.anchored)
      anchored_friction<kDim>(env, slot, touching, u, f);
    else
      friction_part<kDim>(env, slot, {.first = 1, .size = 2, .coefficient = kSlide1}, terms, u, f);
    if constexpr (kDim > 3) {
      friction_part<kDim>(env, slot, {.first = 3, .size = 1, .coefficient = kSpin}, terms, u, f);
      friction_part<kDim>(env, slot, {.first = 4, .size = 2, .coefficient = kRoll1}, terms, u, f);
    }
    DS_UNROLL
    for (int r = 0; r < kDim; r++) forces[r] = select(touching, f[r], zero);
    D[slot] = zero;
  });
  env.sync();
}

// the acceleration that explicit forces give, whitened, and what the other rows see of it
template <int kDim, class E>
DS_STAGE void shift_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto force = env.con_explicit(), Z = env.Z(), w_explicit = env.w_explicit();
  const Real zero(0);
  env.each(t.n.nv, [&](int d) {
    Real s = zero;
    for (int slot = 0; slot < env.ncon_max; slot++)
      for (int r = 0; r < kDim; r++)
        s = fma(Z[(t.n.ndense + kDim * slot + r) * t.n.nv + d], force[kDim * slot + r], s);
    w_explicit[d] = s;
  });
  env.sync();
  each_scalar_kind(env, [&](const auto& kind) { kind.lift(w_explicit); });
  env.done();
}

// explicit forces where those of rows would stand
template <int kDim, class E>
DS_STAGE void add_explicit(E& env) {
  env.sync();  // the forces were read for the residual
  env.each(env.t.n.nv, [&](int i) { env.w()[i] = env.w()[i] + env.w_explicit()[i]; });
  env.each(kDim * env.ncon_max, [&](int i) { env.con_f()[i] = env.con_explicit()[i]; });
  env.done();
}

// a contact has no softness: `record` of ContactLaw leaves J v alone (con_velocity)
struct ExplicitLaw : ContactLaw {
  template <int kDim, class E>
  DS_HD static void before(E& env) {
    if (env.t.o.anchored) match_anchors<kDim>(env);
    explicit_forces<kDim>(env);
    shift_rows<kDim>(env);
  }
  template <int kDim, class E>
  DS_HD static void finish(E& env) {
    add_explicit<kDim>(env);
  }
  template <class E>
  DS_HD static void idle(E& env) {
    env.each(kAnchorNumbers * env.t.n.nanchor, [&](int i) { env.next_anchors()[i] = typename E::Real(0); });
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
