// NVIDIA's run-time compiler, found while the process runs: a machine without it steps with the kernels that
// were compiled ahead. Its shared library is looked for where DUALSTEP_NVRTC says (a file, or "none"), under
// its own names, and in the folders of Python's packages, where the wheels nvidia-cuda-nvrtc and
// nvidia-cuda-nvrtc-cu12 put it. It compiles for devices that are not here.
#pragma once

#include <string>
#include <vector>

#include "host/backends/cuda/specialize/program.h"

namespace dualstep {

// where Python's packages lie; to be said before the compiler is first asked for
void search_nvrtc_in(const std::vector<std::string>& folders);

class Nvrtc {
 public:
  // the compiler; null where there is none, and then `why` says so
  static const Nvrtc* find(std::string* why);

  const std::string& version() const { return version_; }  // "13.0"
  const std::string& path() const { return path_; }        // of its library, as it was found
  // machine code of an architecture ("sm_90"), or PTX of a virtual one ("compute_90"), and what the assembler
  // said of registers and spills; macros are "NAME=value"; `lines`: with the line of its source for each
  // instruction. Throws std::runtime_error with the compiler's words where the program does not compile
  std::string compile(const std::string& program, const std::string& arch,
                      const std::vector<std::string>& macros, bool lines, std::string* log) const;

 private:
  Nvrtc() = default;
  bool open(const std::string& path);

  // the functions of nvrtc.h that are used; all return 0 where they succeed
  using Handle = void*;
  int (*version_of_)(int*, int*) = nullptr;
  int (*create_)(Handle*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile_)(Handle, int, const char* const*) = nullptr;
  int (*destroy_)(Handle*) = nullptr;
  int (*log_size_)(Handle, size_t*) = nullptr;
  int (*log_)(Handle, char*) = nullptr;
  int (*code_size_)(Handle, size_t*) = nullptr;
  int (*code_)(Handle, char*) = nullptr;
  int (*ptx_size_)(Handle, size_t*) = nullptr;
  int (*ptx_)(Handle, char*) = nullptr;
  const char* (*error_)(int) = nullptr;
  std::string version_, path_;
};

// what every program is compiled with, apart from the architecture: correctly rounded, nothing contracted
const std::vector<std::string>& nvrtc_options();

}  // namespace dualstep
