// Emulated kernels in float.
#define DUALSTEP_SCALAR float
#include "host/emulator/emulated_kernels.inl"
