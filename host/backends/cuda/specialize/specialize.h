// Machine code of specialised kernels: from the cache, or compiled and put there. Needs no GPU.
//
// The key of the cache is a hash of everything that the machine code follows from: the program, the sources
// it includes, the options, the architecture and the version of the compiler. Where there is no compiler, what
// any version made is taken, so that a cache can be filled elsewhere. DUALSTEP_SPECIALIZE=0 turns it off.
#pragma once

#include <string>

#include "host/backends/cuda/specialize/program.h"

namespace dualstep {

struct Special {
  std::string code;  // machine code; empty where there is none
  std::string why;   // there is none
  std::string log;   // of the compiler; "" from the cache
  bool cached = false;
  double seconds = 0;  // that it took
};

// whether DUALSTEP_SPECIALIZE leaves it on. Throws std::invalid_argument where it is neither 0 nor 1
bool specialization_wanted();
// whether kernels are specialised here, and with what, for people
std::string describe_specialization();

// the program for an architecture ("sm_90"). Does not throw for want of a compiler or where the program does
// not compile: `why` tells. `lines`: the same instructions with the line of the source for each, for profiles
// (bench/cost/stalls.py); compiled anew, and not kept
Special specialize(const std::string& program, const std::string& arch, bool lines = false);

}  // namespace dualstep
