#include "host/backends/cuda/cuda_fused.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "kernels/launch/cuda/cuda_try.cuh"
#include "kernels/launch/cuda/launch.cuh"

namespace dualstep {
namespace {

int preference(CarveOut choice, bool shared) {
  if (choice == CarveOut::kDefault) return cudaSharedmemCarveoutDefault;
  return choice == CarveOut::kShared || shared ? cudaSharedmemCarveoutMaxShared : cudaSharedmemCarveoutMaxL1;
}

// A kernel for all models has one carve-out, whichever batch launches it: that of the batch that set it last, which is
// remembered by kernel and device
cudaError_t set_carve_out(const void* kernel, int device, int percent, bool anew) {
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, int> last;
  const std::lock_guard lock(mutex);
  const auto [found, inserted] = last.try_emplace({kernel, device}, percent);
  if (!anew && !inserted && found->second == percent) return cudaSuccess;
  found->second = percent;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent);
}

}  // namespace

cudaError_t choose_warps(const void* kernel, long all_warps, int sms, int* warps) {
  cudaFuncAttributes attributes;
  DS_TRY(cudaFuncGetAttributes(&attributes, kernel));
  const long most = attributes.maxThreadsPerBlock / kWarpThreads;
  *warps = static_cast<int>(std::min(most, (all_warps - 1) / sms + 1));
  return cudaSuccess;
}

template <class Scalar>
int CudaFused<Scalar>::threads() const {
  return kWarpThreads * warps_;
}

template <class Scalar>
int CudaFused<Scalar>::groups_of(int num_envs) const {
  return (num_envs - 1) / group_ + 1;
}

template <class Scalar>
int CudaFused<Scalar>::blocks_for(int num_envs) const {
  return std::min((groups_of(num_envs) - 1) / warps_ + 1, max_blocks_);
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
  DS_TRY(choose_warps(kernel, made.groups_of(num_envs), sms, &made.warps_));
  if (choice.warps > 0) made.warps_ = std::min(made.warps_, choice.warps);
  const size_t warp = group_bytes(tables, made.group_);
  const int sharing = static_cast<int>(
      std::min<size_t>(static_cast<size_t>(made.warps_), static_cast<size_t>(most_shared) / warp));
  // fewer warps than this cannot hide the latency that shared memory saves
  const int enough = choice.memory == ScratchMemory::kShared ? 1 : std::min(8, made.warps_);
  if (choice.memory != ScratchMemory::kGlobal && sharing >= enough) {
    // the most of all models: a kernel may serve several, and a larger limit costs nothing
    DS_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared));
    made.warps_ = sharing;
    made.shared_bytes_ = warp * static_cast<size_t>(sharing);
  } else if (choice.memory == ScratchMemory::kShared) {
    return cudaErrorInvalidConfiguration;
  }
  DS_TRY(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, made.threads(), made.shared_bytes_));
  if (resident == 0) return cudaErrorInvalidConfiguration;
  // a kernel that uses no shared memory has all of the cache
  made.device_ = device;
  made.carve_out_ = preference(choice.carve_out, made.shared());
  // a kernel that was loaded just now may stand where another one was
  DS_TRY(set_carve_out(kernel, device, made.carve_out_, /*anew=*/true));
  made.max_blocks_ = resident * sms;
  made.max_blocks_ = made.blocks_for(num_envs);
  if (!made.shared()) made.scratch_bytes_ = warp * static_cast<size_t>(made.warps_ * made.max_blocks_);
  made.kernel_ = kernel;
  *this = made;
  return cudaSuccess;
}

template <class Scalar>
cudaError_t CudaFused<Scalar>::run(const Tables<Scalar>& tables, const BatchView<Scalar>& batch,
                                   const StepArgs& args, void* scratch, cudaStream_t stream) const {
  char* workspace = shared() ? nullptr : static_cast<char*>(scratch);
  size_t warp_bytes = group_bytes(tables, group_);
  // the parameters of the fused step; a launch copies what these point to
  void* parameters[] = {const_cast<Tables<Scalar>*>(&tables), const_cast<BatchView<Scalar>*>(&batch),
                        const_cast<StepArgs*>(&args), &workspace, &warp_bytes};
  DS_TRY(set_carve_out(kernel_, device_, carve_out_, /*anew=*/false));
  return cudaLaunchKernel(kernel_, dim3(static_cast<unsigned>(blocks_for(batch.num_envs))),
                          dim3(static_cast<unsigned>(threads())), parameters, shared_bytes_, stream);
}

template class CudaFused<float>;
template class CudaFused<double>;

}  // namespace dualstep
