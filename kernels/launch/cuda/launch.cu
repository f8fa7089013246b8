// Launches of the fused step of kernels/launch/cuda/fused.cuh. Compiled once for each precision and number of lanes,
// which DUALSTEP_SCALAR and DUALSTEP_LANES give.
//
// Reads and writes: the arrays of BatchView. Cost: the step's.
#define DUALSTEP_ISA cuda

#include "kernels/launch/cuda/cuda_try.cuh"
#include "kernels/launch/cuda/fused.cuh"
#include "kernels/launch/cuda/launch.cuh"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Scalar, int W, int kDim>
__global__ void __launch_bounds__(kWarp* kWarpsOfBlock, kBlocksOfSM<Scalar, W, kDim>)
    fused_step(const __grid_constant__ Tables<Scalar> tables, const __grid_constant__ BatchView<Scalar> batch,
               const __grid_constant__ StepArgs args, int num_groups, char* scratch, size_t warp_bytes) {
  fused_body<Scalar, W, kDim>(tables, batch, args, num_groups, scratch, warp_bytes);
}

template <class Scalar, int W>
const void* step_for_all_models(const Tables<Scalar>& t) {
  return t.n.kdim == 3 ? reinterpret_cast<const void*>(fused_step<Scalar, W, 3>)
                       : reinterpret_cast<const void*>(fused_step<Scalar, W, 6>);
}

template <int W>
int groups_of(int num_envs) {
  return (num_envs - 1) / kGroup<W> + 1;
}
template <int W>
int blocks_for(int num_envs) {
  return (groups_of<W>(num_envs) - 1) / kWarpsOfBlock + 1;
}

template <class Scalar, int W>
cudaError_t make_plan(const void* special, const Tables<Scalar>& t, int num_envs, int device,
                      ScratchPlace place, CudaPlan* out) {
  const void* const kernel = special ? special : step_for_all_models<Scalar, W>(t);
  int sms = 0, most_shared = 0;
  DS_TRY(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  DS_TRY(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CudaPlan plan;
  plan.kernel = kernel;
  plan.threads = kWarp * kWarpsOfBlock;
  const size_t block = group_bytes(t, kGroup<W>) * kWarpsOfBlock;
  int resident = 0;
  if (place != ScratchPlace::kGlobal && block <= static_cast<size_t>(most_shared)) {
    // the most of all models: a kernel may serve several, and a larger limit costs nothing
    DS_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared));
    DS_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, plan.threads, block));
    // fewer warps than this cannot hide the latency that shared memory saves
    if (resident * kWarpsOfBlock >= 8 || (place == ScratchPlace::kShared && resident > 0))
      plan.shared_bytes = block;
  }
  if (plan.shared_bytes == 0) {
    if (place == ScratchPlace::kShared) return cudaErrorInvalidConfiguration;
    DS_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, plan.threads, 0));
  }
  if (resident == 0) return cudaErrorInvalidConfiguration;
  plan.max_blocks = resident * sms;
  if (const int wanted = blocks_for<W>(num_envs); wanted < plan.max_blocks) plan.max_blocks = wanted;
  if (plan.shared_bytes == 0) plan.scratch_bytes = block * static_cast<size_t>(plan.max_blocks);
  *out = plan;
  return cudaSuccess;
}

template <class Scalar, int W>
cudaError_t run_step(const CudaPlan& plan, const Tables<Scalar>& tables, const BatchView<Scalar>& batch,
                     const StepArgs& args, void* scratch, cudaStream_t stream) {
  int num_groups = groups_of<W>(batch.num_envs);
  const int wanted = blocks_for<W>(batch.num_envs);
  const int blocks = wanted < plan.max_blocks ? wanted : plan.max_blocks;
  char* workspace = plan.shared_bytes ? nullptr : static_cast<char*>(scratch);
  size_t warp_bytes = group_bytes(tables, kGroup<W>);
  // the parameters of fused_step; a launch copies what these point to
  void* parameters[] = {const_cast<Tables<Scalar>*>(&tables),
                        const_cast<BatchView<Scalar>*>(&batch),
                        const_cast<StepArgs*>(&args),
                        &num_groups,
                        &workspace,
                        &warp_bytes};
  return cudaLaunchKernel(plan.kernel, dim3(static_cast<unsigned>(blocks)),
                          dim3(static_cast<unsigned>(plan.threads)), parameters, plan.shared_bytes, stream);
}

}  // namespace DUALSTEP_ISA

// each variant is a function of its own: the linker takes those that the host asks for
template <>
const CudaKernels<DUALSTEP_SCALAR>* cuda_variant<DUALSTEP_SCALAR, DUALSTEP_LANES>() {
  static constexpr CudaKernels<DUALSTEP_SCALAR> kVariant{DUALSTEP_LANES, kGroup<DUALSTEP_LANES>,
                                                         make_plan<DUALSTEP_SCALAR, DUALSTEP_LANES>,
                                                         run_step<DUALSTEP_SCALAR, DUALSTEP_LANES>};
  return &kVariant;
}

}  // namespace dualstep
