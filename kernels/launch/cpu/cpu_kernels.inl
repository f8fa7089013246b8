// The body of a translation unit of CPU kernels. Before including it, define DUALSTEP_ISA (a namespace name),
// DUALSTEP_ISA_NAME (a string), DUALSTEP_SCALAR and the pack sizes DUALSTEP_PACK_F, DUALSTEP_PACK_D.

#include <type_traits>

#include "kernels/launch/cpu/cpu_kernels.h"
#include "kernels/launch/cpu/regroup.h"
#include "kernels/step.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
long scratch_bytes(const Tables<ScalarOf<Real>>& t) {
  const long reals = static_cast<long>(t.l.total) * static_cast<long>(sizeof(Real));
  const long words = pool_words<ScalarOf<Real>>(t.n) * static_cast<long>(sizeof(int));
  const long packed = static_cast<long>(island_pack_reals(t.n)) * static_cast<long>(sizeof(Real));
  // whole lines, and one more
  return ((reals + words + packed + kCacheLine - 1) / kCacheLine + 1) * kCacheLine;
}

template <class Real>
Env<Real, SerialLanes> pack_env(const Tables<ScalarOf<Real>>& t, int block, void* scratch) {
  static const SerialLanes lanes;
  return make_env(t, lanes, workspace_in<Real>(scratch, t), block);
}

template <class Real>
void run_block(const Tables<ScalarOf<Real>>& t, const BatchView<ScalarOf<Real>>& batch, const StepArgs& args,
               int block, void* scratch) {
  auto env = pack_env<Real>(t, block, scratch);
  with_contact_rows(t, [&](auto kdim, auto by_rows) { run_environment<kdim, by_rows>(env, batch, args); });
}

template <class Real>
int snapshot(const Tables<ScalarOf<Real>>& t, void* scratch, int* offsets) {
  return snapshot_size(pack_env<Real>(t, 0, scratch), offsets);
}
template <class Real>
bool run_segment_of_block(const Tables<ScalarOf<Real>>& t, const BatchView<ScalarOf<Real>>& batch,
                          const StepArgs& args, int block, void* scratch,
                          const SegmentArgs<ScalarOf<Real>>& segment) {
  auto env = pack_env<Real>(t, block, scratch);
  bool more = false;
  with_contact_rows(
      t, [&](auto kdim, auto by_rows) { more = run_segment<kdim, by_rows>(env, batch, args, segment); });
  return more;
}

template <class Real>
constexpr CpuKernels<ScalarOf<Real>> kKernels{.isa = DUALSTEP_ISA_NAME,
                                              .pack = kPackSize<Real>,
                                              .scratch_bytes = scratch_bytes<Real>,
                                              .run = run_block<Real>,
                                              .snapshot = snapshot<Real>,
                                              .run_segment = run_segment_of_block<Real>};
constexpr int kPackOf = std::is_same_v<DUALSTEP_SCALAR, float> ? DUALSTEP_PACK_F : DUALSTEP_PACK_D;
constexpr auto kTable = kKernels<Pack<DUALSTEP_SCALAR, kPackOf>>;

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
