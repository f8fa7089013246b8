#include "host/backends/cuda/specialize/specialize.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "host/backends/cuda/specialize/cache.h"
#include "host/backends/cuda/specialize/nvrtc.h"

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

// warps that a kernel may have on an SM: with 80, 96, 128, 168 or 255 registers a
// thread. A step waits for memory more than it computes, so what counts is how many warps take turns
constexpr int kWarps[] = {24, 20, 16, 12, 8};

std::string key_of(const std::string& program, const std::string& arch, const std::string& version) {
  std::string all = program + '\0' + sources_digest() + arch + " NVRTC " + version;
  for (const std::string& option : nvrtc_options()) all += ' ' + option;
  for (const int warps : kWarps) all += ' ' + std::to_string(warps);
  all += " choice 2";  // of compile() below
  return digest(all);
}

// the macros of kWarpsMacro that a program leaves open
std::vector<std::string> open_macros(const std::string& program) {
  std::vector<std::string> found;
  for (size_t at = 0; (at = program.find(kWarpsMacro, at)) != std::string::npos;) {
    const size_t begin = at;
    while (at < program.size() &&
           (std::isalnum(static_cast<unsigned char>(program[at])) || program[at] == '_'))
      ++at;
    found.push_back(program.substr(begin, at - begin));
  }
  return found;
}

// what the assembler said of the kernels of a program: bytes that each stores for want of registers
std::map<std::string, long> spills_of(const std::string& log) {
  static const std::string entry = "Compiling entry function '", spills = " bytes spill stores";
  std::map<std::string, long> found;
  std::istringstream lines(log);
  std::string line, kernel;
  while (std::getline(lines, line)) {
    if (const size_t at = line.find(entry); at != std::string::npos) {
      kernel = line.substr(at + entry.size());
      kernel.resize(std::min(kernel.size(), kernel.find('\'')));
    } else if (const size_t end = line.find(spills); end != std::string::npos) {
      const size_t begin = line.find_last_not_of("0123456789", end - 1) + 1;
      found[kernel] += std::strtol(line.c_str() + begin, nullptr, 10);
    }
  }
  return found;
}

// each kernel with the most warps for which nothing spills; with the fewest where the assembler does not
// say. PTX has no registers yet, and the most warps: it is read, and never loaded
std::string compile(const Nvrtc& compiler, const std::string& program, const std::string& arch, bool lines,
                    std::string* log) {
  const std::vector<std::string> open = open_macros(program);
  const bool ptx = arch.rfind("compute_", 0) == 0;
  std::vector<size_t> tried(open.size());
  for (;;) {
    std::vector<std::string> macros;
    for (size_t i = 0; i < open.size(); ++i)
      macros.push_back(open[i] + "=" + std::to_string(kWarps[tried[i]]));
    std::string code = compiler.compile(program, arch, macros, lines, log);
    const std::map<std::string, long> spills = spills_of(*log);
    bool again = false;
    for (size_t i = 0; i < open.size(); ++i) {
      const auto said = spills.find(open[i].substr(std::strlen(kWarpsMacro)));
      const size_t next = said == spills.end() ? std::size(kWarps) - 1 : tried[i] + 1;
      if (ptx || next <= tried[i] || next == std::size(kWarps)) continue;
      if (said != spills.end() && said->second == 0) continue;
      tried[i] = next;
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
  const std::string folder = cache_folder();
  if (!compiler)
    return "only what is kept in " + (folder.empty() ? "no folder" : folder) + " already: " + why;
  return "NVRTC " + compiler->version() + ", kept in " + (folder.empty() ? "no folder" : folder);
}

Special specialize(const std::string& program, const std::string& arch, bool lines) {
  const auto began = std::chrono::steady_clock::now();
  Special found;
  const Nvrtc* compiler = Nvrtc::find(&found.why);
  // a file that names the key of what a compiler, whichever, made last: for machines without one
  const std::string latest = key_of(program, arch, "latest");
  const std::string key =
      compiler ? key_of(program, arch, compiler->version()) : cache_read(latest, Kept::kKey).value_or("");
  if (auto kept = key.empty() || lines ? std::nullopt : cache_read(key)) {
    found.code = std::move(*kept);
    found.cached = true;
    found.why.clear();
  } else if (compiler) {
    try {
      found.code = compile(*compiler, program, arch, lines, &found.log);
      if (!lines && cache_write(key, found.code)) (void)cache_write(latest, key, Kept::kKey);
    } catch (const std::runtime_error& error) {
      found.why = error.what();
    }
  }
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return found;
}

}  // namespace dualstep
