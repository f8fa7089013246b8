// Emulated kernels in double.
#define DUALSTEP_SCALAR double
#include "host/emulator/emulated_kernels.inl"
