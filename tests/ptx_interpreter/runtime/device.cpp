// The device: what it says of itself, its errors, and what is counted while it runs.
#include <cstdio>
#include <utility>

#include "runtime/state.h"

namespace ptx_interpreter {
namespace {

thread_local int current = 0;          // as the runtime was told
thread_local std::vector<int> pushed;  // as the driver was, which counts more
int present() { return pushed.empty() ? current : pushed.back(); }
thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;

// what all threads together executed
void print_counts() {
  for (const auto& [name, e] : process().executed)
    std::fprintf(stderr, "PTX interpreter: %12llu instructions in %6llu launches of %s\n",
                 static_cast<unsigned long long>(e.instructions), static_cast<unsigned long long>(e.launches),
                 name.c_str());
}

// what Machine::Issued says of every function
void print_profile() {
  for (const Device& device : process().devices)
    for (const auto& [name, sum] : device.machine.profile) {
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

Process& process() {
  static Process* const one = [] {
    auto* made = new Process;  // lives as long as the process, whatever ends first
    const auto given = [](const char* name) {
      const char* value = std::getenv(name);
      return std::string(value ? value : "");
    };
    const std::string seed = given("PTX_INTERPRETER_SEED"), fault = given("PTX_INTERPRETER_FAULT");
    made->faults.no_driver = fault == "no driver";
    made->faults.old_driver = fault == "old driver";
    made->faults.old_device = fault == "old device";
    if (fault.rfind("lost ", 0) == 0)
      made->faults.launches_until_lost = std::strtoull(fault.c_str() + 5, nullptr, 10);
    made->devices.resize(kDevices);
    for (int number = 0; number < kDevices; ++number) {
      Device& device = made->devices[static_cast<size_t>(number)];
      device.number = number;
      device.machine.seed = seed.empty() ? 1 : std::strtoull(seed.c_str(), nullptr, 10);
      device.machine.profiled = !given("PTX_INTERPRETER_PROFILE").empty();
      device.legacy.device = &device;
      device.legacy.blocking = false;
    }
    if (std::getenv("PTX_INTERPRETER_COUNT")) std::atexit(print_counts);
    if (made->devices[0].machine.profiled) std::atexit(print_profile);
    return made;
  }();
  return *one;
}

Device& device() { return process().devices[static_cast<size_t>(present())]; }
OnDevice::OnDevice(const Device* device) { pushed.push_back(device->number); }
OnDevice::~OnDevice() { pushed.pop_back(); }

bool forbidden_by_capture() {
  bool found = false;
  for (Device& device : process().devices)
    for (StreamState* stream : device.streams) {
      if (!stream->capture) continue;
      Capture& capture = *stream->capture;
      const bool own = capture.thread == std::this_thread::get_id();
      const bool forbids =
          mode != cudaStreamCaptureModeRelaxed &&
          ((own && capture.mode != cudaStreamCaptureModeRelaxed) ||
           (capture.mode == cudaStreamCaptureModeGlobal && mode == cudaStreamCaptureModeGlobal));
      if (forbids) found = capture.invalidated = true;
    }
  return found;
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
  const Hold hold;
  const cudaError_t error = device().stuck != cudaSuccess ? device().stuck : device().last;
  device().last = cudaSuccess;
  return error;
}
cudaError_t CUDARTAPI cudaPeekAtLastError() {
  const Hold hold;
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
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorECCUncorrectable:
      return "cudaErrorECCUncorrectable";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureImplicit:
      return "cudaErrorStreamCaptureImplicit";
    default:
      return "an error of the PTX interpreter";
  }
}
const char* CUDARTAPI cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

// devices -------------------------------------------------------------------------------------------------

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  const Hold hold;
  const Faults& faults = process().faults;
  *count = kDevices;
  return answer(faults.no_driver || faults.old_driver ? cudaErrorInsufficientDriver : cudaSuccess);
}
cudaError_t CUDARTAPI cudaDriverGetVersion(int* version) {
  const Hold hold;
  *version = process().faults.no_driver ? 0 : process().faults.old_driver ? 11040 : CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGetDevice(int* number) {
  const Hold hold;
  *number = present();
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaSetDevice(int number) {
  const Hold hold;
  if (number < 0 || number >= kDevices) return answer(cudaErrorInvalidDevice);
  current = number;
  if (!pushed.empty()) pushed.back() = number;
  device().initialized = true;
  return answer(cudaSuccess);
}
// of the driver: contexts
namespace {
int get_device(int* device, int number) {
  *device = number;
  return number < 0 || number >= kDevices ? cudaErrorInvalidDevice : cudaSuccess;
}
int retain_primary(void** context, int number) {
  const Hold hold;
  Device& made = process().devices[static_cast<size_t>(number)];
  made.initialized = true;
  *context = &made;
  return cudaSuccess;
}
int push_current(void* context) {
  const Hold hold;
  pushed.push_back(static_cast<Device*>(context)->number);
  return cudaSuccess;
}
int pop_current(void** context) {
  const Hold hold;
  *context = &device();
  pushed.pop_back();
  return cudaSuccess;
}
cudaError_t find_of_driver(const std::string& symbol, void** found, cudaDriverEntryPointQueryResult* status) {
  const Hold hold;
  *found = symbol == "cuDeviceGet"                ? reinterpret_cast<void*>(get_device)
           : symbol == "cuDevicePrimaryCtxRetain" ? reinterpret_cast<void*>(retain_primary)
           : symbol == "cuCtxPushCurrent"         ? reinterpret_cast<void*>(push_current)
           : symbol == "cuCtxPopCurrent"          ? reinterpret_cast<void*>(pop_current)
                                                  : nullptr;
  *status = *found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
}  // namespace
#if CUDART_VERSION >= 12050
cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion(const char* symbol, void** found, unsigned,
                                                       unsigned long long,
                                                       cudaDriverEntryPointQueryResult* status) {
  return find_of_driver(symbol, found, status);
}
#else
cudaError_t CUDARTAPI cudaGetDriverEntryPoint(const char* symbol, void** found, unsigned long long,
                                              cudaDriverEntryPointQueryResult* status) {
  return find_of_driver(symbol, found, status);
}
#endif
cudaError_t CUDARTAPI cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* given) {
  const Hold hold;
  std::swap(*given, mode);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
  const Hold hold;
  if (number < 0 || number >= kDevices) return answer(cudaErrorInvalidDevice);
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
  const Hold hold;
  if (number < 0 || number >= kDevices) return answer(cudaErrorInvalidDevice);
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
      *value = process().faults.old_device ? 6 : kMajor;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = process().faults.old_device ? 1 : kMinor;
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

// for tests: what was counted, and what kernels whose name has `part` in it were asked to be
__attribute__((visibility("default"))) uint64_t ptx_interpreter_calls() { return process().calls; }
__attribute__((visibility("default"))) uint64_t ptx_interpreter_waits() { return process().waits; }
__attribute__((visibility("default"))) bool ptx_interpreter_initialized(int device) {
  return process().devices[static_cast<size_t>(device)].initialized;
}
// the next captures end as if another thread waited for the device meanwhile
__attribute__((visibility("default"))) void ptx_interpreter_break_captures(int number) {
  const Hold hold;
  process().broken_captures = number;
}
__attribute__((visibility("default"))) int ptx_interpreter_carve_out(const char* part) {
  const Hold hold;
  int found = -2;
  for (const auto& [handle, kernel] : process().kernels)
    if (kernel.name.find(part) != std::string::npos && kernel.carve_out != cudaSharedmemCarveoutDefault)
      found = kernel.carve_out;
  return found;
}
}  // extern "C"
