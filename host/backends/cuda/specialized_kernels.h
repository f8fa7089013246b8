// The machine code of a step made for one model (host/backends/cuda/specialize), loaded on the present device.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

#include "host/batch/lane_choice.h"
#include "kernels/data/tables.h"

namespace dualstep {

class CudaSpecial {
 public:
  CudaSpecial() = default;
  ~CudaSpecial();
  CudaSpecial(const CudaSpecial&) = delete;
  CudaSpecial& operator=(const CudaSpecial&) = delete;

  // takes the tables, in the memory of the host; true where the kernels are others now. Compiles for seconds
  // where the cache has nothing. `before_unloading` is called before kernels that there were go away
  template <class Scalar>
  bool update(const Tables<Scalar>& tables, const LaneChoice& choice, const std::string& arch,
              const std::function<void()>& before_unloading);

  // what cudaLaunchKernel takes: one kernel, or one a part (program_entries). Empty where there are none, and
  // then why() says so in a line
  const std::vector<const void*>& kernels() const { return kernels_; }
  const std::string& why() const { return why_; }
  // there is none from now on, until the program changes
  void disable(const std::string& why);

 private:
  void unload();
  void load(const std::string& code, const std::vector<std::string>& entries);

  std::string text_;  // the program that kernels_ were made of
  std::string code_;  // its machine code, which the runtime may read as long as it is loaded
  std::string why_;
  std::vector<const void*> kernels_;
  void* library_ = nullptr;
};

}  // namespace dualstep
