// The PTX in what nvcc puts into an object file for the runtime of CUDA.
#pragma once

#include <string>

namespace ptx_interpreter {

// of a "fat binary", the first PTX. Throws PtxError where there is none that can be read
std::string ptx_of_fat_binary(const void* fat_binary);

}  // namespace ptx_interpreter
