// The emulated kernels in one precision. Before including it, define DUALSTEP_SCALAR.
#include "host/backends/fibers/lane_program.h"
// after it, because it chooses how the kernels are compiled
#include "host/backends/fibers/emulated_kernels.h"

namespace dualstep {

template <>
long emulated_scratch_bytes<DUALSTEP_SCALAR>(const Tables<DUALSTEP_SCALAR>& t) {
  return lane_scratch_bytes(t);
}

template <>
void run_emulated<DUALSTEP_SCALAR>(const Tables<DUALSTEP_SCALAR>& t, const BatchView<DUALSTEP_SCALAR>& batch,
                                   const StepArgs& args, int env, void* scratch, const LaneChoice& choice,
                                   const emulator::Schedule& schedule) {
  // a lane that is alone is a fiber too: with lanes of its own it would be compiled once more
  const auto on = [&](int lanes, auto&& f) {
    run_lanes(lanes, schedule, [&](const FiberLanes<kAnyWidth>& own) { f(own); });
  };
  const LaneProgram<DUALSTEP_SCALAR> program{
      .t = t, .batch = batch, .args = args, .env = env, .scratch = scratch};
  if (!choice.staged) {
    on(choice.lanes[0], [&](const auto& lanes) { program.run(lanes); });
    return;
  }
  EvalIndex m;
  do {
    for (int part = 0; part < kParts; part++)
      on(choice.lanes[part],
         [&](const auto& lanes) { program.run_one(static_cast<Part>(part), m, lanes); });
  } while (advance(args, num_stages(t.o.integrator), &m));
}

}  // namespace dualstep
