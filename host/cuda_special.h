// The machine code of a step made for one model (host/specialize), loaded on the present device.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "kernels/tables.h"

namespace dualstep {

class CudaSpecial {
 public:
  CudaSpecial() = default;
  ~CudaSpecial();
  CudaSpecial(const CudaSpecial&) = delete;
  CudaSpecial& operator=(const CudaSpecial&) = delete;

  // takes the tables, in the memory of the host; true where kernel() is another one now. Compiles for seconds
  // where the cache has nothing
  template <class Scalar>
  bool update(const Tables<Scalar>& tables, int lanes, const std::string& arch);

  // what cudaLaunchKernel takes; null where there is none, and then why() says so in a line
  const void* kernel() const { return kernel_; }
  const std::string& why() const { return why_; }
  // there is none from now on, until the program changes
  void give_up(const std::string& why);

 private:
  void unload();
  void load(const std::string& code, const std::string& entry);

  std::string text_;  // the program that kernel_ was made of
  std::string code_;  // its machine code, which the runtime may read as long as it is loaded
  std::string why_;
  const void* kernel_ = nullptr;
  void* library_ = nullptr;
};

}  // namespace dualstep
