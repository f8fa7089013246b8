// Errors of the CUDA runtime as exceptions, and the device of a thread. For files that include its headers.
#pragma once

#include <cuda_runtime_api.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace dualstep {

inline std::string describe(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
}

class DeviceMemoryError final : public std::bad_alloc {
 public:
  explicit DeviceMemoryError(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// whether a process that met this error gets no more work done by the device
inline bool loses_device(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoDevice:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

// an error of the driver, by its name. One that a launch left behind is told by whatever call comes next.
inline void check(cudaError_t error, const std::string& doing) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  const std::string what = "CUDA, " + doing + ": " + describe(error);
  if (error == cudaErrorMemoryAllocation)
    throw DeviceMemoryError(what + "; fewer environments take less, and device 'cpu' has the host's memory");
  if (loses_device(error))
    throw std::runtime_error(what +
                             "; the device is lost to this process, and every batch on it: go on in a new "
                             "process from what was saved, or on device 'cpu'");
  throw std::runtime_error(what);
}

// the calling thread's device, for as long as this lives. A device that nobody asked for stays untouched
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  bool pushed_ = false;
};

// lets this thread allocate and free, load and unload while somebody captures a graph: that is no part of the capture,
// and would otherwise invalidate it
class OutsideCapture {
 public:
  OutsideCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace dualstep
