// The machine code of kernels that are specialised for a model (host/backends/cuda/specialize), loaded on the
// present device.
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "host/batch/lane_choice.h"
#include "kernels/data/tables.h"

namespace dualstep {

class SpecializedKernels {
 public:
  SpecializedKernels() = default;
  ~SpecializedKernels();
  SpecializedKernels(const SpecializedKernels&) = delete;
  SpecializedKernels& operator=(const SpecializedKernels&) = delete;

  // takes the tables, in the memory of the host; true where the kernels are others now. Compiles for seconds
  // where the cache has nothing. `before_replacing` is called before kernels that there were go away, or, where
  // a captured graph may launch them, stay loaded unused
  template <class Scalar>
  bool update(const Tables<Scalar>& tables, const LaneChoice& choice, const std::string& arch, bool captured,
              const std::function<void()>& before_replacing);

  // what cudaLaunchKernel takes: one kernel, or one a part (program_entries). Empty where there are none, and
  // then why() says so in a line
  const std::vector<const void*>& kernels() const { return kernels_; }
  const std::string& why() const { return why_; }
  // there is none from now on, until the program changes
  void disable(const std::string& why);

 private:
  void unload();
  void load(const std::string& code, const std::vector<std::string>& entries);

  std::string text_;              // the program that kernels_ were made of
  std::deque<std::string> code_;  // machine code, which the runtime may read as long as it is loaded
  std::string why_;
  std::vector<const void*> kernels_;
  std::vector<void*> libraries_;  // those of kernels_ and, before them, those that captured graphs launch
};

}  // namespace dualstep
