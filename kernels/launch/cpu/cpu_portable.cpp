// CPU kernels for the portable instruction set, in the precision DUALSTEP_SCALAR: compiled once for each.
#define DUALSTEP_ISA portable
#define DUALSTEP_ISA_NAME "portable"
// what fits a register of SSE2 or NEON: twice as much is slower by a quarter, and compiles in twice the time
#define DUALSTEP_PACK_F 4
#define DUALSTEP_PACK_D 2
#include "kernels/launch/cpu/cpu_variant.inl"
