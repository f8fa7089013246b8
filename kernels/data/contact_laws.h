// The contact laws and the contact models made of them: what the stages and the tables of a model agree on.
// No functions of a stage, so host code can read it too.
//
// A law says what a contact's rows are, or what force stands in their place: one file in kernels/contact/,
// whose hooks law.h lists, one row of DS_CONTACT_LAWS, and its include in with_law.h. A stage that does something
// under some laws asks for a trait and names no law. A contact model is the word of the option contact_model:
// a law, and what else happens to contacts around it.
#pragma once

// a law in a file outside this folder (tests/recipes/): its rows of the two lists below, then its hooks
#if defined(DUALSTEP_EXTRA_LAW)
#include DUALSTEP_EXTRA_LAW
#else
#define DS_EXTRA_LAWS(X)
#define DS_EXTRA_CONTACT_MODELS(X)
#endif

namespace dualstep {

// what a law asks of the stages
enum LawTrait : unsigned {
  // contacts and limits have MuJoCo's margins, priorities and least friction
  kLawMujocoMargins = 1 << 0,
  // a law of a whole step: rows stand on M + h diag(damping), with which the step of the velocity is implicit
  kLawStepInertia = 1 << 1,
  // contacts have forces in place of rows, functions of J v, which the rows' stage leaves where y0 would be
  kLawVelocities = 1 << 2,
  // rows have MuJoCo's softness, which contact_parameters = spring_damper replaces by the spring-damper
  kLawSoftRows = 1 << 3,
  // pyramids weigh rows of the contact's frame and not their edges
  kLawFrameRows = 1 << 4,
  // friction_directions, not the option cone, says which cone it is
  kLawDirections = 1 << 5,
  // islands may be solved apart under it (kernels/solver/islands/)
  kLawIslands = 1 << 6,
};

// what a contact model adds to its law
enum ModelTrait : unsigned {
  kModelCoulomb = 1 << 0,    // Coulomb's law on top of the cone's solution (coulomb.h)
  kModelAnchors = 1 << 1,    // springs along the plane that last from step to step (anchor.h)
  kModelImpacts = 1 << 2,    // impacts before the step (solver/impact.h)
  kModelWholeStep = 1 << 3,  // no stage of a Runge-Kutta step
  kModelNewton = 1 << 4,     // solved to the end, not by sweeps alone
};

// X(code, type of its hooks, traits)
#define DS_CONTACT_LAWS(X)                                                 \
  X(kLawMujoco, MujocoLaw, kLawMujocoMargins | kLawSoftRows | kLawIslands) \
  X(kLawSpringDamper, SpringDamperLaw, kLawStepInertia | kLawFrameRows)    \
  X(kLawHard, HardLaw, kLawStepInertia | kLawDirections)                   \
  X(kLawExplicit, ExplicitLaw, kLawStepInertia | kLawVelocities)           \
  X(kLawSoft, SoftLaw, kLawStepInertia | kLawSoftRows | kLawFrameRows)     \
  DS_EXTRA_LAWS(X)

// X(name, word of the option, law, traits)
#define DS_CONTACT_MODELS(X)                                                                      \
  X(kTodorov, "todorov", kLawMujoco, 0)                                                           \
  X(kAnitescu, "anitescu", kLawHard, kModelWholeStep | kModelNewton)                              \
  X(kStewartTrinkle, "stewart_trinkle", kLawHard, kModelCoulomb | kModelWholeStep | kModelNewton) \
  X(kCompliant, "compliant", kLawExplicit, kModelNewton)                                          \
  X(kSoftAnchor, "soft_anchor", kLawExplicit, kModelAnchors | kModelWholeStep | kModelNewton)     \
  X(kImpulsive, "impulsive", kLawSoft, kModelImpacts | kModelWholeStep | kModelNewton)            \
  DS_EXTRA_CONTACT_MODELS(X)

enum ContactLawCode : int {
#define DS_CODE(code, type, traits) code,
  DS_CONTACT_LAWS(DS_CODE)
#undef DS_CODE
      kContactLaws
};

// the laws that have a trait, as bits of their codes
template <LawTrait kTrait>
inline constexpr unsigned kLawsWith = 0
#define DS_BIT(code, type, traits) | (((traits)&kTrait) != 0 ? 1u << code : 0u)
    DS_CONTACT_LAWS(DS_BIT)
#undef DS_BIT
    ;

}  // namespace dualstep
