// The text of a fused step made for one model: its sizes, options, places of the workspace and kinds of
// collision are constants, the rest is the source of every other backend (kernels/fused.cuh). The compiler
// folds the constants; no operation on numbers is added, removed or put in another order, so the bits are
// those of the kernel for all models.
#pragma once

#include <string>
#include <vector>

#include "kernels/tables.h"

namespace dualstep {

// a file that a program includes, by the name it is included under
struct SourceFile {
  const char* name;
  const char* text;
};
// what kernels/fused.cuh needs, as it was when the library was built
const std::vector<SourceFile>& kernel_sources();

// the definition of StepTables for a model: what a program of one model begins with, for any compiler. The
// tables must lie in the memory of the host
template <class Scalar>
std::string fixed_tables(const Tables<Scalar>& tables);

// the whole program, with one kernel of the name below, which takes what the one for all models takes
constexpr char kProgramEntry[] = "dualstep_fused_step";
template <class Scalar>
std::string program_text(const Tables<Scalar>& tables, int lanes);

}  // namespace dualstep
