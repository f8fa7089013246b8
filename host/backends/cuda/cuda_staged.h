// Launches of a step in parts (kernels/launch/cuda/staged.cuh): the specialised kernels of its parts, one after
// the other for each evaluation of a call. The workspaces of all environments lie in device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <vector>

#include "kernels/data/tables.h"

namespace dualstep {

template <class Scalar>
class CudaStaged {
 public:
  // takes the kernels of the parts, in their order; none: the step is not launched in parts
  cudaError_t plan(const std::vector<const void*>& kernels, const int* lanes, int num_envs, int device);
  bool planned() const { return kernels_[0] != nullptr; }
  static size_t scratch_bytes(const Tables<Scalar>& tables, int num_envs);

  // seconds of the device by part are added to `seconds` where it is not null; this waits for the device
  cudaError_t run(const Tables<Scalar>& tables, const BatchView<Scalar>& batch, const StepArgs& args,
                  void* scratch, cudaStream_t stream, double* seconds) const;

 private:
  cudaError_t launch(int part, void** parameters, int num_envs, cudaStream_t stream) const;

  std::array<const void*, kParts> kernels_{};
  std::array<int, kParts> lanes_{}, warps_{}, max_blocks_{};
};

}  // namespace dualstep
