#include "host/specialize/specialize.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "host/specialize/cache.h"
#include "host/specialize/nvrtc.h"

namespace dualstep {
namespace {

const std::string& sources_digest() {
  static const std::string once = [] {
    std::string all;
    for (const SourceFile& file : kernel_sources()) all += std::string(file.name) + '\0' + file.text + '\0';
    return digest(all);
  }();
  return once;
}

// blocks that a kernel may have on a processor, of two warps each: with 80, 96, 128, 168 or 255 registers a
// thread. A step waits for memory more than it computes, so what counts is how many warps take turns
constexpr int kBlocks[] = {12, 10, 8, 6, 4};

std::string key_of(const std::string& program, const std::string& arch, const Nvrtc& compiler) {
  std::string all = program + '\0' + sources_digest() + arch + " NVRTC " + compiler.version();
  for (const std::string& option : nvrtc_options()) all += ' ' + option;
  for (const int blocks : kBlocks) all += ' ' + std::to_string(blocks);
  return digest(all);
}

// the macros of kBlocksMacro that a program leaves open
std::vector<std::string> open_macros(const std::string& program) {
  std::vector<std::string> found;
  for (size_t at = 0; (at = program.find(kBlocksMacro, at)) != std::string::npos;) {
    const size_t begin = at;
    while (at < program.size() &&
           (std::isalnum(static_cast<unsigned char>(program[at])) || program[at] == '_'))
      ++at;
    found.push_back(program.substr(begin, at - begin));
  }
  return found;
}

// the kernels that store registers in memory for want of them, of what the assembler said
std::set<std::string> spilling(const std::string& log) {
  std::set<std::string> found;
  std::istringstream lines(log);
  std::string line, kernel;
  while (std::getline(lines, line)) {
    static const std::string entry = "Compiling entry function '", spills = " bytes spill stores";
    if (const size_t at = line.find(entry); at != std::string::npos) {
      kernel = line.substr(at + entry.size());
      kernel.resize(std::min(kernel.size(), kernel.find('\'')));
    } else if (const size_t end = line.find(spills); end != std::string::npos) {
      if (line.substr(0, end).rfind(" 0") + 2 != end) found.insert(kernel);
    }
  }
  return found;
}

// each kernel with the most blocks for which nothing spills
std::string compile(const Nvrtc& compiler, const std::string& program, const std::string& arch,
                    std::string* log) {
  const std::vector<std::string> open = open_macros(program);
  std::vector<size_t> tried(open.size());
  for (;;) {
    std::vector<std::string> macros;
    for (size_t i = 0; i < open.size(); ++i)
      macros.push_back(open[i] + "=" + std::to_string(kBlocks[tried[i]]));
    std::string code = compiler.compile(program, arch, macros, log);
    const std::set<std::string> spills = spilling(*log);
    bool again = false;
    for (size_t i = 0; i < open.size(); ++i) {
      if (tried[i] + 1 == std::size(kBlocks) || !spills.count(open[i].substr(std::strlen(kBlocksMacro))))
        continue;
      ++tried[i];
      again = true;
    }
    if (!again) return code;
  }
}

}  // namespace

bool specialization_wanted() {
  const char* value = std::getenv("DUALSTEP_SPECIALIZE");
  const std::string said = value ? value : "";
  if (said == "0") return false;
  if (said.empty() || said == "1") return true;
  throw std::invalid_argument("environment variable DUALSTEP_SPECIALIZE=" + said +
                              " is given, and it must be 0 or 1");
}

std::string describe_specialization() {
  if (!specialization_wanted()) return "off (DUALSTEP_SPECIALIZE=0)";
  std::string why;
  const Nvrtc* compiler = Nvrtc::find(&why);
  if (!compiler) return "no, kernels for all models are used: " + why;
  const std::string folder = cache_folder();
  return "NVRTC " + compiler->version() + ", kept in " + (folder.empty() ? "no folder" : folder);
}

Special specialize(const std::string& program, const std::string& arch) {
  const auto began = std::chrono::steady_clock::now();
  Special found;
  const Nvrtc* compiler = Nvrtc::find(&found.why);
  if (!compiler) return found;
  const std::string key = key_of(program, arch, *compiler);
  if (auto kept = cache_read(key)) {
    found.code = std::move(*kept);
    found.cached = true;
  } else {
    try {
      found.code = compile(*compiler, program, arch, &found.log);
      (void)cache_write(key, found.code);
    } catch (const std::runtime_error& error) {
      found.why = error.what();
    }
  }
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return found;
}

}  // namespace dualstep
