// The doors of the CPU kernels: one table of functions an instruction set, precision and pack size.
// Each is made in a translation unit of its own, compiled for that instruction set (cpu_kernels.inl).
#pragma once

#include "kernels/tables.h"

namespace dualstep {

template <class Scalar>
struct CpuKernels {
  const char* isa;  // "portable", "avx2", "avx512"
  int pack;         // environments a block: block b holds environments b pack, ..., b pack + pack - 1
  // bytes of workspace for one block, to be aligned to 64; every thread needs one of its own
  long (*scratch_bytes)(const Tables<Scalar>& tables);
  // the action on every environment of a block
  void (*run)(const Tables<Scalar>& tables, const BatchView<Scalar>& batch, const StepArgs& args, int block,
              void* scratch);
};

// those built into this library; null where the compiler could not build them. A caller checks the processor.
template <class Scalar>
const CpuKernels<Scalar>* cpu_kernels_portable();
template <class Scalar>
const CpuKernels<Scalar>* cpu_kernels_avx2();
template <class Scalar>
const CpuKernels<Scalar>* cpu_kernels_avx512();

}  // namespace dualstep
