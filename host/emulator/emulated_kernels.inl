// The emulated kernels in one precision. Before including it, define DUALSTEP_SCALAR.
#include "host/emulator/lane_program.h"
// after it, because it chooses how the kernels are compiled
#include "host/emulator/emulated_kernels.h"

namespace dualstep {

template <>
long emulated_scratch_bytes<DUALSTEP_SCALAR>(const Tables<DUALSTEP_SCALAR>& t, int) {
  return lane_scratch_bytes(t);
}

template <>
void run_emulated<DUALSTEP_SCALAR>(const Tables<DUALSTEP_SCALAR>& t, const BatchView<DUALSTEP_SCALAR>& batch,
                                   const StepArgs& args, int env, void* scratch, int lanes,
                                   const emulator::Schedule& schedule) {
  if (lanes == 1) {
    run_lane(SerialLanes{}, t, batch, args, env, scratch);
    return;
  }
  run_lanes(lanes, schedule,
            [&](const FiberLanes<kAnyWidth>& own) { run_lane(own, t, batch, args, env, scratch); });
}

}  // namespace dualstep
