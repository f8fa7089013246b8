// The body of a translation unit of CPU kernels. Before including it, define DUALSTEP_ISA (a namespace name),
// DUALSTEP_ISA_NAME (a string) and the pack sizes DUALSTEP_PACK_F, DUALSTEP_PACK_D.

#include "kernels/cpu_kernels.h"
#include "kernels/step.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
long scratch_bytes(const Tables<ScalarOf<Real>>& t) {
  const long reals = static_cast<long>(t.l.total) * static_cast<long>(sizeof(Real));
  const long words = 4L * pool_words(t.n);
  return (reals + words + 127) / 64 * 64;
}

template <class Real>
void run_block(const Tables<ScalarOf<Real>>& t, const BatchView<ScalarOf<Real>>& batch, const StepArgs& args,
               int block, void* scratch) {
  using E = Env<Real, SerialLanes>;
  const SerialLanes lanes;
  Real* reals = static_cast<Real*>(scratch);
  E env{t,  lanes,   reals, reinterpret_cast<int*>(reals + t.l.total), block, {}, 0, 0, {}, {}, {},
        {}, nullptr, 0};
  const bool elliptic = t.o.cone == 1;
  if (t.n.kdim == 3)
    elliptic ? run_environment<3, true>(env, batch, args) : run_environment<3, false>(env, batch, args);
  else
    elliptic ? run_environment<6, true>(env, batch, args) : run_environment<6, false>(env, batch, args);
}

constexpr CpuKernels<float> kKernelsF{DUALSTEP_ISA_NAME, DUALSTEP_PACK_F,
                                      scratch_bytes<Pack<float, DUALSTEP_PACK_F>>,
                                      run_block<Pack<float, DUALSTEP_PACK_F>>};
constexpr CpuKernels<double> kKernelsD{DUALSTEP_ISA_NAME, DUALSTEP_PACK_D,
                                       scratch_bytes<Pack<double, DUALSTEP_PACK_D>>,
                                       run_block<Pack<double, DUALSTEP_PACK_D>>};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
