// The spring-damper: contacts and joint limits that close with one time constant.
//
// solves    softness and weight of the rows of contacts, and the weight of those of limits (whose softness
//           stands in rows.h)
// equation  aref = -2 J v / k - phi / k^2 (phi on n only),  k > 0 the time constant kappa
//           R_n = eps A_nn,  R_t = R_n / impratio
// source    Todorov 2014
// deviation none
// reads     con_A, Linv
// writes    a contact's record, con_D, lim_D
// cost      O(contacts + limits nv)
#pragma once

#include "kernels/contact/law.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct SpringDamperLaw : ContactLaw {
  template <class E, class Record>
  DS_HD static void record(const E& env, int /*pair*/, Record* c) {
    using Real = typename E::Real;
    const Real rate = Real(1) / Real(env.t.o.kappa);
    c->D = Real(1);  // until A is known
    c->kterm = c->dist * rate * rate;
    c->Bn = c->Bt = Real(2) * rate;
  }
  template <class E>
  DS_HD static void weigh(E& env) {
    weigh_contacts(env, typename E::Real(env.t.o.epsilon));
  }
};

// weights of limits under the option contact_parameters = spring_damper, whatever the law of contacts
template <class E>
DS_STAGE void weigh_limits(E& env) {
  using Real = typename E::Real;
  const Real zero(0), one(1), least(kLeastR);
  const auto D = env.lim_D();
  each_limit(env, [&](int s, int dof) {
    const Real R = max(Real(env.t.o.epsilon) * single_diag(env, dof), least);
    if (env.lanes.rank() == 0) D[s] = select(D[s] > zero, one / R, zero);
  });
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
