// The device of a thread, by the driver: a context that is pushed and popped leaves nothing behind. cudaSetDevice, to
// go back to the device that a thread began with, would make a context there, of hundreds of megabytes, where nobody
// has one.
#include "host/backends/cuda/cuda_errors.h"

#include <map>
#include <mutex>

namespace dualstep {
namespace {

// functions of the driver answer with CUresult, whose numbers are those of cudaError_t; a context is a pointer
struct Driver {
  int (*get)(int* device, int number) = nullptr;
  int (*retain)(void** context, int device) = nullptr;
  int (*push)(void* context) = nullptr;
  int (*pop)(void** context) = nullptr;
};

void check_driver(int error, const std::string& doing) { check(static_cast<cudaError_t>(error), doing); }

template <class F>
void find(const char* name, F** function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult said = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &said);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &said);
#endif
  check(error, "asking the driver for " + std::string(name));
  if (said != cudaDriverEntryPointSuccess || !found)
    throw std::runtime_error("CUDA: the driver has no " + std::string(name));
  *function = reinterpret_cast<F*>(found);
}

const Driver& driver() {
  static const Driver once = [] {
    Driver made;
    find("cuDeviceGet", &made.get);
    find("cuDevicePrimaryCtxRetain", &made.retain);
    find("cuCtxPushCurrent", &made.push);
    find("cuCtxPopCurrent", &made.pop);
    return made;
  }();
  return once;
}

// the context that the runtime has on a device; kept for as long as the process, as the runtime does
void* primary_context(int number) {
  static std::mutex mutex;
  static std::map<int, void*> contexts;
  const std::lock_guard lock(mutex);
  void*& context = contexts[number];
  if (context) return context;
  const std::string doing = "choosing device " + std::to_string(number);
  int device = 0;
  check_driver(driver().get(&device, number), doing);
  check_driver(driver().retain(&context, device), doing);
  return context;
}

}  // namespace

OnDevice::OnDevice(int device) {
  int before = 0;
  check(cudaGetDevice(&before), "asking for the present device");
  if (before == device) return;
  check_driver(driver().push(primary_context(device)), "choosing device " + std::to_string(device));
  pushed_ = true;
}

OnDevice::~OnDevice() {
  void* context = nullptr;
  if (pushed_) (void)driver().pop(&context);
}

}  // namespace dualstep
