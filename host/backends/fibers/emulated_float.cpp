// Emulated kernels in single precision.
#define DUALSTEP_SCALAR float
#include "host/backends/fibers/emulated_kernels.inl"
