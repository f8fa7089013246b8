// The contact law in use at its places of the step: the one switch over the laws.
//
// solves    nothing; calls the hooks of law.h
// cost      a comparison for each law that has the hook, the same for all environments; none in a program
//           of one model, where the law is a constant
#pragma once

#include "kernels/contact/compliant.h"
#include "kernels/contact/coulomb.h"
#include "kernels/contact/hard.h"
#include "kernels/contact/mujoco.h"
#include "kernels/contact/soft.h"
#include "kernels/contact/spring_damper.h"
#if defined(DUALSTEP_EXTRA_LAW)
#define DS_CONTACT_LAW_HOOKS
#include DUALSTEP_EXTRA_LAW
#endif

namespace dualstep {
inline namespace DUALSTEP_ISA {

// calls f(law) with the law in use
template <class E, class F>
DS_HD void with_law(const E& env, const F& f) {
  const int law = env.t.o.contact_law;
#define DS_CASE(code, type, traits) \
  if (law == code) return f(type());
  DS_CONTACT_LAWS(DS_CASE)
#undef DS_CASE
}

template <class Law>
constexpr bool inherits_record = requires {
  Law::record();
};
#define DS_CHECK(code, type, traits)                                   \
  static_assert(((traits)&kLawSoftRows) == 0 || inherits_record<type>, \
                "record_by_law gives " #code " its softness and never calls a hook `record` of its own");
DS_CONTACT_LAWS(DS_CHECK)
#undef DS_CHECK

// softness and weight of a contact that was found
template <class E, class Record>
DS_HD void record_by_law(const E& env, int pair, Record* c) {
  // the laws with MuJoCo's softness share one copy of it: two are 1% of all instructions of a GPU
  if (law_has<kLawSoftRows>(env.t.o)) {
    using Real = typename E::Real;
    const Real r = law_has<kLawMujocoMargins>(env.t.o) ? c->dist - env.pair_margin(pair) : c->dist;
    return impedance_record(env, pair, r, c);
  }
  with_law(env, [&](auto law) { law.record(env, pair, c); });
}

// before the rows are solved; diagonal blocks of A stand
template <int kDim, class E>
DS_HD void begin_law(E& env) {
  with_law(env, [&](auto law) {
    law.template before<kDim>(env);
    law.weigh(env);
  });
  if (env.t.o.spring_damper_rows) weigh_limits(env);
}

template <class E>
DS_HD typename E::Real law_tolerance(const E& env, bool last) {
  typename E::Real tolerance(0);
  with_law(env, [&](auto law) { tolerance = law.tolerance(env, last); });
  return tolerance;
}

// what solves the rows again, to what the law asks for at last
template <class Solve>
struct SolveAtLast {
  Solve solve;
  template <class E>
  DS_HD typename E::Mask operator()(E& env, const typename E::Mask& live) const {
    return solve(env, law_tolerance(env, true), live);
  }
};

// after they are solved; solve(env, tolerance, live) solves them again
template <int kDim, bool kByRows, class E, class Solve>
DS_HD void finish_law(E& env, Solve solve) {
  using Real = typename E::Real;
  with_law(env, [&](auto law) { law.after(env, solve); });
  if (!env.t.o.coulomb) return;
  Real exactly(0);
  with_law(env, [&](auto law) { exactly = law.template coulomb_tolerance<Real>(); });
  coulomb<kDim, kByRows, false>(env, all_true<Real>(), exactly, SolveAtLast<Solve>{solve});
}

// after the residual is known: forces that are not of rows
template <int kDim, class E>
DS_HD void add_law(E& env) {
  with_law(env, [&](auto law) { law.template finish<kDim>(env); });
}

// where there are no rows at all
template <class E>
DS_HD void idle_law(E& env) {
  with_law(env, [&](auto law) { law.idle(env); });
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
