// How hard an environment was to step, and where that puts it in the next call: environments that were
// equally hard stand side by side, the hardest first. A pack or a warp takes as many Newton steps as the
// hardest of its environments, and as many contacts as the fullest.
#pragma once

#include "kernels/base/portable.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

DS_HD int effort_of(int contacts, int iterations) { return 256 * contacts + iterations; }

constexpr int kEffortBits = 10, kEffortKinds = 1 << kEffortBits;
DS_HD int effort_kind(int effort) {
  const int iterations = effort % 256 < 31 ? effort % 256 : 31;
  const int contacts = effort / 256 < 31 ? effort / 256 : 31;
  return kEffortKinds - 1 - (32 * iterations + contacts);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
