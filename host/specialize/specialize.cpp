#include "host/specialize/specialize.h"

#include <chrono>
#include <cstdlib>
#include <stdexcept>

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

std::string key_of(const std::string& program, const std::string& arch, const Nvrtc& compiler) {
  std::string all = program + '\0' + sources_digest() + arch + " NVRTC " + compiler.version();
  for (const std::string& option : nvrtc_options()) all += ' ' + option;
  return digest(all);
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
      found.code = compiler->compile(program, arch, &found.log);
      (void)cache_write(key, found.code);
    } catch (const std::runtime_error& error) {
      found.why = error.what();
    }
  }
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return found;
}

}  // namespace dualstep
