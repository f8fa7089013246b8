// The machine code of kernels that are specialised for a model (host/backends/cuda/specialize), loaded on the
// present device.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "host/batch/lane_choice.h"

namespace dualstep {

class SpecializedKernels {
 public:
  // of a program (program_text). Compiles for seconds where the cache has nothing
  SpecializedKernels(std::string text, const LaneChoice& choice, const std::string& arch);
  // they go away: nothing may wait in a queue that launches them
  ~SpecializedKernels();
  SpecializedKernels(const SpecializedKernels&) = delete;
  SpecializedKernels& operator=(const SpecializedKernels&) = delete;
  // unless they stay, for as long as the process
  static void keep_loaded(std::shared_ptr<SpecializedKernels> kernels);

  const std::string& text() const { return text_; }
  // what cudaLaunchKernel takes: one kernel, or one a part (program_entries). Empty where there are none, and
  // then why() says so in a line
  const std::vector<const void*>& kernels() const { return kernels_; }
  const std::string& why() const { return why_; }
  // before anything was launched: there is none
  void disable(const std::string& why);

 private:
  void load(const std::vector<std::string>& entries);
  void unload();

  std::string text_, code_;  // the machine code, which the runtime may read as long as it is loaded
  std::string why_;
  std::vector<const void*> kernels_;
  void* library_ = nullptr;
};

}  // namespace dualstep
