// Launches: the fused step of kernels/fused.cuh, and what goes on around it on the device: rows placed in
// marked environments (reset), marks of those that diverged. Compiled once for each precision and number of
// lanes, which DUALSTEP_SCALAR and DUALSTEP_LANES give.
//
// Reads and writes: the arrays of BatchView. Cost: the step's.
#define DUALSTEP_ISA cuda

#include "kernels/fused.cuh"
#include "kernels/launch.cuh"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the workspace of a warp: numbers, then words, each of its environments side by side
template <class Scalar, int W>
size_t group_bytes(const Tables<Scalar>& t) {
  const size_t bytes =
      kGroup<W> * (static_cast<size_t>(t.l.total) * sizeof(Scalar) + pool_words(t.n) * sizeof(int));
  return (bytes + 127) / 128 * 128;
}

template <class Scalar, int W, int kDim>
__global__ void __launch_bounds__(kWarp* kWarpsOfBlock, kBlocksOfProcessor<Scalar, kDim>)
    fused_step(const __grid_constant__ Tables<Scalar> tables, const __grid_constant__ BatchView<Scalar> batch,
               const __grid_constant__ StepArgs args, const uint8_t* marks, int num_groups, char* scratch,
               size_t warp_bytes) {
  fused_body<Scalar, W, kDim>(tables, batch, args, marks, num_groups, scratch, warp_bytes);
}

template <class Scalar, int W>
const void* step_for_all_models(const Tables<Scalar>& t) {
  return t.n.kdim == 3 ? reinterpret_cast<const void*>(fused_step<Scalar, W, 3>)
                       : reinterpret_cast<const void*>(fused_step<Scalar, W, 6>);
}

#define DS_TRY(call)                          \
  do {                                        \
    const cudaError_t result = (call);        \
    if (result != cudaSuccess) return result; \
  } while (false)

template <class Scalar, int W>
cudaError_t make_plan(const void* special, const Tables<Scalar>& t, int device, ScratchPlace place,
                      CudaPlan* out) {
  const void* const kernel = special ? special : step_for_all_models<Scalar, W>(t);
  int processors = 0, most_shared = 0;
  DS_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  DS_TRY(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CudaPlan plan;
  plan.kernel = kernel;
  plan.threads = kWarp * kWarpsOfBlock;
  const size_t block = group_bytes<Scalar, W>(t) * kWarpsOfBlock;
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
    plan.scratch_bytes = block * resident * processors;
  }
  if (resident == 0) return cudaErrorInvalidConfiguration;
  plan.max_blocks = resident * processors;
  *out = plan;
  return cudaSuccess;
}

template <class Scalar, int W>
cudaError_t run_step(const CudaPlan& plan, const Tables<Scalar>& tables, const BatchView<Scalar>& batch,
                     const StepArgs& args, const uint8_t* marks, void* scratch, cudaStream_t stream) {
  int num_groups = (batch.num_envs - 1) / kGroup<W> + 1;
  const int wanted = (num_groups - 1) / kWarpsOfBlock + 1;
  const int blocks = wanted < plan.max_blocks ? wanted : plan.max_blocks;
  char* room = plan.shared_bytes ? nullptr : static_cast<char*>(scratch);
  size_t warp_bytes = group_bytes<Scalar, W>(tables);
  // the parameters of fused_step; a launch copies what these point to
  void* parameters[] = {const_cast<Tables<Scalar>*>(&tables),
                        const_cast<BatchView<Scalar>*>(&batch),
                        const_cast<StepArgs*>(&args),
                        &marks,
                        &num_groups,
                        &room,
                        &warp_bytes};
  return cudaLaunchKernel(plan.kernel, dim3(static_cast<unsigned>(blocks)),
                          dim3(static_cast<unsigned>(plan.threads)), parameters, plan.shared_bytes, stream);
}

// around the step -----------------------------------------------------------------------------------------
// a copy for each variant: static, so that several can be linked together

// a block an environment, and the next one
static __global__ void place_rows(const __grid_constant__ CudaRows rows, const uint32_t* words,
                                  const uint8_t* marks) {
  for (int e = static_cast<int>(blockIdx.x); e < rows.num_envs; e += static_cast<int>(gridDim.x)) {
    if (marks != nullptr && marks[e] == 0) continue;
    for (int r = 0; r < rows.count; r++) {
      const CudaRow row = rows.row[r];
      for (int i = static_cast<int>(threadIdx.x); i < row.words; i += static_cast<int>(blockDim.x))
        row.to[static_cast<size_t>(e) * row.words + i] = words[row.from + i];
    }
  }
}
static __global__ void clear_status_bits(uint32_t* status, uint32_t bits, int num_envs) {
  const int e = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (e < num_envs) status[e] &= ~bits;
}
static __global__ void mark_status_bits(const uint32_t* status, uint32_t bits, int num_envs, uint8_t* marks,
                                        uint32_t* counts) {
  const int e = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (e >= num_envs) return;
  const bool marked = (status[e] & bits) != 0;
  marks[e] = marked;
  if (marked) counts[e]++;
}

constexpr int kThreads = 128;

static cudaError_t place(const CudaRows& rows, const uint32_t* words, const uint8_t* marks,
                         cudaStream_t stream) {
  const int blocks = rows.num_envs < 65536 ? rows.num_envs : 65536;
  place_rows<<<blocks, kThreads, 0, stream>>>(rows, words, marks);
  return cudaGetLastError();
}
static cudaError_t clear_bits(uint32_t* status, uint32_t bits, int num_envs, cudaStream_t stream) {
  clear_status_bits<<<(num_envs - 1) / kThreads + 1, kThreads, 0, stream>>>(status, bits, num_envs);
  return cudaGetLastError();
}
static cudaError_t mark(const uint32_t* status, uint32_t bits, int num_envs, uint8_t* marks, uint32_t* counts,
                        cudaStream_t stream) {
  mark_status_bits<<<(num_envs - 1) / kThreads + 1, kThreads, 0, stream>>>(status, bits, num_envs, marks,
                                                                           counts);
  return cudaGetLastError();
}

}  // namespace DUALSTEP_ISA

// each variant is a function of its own: the linker takes those that the host asks for
template <>
const CudaKernels<DUALSTEP_SCALAR>* cuda_variant<DUALSTEP_SCALAR, DUALSTEP_LANES>() {
  static constexpr CudaKernels<DUALSTEP_SCALAR> kVariant{DUALSTEP_LANES,
                                                         kGroup<DUALSTEP_LANES>,
                                                         make_plan<DUALSTEP_SCALAR, DUALSTEP_LANES>,
                                                         run_step<DUALSTEP_SCALAR, DUALSTEP_LANES>,
                                                         place,
                                                         clear_bits,
                                                         mark};
  return &kVariant;
}

}  // namespace dualstep
