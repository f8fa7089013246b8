// What one lane of an emulated environment does: the step of kernels/step.h, on any kind of lanes.
//
// Every lane makes an environment object of its own, on its own stack, as a GPU thread has one in its
// registers; the workspace is shared. To be the first inclusion of a translation unit, since it chooses how
// the kernels are compiled.
#pragma once

#define DUALSTEP_ISA emulated
#define DUALSTEP_LANES_SHARE

#include "host/emulator/fiber_lanes.h"
#include "kernels/step.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Scalar>
long lane_scratch_bytes(const Tables<Scalar>& t) {
  return static_cast<long>(t.l.total) * static_cast<long>(sizeof(Scalar)) +
         static_cast<long>(sizeof(int)) * pool_words(t.n);
}

template <class Lanes, class Scalar>
void run_lane(const Lanes& lanes, const Tables<Scalar>& t, const BatchView<Scalar>& batch,
              const StepArgs& args, int block, void* scratch) {
  using E = Env<Scalar, Lanes>;
  Scalar* reals = static_cast<Scalar*>(scratch);
  E env{t, lanes, reals, reinterpret_cast<int*>(reals + t.l.total), block, {}, 0, 0, {}, {}, {}, {}};
  const bool elliptic = t.o.cone == 1;
  if (t.n.kdim == 3)
    elliptic ? run_environment<3, true>(env, batch, args) : run_environment<3, false>(env, batch, args);
  else
    elliptic ? run_environment<6, true>(env, batch, args) : run_environment<6, false>(env, batch, args);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
