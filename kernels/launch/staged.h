// The step in parts: the same stages as run_environment (kernels/step.h), each part by lanes of its own, with
// the workspace and what the lanes agree on kept in memory from one part to the next. A part is a launch for
// all environments, so it asks for no more registers than it needs, and for as many lanes as suit it. Between
// two parts every environment stands where run_environment would have it: no bit differs.
//
// reads, writes   a driver: what its stages read and write (data/accesses.inl)
#pragma once

#include "kernels/step.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// what the lanes of an environment agree on, between two parts
template <class E>
struct Carried {
  using Int = typename E::Int;
  using Mask = typename E::Mask;
  using Real = typename E::Real;
#define ENV_STATE(type, name, meaning) type name;
#include "kernels/data/env_state.inl"
};

template <class E>
DS_HD void carry_on(const Carried<E>& c, E& env) {
#define ENV_STATE(type, name, meaning) env.name = c.name;
#include "kernels/data/env_state.inl"
}
template <class E>
DS_HD void carry_over(const E& env, Carried<E>* c) {
#define ENV_STATE(type, name, meaning) c->name = env.name;
#include "kernels/data/env_state.inl"
}

// a part of the evaluation at index m; all parts in their order, at all indices in theirs, make a call
template <int kDim, bool kByRows, class E>
DS_FN void run_part(E& env, const BatchView<typename E::Scalar>& batch, const StepArgs& args, Part part,
                    const EvalIndex& m, Carried<E>* carried) {
  const EnvIO<E> in(env, batch, args);
  const bool first = part == kPart_smooth && m.substep == 0 && m.stage == 0;
  if (!first) carry_on(*carried, env);
  env.done();  // nobody overwrites it before all have read it
  if (first) in.load();
  each_part([&](auto which) {
    if (part == decltype(which)::kPart) evaluate_part<decltype(which)::kPart, kDim, kByRows>(env, in, m);
  });
  if (env.lanes.rank() == 0) carry_over(env, carried);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
