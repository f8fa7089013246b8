// cpu_kernels_<instruction set>() of the instruction set that DUALSTEP_ISA names. With DUALSTEP_LEFT_OUT it is null: builds
// with sanitizers have the portable kernels alone, and builds for one machine the best of that machine, since all are
// the same source and each takes minutes to compile.
#ifdef DUALSTEP_LEFT_OUT
#include "kernels/launch/cpu/cpu_kernels.h"
#else
#include "kernels/launch/cpu/cpu_kernels.inl"
#endif

#define DUALSTEP_JOIN_NAMES(a, b) a##b
#define DUALSTEP_JOIN(a, b) DUALSTEP_JOIN_NAMES(a, b)
namespace dualstep {
template <>
const CpuKernels<DUALSTEP_SCALAR>* DUALSTEP_JOIN(cpu_kernels_, DUALSTEP_ISA)<DUALSTEP_SCALAR>() {
#ifdef DUALSTEP_LEFT_OUT
  return nullptr;
#else
  return &kTable;
#endif
}
}  // namespace dualstep
