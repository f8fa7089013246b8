// The fused step of kernels/launch/cuda/fused.cuh for all models. Compiled once for each precision and number of lanes,
// which DUALSTEP_SCALAR and DUALSTEP_LANES give; host/backends/cuda/cuda_fused.cpp launches it.
//
// Reads and writes: the arrays of BatchView. Cost: the step's.
#define DUALSTEP_ISA cuda

#include "kernels/launch/cuda/fused.cuh"
#include "kernels/launch/cuda/launch.cuh"

namespace dualstep {
inline namespace DUALSTEP_ISA {

static_assert(kWarp == kWarpThreads);

template <class Scalar, int W, int kDim>
__global__ void __launch_bounds__(kWarp* kWarpsOfSM<Scalar, W, kDim>, 1)
    fused_step(const __grid_constant__ Tables<Scalar> tables, const __grid_constant__ BatchView<Scalar> batch,
               const __grid_constant__ StepArgs args, char* scratch, size_t warp_bytes) {
  fused_body<Scalar, W, kDim>(tables, batch, args, scratch, warp_bytes);
}

template <class Scalar, int W>
const void* step_for_all_models(int kdim) {
  return kdim == 3 ? reinterpret_cast<const void*>(fused_step<Scalar, W, 3>)
                   : reinterpret_cast<const void*>(fused_step<Scalar, W, 6>);
}

}  // namespace DUALSTEP_ISA

// each variant is a function of its own: the linker takes those that the host asks for
template <>
const GenericKernels<DUALSTEP_SCALAR>* generic_kernels<DUALSTEP_SCALAR, DUALSTEP_LANES>() {
  static constexpr GenericKernels<DUALSTEP_SCALAR> kVariant{
      DUALSTEP_LANES, step_for_all_models<DUALSTEP_SCALAR, DUALSTEP_LANES>};
  return &kVariant;
}

}  // namespace dualstep
