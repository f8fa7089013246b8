#include "host/backends/cuda/cuda_fused.h"

#include <algorithm>

#include "kernels/launch/cuda/cuda_try.cuh"
#include "kernels/launch/cuda/launch.cuh"

namespace dualstep {
namespace {

constexpr int kThreads = kWarpThreads * kFusedWarps;

int preference(CarveOut choice, bool shared) {
  if (choice == CarveOut::kDefault) return cudaSharedmemCarveoutDefault;
  return choice == CarveOut::kShared || shared ? cudaSharedmemCarveoutMaxShared : cudaSharedmemCarveoutMaxL1;
}

}  // namespace

template <class Scalar>
int CudaFused<Scalar>::groups_of(int num_envs) const {
  return (num_envs - 1) / group_ + 1;
}

template <class Scalar>
int CudaFused<Scalar>::blocks_for(int num_envs) const {
  return std::min((groups_of(num_envs) - 1) / kFusedWarps + 1, max_blocks_);
}

template <class Scalar>
cudaError_t CudaFused<Scalar>::plan(const void* kernel, int lanes, const Tables<Scalar>& tables, int num_envs,
                                    int device, const FusedChoice& choice) {
  *this = {};
  int sms = 0, most_shared = 0, resident = 0;
  DS_TRY(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  DS_TRY(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CudaFused made;
  made.group_ = kWarpThreads / lanes;
  const size_t block = group_bytes(tables, made.group_) * kFusedWarps;
  if (choice.place != ScratchPlace::kGlobal && block <= static_cast<size_t>(most_shared)) {
    // the most of all models: a kernel may serve several, and a larger limit costs nothing
    DS_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared));
    DS_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kThreads, block));
    // fewer warps than this cannot hide the latency that shared memory saves
    if (resident * kFusedWarps >= 8 || (choice.place == ScratchPlace::kShared && resident > 0))
      made.shared_bytes_ = block;
  }
  if (!made.shared()) {
    if (choice.place == ScratchPlace::kShared) return cudaErrorInvalidConfiguration;
    DS_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kThreads, 0));
  }
  if (resident == 0) return cudaErrorInvalidConfiguration;
  // a kernel that uses no shared memory has all of the cache
  DS_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                              preference(choice.carve_out, made.shared())));
  made.max_blocks_ = resident * sms;
  made.max_blocks_ = made.blocks_for(num_envs);
  if (!made.shared()) made.scratch_bytes_ = block * static_cast<size_t>(made.max_blocks_);
  made.kernel_ = kernel;
  *this = made;
  return cudaSuccess;
}

template <class Scalar>
cudaError_t CudaFused<Scalar>::run(const Tables<Scalar>& tables, const BatchView<Scalar>& batch,
                                   const StepArgs& args, void* scratch, cudaStream_t stream) const {
  int num_groups = groups_of(batch.num_envs);
  char* workspace = shared() ? nullptr : static_cast<char*>(scratch);
  size_t warp_bytes = group_bytes(tables, group_);
  // the parameters of the fused step; a launch copies what these point to
  void* parameters[] = {const_cast<Tables<Scalar>*>(&tables),
                        const_cast<BatchView<Scalar>*>(&batch),
                        const_cast<StepArgs*>(&args),
                        &num_groups,
                        &workspace,
                        &warp_bytes};
  return cudaLaunchKernel(kernel_, dim3(static_cast<unsigned>(blocks_for(batch.num_envs))), dim3(kThreads),
                          parameters, shared_bytes_, stream);
}

template class CudaFused<float>;
template class CudaFused<double>;

}  // namespace dualstep
