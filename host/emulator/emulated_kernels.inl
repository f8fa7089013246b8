// The body of a translation unit of emulated kernels. Before including it, define DUALSTEP_SCALAR.
//
// Every lane makes an environment object of its own, on its own stack, as a GPU thread has one in its
// registers; the workspace is shared.

#define DUALSTEP_ISA emulated
#define DUALSTEP_LANES_SHARE

#include "host/emulator/emulated_kernels.h"
#include "host/emulator/fiber_lanes.h"
#include "kernels/step.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// what one lane does
template <class Lanes, class Scalar>
void run_lane(const Lanes& lanes, const Tables<Scalar>& t, const BatchView<Scalar>& batch,
              const StepArgs& args, int block, void* scratch) {
  using E = Env<Scalar, Lanes, true>;
  Scalar* reals = static_cast<Scalar*>(scratch);
  E env{t, lanes, reals, 1, reinterpret_cast<int*>(reals + t.l.total), block, {}, 0, 0, {}, {}, {}, {}};
  const bool elliptic = t.o.cone == 1;
  if (t.n.kdim == 3)
    elliptic ? run_environment<3, true>(env, batch, args) : run_environment<3, false>(env, batch, args);
  else
    elliptic ? run_environment<6, true>(env, batch, args) : run_environment<6, false>(env, batch, args);
}

}  // namespace DUALSTEP_ISA

template <>
long emulated_scratch_bytes<DUALSTEP_SCALAR>(const Tables<DUALSTEP_SCALAR>& t, int) {
  return static_cast<long>(t.l.total) * static_cast<long>(sizeof(DUALSTEP_SCALAR)) +
         static_cast<long>(sizeof(int)) * pool_words(t.n);
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
