// Hard rows: what touches does not come closer by the end of the step.
//
// solves    softness and weight of a contact's rows, from a softer problem to the hard one
// equation  aref = -(J v + max(phi / h, -2 m/s)) / h,  so that y = J v' / h + phi / h^2
//           R_n = share A_nn, share from 1e-4 down to 1e-8 (1e-4 in float)
// source    Anitescu 2006; Stewart & Trinkle 1996
// deviation the rows keep a weight, because Newton on the primal needs one; it moves forces by that share,
//           and is reached in steps of 100. A gap deeper than 2 m/s h is corrected at that speed
// reads     con_A, con_f, con_y0, w, Z
// writes    a contact's record, con_D, grad, unsolved; what the solver writes
// cost      O(contacts), and a solve for each step of 100; a product with Z at the end
#pragma once

#include "kernels/contact/law.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct HardLaw : ContactLaw {
  // R as a share of A's diagonal: at first, next, and at last
  static constexpr double kFirstShare = 1e-4, kNextShare = 1e-6;
  template <class Real>
  static constexpr double kLastShare = kSingle<Real> ? 1e-4 : 1e-8;

  // from one share to the next; shares are products, and the last of them may miss its value by rounding
  static constexpr double kShareStep = 1e-2, kShareRounding = 0.99;
  // m/s: a gap below it times the timestep is corrected at this speed
  static constexpr double kMostCorrection = 2;

  template <class E, class Record>
  DS_HD static void record(const E& env, int /*pair*/, Record* c) {
    using Real = typename E::Real;
    const Real h(env.t.o.timestep);
    c->D = Real(1);  // until A is known
    c->kterm = max(c->dist / h, Real(-kMostCorrection)) / h;
    c->Bn = c->Bt = Real(1) / h;
  }
  template <class E>
  DS_HD static void weigh(E& env) {
    weigh_contacts(env, typename E::Real(kFirstShare));
  }
  // an error e |w| of the whitened acceleration is one of the forces by e / sqrt(share), so hard rows ask for
  // more, but for no more than rounding leaves
  template <class E>
  DS_HD static typename E::Real tolerance_at(const E& env, double share) {
    using Real = typename E::Real;
    const Real given(env.t.o.tolerance), least(kSingle<typename E::Scalar> ? 1e-4 : 1e-9);
    return min(given, max(given * sqrt(Real(share)), least));
  }
  template <class E>
  DS_HD static typename E::Real tolerance(const E& env, bool last) {
    if (last) return tolerance_at(env, kLastShare<typename E::Real>);
    return tolerance_at(env, kFirstShare);
  }
  template <class E, class Solve>
  DS_STAGE static void after(E& env, Solve solve) {
    using Real = typename E::Real;
    for (double share = kNextShare; share >= kShareRounding * kLastShare<Real>; share *= kShareStep) {
      weigh_contacts(env, Real(share));
      env.unsolved = solve(env, tolerance_at(env, share), all_true<Real>());
    }
  }
  // Rows that no motion meets, a body between two that do not move: forces grow until R stops them. Such a step is not
  // solved, where rows miss more than kMissed of what they ask for; nor one that their weight moves by more than kMoved.
  // With w* the solution of rows without weight, l'(Z'w* + y0) >= 0 and l'(Z'w + y0) = -l'R l give
  //   |w* - w| >= l'R l / |Z l|      also where another contact asks for far more than those that jam
  static constexpr double kMissed = 0.1, kMoved = 4e-2;
  template <int kDim, class E>
  DS_HD static void finish(E& env) {
    using Real = typename E::Real;
    using Sum = Sums<Real, 3>;
    const auto D = env.con_D();
    const Sum sums = env.template accumulate<Sum>(env.ncon_max, [&](int slot, Sum s) {
      const Real weight = D[slot], f = env.con_f()[kDim * slot],
                 missed = f / select(weight > Real(0), weight, Real(1));
      const Real asked = select(weight > Real(0), Real(env.con_y0()[kDim * slot]), Real(0));
      s.of[0] = fma(missed, missed, s.of[0]);
      s.of[1] = fma(asked, asked, s.of[1]);
      s.of[2] = fma(missed, f, s.of[2]);
      return s;
    });
    const Real along = lengths_product<kDim>(env);
    env.unsolved = mask_or(env.unsolved, sums.of[0] > Real(kMissed * kMissed) * sums.of[1]);
    env.unsolved = mask_or(env.unsolved, sums.of[2] > Real(kMoved) * along);
  }
  // |w| |Z l|, of the forces of contacts alone: where limits oppose them the second is the larger
  template <int kDim, class E>
  DS_HD static typename E::Real lengths_product(E& env) {
    using Real = typename E::Real;
    using Sum = Sums<Real, 2>;
    const auto w = env.w(), given = env.grad();
    // each lane adds to its own dofs
    env.each(env.t.n.nv, [&](int i) { given[i] = Real(0); });
    for (int slot = 0; slot < env.ncon_max; slot++) {
      if (!any(env.con_f()[kDim * slot] != Real(0))) continue;
      Real f[kDim];
      DS_UNROLL
      for (int r = 0; r < kDim; r++) f[r] = env.con_f()[kDim * slot + r];
      add_rows<kDim>(env, slot_support(env, slot), env.t.n.ndense + kDim * slot, f, given);
    }
    env.sync();
    const Sum sum = env.template accumulate<Sum>(env.t.n.nv, [&](int i, Sum s) {
      s.of[0] = fma(w[i], w[i], s.of[0]);
      s.of[1] = fma(given[i], given[i], s.of[1]);
      return s;
    });
    env.done();
    return sqrt(sum.of[0]) * sqrt(sum.of[1]);
  }
  // rows are solved to their weight, not to rounding
  template <class Real>
  DS_HD static Real coulomb_tolerance() {
    return Real(10 * kLastShare<Real>);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
