// What a user, the environment and the machine leave open about a batch on a GPU: device, kernels, where the
// workspace lies, whether environments are sorted. Each throws std::invalid_argument that says what was given
// and what there is.
#pragma once

#include <string>
#include <vector>

#include "host/backends/cuda/cuda_fused.h"
#include "kernels/launch/cuda/launch.cuh"

namespace dualstep {

// the number of a device that is here, and that there are kernels for
int choose_device(const std::string& given);
// threads that share an environment
template <class Scalar>
int choose_lane_count(const std::vector<int>& given);
// kernels of all models for so many lanes; null where this build has none
template <class Scalar>
const GenericKernels<Scalar>* find_generic_kernels(int lanes);
// what it has instead, in words
template <class Scalar>
std::string describe_generic_kernels();
// whether environments that were equally hard in the last step share a warp
bool choose_sorted();
FusedChoice choose_fused();

}  // namespace dualstep
