// A contact law from a file outside the kernels: a gap closes by the same share in every step.
//
// solves    softness and weight of a contact's rows
// equation  aref = -(J v + phi / k) / h,  so that y = (n v' + phi / k) / h on the normal;  R = eps A_nn
//           k the option contact_time_constant, eps contact_regularization
// reads     con_A
// writes    a contact's record, con_D
// cost      O(contacts)
//
// This is the whole of it: the rows for the lists of kernels/data/contact_laws.h, and the hooks of
// kernels/contact/law.h. What is compiled with it stands in CMakeLists.txt.
#define DS_EXTRA_LAWS(X) X(kLawToy, ToyLaw, kLawStepInertia)
#define DS_EXTRA_CONTACT_MODELS(X) X(kToy, "toy", kLawToy, kModelWholeStep | kModelNewton)

#if defined(DS_CONTACT_LAW_HOOKS)
namespace dualstep {
inline namespace DUALSTEP_ISA {

struct ToyLaw : ContactLaw {
  template <class E, class Record>
  DS_HD static void record(const E& env, int /*pair*/, Record* c) {
    using Real = typename E::Real;
    const Real h(env.t.o.timestep);
    c->D = Real(1);  // until A is known
    c->kterm = c->dist / (h * Real(env.t.o.kappa));
    c->Bn = c->Bt = Real(1) / h;
  }
  template <class E>
  DS_HD static void weigh(E& env) {
    weigh_contacts(env, typename E::Real(env.t.o.epsilon));
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
#endif
