// The entry points of the CPU kernels: one table of functions an instruction set, precision and pack size.
// Each is made in a translation unit of its own, compiled for that instruction set (cpu_kernels.inl).
#pragma once

#include "kernels/data/tables.h"

namespace dualstep {

// [bytes] memory that a thread writes begins and ends with a line of the cache, so that no other thread shares one
constexpr int kCacheLine = 64;

// What environments take along from one segment of a call to the next (kernels/launch/cpu/regroup.h): a snapshot each, and what
// they are sorted by, smallest first: two numbers of kWorkloadBits bits. Those of the rows of the batch from
// first_row on
template <class Scalar>
struct Snapshots {
  const int* offsets;  // where the numbers of a snapshot lie in the workspace of a pack
  Scalar* numbers;
  long width;  // of one snapshot
  unsigned* keys;
  int first_row;
};

// A segment of a call of kStep, of environments that all share their parameters. The first begins at the start of the
// call, the others where the packs were left
template <class Scalar>
struct SegmentArgs {
  const Snapshots<Scalar>& snapshots;
  bool is_first;
  EvalIndex* index;  // the evaluation in which it begins; becomes that of the next segment
};

template <class Scalar>
struct CpuKernels {
  const char* isa;  // "portable", "avx2", "avx512"
  int pack;         // environments a block: block b holds environments b pack, ..., b pack + pack - 1
  // bytes of workspace for one block, to be aligned to kCacheLine; every thread needs one of its own
  long (*scratch_bytes)(const Tables<Scalar>& tables);
  // the action on every environment of a block
  void (*run)(const Tables<Scalar>& tables, const BatchView<Scalar>& batch, const StepArgs& args, int block,
              void* scratch);
  // numbers of a snapshot, 0 where steps of this model have no segments; and their offsets in `scratch`
  int (*snapshot)(const Tables<Scalar>& tables, void* scratch, int* offsets);
  // a segment of a call, for every environment of a block; they stand where args.order says and share their
  // parameters. Returns whether there is another one (kernels/launch/cpu/regroup.h)
  bool (*run_segment)(const Tables<Scalar>& tables, const BatchView<Scalar>& batch, const StepArgs& args,
                      int block, void* scratch, const SegmentArgs<Scalar>& segment);
};

// those built into this library; null where the compiler could not build them. A caller checks the processor.
template <class Scalar>
const CpuKernels<Scalar>* cpu_kernels_portable();
template <class Scalar>
const CpuKernels<Scalar>* cpu_kernels_avx2();
template <class Scalar>
const CpuKernels<Scalar>* cpu_kernels_avx512();

}  // namespace dualstep
