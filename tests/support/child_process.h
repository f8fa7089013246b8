// Programs under a sanitizer, run as processes of their own, so that what the sanitizer finds can be a test's
// expectation.
#pragma once

#include <sys/personality.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace child {

constexpr int kFound = 66;  // exit code of a process in which a sanitizer found something

struct Ended {
  int code;
  std::string text;
};

// options of the sanitizer: by default a finding ends the program
inline Ended run_program(const std::string& program, const std::string& arguments,
                         const std::string& options = "exitcode=66:halt_on_error=1") {
  // older sanitizer runtimes do not bear the address layouts of newer kernels
  personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE);
  const std::string command = "TSAN_OPTIONS=" + options + " ASAN_OPTIONS=" + options +
                              ":detect_stack_use_after_return=1 '" + program + "' " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return {-1, "popen failed"};
  std::string text;
  char part[4096];
  for (std::size_t n; (n = fread(part, 1, sizeof(part), pipe)) > 0;) text.append(part, n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

}  // namespace child
