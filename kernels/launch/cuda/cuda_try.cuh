// For functions that answer with the error of the first call that fails.
#pragma once

#include <cuda_runtime_api.h>

#define DS_TRY(call)                          \
  do {                                        \
    const cudaError_t result = (call);        \
    if (result != cudaSuccess) return result; \
  } while (false)
