// libFuzzer's entry point of one target: -DDUALSTEP_FUZZER=ON, with clang and -DDUALSTEP_SANITIZE=address,undefined.
#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dualstep::fuzz::TARGET(data, size);
  return 0;
}
