// What one lane of an emulated environment does: the step of kernels/step.h, or a part of it, on any kind of
// lanes.
//
// Every lane makes an environment object of its own, on its own stack, as a GPU thread has one in its
// registers; the workspace is shared. To be the first inclusion of a translation unit, since it chooses how
// the kernels are compiled.
#pragma once

#define DUALSTEP_ISA emulated
#define DUALSTEP_LANES_SHARE

#include "host/backends/fibers/fiber_lanes.h"
#include "kernels/launch/staged.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the workspace; behind it what parts hand over to each other
template <class Scalar>
long lane_workspace_bytes(const Tables<Scalar>& t) {
  const long bytes = static_cast<long>(t.l.total) * static_cast<long>(sizeof(Scalar)) +
                     static_cast<long>(sizeof(int)) * pool_words<Scalar>(t.n);
  return (bytes + 63) / 64 * 64;
}
template <class Scalar>
long lane_scratch_bytes(const Tables<Scalar>& t) {
  return lane_workspace_bytes(t) + static_cast<long>(sizeof(Carried<Env<Scalar, SerialLanes>>));
}

template <class Lanes, class Scalar>
Env<Scalar, Lanes> lane_environment(const Lanes& lanes, const Tables<Scalar>& t, int block, void* scratch) {
  Scalar* reals = static_cast<Scalar*>(scratch);
  return {t, lanes, reals, reinterpret_cast<int*>(reals + t.l.total), block};
}

template <class Lanes, class Scalar>
void run_lane(const Lanes& lanes, const Tables<Scalar>& t, const BatchView<Scalar>& batch,
              const StepArgs& args, int block, void* scratch) {
  auto env = lane_environment(lanes, t, block, scratch);
  with_contact_rows(t, [&](auto kdim, auto elliptic) { run_environment<kdim, elliptic>(env, batch, args); });
}

template <class Lanes, class Scalar>
void run_lane_part(const Lanes& lanes, const Tables<Scalar>& t, const BatchView<Scalar>& batch,
                   const StepArgs& args, Part part, const EvalIndex& m, int block, void* scratch) {
  auto env = lane_environment(lanes, t, block, scratch);
  auto* const carried =
      reinterpret_cast<Carried<Env<Scalar, Lanes>>*>(static_cast<char*>(scratch) + lane_workspace_bytes(t));
  with_contact_rows(
      t, [&](auto kdim, auto elliptic) { run_part<kdim, elliptic>(env, batch, args, part, m, carried); });
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
