// Devices by name.
#include <stdexcept>

#include "host/backends/backend.h"
#include "host/backends/cpu/cpu_backend.h"
#include "host/backends/cuda/cuda_memory.h"
#if DUALSTEP_HAS_EMULATOR
#include "host/backends/fibers/emulated_backend.h"
#endif

namespace dualstep {

#if DUALSTEP_HAS_CUDA
template <class Scalar>
std::unique_ptr<Backend<Scalar>> make_cuda_backend(const DeviceOptions& options);
#endif

#if !DUALSTEP_HAS_CUDA
void cuda_read(int, uintptr_t, void*, const void*, size_t) { throw std::logic_error("built without CUDA"); }
void cuda_write(int, uintptr_t, void*, const void*, size_t) { throw std::logic_error("built without CUDA"); }
void cuda_copy(int, uintptr_t, void*, const void*, size_t) { throw std::logic_error("built without CUDA"); }
void cuda_wait(int, uintptr_t, uintptr_t) { throw std::logic_error("built without CUDA"); }
bool cuda_may_wait(int, uintptr_t) { throw std::logic_error("built without CUDA"); }
void cuda_finish(int, uintptr_t) { throw std::logic_error("built without CUDA"); }
bool cuda_device_present() { return false; }
#endif

namespace {

[[noreturn]] void refuse(const std::string& given, const std::string& why) {
  throw std::invalid_argument("device '" + given + "' is given, and " + why);
}

}  // namespace

template <class Scalar>
std::unique_ptr<Backend<Scalar>> make_backend(const DeviceOptions& options) {
  const std::string& device = options.device;
  const std::string kind = device.substr(0, device.find(':'));
  const std::string index = kind == device ? "" : device.substr(kind.size() + 1);
  if (kind != device && (kind != "cuda" || index.empty() || index.size() > 4 ||
                         index.find_first_not_of("0123456789") != std::string::npos)) {
    refuse(device, "a device is 'cpu', 'cuda', 'cuda:<number>', 'emulated' or 'auto'");
  }
  if (kind != "emulated" && !options.order.empty()) {
    throw std::invalid_argument("order is of device 'emulated', and device '" + device + "' is given");
  }
  if (kind != "emulated" && kind != "cuda" && !options.lanes.empty()) {
    throw std::invalid_argument("lanes are of devices 'cuda' and 'emulated', and device '" + device +
                                "' is given");
  }
  if ((kind == "emulated" || kind == "cuda") && !options.isa.empty()) {
    throw std::invalid_argument("isa is of device 'cpu', and device '" + device + "' is given");
  }
  if (kind == "auto") {
#if DUALSTEP_HAS_CUDA
    if (cuda_device_present()) return make_cuda_backend<Scalar>(options);
#endif
    return std::make_unique<CpuBackend<Scalar>>(options);
  }
  if (kind == "cpu") return std::make_unique<CpuBackend<Scalar>>(options);
  if (kind == "cuda") {
#if DUALSTEP_HAS_CUDA
    return make_cuda_backend<Scalar>(options);
#else
    refuse(
        device,
        "this build of dualstep has no CUDA backend (it is built where nvcc is found); use 'cpu' or 'auto'");
#endif
  }
  if (kind == "emulated") {
#if DUALSTEP_HAS_EMULATOR
    return std::make_unique<EmulatedBackend<Scalar>>(options);
#else
    refuse(device, "this build of dualstep has no emulator; use 'cpu' or 'auto'");
#endif
  }
  refuse(device, "a device is 'cpu', 'cuda', 'cuda:<number>', 'emulated' or 'auto'");
}

template std::unique_ptr<Backend<float>> make_backend<float>(const DeviceOptions&);
template std::unique_ptr<Backend<double>> make_backend<double>(const DeviceOptions&);

}  // namespace dualstep
