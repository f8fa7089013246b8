// NVRTC as the software GPU wants it: what is asked for machine code of sm_75 makes PTX for compute_75. The
// real library, which SOFTWARE_GPU_NVRTC names, does the work.
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void* real() {
  static void* const library = [] {
    const char* path = std::getenv("SOFTWARE_GPU_NVRTC");
    const std::string name = path && *path ? path : "libnvrtc.so.13";
    // it loads a second library by name alone, which lies beside it
    if (const size_t slash = name.rfind('/'); slash != std::string::npos)
      for (const char* version : {"13.0", "13.1", "12.8", "12.9"})
        (void)dlopen((name.substr(0, slash) + "/libnvrtc-builtins.so." + version).c_str(),
                     RTLD_NOW | RTLD_LOCAL);
    return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  }();
  return library;
}
template <class... Arguments>
int ask(const char* name, Arguments... arguments) {
  using Function = int (*)(Arguments...);
  const auto function = real() ? reinterpret_cast<Function>(dlsym(real(), name)) : nullptr;
  return function ? function(arguments...) : 6;  // an invalid input
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) { return ask("nvrtcVersion", major, minor); }
int nvrtcCreateProgram(void** program, const char* text, const char* name, int headers,
                       const char* const* texts, const char* const* names) {
  return ask("nvrtcCreateProgram", program, text, name, headers, texts, names);
}
int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) {
    std::string word = options[i];
    if (word.rfind("--ptxas-options", 0) == 0) continue;
    if (const size_t at = word.find("=sm_"); at != std::string::npos) word.replace(at, 4, "=compute_");
    words.push_back(word);
  }
  std::vector<const char*> list;
  for (const std::string& word : words) list.push_back(word.c_str());
  return ask("nvrtcCompileProgram", program, static_cast<int>(list.size()), list.data());
}
int nvrtcDestroyProgram(void** program) { return ask("nvrtcDestroyProgram", program); }
int nvrtcGetProgramLogSize(void* program, size_t* size) {
  return ask("nvrtcGetProgramLogSize", program, size);
}
int nvrtcGetProgramLog(void* program, char* log) { return ask("nvrtcGetProgramLog", program, log); }
int nvrtcGetCUBINSize(void* program, size_t* size) { return ask("nvrtcGetPTXSize", program, size); }
int nvrtcGetCUBIN(void* program, char* code) { return ask("nvrtcGetPTX", program, code); }
int nvrtcGetPTXSize(void* program, size_t* size) { return ask("nvrtcGetPTXSize", program, size); }
int nvrtcGetPTX(void* program, char* code) { return ask("nvrtcGetPTX", program, code); }
const char* nvrtcGetErrorString(int error) {
  using Function = const char* (*)(int);
  const auto function = real() ? reinterpret_cast<Function>(dlsym(real(), "nvrtcGetErrorString")) : nullptr;
  return function ? function(error) : "the real NVRTC was not found";
}

}  // extern "C"
