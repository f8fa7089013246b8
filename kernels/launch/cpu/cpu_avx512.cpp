// CPU kernels for the avx512 instruction set. Left out of builds with sanitizers, where the portable ones
// stand for all: the source is the same, and compiling it so takes minutes.
#if !defined(DUALSTEP_PORTABLE_ONLY)
#define DUALSTEP_ISA avx512
#define DUALSTEP_ISA_NAME "avx512"
#define DUALSTEP_PACK_F 16
#define DUALSTEP_PACK_D 8
#include "kernels/launch/cpu/cpu_kernels.inl"

namespace dualstep {
template <>
const CpuKernels<float>* cpu_kernels_avx512<float>() {
  return &kKernelsF;
}
template <>
const CpuKernels<double>* cpu_kernels_avx512<double>() {
  return &kKernelsD;
}
}  // namespace dualstep

#else

#include "kernels/launch/cpu/cpu_kernels.h"

namespace dualstep {
template <>
const CpuKernels<float>* cpu_kernels_avx512<float>() {
  return nullptr;
}
template <>
const CpuKernels<double>* cpu_kernels_avx512<double>() {
  return nullptr;
}
}  // namespace dualstep

#endif
