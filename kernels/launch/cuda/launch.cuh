// The entry points of the CUDA kernels for all models: a function a precision and number of lanes. Plain C++, so that
// host code need not be compiled by nvcc.
//
// A warp works on a group of 32 / W environments at once, W threads on each; their workspaces stand
// interleaved, element by element. A launch has as many warps as the device can hold, and each takes groups
// until none is left, so the workspace is that of the resident warps, whatever the batch size. It lies in
// shared memory where enough warps fit, else in device memory. No choice of these changes a bit.
#pragma once

#include "kernels/data/tables.h"

namespace dualstep {

constexpr int kWarpThreads = 32;

// bytes of the interleaved workspaces of a group of environments: numbers, then words
template <class Scalar>
size_t group_bytes(const Tables<Scalar>& t, int group) {
  const size_t bytes =
      static_cast<size_t>(group) * (static_cast<size_t>(t.l.total) * sizeof(Scalar) +
                                    static_cast<size_t>(pool_words<Scalar>(t.n)) * sizeof(int));
  return (bytes + 127) / 128 * 128;
}

// the kernels for all models that a build has for a number of lanes
template <class Scalar>
struct GenericKernels {
  int lanes;
  // for contacts of at most so many rows
  const void* (*of)(int kdim);
};

// a variant; which ones there are is the build's choice (host/backends/cuda/cuda_backend.cmake)
template <class Scalar, int W>
const GenericKernels<Scalar>* generic_kernels();

}  // namespace dualstep
