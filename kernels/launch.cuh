// The doors of the CUDA kernels: one table of functions a precision and number of lanes. Plain C++, so that
// host code need not be compiled by nvcc.
//
// A warp works on a group of 32 / W environments at once, W threads on each; their workspaces stand
// interleaved, element by element. A launch has as many warps as the device can hold, and each takes groups
// until none is left, so the workspace is that of the resident warps, whatever the batch size. It lies in
// shared memory where enough warps fit, else in device memory. No choice of these changes a bit.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/tables.h"

namespace dualstep {

// how a model's step is launched on a device
struct CudaPlan {
  int threads = 0;           // of a block
  int max_blocks = 0;        // resident on the device
  size_t shared_bytes = 0;   // of a block; 0: the workspace lies in device memory
  size_t scratch_bytes = 0;  // of device memory, for all resident warps
};

enum class ScratchPlace { kBest, kShared, kGlobal };

// where environments start again: one row a state array, in the order of the field table
template <class Scalar>
struct CudaStart {
#define STATE(name, width, meaning) const Scalar* name;
#include "kernels/fields.inl"
  double time;
};

template <class Scalar>
struct CudaKernels {
  int lanes;  // W
  int group;  // environments of a warp: they share a block of per-environment parameters
  // the shape of a launch; opts in to as much shared memory as the device has. kShared fails with
  // cudaErrorInvalidConfiguration where not even one warp fits.
  cudaError_t (*plan)(const Tables<Scalar>& tables, int device, ScratchPlace place, CudaPlan* out);
  // the action on the listed groups, or on all where groups is null. groups and scratch are device memory.
  cudaError_t (*run)(const CudaPlan& plan, const Tables<Scalar>& tables, const BatchView<Scalar>& batch,
                     const StepArgs& args, const int* groups, int num_groups, void* scratch,
                     cudaStream_t stream);
};

// the kernels built into this library: most lanes first
template <class Scalar>
const CudaKernels<Scalar>* const* cuda_kernels(int* count);

// sets environments back to `start`: those where mask is not 0 and (status & bits) is not 0; a null mask
// stands for all, bits of 0 for any status. Where `counts` is given, it counts the times of each. Afterwards
// the status is `status`.
template <class Scalar>
cudaError_t cuda_reset(const Sizes& sizes, const BatchView<Scalar>& batch, const CudaStart<Scalar>& start,
                       const uint8_t* mask, uint32_t bits, uint32_t status, uint32_t* counts,
                       cudaStream_t stream);

}  // namespace dualstep
