// CPU kernels for the avx512 instruction set, in the precision DUALSTEP_SCALAR: compiled once for each.
#define DUALSTEP_ISA avx512
#define DUALSTEP_ISA_NAME "avx512"
#define DUALSTEP_PACK_F 16
#define DUALSTEP_PACK_D 8
#include "kernels/launch/cpu/cpu_variant.inl"
