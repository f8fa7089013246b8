// The fused step: all stages and several substeps of every environment of a batch, in one launch.
//
// A kernel for each size of the cone, so that contacts of three rows do not carry the registers of six; the
// stages before the rows are one copy for both cones. Device code alone, so that the compiler that runs inside a
// process (host/backends/cuda/specialize/nvrtc.h) reads it too; there DUALSTEP_FIXED_TABLES is set, and what a
// model's tables hold in numbers is constant.
//
// Reads and writes: the arrays of BatchView. Cost: the step's.
#pragma once

#include "kernels/step.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr int kWarp = 32;

// of a block: as many as the launch says
DS_HD int warps_of_block() { return static_cast<int>(blockDim.x) / kWarp; }

template <int W>
constexpr int kGroup = kWarp / W;

// warps of an SM, all in one block, for the kernels of all models: 12 where a contact has 3 rows at most and 8 threads share
// an environment, else 8, so that a thread has 168 or 255 registers (an SM has four parts, each with a fourth of
// its registers; 10 warps leave no more than 12 do). With this in mind the compiler gives every stage what it
// needs, box against box most of all; left alone it aims for more warps, and spills. A specialised kernel has as
// many warps as its model lets it (host/backends/cuda/specialize/specialize.cpp)
template <class Scalar, int W, int kDim>
constexpr int kWarpsOfSM = sizeof(Scalar) == 8 || kDim == 6 || W != 8 ? 8 : 12;

// environments that a launch is about
template <class Scalar>
DS_HD int launch_size(const BatchView<Scalar>& batch, const StepArgs& args) {
  return args.count ? *args.count : batch.num_envs;
}
// which environment stands at an index of the launch
DS_HD int environment_at(const StepArgs& args, int index) { return args.order ? args.order[index] : index; }

// the environment at an index, on a workspace that kStride of them share, element by element: numbers, then
// words
template <int kStride, class Lanes, class Scalar>
DS_HD Env<Scalar, Lanes, kStride> environment_of(const StepTables<Scalar>& tables, const Lanes& lanes,
                                                 const StepArgs& args, int index, char* workspace) {
  const auto own = workspace_in<Scalar, kStride>(workspace, tables, index % kStride);
  auto env = make_env<kStride>(tables, lanes, own, environment_at(args, index));
  env.launch_index = index;
  return env;
}

// one environment; apart from the loop over the launch, so that the loop costs the stages no registers. Returns the index
// that its threads take next, which is why nobody else has to remember this one
template <class Scalar, int W, int kDim, bool kByRows>
DS_STAGE int run_environment_at(const StepTables<Scalar>& tables, const BatchView<Scalar>& batch,
                                const StepArgs& args, int index, char* scratch, size_t warp_bytes) {
  // in device memory a warp has a workspace of its own, in shared memory one of its block's
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
#if defined(DUALSTEP_WORKSPACE_IN_DEVICE_MEMORY)
  char* const workspace = scratch + (blockIdx.x * warps_of_block() + warp) * warp_bytes;
#else
  extern __shared__ double2 shared[];
  char* const workspace = scratch ? scratch + (blockIdx.x * warps_of_block() + warp) * warp_bytes
                                  : reinterpret_cast<char*>(shared) + warp * warp_bytes;
#endif
  const TileLanes<W> lanes;
  auto env = environment_of<kGroup<W>>(tables, lanes, args, index, workspace);
  run_environment<kDim, kByRows>(env, batch, args);
  // the next environment takes over the workspace of this one
  lanes.sync();
  return env.launch_index + static_cast<int>(gridDim.x * blockDim.x) / W;
}

// what the kernel does, apart from its name. Threads without an environment leave: those that stay meet at the barriers of
// their block without them
template <class Scalar, int W, int kDim>
DS_HD void fused_body(const StepTables<Scalar>& tables, const BatchView<Scalar>& batch, const StepArgs& args,
                      char* scratch, size_t warp_bytes) {
  int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / W;
  while (index < launch_size(batch, args)) {
    // a compiler that knows what contacts weigh drops the other branch
    index = with_weights(tables.o, [&](auto by_rows) {
      return run_environment_at<Scalar, W, kDim, by_rows>(tables, batch, args, index, scratch, warp_bytes);
    });
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
