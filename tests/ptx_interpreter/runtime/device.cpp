// The device: what it says of itself, its errors, and what is counted while it runs.
#include <cstdio>

#include "runtime/state.h"

namespace ptx_interpreter {
namespace {

// what all threads together executed
void print_counts() {
  for (const auto& [name, e] : device().executed)
    std::fprintf(stderr, "PTX interpreter: %12llu instructions in %6llu launches of %s\n",
                 static_cast<unsigned long long>(e.instructions), static_cast<unsigned long long>(e.launches),
                 name.c_str());
}

// what Machine::Issued says of every function
void print_profile() {
  for (const auto& [name, sum] : device().machine.profile) {
    std::fprintf(stderr, "PTX interpreter: in %s", name.c_str());
    for (const auto& [what, number] : {std::pair{"instructions of warps", sum.by_warps},
                                       {"barriers", sum.barriers},
                                       {"shuffles", sum.shuffles},
                                       {"instructions of threads", sum.by_threads},
                                       {"bytes fetched", sum.traffic.fetched},
                                       {"bytes written", sum.traffic.written}})
      std::fprintf(stderr, ", %llu %s", static_cast<unsigned long long>(number), what);
    std::fprintf(stderr, "\n");
  }
}

}  // namespace

Device& device() {
  static Device* const one = [] {
    auto* made = new Device;  // lives as long as the process, whatever ends first
    const char* seed = std::getenv("PTX_INTERPRETER_SEED");
    made->machine.seed = seed ? std::strtoull(seed, nullptr, 10) : 1;
    made->legacy.blocking = false;
    if (std::getenv("PTX_INTERPRETER_COUNT")) std::atexit(print_counts);
    made->machine.profiled = std::getenv("PTX_INTERPRETER_PROFILE") != nullptr;
    if (made->machine.profiled) std::atexit(print_profile);
    return made;
  }();
  return *one;
}

cudaError_t answer(cudaError_t error) {
  Device& d = device();
  if (d.stuck != cudaSuccess) error = d.stuck;
  if (error != cudaSuccess) d.last = error;
  return error;
}
void say(const std::string& what) { std::fprintf(stderr, "PTX interpreter: %s\n", what.c_str()); }

}  // namespace ptx_interpreter

using namespace ptx_interpreter;

extern "C" {

// errors --------------------------------------------------------------------------------------------------

cudaError_t CUDARTAPI cudaGetLastError() {
  const Hold hold(device().mutex);
  const cudaError_t error = device().stuck != cudaSuccess ? device().stuck : device().last;
  device().last = cudaSuccess;
  return error;
}
cudaError_t CUDARTAPI cudaPeekAtLastError() {
  const Hold hold(device().mutex);
  return device().stuck != cudaSuccess ? device().stuck : device().last;
}
const char* CUDARTAPI cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorInvalidDeviceFunction:
      return "cudaErrorInvalidDeviceFunction";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    default:
      return "an error of the PTX interpreter";
  }
}
const char* CUDARTAPI cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

// devices -------------------------------------------------------------------------------------------------

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGetDevice(int* number) {
  *number = 0;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaSetDevice(int number) {
  return answer(number == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
  if (number != 0) return answer(cudaErrorInvalidDevice);
  *properties = cudaDeviceProp{};
  std::snprintf(properties->name, sizeof properties->name, "the PTX interpreter");
  properties->major = kMajor, properties->minor = kMinor;
  properties->multiProcessorCount = kMultiprocessors;
  properties->warpSize = 32;
  properties->sharedMemPerBlock = kSharedByDefault;
  properties->sharedMemPerBlockOptin = kSharedMost;
  properties->maxThreadsPerBlock = 1024;
  properties->totalGlobalMem = Arena::kBytes;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int number) {
  if (number != 0) return answer(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = kMultiprocessors;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = kSharedMost;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = kSharedByDefault;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = kMajor;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = kMinor;
      return cudaSuccess;
    case cudaDevAttrMaxGridDimX:
      *value = 0x7fffffff;
      return cudaSuccess;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = 65535;
      return cudaSuccess;
    case cudaDevAttrWarpSize:
      *value = 32;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = 1024;
      return cudaSuccess;
    default:
      say("asked for attribute " + std::to_string(attribute) + ", which it does not have");
      return answer(cudaErrorInvalidValue);
  }
}
}  // extern "C"
