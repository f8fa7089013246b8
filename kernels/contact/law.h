// A contact law: what it may do in a step, and what happens where it does not.
//
// solves    nothing; the hooks of a law, called at their places of the step (with_law.h)
// equation  row i of a contact: y_i = J_i a + B_i J_i v + k_i (k on the normal alone), and a weight D; the
//           rows' stage forms it, and cone.h says which force it gives
//
//   hook               called by    when                                     to
//   record             collide/     a contact is found                       give its D, kterm, Bn, Bt
//   before             begin_law    rows and diagonal blocks of A are made   take contacts out of the rows
//   weigh              begin_law    after that                               give rows weights from A
//   tolerance          solve.h      rows are solved                          ask for more than the option
//   after              finish_law   they are solved                          go on to a harder problem
//   coulomb_tolerance  finish_law   normal rows are raised (coulomb.h)       say how exactly
//   finish             add_law      the residual is known                    put its forces where rows' are
//   idle               idle_law     an environment has no rows at all        forget what lasts between steps
//
// Of laws with the trait kLawSoftRows `record` is not called: they share one copy of MuJoCo's softness (record_by_law), and
// may not write their own.
//
// A law derives from ContactLaw and writes the hooks that it needs. All are static templates over the
// environment. They read rows and know no solver: what solves is handed to `after`, and collision includes
// this folder but not the solver (tests/python/package/test_includes.py).
//
// recipe    a file here, its row in data/contact_laws.h, its include in with_law.h; the reference's own law in
//           host/reference. A law outside this folder is one file, named by the macro DUALSTEP_EXTRA_LAW
//           when what depends on the list is compiled (tests/recipes). It defines DS_EXTRA_LAWS(X) and
//           DS_EXTRA_CONTACT_MODELS(X), rows as those of contact_laws.h, and, where DS_CONTACT_LAW_HOOKS is
//           defined, the type of its hooks
// source    that of each law stands in its file
// deviation likewise
// reads     what a law's file says
// writes    con_D, con_kterm, con_Bn, con_Bt, and what a law's file says
// cost      of hooks left out none
#pragma once

#include "kernels/data/law_has.h"
#include "kernels/rows/whitened_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct ContactLaw {
  // c->dist and c->mu stand; the pair is the same for all environments of a pack
  template <class E, class Record>
  DS_HD static void record(const E&, int /*pair*/, Record* c) {
    using Real = typename E::Real;
    c->D = Real(1);
    c->kterm = c->Bn = c->Bt = Real(0);
  }
  static void record();  // never called: hidden, and so told, where a law writes the hook (inherits_record)
  template <int kDim, class E>
  DS_HD static void before(E&) {}
  template <class E>
  DS_HD static void weigh(E&) {}
  template <class E>
  DS_HD static typename E::Real tolerance(const E& env, bool /*last*/) {
    return typename E::Real(env.t.o.tolerance);
  }
  // solve(env, tolerance, live) is Newton from where it stands, for the environments of a mask; it returns
  // those that it did not solve
  template <class E, class Solve>
  DS_HD static void after(E&, Solve) {}
  template <class Real>
  DS_HD static Real coulomb_tolerance() {
    return Real(kSingle<Real> ? 1e-5 : 1e-10);
  }
  template <int kDim, class E>
  DS_HD static void finish(E&) {}
  template <class E>
  DS_HD static void idle(E&) {}
};

// no R of a row whose weight is a share of A's diagonal is less: one that moves nothing keeps a finite weight
constexpr double kLeastR = 1e-12;
// contact weights that are shares of A's diagonal, for laws whose rows have R = share A_nn
template <class E>
DS_STAGE void weigh_contacts(E& env, const typename E::Real& share) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real zero(0), one(1), least(kLeastR);
  const auto A = env.con_A(), D = env.con_D();
  env.each(env.ncon_max, [&](int slot) {
    const Real R = max(share * A[triangle(t.n.kdim) * slot], least);
    D[slot] = select(D[slot] > zero, one / R, zero);
  });
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
