// The entry points of the emulated kernels: the step of kernels/step.h on lanes that are fibers, one
// environment at a time, whole or in parts as a GPU launches them. One lane is what a GPU thread is that has an environment
// to itself; more lanes share it.
#pragma once

#include "host/backends/fibers/fibers.h"
#include "host/batch/lane_choice.h"

namespace dualstep {

// bytes of workspace for one environment, to be aligned to 64
template <class Scalar>
long emulated_scratch_bytes(const Tables<Scalar>& tables);

// the action on one environment. Throws emulator::LaneError where the lanes part; the environment's arrays
// are then left as they are.
template <class Scalar>
void run_emulated(const Tables<Scalar>& tables, const BatchView<Scalar>& batch, const StepArgs& args, int env,
                  void* scratch, const LaneChoice& choice, const emulator::Schedule& schedule);

}  // namespace dualstep
