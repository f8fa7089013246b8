// CPU kernels for the avx2 instruction set, in the precision DUALSTEP_SCALAR: compiled once for each.
#define DUALSTEP_ISA avx2
#define DUALSTEP_ISA_NAME "avx2"
#define DUALSTEP_PACK_F 8
#define DUALSTEP_PACK_D 4
#include "kernels/launch/cpu/cpu_variant.inl"
