// The program of a specialised step: its sizes, options, places of the workspace and kinds of
// collision are constants, the rest is the source of every other backend (kernels/launch/cuda/fused.cuh, staged.cuh). The
// compiler folds the constants; no operation on numbers is added, removed or put in another order, so the
// bits are those of the kernel for all models.
#pragma once

#include <string>
#include <vector>

#include "host/batch/lane_choice.h"
#include "kernels/data/tables.h"

namespace dualstep {

// a file that a program includes, by the name it is included under
struct SourceFile {
  const char* name;
  const char* text;
};
// what kernels/launch/cuda/staged.cuh needs, as it was when the library was built
const std::vector<SourceFile>& kernel_sources();

// the definition of StepTables for a model: what a program of one model begins with, for any compiler. The
// tables must lie in the memory of the host
template <class Scalar>
std::string fixed_tables(const Tables<Scalar>& tables);

// how a step in parts is launched: environments interleaved, memory for what parts hand over
constexpr int kStagedInterleaved = 4, kStagedCarriedBytes = 64;

// the whole program: one kernel, which takes what the one for all models takes; or, where lanes differ by
// part, one for each part (kernels/launch/cuda/staged.cuh)
template <class Scalar>
std::string program_text(const Tables<Scalar>& tables, const LaneChoice& choice);
// the names of its kernels, in their order
std::vector<std::string> program_entries(const LaneChoice& choice);
// the most warps of a kernel's block, of which an SM has one, so that they decide how many registers a thread may have,
// are a macro of the program: this, and the kernel's name. Whoever compiles it says them
constexpr const char* kWarpsMacro = "DUALSTEP_WARPS_";

}  // namespace dualstep
