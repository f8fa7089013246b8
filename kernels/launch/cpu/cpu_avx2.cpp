// CPU kernels for the avx2 instruction set, in the precision DUALSTEP_SCALAR: compiled once for each. Left out of
// builds with sanitizers, where the portable ones stand for all: the source is the same, and compiling it takes
// minutes.
#if !defined(DUALSTEP_PORTABLE_ONLY)
#define DUALSTEP_ISA avx2
#define DUALSTEP_ISA_NAME "avx2"
#define DUALSTEP_PACK_F 8
#define DUALSTEP_PACK_D 4
#include "kernels/launch/cpu/cpu_kernels.inl"

namespace dualstep {
template <>
const CpuKernels<DUALSTEP_SCALAR>* cpu_kernels_avx2<DUALSTEP_SCALAR>() {
  return &kTable;
}
}  // namespace dualstep

#else

#include "kernels/launch/cpu/cpu_kernels.h"

namespace dualstep {
template <>
const CpuKernels<DUALSTEP_SCALAR>* cpu_kernels_avx2<DUALSTEP_SCALAR>() {
  return nullptr;
}
}  // namespace dualstep

#endif
