// What a user, the environment and the machine leave open about a batch on a GPU: device, kernels, where the
// workspace lies, whether environments are sorted. Each throws std::invalid_argument that says what was given
// and what there is.
#pragma once

#include <string>
#include <vector>

#include "kernels/launch/cuda/launch.cuh"

namespace dualstep {

// the number of a device that is here
int choose_device(const std::string& given);
// of all models, by threads that share an environment
template <class Scalar>
const CudaKernels<Scalar>* choose_kernels(const std::vector<int>& given);
// whether environments that were equally hard in the last step share a warp
bool choose_sorted();
ScratchPlace choose_scratch_place();

}  // namespace dualstep
