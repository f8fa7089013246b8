// Coulomb's law with Signorini's condition, on top of the solution over the friction cone.
//
// solves    y0_n of each contact, raised until the raise is that of its own solution
// equation  y0_n <- y0_n + mu |y_t|  (of a pyramid the largest mu_i |y_i|): the cone's complementarity
//           then says that contacts part or press at zero normal speed, and that friction dissipates the
//           most
// source    de Saxce & Feng 1998; the length of a round's step is Irons & Tuck's, 1969
// deviation none
// reads     con_y, con_f, con_D, con_mu, con_dim; of impacts (kShifted) impact_s
// writes    con_y0, con_y, coulomb_y0, coulomb_change, of impacts coulomb_raise; what the solver writes
// cost      O(contacts) and a solve each round, of kCoulombRounds at most
#pragma once

#include "kernels/rows/whitened_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the normal row of a contact, its first
template <int kDim, class Run>
DS_HD auto& normal_of(const Run& rows, int slot) {
  return rows_of_slot<kDim>(rows, slot)[0];
}
// how much the normal row of a contact still wants to rise. kShifted: the rows of impacts (solver/impact.h), whose
// y0 is shifted against their weight
template <int kDim, bool kByRows, bool kShifted, class E>
DS_HD typename E::Real raise_change(const E& env, int slot) {
  using Real = typename E::Real;
  const Real zero(0), one(1);
  const auto y = rows_of_slot<kDim>(env.con_y(), slot), f = rows_of_slot<kDim>(env.con_f(), slot);
  const auto p = cone_params<kDim>(env, slot);
  const Real R = one / select(p.D > zero, p.D, one), cone = select(p.cone_mu > zero, p.cone_mu, one);
  Real square_of = zero, most = zero;
  DS_UNROLL
  for (int r = 1; r < kDim; r++) {
    const auto rubs = mask_and(p.dim > Real(r), p.mu[r - 1] > zero);
    const Real mu = select(rubs, p.mu[r - 1], one);
    const Real slip = kShifted ? y[r] + rows_of_slot<kDim>(env.impact_s(), slot)[r]
                               : fma(R * (cone / mu) * (cone / mu), f[r], y[r]);
    const Real s = select(rubs, mu * slip, zero);
    square_of = fma(s, s, square_of);
    most = max(most, abs(s));
  }
  const Real raise = kByRows && !env.l1_cone ? sqrt(square_of) : most;
  return select(p.D > zero, (env.coulomb_y0()[slot] + raise) - normal_of<kDim>(env.con_y0(), slot), zero);
}

// rounds of raising, at most
constexpr int kCoulombRounds = 80;
// the share of a round's change that is taken: never so little that it stands still, nor so much that it leaps
constexpr double kLeastShare = 0.02, kMostShare = 1.5;

// for the environments `live`, which are left alone once they are done; solve(env, live) solves the rows
// again. Where contacts jam the plain iteration swings: each round goes a share of the way
template <int kDim, bool kByRows, bool kShifted, class E, class Solve>
DS_STAGE void coulomb(E& env, typename E::Mask live, const typename E::Real& tolerance, Solve solve) {
  using Real = typename E::Real;
  const auto y0 = env.con_y0(), y = env.con_y();
  const auto flat = env.coulomb_y0(), before = env.coulomb_change(), raise = env.coulomb_raise();
  const Real zero(0), one(1);
  env.each(env.ncon_max, [&](int slot) {
    const Real& normal = normal_of<kDim>(y0, slot);
    flat[slot] = kShifted ? normal - raise[slot] : Real(normal);
    before[slot] = zero;
  });
  env.done();
  const auto change_of = [&](int slot) { return raise_change<kDim, kByRows, kShifted>(env, slot); };
  const auto sum = [&](const auto& f) {
    return env.accumulate(env.ncon_max, [&](int slot, const Real& s) { return s + f(slot); });
  };
  Real share = one;
  for (int round = 0; round < kCoulombRounds; round++) {
    const Real change = sum([&](int slot) { return square(change_of(slot)); });
    const Real size = sum([&](int slot) { return square(normal_of<kDim>(y0, slot)); });
    live = mask_and(live, change > tolerance * tolerance * size);
    if (!any(live)) break;
    if (round > 0) {
      const auto turn_of = [&](int slot) { return change_of(slot) - before[slot]; };
      const Real turn = sum([&](int slot) { return square(turn_of(slot)); });
      const Real along = sum([&](int slot) { return before[slot] * turn_of(slot); });
      const Real next = -share * along / select(turn > zero, turn, one);
      share = select(mask_and(live, turn > zero), clamp(next, Real(kLeastShare), Real(kMostShare)), share);
    }
    // what follows overwrites only what every lane has read by now: it went into the sums
    env.each(env.ncon_max, [&](int slot) {
      const Real d = change_of(slot), up = select(live, share * d, zero);
      before[slot] = d;
      Real &normal = normal_of<kDim>(y, slot), &normal0 = normal_of<kDim>(y0, slot);
      normal = normal + up;
      normal0 = normal0 + up;
      if (kShifted) raise[slot] = raise[slot] + up;
    });
    env.done();
    env.unsolved = select_mask(live, solve(env, live), env.unsolved);
  }
  env.unsolved = mask_or(env.unsolved, live);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
