#include "host/backends/cuda/cuda_staged.h"

#include <algorithm>

#include "host/backends/cuda/cuda_fused.h"
#include "host/backends/cuda/specialize/program.h"
#include "kernels/data/eval_index.h"
#include "kernels/launch/cuda/cuda_try.cuh"
#include "kernels/launch/cuda/launch.cuh"

namespace dualstep {
namespace {

size_t groups_of(int num_envs) { return (static_cast<size_t>(num_envs) - 1) / kStagedInterleaved + 1; }

}  // namespace

template <class Scalar>
size_t CudaStaged<Scalar>::scratch_bytes(const Tables<Scalar>& tables, int num_envs) {
  return groups_of(num_envs) *
         (group_bytes(tables, kStagedInterleaved) + kStagedInterleaved * kStagedCarriedBytes);
}

template <class Scalar>
cudaError_t CudaStaged<Scalar>::plan(const std::vector<const void*>& kernels, const int* lanes, int num_envs,
                                     int device) {
  kernels_.fill(nullptr);
  if (kernels.size() != kParts) return cudaSuccess;
  int sms = 0;
  DS_TRY(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  for (int part = 0; part < kParts; ++part) {
    int resident = 0;
    const long threads = static_cast<long>(num_envs) * lanes[part];
    DS_TRY(choose_warps(kernels[part], (threads - 1) / kWarpThreads + 1, sms, &warps_[part]));
    DS_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernels[part],
                                                         kWarpThreads * warps_[part], 0));
    if (resident == 0) return cudaErrorInvalidConfiguration;
    max_blocks_[part] = resident * sms;
    lanes_[part] = lanes[part];
  }
  std::copy_n(kernels.begin(), kParts, kernels_.begin());
  return cudaSuccess;
}

template <class Scalar>
cudaError_t CudaStaged<Scalar>::launch(int part, void** parameters, int num_envs, cudaStream_t stream) const {
  const long threads = static_cast<long>(num_envs) * lanes_[part];
  const long block = static_cast<long>(kWarpThreads) * warps_[part];
  const long blocks = std::min<long>((threads - 1) / block + 1, max_blocks_[part]);
  return cudaLaunchKernel(kernels_[part], dim3(static_cast<unsigned>(blocks)),
                          dim3(static_cast<unsigned>(block)), parameters, 0, stream);
}

template <class Scalar>
cudaError_t CudaStaged<Scalar>::run(const Tables<Scalar>& tables, const BatchView<Scalar>& batch,
                                    const StepArgs& args, void* scratch, cudaStream_t stream,
                                    double* seconds) const {
  size_t stride = group_bytes(tables, kStagedInterleaved);
  char* reals = static_cast<char*>(scratch);
  char* carried = reals + groups_of(batch.num_envs) * stride;
  EvalIndex moment;
  // the parameters of the kernels of program_text; a launch copies what these point to
  void* parameters[] = {const_cast<Tables<Scalar>*>(&tables),
                        const_cast<BatchView<Scalar>*>(&batch),
                        const_cast<StepArgs*>(&args),
                        &moment,
                        &reals,
                        &stride,
                        &carried};
  cudaEvent_t ends[2] = {nullptr, nullptr};
  cudaError_t error = cudaSuccess;
  const auto then = [&error](auto next) {
    if (error == cudaSuccess) error = next();
  };
  for (cudaEvent_t& end : ends)
    if (seconds) then([&] { return cudaEventCreate(&end); });
  do {
    for (int part = 0; part < kParts && error == cudaSuccess; ++part) {
      if (seconds) then([&] { return cudaEventRecord(ends[0], stream); });
      then([&] { return launch(part, parameters, batch.num_envs, stream); });
      if (!seconds) continue;
      float milliseconds = 0;
      then([&] { return cudaEventRecord(ends[1], stream); });
      then([&] { return cudaEventSynchronize(ends[1]); });
      then([&] { return cudaEventElapsedTime(&milliseconds, ends[0], ends[1]); });
      seconds[part] += 1e-3 * static_cast<double>(milliseconds);
    }
  } while (error == cudaSuccess && advance(args, num_stages(tables.o.integrator), &moment));
  for (const cudaEvent_t end : ends)
    if (end) (void)cudaEventDestroy(end);
  return error;
}

template class CudaStaged<float>;
template class CudaStaged<double>;

}  // namespace dualstep
