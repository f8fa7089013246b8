// The only __global__ functions and launches: the fused step (all stages, several substeps) and the masked
// reset. Compiled once for each precision and number of lanes, which DUALSTEP_SCALAR and DUALSTEP_LANES give;
// the reset comes with the variant that also defines DUALSTEP_RESET.
//
// A kernel for each shape of the cone, so that none carries the registers of another; the stages before the
// rows are one copy for all four. Reads and writes: the arrays of BatchView. Cost: the step's.
#define DUALSTEP_ISA cuda

#include "kernels/launch.cuh"
#include "kernels/step.h"

#define DS_JOIN2(a, b, c) a##_##b##c
#define DS_JOIN(a, b, c) DS_JOIN2(a, b, c)

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr int kWarp = 32;
constexpr int kWarpsOfBlock = 4;

template <int W>
constexpr int kGroup = kWarp / W;

// the workspace of a warp: numbers, then words, each of its environments side by side
template <class Scalar, int W>
size_t group_bytes(const Tables<Scalar>& t) {
  const size_t bytes =
      kGroup<W> * (static_cast<size_t>(t.l.total) * sizeof(Scalar) + pool_words(t.n) * sizeof(int));
  return (bytes + 127) / 128 * 128;
}

// With this many blocks of a processor in mind the compiler gives every stage the registers it needs; without
// it, it aims for more of them and spills.
template <class Scalar, int kDim>
constexpr int kBlocksOfProcessor = sizeof(Scalar) == 8 ? 2
                                   : kDim == 6         ? 3
                                                       : 4;

template <class Scalar, int W, int kDim, bool kElliptic>
__global__ void __launch_bounds__(kWarp* kWarpsOfBlock, kBlocksOfProcessor<Scalar, kDim>)
    fused_step(const __grid_constant__ Tables<Scalar> tables, const __grid_constant__ BatchView<Scalar> batch,
               const __grid_constant__ StepArgs args, const int* groups, int num_groups, char* scratch,
               size_t warp_bytes) {
  using E = Env<Scalar, TileLanes<W>, kGroup<W>>;
  extern __shared__ double2 shared[];
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            in_group = static_cast<int>(threadIdx.x) % kWarp / W;
  const int place = scratch ? static_cast<int>(blockIdx.x) * kWarpsOfBlock + warp : warp;
  char* const mine = (scratch ? scratch : reinterpret_cast<char*>(shared)) + place * warp_bytes;
  Scalar* const reals = reinterpret_cast<Scalar*>(mine);
  int* const words = reinterpret_cast<int*>(reals + static_cast<size_t>(kGroup<W>) * tables.l.total);
  const TileLanes<W> lanes;
  for (int i = static_cast<int>(blockIdx.x) * kWarpsOfBlock + warp; i < num_groups;
       i += static_cast<int>(gridDim.x) * kWarpsOfBlock) {
    const int e = (groups ? groups[i] : i) * kGroup<W> + in_group;
    if (e < batch.num_envs) {
      E env{tables, lanes, reals + in_group, words + in_group, e, {}, 0, 0, {}, {}, {}, {}, nullptr, 0};
      run_environment<kDim, kElliptic>(env, batch, args);
    }
    // the next group takes over the workspace of this one
    __syncwarp();
  }
}

template <class Scalar>
using FusedStep = void (*)(Tables<Scalar>, BatchView<Scalar>, StepArgs, const int*, int, char*, size_t);

template <class Scalar, int W>
FusedStep<Scalar> choose_step(const Tables<Scalar>& t) {
  const bool elliptic = t.o.cone == 1;
  if (t.n.kdim == 3) return elliptic ? fused_step<Scalar, W, 3, true> : fused_step<Scalar, W, 3, false>;
  return elliptic ? fused_step<Scalar, W, 6, true> : fused_step<Scalar, W, 6, false>;
}

#define DS_TRY(call)                          \
  do {                                        \
    const cudaError_t result = (call);        \
    if (result != cudaSuccess) return result; \
  } while (false)

template <class Scalar, int W>
cudaError_t make_plan(const Tables<Scalar>& t, int device, ScratchPlace place, CudaPlan* out) {
  const auto kernel = choose_step<Scalar, W>(t);
  int processors = 0, most_shared = 0;
  DS_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  DS_TRY(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CudaPlan plan;
  plan.threads = kWarp * kWarpsOfBlock;
  const size_t block = group_bytes<Scalar, W>(t) * kWarpsOfBlock;
  int resident = 0;
  if (place != ScratchPlace::kGlobal && block <= static_cast<size_t>(most_shared)) {
    DS_TRY(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(block)));
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
                     const StepArgs& args, const int* groups, int num_groups, void* scratch,
                     cudaStream_t stream) {
  if (!groups) num_groups = (batch.num_envs - 1) / kGroup<W> + 1;
  const int wanted = (num_groups - 1) / kWarpsOfBlock + 1;
  const int blocks = wanted < plan.max_blocks ? wanted : plan.max_blocks;
  choose_step<Scalar, W>(tables)<<<blocks, plan.threads, plan.shared_bytes, stream>>>(
      tables, batch, args, groups, num_groups, plan.shared_bytes ? nullptr : static_cast<char*>(scratch),
      group_bytes<Scalar, W>(tables));
  return cudaGetLastError();
}

// seen by cuda_variants.cpp
extern const CudaKernels<DUALSTEP_SCALAR> DS_JOIN(cuda_kernels, DUALSTEP_SCALAR, DUALSTEP_LANES);
const CudaKernels<DUALSTEP_SCALAR> DS_JOIN(cuda_kernels, DUALSTEP_SCALAR, DUALSTEP_LANES){
    DUALSTEP_LANES, kGroup<DUALSTEP_LANES>, make_plan<DUALSTEP_SCALAR, DUALSTEP_LANES>,
    run_step<DUALSTEP_SCALAR, DUALSTEP_LANES>};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
