// CPU kernels for the avx2 instruction set. Left out of builds with sanitizers, where the portable ones stand
// for all: the source is the same, and compiling it so takes minutes.
#if !defined(DUALSTEP_PORTABLE_ONLY)
#define DUALSTEP_ISA avx2
#define DUALSTEP_ISA_NAME "avx2"
#define DUALSTEP_PACK_F 8
#define DUALSTEP_PACK_D 4
#include "kernels/launch/cpu/cpu_kernels.inl"

namespace dualstep {
template <>
const CpuKernels<float>* cpu_kernels_avx2<float>() {
  return &kKernelsF;
}
template <>
const CpuKernels<double>* cpu_kernels_avx2<double>() {
  return &kKernelsD;
}
}  // namespace dualstep

#else

#include "kernels/launch/cpu/cpu_kernels.h"

namespace dualstep {
template <>
const CpuKernels<float>* cpu_kernels_avx2<float>() {
  return nullptr;
}
template <>
const CpuKernels<double>* cpu_kernels_avx2<double>() {
  return nullptr;
}
}  // namespace dualstep

#endif
