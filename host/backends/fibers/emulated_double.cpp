// Emulated kernels in double precision.
#define DUALSTEP_SCALAR double
#include "host/backends/fibers/emulated_kernels.inl"
