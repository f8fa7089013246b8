#include "host/backends/cuda/cuda_choices.h"

#include <cstdlib>

#include "cuda_variants.h"
#include "host/backends/cuda/cuda_backend.h"
#include "host/backends/cuda/cuda_errors.h"

namespace dualstep {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

template <class Scalar>
std::vector<const CudaKernels<Scalar>*> variants();
#define DS_VARIANT(scalar, lanes) cuda_variant<scalar, lanes>(),
template <>
std::vector<const CudaKernels<float>*> variants<float>() {
  return {DUALSTEP_CUDA_FLOAT(DS_VARIANT)};
}
template <>
std::vector<const CudaKernels<double>*> variants<double>() {
  return {DUALSTEP_CUDA_DOUBLE(DS_VARIANT)};
}

}  // namespace

bool cuda_device_present() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return true;
  (void)cudaGetLastError();
  return false;
}

int choose_device(const std::string& given) {
  const size_t colon = given.find(':');
  const int index = colon == std::string::npos ? 0 : std::stoi(given.substr(colon + 1));
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    throw std::invalid_argument("device '" + given + "' is given, and no CUDA device was found (" +
                                describe(error == cudaSuccess ? cudaErrorNoDevice : error) +
                                "); use 'cpu' or 'auto'");
  }
  if (index >= count) {
    throw std::invalid_argument("device '" + given + "' is given, and this machine has " +
                                std::to_string(count) + (count == 1 ? " CUDA device" : " CUDA devices"));
  }
  return index;
}

template <class Scalar>
const CudaKernels<Scalar>* choose_kernels(const std::vector<int>& given) {
  const std::string named = environment("DUALSTEP_CUDA_LANES");
  // a step in parts falls back on these: the workspaces of as many environments are interleaved
  const std::string wanted = given.size() > 1 ? "8" : given.size() == 1 ? std::to_string(given[0]) : named;
  const auto list = variants<Scalar>();
  if (list.empty()) {
    throw std::invalid_argument(
        "dtype 'float64' is given, and this build has no CUDA kernels for it: build with "
        "-DDUALSTEP_CUDA_FLOAT64=ON");
  }
  std::string names;
  for (const CudaKernels<Scalar>* kernels : list) {
    const std::string lanes = std::to_string(kernels->lanes);
    if (wanted.empty() ? kernels->lanes == 8 : lanes == wanted) return kernels;
    names += (names.empty() ? "" : ", ") + lanes;
  }
  if (wanted.empty()) return list.front();
  throw std::invalid_argument((!given.empty() ? "lanes " : "environment variable DUALSTEP_CUDA_LANES=") +
                              wanted + " is given, and this build has CUDA kernels of " + names + " lanes");
}

template const CudaKernels<float>* choose_kernels<float>(const std::vector<int>&);
template const CudaKernels<double>* choose_kernels<double>(const std::vector<int>&);

bool choose_sorted() {
  const std::string wanted = environment("DUALSTEP_CUDA_SORT");
  if (wanted.empty() || wanted == "1") return true;
  if (wanted == "0") return false;
  throw std::invalid_argument("environment variable DUALSTEP_CUDA_SORT=" + wanted +
                              " is given, and it must be 0 or 1");
}

ScratchPlace choose_scratch_place() {
  const std::string wanted = environment("DUALSTEP_CUDA_SCRATCH");
  if (wanted.empty()) return ScratchPlace::kBest;
  if (wanted == "shared") return ScratchPlace::kShared;
  if (wanted == "global") return ScratchPlace::kGlobal;
  throw std::invalid_argument("environment variable DUALSTEP_CUDA_SCRATCH=" + wanted +
                              " is given, and it must be shared or global");
}

}  // namespace dualstep
