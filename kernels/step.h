// The step, read top to bottom: one line a stage, each stage one file.
#pragma once

#include "kernels/collide.h"
#include "kernels/impact.h"
#include "kernels/inertia.h"
#include "kernels/integrate.h"
#include "kernels/sense.h"
#include "kernels/solve.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// accelerations and everything they need, at the state in the workspace; first what is the same for all cones
template <class E>
DS_STAGE void smooth_dynamics(E& env, const Inputs<E>& in) {
  kinematics(env, [&](int i) { return in.mocap(i); });  // poses, joint motions
  env.lap(kStage_kinematics);
  bias(env);  // velocities, Coriolis and gravity forces
  env.lap(kStage_bias);
  inertia(env);  // mass matrix, by composite bodies
  env.lap(kStage_inertia);
  factorize(env);  // L'DL on the tree's sparsity
  env.lap(kStage_factorize);
  passive(env);    // springs, dampers, fluid, gravity compensation
  actuation(env);  // actuators
  smooth_acceleration(env, in.any_xfrc, [&](int b) { return in.xfrc(b); });
  env.lap(kStage_forces);
}
template <int kDim, bool kElliptic, class E>
DS_STAGE void evaluate(E& env, const Inputs<E>& in) {
  smooth_dynamics(env, in);
  collide(env);  // contacts
  env.lap(kStage_collide);
  const bool impulsive = kElliptic && env.t.o.impulsive;
  if constexpr (kElliptic)
    if (impulsive) impacts<kDim>(env);  // jumps of the velocity, which the rows see
  rows<kDim>(env);                      // constraint rows, whitened
  if (impulsive) before_impacts(env);
  env.lap(kStage_rows);
  solve<kDim, kElliptic>(env);  // the contact dual: sweeps, then Newton
  if (impulsive) add_impacts<kDim>(env);
}

// one substep of time; outputs, where wanted, are those of its start, or of the last stage of RK4
template <int kDim, bool kElliptic, class E>
DS_FN void substep(E& env, const Inputs<E>& in, bool sense_now) {
  evaluate<kDim, kElliptic>(env, in);
  const bool at_last_stage = sense_now && in.args.sense_last_stage && env.t.o.integrator == 1;
  if (sense_now && !at_last_stage) sense(env, in);
  env.lap(kStage_sense);
  const auto live = mask_not(env.diverged);
  if (env.t.o.integrator == 1) {
    const RungeKutta<E> rk{env};
    rk.stage(0);
    for (int k = 1; k < 4; k++) {
      keep_warmstart(env);
      const bool here = at_last_stage && k == 3;
      if (here) in.remember();
      evaluate<kDim, kElliptic>(env, in);
      if (here) sense(env, in);
      rk.stage(k);
    }
    rk.finish(live);
  } else {
    integrate_euler(env, live);
  }
  keep_warmstart(env);
  env.lap(kStage_integrate);
}

// everything that a call asks of one environment (or pack)
template <int kDim, bool kElliptic, class E>
DS_FN void run_environment(E& env, const BatchView<typename E::Scalar>& batch, const StepArgs& args) {
  const Inputs<E> in(env, batch, args);
  env.laps = args.laps;
  env.lap(kStage_load);
  in.load();
  if (args.action == Action::kStep) {
    for (int k = 0; k < args.nsubsteps; k++) {
      const bool last = k + 1 == args.nsubsteps;
      if (last) in.remember();
      substep<kDim, kElliptic>(env, in, last);
      in.note_status();
    }
    in.store();
    env.lap(kStage_store);
  } else {
    if (args.action == Action::kForward) in.remember();
    evaluate<kDim, kElliptic>(env, in);
    sense(env, in);
    in.note_status();
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
