#include "host/backends/cuda/cuda_choices.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "cuda_variants.h"
#include "host/backends/cuda/cuda_backend.h"
#include "host/backends/cuda/cuda_errors.h"
#include "host/backends/cuda/cuda_memory.h"

namespace dualstep {
namespace {

// the oldest device that PTX is built for
constexpr int kOldest = 75;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

[[noreturn]] void refuse_environment(const char* name, const std::string& value, const std::string& wanted) {
  throw std::invalid_argument("environment variable " + std::string(name) + "=" + value +
                              " is given, and it must be " + wanted);
}

template <class Scalar>
std::vector<const GenericKernels<Scalar>*> variants();
#define DS_VARIANT(scalar, lanes) generic_kernels<scalar, lanes>(),
template <>
std::vector<const GenericKernels<float>*> variants<float>() {
  return {DUALSTEP_CUDA_FLOAT(DS_VARIANT)};
}
template <>
std::vector<const GenericKernels<double>*> variants<double>() {
  return {DUALSTEP_CUDA_DOUBLE(DS_VARIANT)};
}

std::string version_text(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}
std::string capability_text(int number) {
  return std::to_string(number / 10) + "." + std::to_string(number % 10);
}

// the driver serves the process that first asked it, and none that was forked from it later
void refuse_forked(const std::string& given) {
  static std::atomic<long> first{0};
  long none = 0;
  const long here = getpid();
  if (first.compare_exchange_strong(none, here) || none == here) return;
  throw std::invalid_argument(
      "device '" + given +
      "' is given, and this process was forked from one that uses CUDA already, which "
      "no fork can: start processes by \"spawn\", or use device 'cpu'");
}

// why there is no device
std::string reason_of(cudaError_t error) {
  int driver = 0;
  if (error != cudaErrorInsufficientDriver || cudaDriverGetVersion(&driver) != cudaSuccess)
    return describe(error == cudaSuccess ? cudaErrorNoDevice : error);
  if (driver == 0) return "there is no NVIDIA driver";
  return "the NVIDIA driver serves CUDA " + version_text(driver) + ", and this build is of CUDA " +
         version_text(CUDART_VERSION) + ": a newer driver is wanted";
}

cudaError_t capability_of(int device, int* number) {
  int major = 0, minor = 0;
  cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  *number = 10 * major + minor;
  return error;
}

// what the driver of Linux, of Windows beneath it, and of a Jetson leave in the file system. Whoever only looks
// initializes nothing, so that the process can still fork
bool driver_present() {
  for (const char* file : {"/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu"})
    if (access(file, F_OK) == 0) return true;
  return false;
}

}  // namespace

bool cuda_device_present() {
  if (!driver_present()) return false;
  int count = 0, capability = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0 &&
      capability_of(0, &capability) == cudaSuccess && capability >= kOldest)
    return true;
  (void)cudaGetLastError();
  return false;
}

int choose_device(const std::string& given) {
  const size_t colon = given.find(':');
  const int index = colon == std::string::npos ? 0 : std::stoi(given.substr(colon + 1));
  refuse_forked(given);
  int count = 0, capability = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    throw std::invalid_argument("device '" + given + "' is given, and no CUDA device was found (" +
                                reason_of(error) + "); use 'cpu' or 'auto'");
  }
  if (index >= count) {
    throw std::invalid_argument("device '" + given + "' is given, and this machine has " +
                                std::to_string(count) + (count == 1 ? " CUDA device" : " CUDA devices"));
  }
  check(capability_of(index, &capability), "asking what cuda:" + std::to_string(index) + " is");
  if (capability < kOldest) {
    throw std::invalid_argument("device '" + given + "' is given, and it has compute capability " +
                                capability_text(capability) + ", where " + capability_text(kOldest) +
                                " (Turing) is the least that there are kernels for; use 'cpu'");
  }
  return index;
}

template <class Scalar>
const GenericKernels<Scalar>* find_generic_kernels(int lanes) {
  for (const GenericKernels<Scalar>* kernels : variants<Scalar>())
    if (kernels->lanes == lanes) return kernels;
  return nullptr;
}

template <class Scalar>
int choose_lane_count(const std::vector<int>& given) {
  constexpr int kUsual = 8;
  if (given.size() == 1) return given[0];
  // a step in parts falls back on this: the workspaces of as many environments are interleaved
  if (given.size() > 1) return kUsual;
  const std::string named = environment("DUALSTEP_CUDA_LANES");
  if (named.empty()) {
    const auto list = variants<Scalar>();
    return list.empty() || find_generic_kernels<Scalar>(kUsual) ? kUsual : list.front()->lanes;
  }
  for (const int lanes : {1, 2, 4, 8, 16, 32})
    if (named == std::to_string(lanes)) return lanes;
  refuse_environment("DUALSTEP_CUDA_LANES", named, "1, 2, 4, 8, 16 or 32");
}

template <class Scalar>
std::string describe_generic_kernels() {
  std::string lanes;
  for (const GenericKernels<Scalar>* kernels : variants<Scalar>())
    lanes += (lanes.empty() ? "" : ", ") + std::to_string(kernels->lanes);
  const std::string type = sizeof(Scalar) == 8 ? "float64" : "float32";
  return lanes.empty() ? "this build has no generic CUDA kernels of " + type
                       : "this build has generic CUDA kernels of " + lanes + " lanes for " + type;
}

template int choose_lane_count<float>(const std::vector<int>&);
template int choose_lane_count<double>(const std::vector<int>&);
template const GenericKernels<float>* find_generic_kernels<float>(int);
template const GenericKernels<double>* find_generic_kernels<double>(int);
template std::string describe_generic_kernels<float>();
template std::string describe_generic_kernels<double>();

bool choose_sorted() {
  const std::string wanted = environment("DUALSTEP_CUDA_SORT");
  if (wanted.empty() || wanted == "1") return true;
  if (wanted == "0") return false;
  refuse_environment("DUALSTEP_CUDA_SORT", wanted, "0 or 1");
}

FusedChoice choose_fused() {
  FusedChoice choice;
  const std::string memory = environment("DUALSTEP_CUDA_SCRATCH");
  if (memory == "shared")
    choice.memory = ScratchMemory::kShared;
  else if (memory == "global")
    choice.memory = ScratchMemory::kGlobal;
  else if (!memory.empty())
    refuse_environment("DUALSTEP_CUDA_SCRATCH", memory, "shared or global");
  const std::string carve_out = environment("DUALSTEP_CUDA_CARVEOUT");
  if (carve_out == "default")
    choice.carve_out = CarveOut::kDefault;
  else if (carve_out == "shared")
    choice.carve_out = CarveOut::kShared;
  else if (!carve_out.empty())
    refuse_environment("DUALSTEP_CUDA_CARVEOUT", carve_out, "default or shared");
  if (const std::string warps = environment("DUALSTEP_CUDA_WARPS"); !warps.empty()) {
    const bool number = warps.size() <= 2 && warps.find_first_not_of("0123456789") == std::string::npos;
    choice.warps = number ? std::stoi(warps) : 0;
    if (choice.warps < 1 || choice.warps > 32)
      refuse_environment("DUALSTEP_CUDA_WARPS", warps, "a number of warps, from 1 to 32");
  }
  return choice;
}

}  // namespace dualstep
