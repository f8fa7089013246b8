// The step in parts (kernels/launch/staged.h) on a GPU: a kernel for each, with threads an environment of its own.
// The workspaces of all environments of the batch lie in device memory, kStagedGroup of them interleaved
// whatever the number of threads, so that each part finds what the last one left.
//
// Compiled for one model alone (host/backends/cuda/specialize). Reads and writes: the arrays of BatchView, and the
// workspaces. Cost: the step's, and the workspace through the cache between parts.
#pragma once

#include "kernels/launch/cuda/fused.cuh"
#include "kernels/launch/staged.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// environments whose workspaces are interleaved: with 8 threads each, a warp reads consecutive words
constexpr int kStagedGroup = 4;

template <class Scalar>
using CarriedOnDevice = Carried<Env<Scalar, TileLanes<1>, kStagedGroup>>;

// what lasts from one part to the next: workspaces, a group's after the other's, and what each environment hands on
template <class Scalar>
struct StagedMemory {
  char* workspaces;
  size_t group_bytes;
  CarriedOnDevice<Scalar>* carried;
};

// one environment, by W threads. Returns its index, so that nobody else has to remember it
template <class Scalar, int W, int kDim, Part kPart>
DS_STAGE int run_part_at(const StepTables<Scalar>& tables, const BatchView<Scalar>& batch,
                         const StepArgs& args, const EvalIndex& m, int index, StagedMemory<Scalar> memory) {
  using E = Env<Scalar, TileLanes<W>, kStagedGroup>;
  char* const workspace = memory.workspaces + static_cast<size_t>(index / kStagedGroup) * memory.group_bytes;
  const TileLanes<W> lanes;
  E env = environment_of<kStagedGroup>(tables, lanes, args, index, workspace);
  auto* const own = reinterpret_cast<Carried<E>*>(memory.carried + index);
  if constexpr (kPart == kPart_rows || kPart == kPart_solve) {
    with_weights(tables.o, [&](auto by_rows) { run_part<kDim, by_rows>(env, batch, args, kPart, m, own); });
  } else {
    run_part<kDim, false>(env, batch, args, kPart, m, own);  // asks nothing of weights
  }
  return env.launch_index;
}

// what the kernel of a part does, apart from its name
template <class Scalar, int W, int kDim, Part kPart>
DS_HD void staged_body(const StepTables<Scalar>& tables, const BatchView<Scalar>& batch, const StepArgs& args,
                       const EvalIndex& m, char* scratch, size_t group_bytes, char* carried) {
  static_assert(sizeof(Carried<Env<Scalar, TileLanes<W>, kStagedGroup>>) == sizeof(CarriedOnDevice<Scalar>));
  const StagedMemory<Scalar> memory{.workspaces = scratch,
                                    .group_bytes = group_bytes,
                                    .carried = reinterpret_cast<CarriedOnDevice<Scalar>*>(carried)};
  int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / W;
  while (index < launch_size(batch, args)) {
    index = run_part_at<Scalar, W, kDim, kPart>(tables, batch, args, m, index, memory);
    index += static_cast<int>(gridDim.x * blockDim.x) / W;
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
