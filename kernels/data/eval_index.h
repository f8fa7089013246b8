// The evaluations of a call, one after the other: what the fused step loops over on the device, and the host
// where a step is launched in parts.
#pragma once

#include "kernels/base/portable.h"
#include "kernels/data/tables.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// evaluations of a substep: RK4 has four
DS_HD int num_stages(int integrator) { return integrator == 1 ? 4 : 1; }

DS_HD bool in_last_substep(const StepArgs& args, const EvalIndex& m) {
  return args.action != Action::kStep || m.substep + 1 == args.nsubsteps;
}
// whether the outputs of the call are those of this evaluation
DS_HD bool is_sensed(const StepArgs& args, int stages, const EvalIndex& m) {
  const bool last_stage = args.action == Action::kStep && args.sense_last_stage;
  return in_last_substep(args, m) && m.stage == (last_stage ? stages - 1 : 0);
}
// whether it is the last one of the call
DS_HD bool ends_call(const StepArgs& args, int stages, const EvalIndex& m) {
  return args.action != Action::kStep || (in_last_substep(args, m) && m.stage + 1 == stages);
}
// to the next evaluation; false where there is none
DS_HD bool advance(const StepArgs& args, int stages, EvalIndex* m) {
  if (args.action != Action::kStep) return false;
  if (++m->stage < stages) return true;
  m->stage = 0;
  return ++m->substep < args.nsubsteps;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
