// The step in parts: the same stages as run_environment (kernels/step.h), each part by lanes of its own, with
// the workspace and what the lanes agree on kept in memory from one part to the next. A part is a launch for
// all environments, so it asks for no more registers than it needs, and for as many lanes as suit it. Between
// two parts every environment stands where run_environment would have it: no bit differs.
#pragma once

#include "kernels/step.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// what the lanes of an environment agree on, between two parts
template <class E>
struct Carried {
  typename E::Int ncon;
  int ncon_max;
  unsigned overflow_bits;
  typename E::Mask diverged, unsolved;
  typename E::Real residual, iterations;
  bool l1_cone;
  typename E::Mask row_space;
  int nlocal_max;
  bool any_xfrc;
};

template <class E>
DS_HD void carry_on(const Carried<E>& c, E& env, const EnvIO<E>& in) {
  env.ncon = c.ncon, env.ncon_max = c.ncon_max, env.overflow_bits = c.overflow_bits;
  env.diverged = c.diverged, env.unsolved = c.unsolved;
  env.residual = c.residual, env.iterations = c.iterations;
  env.l1_cone = c.l1_cone, env.row_space = c.row_space, env.nlocal_max = c.nlocal_max;
  in.any_xfrc = c.any_xfrc;
}
template <class E>
DS_HD void carry_over(const E& env, const EnvIO<E>& in, Carried<E>* c) {
  *c = {env.ncon,       env.ncon_max, env.overflow_bits, env.diverged,   env.unsolved, env.residual,
        env.iterations, env.l1_cone,  env.row_space,     env.nlocal_max, in.any_xfrc};
}

// a part of the evaluation at index m; all of them in their order, at all moments in theirs, are a call
template <int kDim, bool kElliptic, class E>
DS_FN void run_part(E& env, const BatchView<typename E::Scalar>& batch, const StepArgs& args, Part part,
                    const EvalIndex& m, Carried<E>* carried) {
  const EnvIO<E> in(env, batch, args);
  const bool first = part == kPart_smooth && m.substep == 0 && m.stage == 0;
  if (!first) carry_on(*carried, env, in);
  env.done();  // nobody overwrites it before all have read it
  switch (part) {
    case kPart_smooth:
      if (first) in.load();
      keep_start(env, in, m);
      smooth_dynamics(env, in);
      break;
    case kPart_collide:
      collide(env);
      break;
    case kPart_rows:
      impacts_and_rows<kDim, kElliptic>(env);
      break;
    case kPart_solve:
      env.ends_call = ends_call(args, num_stages(env.t.o.integrator), m);
      solve_and_jump<kDim, kElliptic>(env);
      break;
    default:
      integrate(env, in, m);
  }
  if (env.lanes.rank() == 0) carry_over(env, in, carried);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
