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

// an error of the driver, by its name. One that a launch left behind is told by whatever call comes next.
inline void check(cudaError_t error, const std::string& doing) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  if (error == cudaErrorMemoryAllocation) throw DeviceMemoryError("CUDA, " + doing + ": " + describe(error));
  throw std::runtime_error("CUDA, " + doing + ": " + describe(error));
}

// the calling thread's device, for as long as this lives
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_), "asking for the present device");
    if (before_ != device) check(cudaSetDevice(device), "choosing device " + std::to_string(device));
    changed_ = before_ != device;
  }
  ~OnDevice() {
    if (changed_) (void)cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace dualstep
