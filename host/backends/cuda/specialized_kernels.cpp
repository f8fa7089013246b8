#include "host/backends/cuda/specialized_kernels.h"

#include "host/backends/cuda/specialize/specialize.h"

namespace dualstep {

SpecializedKernels::~SpecializedKernels() { unload(); }

void SpecializedKernels::disable(const std::string& why) {
  unload();
  why_ = why;
}

// kernels of a library, as the runtime has them since CUDA 12.8
#if CUDART_VERSION >= 12080
void SpecializedKernels::unload() {
  // launches that wait in a queue still need them
  if (!libraries_.empty()) (void)cudaDeviceSynchronize();
  for (void* library : libraries_) (void)cudaLibraryUnload(static_cast<cudaLibrary_t>(library));
  libraries_.clear();
  code_.clear();
  kernels_.clear();
}
void SpecializedKernels::load(const std::string& code, const std::vector<std::string>& entries) {
  code_.push_back(code);
  cudaLibrary_t library = nullptr;
  cudaError_t error =
      cudaLibraryLoadData(&library, code_.back().data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (error == cudaSuccess) libraries_.push_back(library);
  for (size_t i = 0; i < entries.size() && error == cudaSuccess; ++i) {
    cudaKernel_t kernel = nullptr;
    error = cudaLibraryGetKernel(&kernel, library, entries[i].c_str());
    kernels_.push_back(kernel);
  }
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  kernels_.clear();
  why_ = std::string("the driver does not take its machine code: ") + cudaGetErrorString(error);
}
#else
void SpecializedKernels::unload() {}
void SpecializedKernels::load(const std::string&, const std::vector<std::string>&) {
  why_ = "this build is of a CUDA toolkit before 12.8";
}
#endif

template <class Scalar>
bool SpecializedKernels::update(const Tables<Scalar>& tables, const LaneChoice& choice,
                                const std::string& arch, bool captured,
                                const std::function<void()>& before_replacing) {
  const bool before = !kernels_.empty();
  const std::string text = program_text(tables, choice);
  if (!text_.empty() && text == text_) return false;
  text_ = text;
  if (before) before_replacing();
  kernels_.clear();
  if (!captured) unload();
  if (!specialization_wanted()) {
    why_ = "DUALSTEP_SPECIALIZE=0";
    return before;
  }
  Special special = specialize(text, arch);
  // a device that is newer than the compiler runs what is made for the first of its generation
  const std::string first = arch.substr(0, arch.size() - 1) + "0";
  if (special.code.empty() && first != arch) special = specialize(text, first);
  why_ = special.why.substr(0, special.why.find('\n'));
  if (!special.code.empty()) load(special.code, program_entries(choice));
  return before || !kernels_.empty();
}

template bool SpecializedKernels::update<float>(const Tables<float>&, const LaneChoice&, const std::string&,
                                                bool, const std::function<void()>&);
template bool SpecializedKernels::update<double>(const Tables<double>&, const LaneChoice&, const std::string&,
                                                 bool, const std::function<void()>&);

}  // namespace dualstep
