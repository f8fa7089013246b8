// Host and device macros; the only file that asks which compiler is at work.
//
// Everything under kernels/ lives in namespace dualstep::DUALSTEP_ISA, so that one process can hold the same
// templates compiled for several instruction sets without the linker mixing them.
#pragma once

#if !defined(DUALSTEP_ISA)
#define DUALSTEP_ISA portable
#endif

// DS_HD: always inlined; DS_FN: as the compiler likes; DS_STAGE: a stage, or a part of one that is called
// from several places. A device function is not inlined there: one copy of it serves all kernels of a
// translation unit, the registers of one stage do not burden the next, and compilation takes seconds. On the
// CPU the compiler decides. DS_ROLLED stands before a loop that lanes share: each of them has few turns of
// it, and copies of its body would only crowd the instruction cache.
#if defined(__CUDACC__)
#define DS_FOR_GPU 1
#define DS_HD __device__ __forceinline__
#define DS_FN __device__
#define DS_STAGE __device__ __noinline__
#define DS_ROLLED _Pragma("unroll 1")
#else
#define DS_FOR_GPU 0
#if defined(__OPTIMIZE__)
#define DS_HD inline __attribute__((always_inline))
#else
// nothing is gained from copies that nobody optimizes, and they take twice as long to compile
#define DS_HD inline
#endif
#define DS_FN inline
#define DS_STAGE inline
#define DS_ROLLED
#endif

// Calls f(self). On the CPU that is a function of its own, compiled once for all its callers, where always inlining would
// compile a large one at each. It works on a copy of `self`, so that no store can change a member and pointers stay in
// registers; what f captures it captures by value, for the same reason. On a GPU it is inlined
#if DS_FOR_GPU
template <class Self, class F>
DS_HD auto apart(const Self& self, F f) {
  return f(self);
}
#else
template <class Self, class F>
__attribute__((noinline)) auto apart(const Self& self, F f) {
  const Self own(self);
  return f(own);
}
#endif

// workspace that one lane has to itself. Lanes that share it must not promise that: a promise would let the
// compiler keep in a register, across sync(), what another lane has written meanwhile
#if defined(__CUDACC__) || defined(DUALSTEP_LANES_SHARE)
#define DS_RESTRICT
#else
#define DS_RESTRICT __restrict__
#endif

// unroll a loop over a few compile-time bounded entries, so that small arrays live in registers
#if defined(__CUDACC__)
#define DS_UNROLL _Pragma("unroll")
#else
#define DS_UNROLL _Pragma("GCC unroll 16")
#endif

// the same where a thread of a GPU has no registers for it
#if defined(__CUDACC__)
#define DS_UNROLL_PACKS
#else
#define DS_UNROLL_PACKS DS_UNROLL
#endif

// code that only a host compiler can read: vector extensions and intrinsics
#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#define DS_HOST_PACKS 1
#else
#define DS_HOST_PACKS 0
#endif

#if defined(__CUDA_ARCH__)
#define DS_DEVICE 1
#else
#define DS_DEVICE 0
#endif

// says that a pointer is one to device memory, so that accesses need not find out which memory they go to. A
// specialised program says of which it knows that (host/backends/cuda/specialize/program.cpp)
#if DS_DEVICE && defined(DUALSTEP_TABLES_IN_DEVICE_MEMORY)
#define DS_TABLE_ADDRESS(p) __builtin_assume(__isGlobal(p))
#else
#define DS_TABLE_ADDRESS(p) static_cast<void>(0)
#endif
#if DS_DEVICE && defined(DUALSTEP_WORKSPACE_IN_DEVICE_MEMORY)
#define DS_WORKSPACE_ADDRESS(p) __builtin_assume(__isGlobal(p))
#else
#define DS_WORKSPACE_ADDRESS(p) static_cast<void>(0)
#endif

#if DS_HOST_PACKS
#include <stdint.h>
namespace dualstep {
// a clock for comparing stages, in ticks of its own
inline uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}
}  // namespace dualstep
#endif
