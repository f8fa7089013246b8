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

// an environment of a call, for each of the lanes that share it
template <class Scalar>
struct LaneProgram {
  const Tables<Scalar>& t;
  const BatchView<Scalar>& batch;
  const StepArgs& args;
  int env;
  void* scratch;

  template <class Lanes>
  auto own_env(const Lanes& lanes) const {
    return make_env(t, lanes, workspace_in<Scalar>(scratch, t), env);
  }
  template <class Lanes>
  void run(const Lanes& lanes) const {
    auto own = own_env(lanes);
    with_contact_rows(t, [&](auto kdim, auto by_rows) { run_environment<kdim, by_rows>(own, batch, args); });
  }
  template <class Lanes>
  void run_one(Part part, const EvalIndex& m, const Lanes& lanes) const {
    auto own = own_env(lanes);
    auto* const carried =
        reinterpret_cast<Carried<Env<Scalar, Lanes>>*>(static_cast<char*>(scratch) + lane_workspace_bytes(t));
    with_contact_rows(
        t, [&](auto kdim, auto by_rows) { run_part<kdim, by_rows>(own, batch, args, part, m, carried); });
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
