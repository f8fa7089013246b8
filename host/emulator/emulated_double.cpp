// Emulated kernels in double precision.
#define DUALSTEP_SCALAR double
#include "host/emulator/emulated_kernels.inl"
