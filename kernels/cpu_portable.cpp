// CPU kernels for the portable instruction set.
#define DUALSTEP_ISA portable
#define DUALSTEP_ISA_NAME "portable"
#if defined(DUALSTEP_PORTABLE_ONLY)
// under sanitizers: what fits a register compiles in half the time
#define DUALSTEP_PACK_F 4
#define DUALSTEP_PACK_D 2
#else
#define DUALSTEP_PACK_F 8
#define DUALSTEP_PACK_D 4
#endif
#include "kernels/cpu_kernels.inl"

namespace dualstep {
template <>
const CpuKernels<float>* cpu_kernels_portable<float>() {
  return &kKernelsF;
}
template <>
const CpuKernels<double>* cpu_kernels_portable<double>() {
  return &kKernelsD;
}
}  // namespace dualstep
