// The doors of the CUDA kernels: one table of functions a precision and number of lanes. Plain C++, so that
// host code need not be compiled by nvcc.
//
// A warp works on a group of 32 / W environments at once, W threads on each; their workspaces stand
// interleaved, element by element. A launch has as many warps as the device can hold, and each takes groups
// until none is left, so the workspace is that of the resident warps, whatever the batch size. It lies in
// shared memory where enough warps fit, else in device memory. No choice of these changes a bit.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/data/tables.h"

namespace dualstep {

// bytes of the interleaved workspaces of a group of environments: numbers, then words
template <class Scalar>
size_t group_bytes(const Tables<Scalar>& t, int group) {
  const size_t bytes = static_cast<size_t>(group) * (static_cast<size_t>(t.l.total) * sizeof(Scalar) +
                                                     static_cast<size_t>(pool_words<Scalar>(t.n)) * sizeof(int));
  return (bytes + 127) / 128 * 128;
}

// how a model's step is launched on a device
struct CudaPlan {
  const void* kernel = nullptr;
  int threads = 0;           // of a block
  int max_blocks = 0;        // resident on the device
  size_t shared_bytes = 0;   // of a block; 0: the workspace lies in device memory
  size_t scratch_bytes = 0;  // of device memory, for all resident warps
};

enum class ScratchPlace { kBest, kShared, kGlobal };

template <class Scalar>
struct CudaKernels {
  int lanes;  // W
  int group;  // environments of a warp: they share a block of per-environment parameters
  // the shape of a launch of a specialised kernel (host/backends/cuda/specialize), or where special is null of that
  // for all models, for batches of this size or smaller; opts in to as much shared memory as the device has.
  // kShared fails with cudaErrorInvalidConfiguration where not even one block fits.
  cudaError_t (*plan)(const void* special, const Tables<Scalar>& tables, int num_envs, int device,
                      ScratchPlace place, CudaPlan* out);
  // the action on the environments that args.order and args.count name. scratch is device memory
  cudaError_t (*run)(const CudaPlan& plan, const Tables<Scalar>& tables, const BatchView<Scalar>& batch,
                     const StepArgs& args, void* scratch, cudaStream_t stream);
};

// a variant; which ones there are is the build's choice (host/backends/cuda/cuda_backend.cmake)
template <class Scalar, int W>
const CudaKernels<Scalar>* cuda_variant();

}  // namespace dualstep
