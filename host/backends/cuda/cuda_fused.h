// Launches of the fused step (kernels/launch/cuda/fused.cuh) with any number of lanes: of a specialised kernel,
// or of one for all models where the build has it (kernels/launch/cuda/launch.cuh).
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/data/tables.h"

namespace dualstep {

enum class ScratchMemory { kBest, kShared, kGlobal };
// how much of an SM's memory is asked for as first-level cache: as much as the workspace leaves, as much as the
// runtime likes, or as little as may be
enum class CarveOut { kWorkspace, kDefault, kShared };

// what a caller leaves open
struct FusedChoice {
  ScratchMemory memory = ScratchMemory::kBest;
  CarveOut carve_out = CarveOut::kWorkspace;
  int warps = 0;  // of a block at most, where that is said
};

// warps of a block: as many as a kernel may have, or fewer, so that every SM has some
cudaError_t choose_warps(const void* kernel, long all_warps, int sms, int* warps);

template <class Scalar>
class CudaFused {
 public:
  // the shape of launches of a kernel, for batches of this size or smaller; opts in to as much shared memory as
  // the device has. kShared fails with cudaErrorInvalidConfiguration where not even one block fits
  cudaError_t plan(const void* kernel, int lanes, const Tables<Scalar>& tables, int num_envs, int device,
                   const FusedChoice& choice);
  bool planned() const { return kernel_ != nullptr; }
  // whether workspaces lie in shared memory; of device memory, bytes for all resident warps
  bool shared() const { return shared_bytes_ > 0; }
  size_t scratch_bytes() const { return scratch_bytes_; }
  // the action on the environments that args.order and args.count name. scratch is device memory
  cudaError_t run(const Tables<Scalar>& tables, const BatchView<Scalar>& batch, const StepArgs& args,
                  void* scratch, cudaStream_t stream) const;

 private:
  int groups_of(int num_envs) const;
  int blocks_for(int num_envs) const;
  int threads() const;

  const void* kernel_ = nullptr;
  int device_ = 0;
  int group_ = 1;             // environments of a warp
  int warps_ = 1;             // of a block
  int max_blocks_ = 0;        // resident on the device
  int carve_out_ = 0;         // for shared memory, as the runtime counts it
  size_t shared_bytes_ = 0;   // of a block
  size_t scratch_bytes_ = 0;  // of device memory
};

}  // namespace dualstep
