// CPU kernels for the avx512 instruction set.
#define DUALSTEP_ISA avx512
#define DUALSTEP_ISA_NAME "avx512"
#define DUALSTEP_PACK_F 16
#define DUALSTEP_PACK_D 8
#include "kernels/cpu_kernels.inl"

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
