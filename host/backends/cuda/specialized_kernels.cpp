#include "host/backends/cuda/specialized_kernels.h"

#include <mutex>
#include <utility>

#include "host/backends/cuda/cuda_errors.h"
#include "host/backends/cuda/specialize/program.h"
#include "host/backends/cuda/specialize/specialize.h"

namespace dualstep {

SpecializedKernels::SpecializedKernels(std::string text, const LaneChoice& choice, const std::string& arch)
    : text_(std::move(text)) {
  if (!specialization_wanted()) {
    why_ = "DUALSTEP_SPECIALIZE=0";
    return;
  }
  Special special = specialize(text_, arch);
  // a device that is newer than the compiler runs what is made for the first of its generation
  const std::string first = arch.substr(0, arch.size() - 1) + "0";
  if (special.code.empty() && first != arch) special = specialize(text_, first);
  why_ = special.why.substr(0, special.why.find('\n'));
  code_ = std::move(special.code);
  if (!code_.empty()) load(program_entries(choice));
}

SpecializedKernels::~SpecializedKernels() { unload(); }

void SpecializedKernels::keep_loaded(std::shared_ptr<SpecializedKernels> kernels) {
  static std::mutex mutex;
  // nobody unloads them while the process ends, when the runtime may be gone
  static auto& kept = *new std::vector<std::shared_ptr<SpecializedKernels>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(kernels));
}

void SpecializedKernels::disable(const std::string& why) {
  unload();
  why_ = why;
}

// kernels of a library, as the runtime has them since CUDA 12.8
#if CUDART_VERSION >= 12080
void SpecializedKernels::unload() {
  kernels_.clear();
  if (!library_) return;
  const OutsideCapture outside;
  if (cudaLibraryUnload(static_cast<cudaLibrary_t>(library_)) != cudaSuccess) (void)cudaGetLastError();
  library_ = nullptr;
}
void SpecializedKernels::load(const std::vector<std::string>& entries) {
  const OutsideCapture outside;
  cudaLibrary_t library = nullptr;
  cudaError_t error = cudaLibraryLoadData(&library, code_.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (error == cudaSuccess) library_ = library;
  for (size_t i = 0; i < entries.size() && error == cudaSuccess; ++i) {
    cudaKernel_t kernel = nullptr;
    error = cudaLibraryGetKernel(&kernel, library, entries[i].c_str());
    kernels_.push_back(kernel);
  }
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  disable(std::string("the driver does not take its machine code: ") + cudaGetErrorString(error));
}
#else
void SpecializedKernels::unload() {}
void SpecializedKernels::load(const std::vector<std::string>&) {
  why_ = "this build is of a CUDA toolkit before 12.8";
}
#endif

}  // namespace dualstep
