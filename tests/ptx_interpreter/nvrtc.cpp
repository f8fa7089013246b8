// NVRTC as the PTX interpreter wants it: what is asked for machine code of sm_75 makes PTX for compute_75. The
// real library, which SOFTWARE_GPU_NVRTC names, does the work.
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
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

// what a function of the real library says, of which another tells the size
std::string said(const char* size_of, const char* name, void* program) {
  size_t size = 0;
  if (ask(size_of, program, &size) != 0 || size == 0) return "";
  std::string text(size, '\0');
  if (ask(name, program, text.data()) != 0) return "";
  text.resize(size - 1);
  return text;
}

// an assembler's words on PTX, which has registers for all: no kernel spills
std::string log_of(void* program) {
  std::string log = said("nvrtcGetProgramLogSize", "nvrtcGetProgramLog", program);
  const std::string ptx = said("nvrtcGetPTXSize", "nvrtcGetPTX", program), entry = ".entry ";
  for (size_t at = 0; (at = ptx.find(entry, at)) != std::string::npos;) {
    at += entry.size();
    log +=
        "ptxas info    : Compiling entry function '" + ptx.substr(at, ptx.find('(', at) - at) +
        "' for 'sm_75'\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
  }
  return log;
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
  *size = log_of(program).size() + 1;
  return 0;
}
int nvrtcGetProgramLog(void* program, char* log) {
  const std::string text = log_of(program);
  std::memcpy(log, text.c_str(), text.size() + 1);
  return 0;
}
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
