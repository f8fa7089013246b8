#include "host/backends/cuda/specialize/nvrtc.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <stdexcept>

namespace dualstep {
namespace {

std::mutex& mutex() {
  static std::mutex one;
  return one;
}
std::vector<std::string>& folders() {
  static std::vector<std::string> list;
  return list;
}

std::vector<std::string> candidates() {
  const char* given = std::getenv("DUALSTEP_NVRTC");
  if (given && *given) return {given};
  std::vector<std::string> list = {"libnvrtc.so.13", "libnvrtc.so.12"};
  for (const std::string& folder : folders()) {
    list.push_back(folder + "/nvidia/cu13/lib/libnvrtc.so.13");
    list.push_back(folder + "/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  }
  return list;
}

}  // namespace

void search_nvrtc_in(const std::vector<std::string>& list) {
  const std::lock_guard<std::mutex> hold(mutex());
  folders() = list;
}

const std::vector<std::string>& nvrtc_options() {
  static const std::vector<std::string> list = {"-std=c++20",          "-fmad=false",       "-prec-div=true",
                                                "-prec-sqrt=true",     "-ftz=false",        "-default-device",
                                                "--diag-suppress=128", "--ptxas-options=-v"};
  return list;
}

bool Nvrtc::open(const std::string& path) {
  // never closed: what it compiled may run as long as the process
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  bool complete = true;
  const auto take = [&](auto* function, const char* name) {
    *reinterpret_cast<void**>(function) = dlsym(library, name);
    complete = complete && *function != nullptr;
  };
  take(&version_of_, "nvrtcVersion");
  take(&create_, "nvrtcCreateProgram");
  take(&compile_, "nvrtcCompileProgram");
  take(&destroy_, "nvrtcDestroyProgram");
  take(&log_size_, "nvrtcGetProgramLogSize");
  take(&log_, "nvrtcGetProgramLog");
  take(&code_size_, "nvrtcGetCUBINSize");
  take(&code_, "nvrtcGetCUBIN");
  take(&ptx_size_, "nvrtcGetPTXSize");
  take(&ptx_, "nvrtcGetPTX");
  take(&error_, "nvrtcGetErrorString");
  int major = 0, minor = 0;
  if (!complete || version_of_(&major, &minor) != 0) return false;
  version_ = std::to_string(major) + "." + std::to_string(minor);
  path_ = path;
  // it loads a second library by name alone; one that lies beside it must be there already
  if (const size_t slash = path.rfind('/'); slash != std::string::npos) {
    const std::string beside = path.substr(0, slash) + "/libnvrtc-builtins.so." + version_;
    (void)dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  return true;
}

const Nvrtc* Nvrtc::find(std::string* why) {
  const std::lock_guard<std::mutex> hold(mutex());
  static Nvrtc found;
  for (const std::string& path : candidates()) {
    if (found.path_ == path || found.open(path)) return &found;
  }
  const char* given = std::getenv("DUALSTEP_NVRTC");
  *why = given && *given ? std::string("DUALSTEP_NVRTC=") + given + " is no library of it"
                         : "libnvrtc.so is not here: pip install nvidia-cuda-nvrtc brings it";
  return nullptr;
}

std::string Nvrtc::compile(const std::string& program, const std::string& arch,
                           const std::vector<std::string>& macros, bool lines, std::string* log) const {
  log->clear();
  std::vector<const char*> texts, names, options;
  for (const SourceFile& file : kernel_sources()) {
    texts.push_back(file.text);
    names.push_back(file.name);
  }
  const std::string target = "--gpu-architecture=" + arch;
  options.push_back(target.c_str());
  for (const std::string& option : nvrtc_options()) options.push_back(option.c_str());
  if (lines) options.push_back("-lineinfo");
  for (const std::string& macro : macros) {
    options.push_back("-D");
    options.push_back(macro.c_str());
  }

  Handle handle = nullptr;
  const auto check = [&](int result, const char* doing) {
    if (result == 0) return;
    const std::string said = *log;
    if (handle) (void)destroy_(&handle);
    throw std::runtime_error(std::string("NVRTC ") + version_ + ", " + doing + ": " + error_(result) +
                             (said.empty() ? "" : "\n" + said));
  };
  check(create_(&handle, program.c_str(), "model.cu", static_cast<int>(texts.size()), texts.data(),
                names.data()),
        "making a program");
  const int result = compile_(handle, static_cast<int>(options.size()), options.data());
  size_t size = 0;
  if (log_size_(handle, &size) == 0 && size > 1) {
    log->resize(size);
    (void)log_(handle, log->data());
    log->resize(size - 1);
  }
  check(result, "compiling");
  const bool ptx = arch.rfind("compute_", 0) == 0;
  check((ptx ? ptx_size_ : code_size_)(handle, &size), "reading machine code");
  std::string code(size, '\0');
  check((ptx ? ptx_ : code_)(handle, code.data()), "reading machine code");
  (void)destroy_(&handle);
  return code;
}

}  // namespace dualstep
