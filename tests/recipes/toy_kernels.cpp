// Kernels that load the state, make it a step older, and store it: no physics, so that they compile in seconds.
#define DUALSTEP_ISA toy
#include "kernels/data/env_io.h"
#include "kernels/launch/cpu/cpu_kernels.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
long scratch_bytes(const Tables<ScalarOf<Real>>& t) {
  return (static_cast<long>(t.l.total) * static_cast<long>(sizeof(Real)) +
          4L * pool_words<ScalarOf<Real>>(t.n) + 127) /
         64 * 64;
}

template <class Real>
void run(const Tables<ScalarOf<Real>>& t, const BatchView<ScalarOf<Real>>& batch, const StepArgs& args,
         int block, void* scratch) {
  const SerialLanes lanes;
  auto env = make_env(t, lanes, workspace_in<Real>(scratch, t), block);
  const EnvIO<Env<Real, SerialLanes>> in(env, batch, args);
  in.load();
  for (int step = 0; args.action == Action::kStep && step < args.nsubsteps; step++)
    env.each(t.n.nv, [&](int i) {
      env.toy_age()[i] = select(mask_not(env.diverged), env.toy_age()[i] + Real(1), env.toy_age()[i]);
    });
  in.write_status();
  in.store();
}

// steps have no segments
template <class Real>
int snapshot(const Tables<ScalarOf<Real>>&, void*, int*) {
  return 0;
}

template <class Real>
constexpr CpuKernels<ScalarOf<Real>> kKernels{.isa = "portable",
                                              .pack = kPackSize<Real>,
                                              .scratch_bytes = scratch_bytes<Real>,
                                              .run = run<Real>,
                                              .snapshot = snapshot<Real>,
                                              .run_segment = nullptr};
constexpr auto kKernelsF = kKernels<Pack<float, 4>>;
constexpr auto kKernelsD = kKernels<Pack<double, 2>>;

}  // namespace DUALSTEP_ISA

template <>
const CpuKernels<float>* cpu_kernels_portable<float>() {
  return &kKernelsF;
}
template <>
const CpuKernels<double>* cpu_kernels_portable<double>() {
  return &kKernelsD;
}
#define NONE(name, Scalar)                   \
  template <>                                \
  const CpuKernels<Scalar>* name<Scalar>() { \
    return nullptr;                          \
  }
NONE(cpu_kernels_avx2, float)
NONE(cpu_kernels_avx2, double)
NONE(cpu_kernels_avx512, float)
NONE(cpu_kernels_avx512, double)
#undef NONE

}  // namespace dualstep
