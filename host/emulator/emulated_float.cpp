// Emulated kernels in single precision.
#define DUALSTEP_SCALAR float
#include "host/emulator/emulated_kernels.inl"
