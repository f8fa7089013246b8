// The step, read top to bottom: one line a stage. Its order, at each index of a call (eval_index.h):
//   smooth     kinematics, bias, inertia, factor, passive and actuator forces: accelerations without constraints
//   collide    contacts
//   rows       adhesion, impacts, then the constraint rows, whitened
//   solve      sweeps and Newton on the rows, what contact laws add, the impacts' share: accelerations
//   integrate  outputs where they are wanted, the next state, and at the end of a call its store
//
// reads, writes   a driver: what its stages read and write (data/accesses.inl)
#pragma once

#include "kernels/collide/collide.h"
#include "kernels/data/eval_index.h"
#include "kernels/integrate/integrate.h"
#include "kernels/output/outputs.h"
#include "kernels/rows/adhesion.h"
#include "kernels/smooth/actuators/sites.h"
#include "kernels/smooth/inertia.h"
#include "kernels/smooth/kinematics.h"
#include "kernels/smooth/tendons.h"
#include "kernels/solver/impact.h"
#include "kernels/solver/solve.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// accelerations and everything they need, at the state in the workspace; first what is the same for all cones
template <class E>
DS_STAGE void smooth_dynamics(E& env, const EnvIO<E>& in) {
  kinematics(env, [&](int i) { return in.mocap(i); });  // poses, joint motions
  env.sync_block();
  tendons(env);             // their lengths and moments
  site_transmissions(env);  // likewise, of actuators on sites
  env.time_stage(kStage_kinematics);
  bias(env);  // velocities, Coriolis and gravity forces
  env.sync_block();
  add_tendon_bias(env);
  env.time_stage(kStage_bias);
  inertia(env);  // mass matrix, by composite bodies
  env.sync_block();
  env.time_stage(kStage_inertia);
  const bool discrete = env.t.o.integrator == kDiscrete;
  if (!discrete) factorize(env);  // L'DL on the tree's sparsity
  env.sync_block();
  env.time_stage(kStage_factorize);
  passive(env);  // springs, dampers, fluid, gravity compensation
  env.sync_block();
  actuation(env);  // actuators
  env.sync_block();
  if (discrete) factorize_step(env);  // of the inertia that holds their slopes
  // of adhesion contacts decide
  if (!env.t.o.has_adhesion) smooth_acceleration(env, env.any_xfrc, [&](int b) { return in.xfrc(b); });
  env.sync_block();
  env.time_stage(kStage_forces);
}
template <class E>
DS_HD void find_contacts(E& env) {
  collide(env);
  env.sync_block();
  env.time_stage(kStage_collide);
}
// contacts before anything else is known: those that packs are regrouped by (launch/cpu/regroup.h)
template <class E>
DS_FN void contacts_alone(E& env, const EnvIO<E>& in) {
  body_frames<false>(env, [&](int i) { return in.mocap(i); });
  env.time_stage(kStage_kinematics);
  find_contacts(env);
}
template <int kDim, bool kByRows, class E>
DS_FN void impacts_and_rows(E& env) {
  const bool impulsive = kByRows && env.t.o.impulsive;
  if constexpr (kByRows)
    if (impulsive) impacts<kDim>(env);  // jumps of the velocity, which the rows see
  rows<kDim>(env);                      // constraint rows, whitened
  if (impulsive) before_impacts(env);
  env.time_stage(kStage_rows);
}
template <int kDim, bool kByRows, class E>
DS_FN void solve_and_jump(E& env) {
  solve<kDim, kByRows>(env);  // the contact dual: sweeps, then Newton
  if (kByRows && env.t.o.impulsive) add_impacts<kDim>(env);
  if (env.t.o.integrator == kDiscrete && env.t.n.nfree > 0) turn_free_bodies(env);
}

// before the evaluation at index m: what a replay of it needs
template <class E>
DS_FN void keep_start(E& env, const EnvIO<E>& in, const EvalIndex& m) {
  if (in.replay() || !in_last_substep(in.args, m)) return;
  if (m.stage == 0 || is_sensed(in.args, num_stages(env.t.o.integrator), m)) in.remember();
}

// after it: outputs, where they are wanted, and the next state
template <class E>
DS_FN void integrate(E& env, const EnvIO<E>& in, const EvalIndex& m) {
  const int stages = num_stages(env.t.o.integrator);
  if (is_sensed(in.args, stages, m)) sense(env, in);
  env.sync_block();
  env.time_stage(kStage_sense);
  if (in.args.action != Action::kStep) {
    flag_no_numbers(env);
    in.write_status();
    return;
  }
  // asked anew after each stage, which costs less than to remember it across one
  const auto ends_substep = [&] { return m.stage + 1 == stages; };
  if (stages == 1) {
    integrate_euler(env, mask_not(env.diverged));
  } else {
    const RungeKutta<E> rk{env};
    rk.stage(m.stage);
    if (ends_substep()) rk.finish(mask_not(env.diverged));
  }
  keep_warmstart(env);
  env.time_stage(kStage_integrate);
  if (!ends_substep()) return;
  in.write_status();
  if (!in_last_substep(in.args, m)) return;
  in.store();
  env.time_stage(kStage_store);
}

// what a part of the evaluation asks of its index m
template <Part kPart, class E>
DS_FN void begin_part(E& env, const EnvIO<E>& in, const EvalIndex& m) {
  if constexpr (kPart == kPart_smooth) {
    if (env.t.n.nctrlhist > 0) env.rk_stage = static_cast<signed char>(m.stage);
    keep_start(env, in, m);
  }
  if constexpr (kPart == kPart_solve) {
    env.ends_call = ends_call(in.args, num_stages(env.t.o.integrator), m);
    if (m.stage == 0) env.unsolved = all_false<typename E::Real>();
  }
}
// and the stages of the part, which know nothing of it
template <Part kPart, int kDim, bool kByRows, class E>
DS_FN void stages_of_part(E& env, const EnvIO<E>& in) {
  if constexpr (kPart == kPart_smooth) {
    smooth_dynamics(env, in);
  } else if constexpr (kPart == kPart_collide) {
    find_contacts(env);
  } else if constexpr (kPart == kPart_rows) {
    if (env.t.o.has_adhesion) adhesion(env, [&](int b) { return in.xfrc(b); });
    impacts_and_rows<kDim, kByRows>(env);
  } else if constexpr (kPart == kPart_solve) {
    // what one stage of a step did not solve, the step did not. In memory: a register would be held through all of it
    env.missed = env.unsolved;
    env.sync_block();
    solve_and_jump<kDim, kByRows>(env);
    env.sync_block();
    env.unsolved = mask_or(env.unsolved, env.missed);
  }
}
// a part of the evaluation at index m, or what follows it: whoever launches stages calls this, part by part in
// the order of DS_PARTS, at all indices in theirs
template <Part kPart, int kDim, bool kByRows, class E>
DS_FN void evaluate_part(E& env, const EnvIO<E>& in, const EvalIndex& m) {
  begin_part<kPart>(env, in, m);
  stages_of_part<kPart, kDim, kByRows>(env, in);
  if constexpr (kPart == kPart_integrate) integrate(env, in, m);
}
template <Part kValue>
struct PartConstant {
  static constexpr Part kPart = kValue;
};
// f(part) for every part in order, each a PartConstant
template <class F>
DS_HD void each_part(F f) {
#define DS_PART_CALL(name) f(PartConstant<kPart_##name>{});
  DS_PARTS(DS_PART_CALL)
#undef DS_PART_CALL
}

// all parts but the last: accelerations and everything they need
template <int kDim, bool kByRows, class E>
DS_STAGE void evaluate(E& env, const EnvIO<E>& in) {
  each_part([&](auto part) { stages_of_part<decltype(part)::kPart, kDim, kByRows>(env, in); });
}

// everything that a call asks of one environment (or pack)
template <int kDim, bool kByRows, class E>
DS_FN void run_environment(E& env, const BatchView<typename E::Scalar>& batch, const StepArgs& args) {
  // in memory, both: what lives on in registers across the stages costs every stage of a GPU as many
  struct {
    EnvIO<E> in;
    EvalIndex m;
  } call{EnvIO<E>(env, batch, args), {}};
  const EnvIO<E>& in = call.in;
  EvalIndex& m = call.m;
  env.stage_ticks = args.stage_ticks;
  env.time_stage(kStage_load);
  in.load();
  do {
    each_part([&](auto part) { begin_part<decltype(part)::kPart>(in.env, in, m); });
    evaluate<kDim, kByRows>(in.env, in);
    evaluate_part<kPart_integrate, kDim, kByRows>(in.env, in, m);
  } while (advance(in.args, num_stages(in.env.t.o.integrator), &m));
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
