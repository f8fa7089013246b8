// How hard an environment was to step, and where that puts it in the next call: environments that were
// equally hard stand side by side, the hardest first. A pack or a warp takes as many Newton steps as the
// hardest of its environments, and as many contacts as the fullest.
#pragma once

#include "kernels/base/portable.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

DS_HD int workload_key(int contacts, int iterations) { return 256 * contacts + iterations; }

constexpr int kWorkloadBits = 10, kWorkloadBuckets = 1 << kWorkloadBits;
DS_HD int workload_bucket(int workload) {
  const int iterations = workload % 256 < 31 ? workload % 256 : 31;
  const int contacts = workload / 256 < 31 ? workload / 256 : 31;
  return kWorkloadBuckets - 1 - (32 * iterations + contacts);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
