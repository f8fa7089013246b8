// Lanes: the group of W threads that share one environment (or one pack of environments).
//
// A stage splits its loops as `for (int i = lanes.rank(); i < n; i += lanes.width())` and calls sync()
// between a write and a read of the same scratch by another lane. What the lanes agree on:
//   accumulate(n, f)   sum over i < n, f(i, partial) -> partial, in an order that W cannot change:
//                      stripe s of 8 takes i = s, s + 8, ...;
//                      stripes are added as a tree (s + 4, s + 2, s + 1).
//                      Every lane gets the same bits. f may read any scratch that was synced before.
//   exclusive_scan(v)  the sum of v over the lanes of lower rank, and the sum over all lanes
//   any_lane(b)        true where any lane says so
// W is 1, 2, 4, 8, 16 or 32. All lanes of an environment call each of these together.
#pragma once

#include "kernels/base/real.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr int kStripes = 8;

// an index of a loop over workspace: as wide as an address on a CPU, where a narrower one is widened anew for
// each access, and as narrow as may be on a GPU
#if DS_HOST_PACKS
using Index = long;
#else
using Index = int;
#endif

// where a call of the lanes stands in the source. Every call takes one as its last argument, by default its
// own line, so that a wrapper can hand on its caller's; only the emulated lanes keep it
struct NoSite {
  DS_HD static constexpr NoSite current() { return {}; }
};

// partial sums of the stripes first, first + step, ... of 8, folded to one (or kept apart when step is 8)
template <class Real, int kWidth, class F>
DS_HD Real stripe_partial(int rank, int n, F f) {
  static_assert(kWidth >= 2 && kWidth <= kStripes);
  constexpr int kOwn = kStripes / kWidth;  // stripes a lane owns: rank, rank + W, ...
  Real s[kOwn];
  for (int k = 0; k < kOwn; k++) {
    s[k] = Real(0);
    DS_ROLLED
    for (int i = rank + k * kWidth; i < n; i += kStripes) s[k] = f(i, s[k]);
  }
  for (int half = kOwn / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++) s[k] = s[k] + s[k + half];
  return s[0];
}

// whether a set has any of the entries 8 block .. 8 block + 7
template <class Words>
DS_HD bool touches_stripes(const Words& set, Index block) {
  return ((static_cast<unsigned>(set[block >> 2]) >> (8 * (block & 3))) & 0xffu) != 0;
}
struct EveryEntry {
  DS_HD constexpr unsigned operator[](Index) const { return ~0u; }
};
// accumulate() of one lane. Entries outside the set are zeros: eights without a member are passed over, which
// changes no bit
template <class Real, class Words, class F>
DS_HD Real accumulate_eights(const Words& set, int n, F f) {
  Real s0(0), s1(0), s2(0), s3(0), s4(0), s5(0), s6(0), s7(0);
  Index i = 0;
  for (; i + kStripes <= n; i += kStripes) {
    if (!touches_stripes(set, i / kStripes)) continue;
    s0 = f(i, s0);
    s1 = f(i + 1, s1);
    s2 = f(i + 2, s2);
    s3 = f(i + 3, s3);
    s4 = f(i + 4, s4);
    s5 = f(i + 5, s5);
    s6 = f(i + 6, s6);
    s7 = f(i + 7, s7);
  }
  if (i < n && touches_stripes(set, i / kStripes)) {
    s0 = f(i, s0);
    if (i + 1 < n) s1 = f(i + 1, s1);
    if (i + 2 < n) s2 = f(i + 2, s2);
    if (i + 3 < n) s3 = f(i + 3, s3);
    if (i + 4 < n) s4 = f(i + 4, s4);
    if (i + 5 < n) s5 = f(i + 5, s5);
    if (i + 6 < n) s6 = f(i + 6, s6);
  }
  return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7));
}

// several sums that lanes form at once, by accumulate<Sums<Real, N>>: each has the bits it has alone
template <class Real, int N>
struct Sums {
  Real of[N];
  Sums() = default;
  DS_HD explicit Sums(int zero) {
    DS_UNROLL
    for (int k = 0; k < N; k++) of[k] = Real(zero);
  }
  DS_HD friend Sums operator+(const Sums& a, const Sums& b) {
    Sums sum;
    DS_UNROLL
    for (int k = 0; k < N; k++) sum.of[k] = a.of[k] + b.of[k];
    return sum;
  }
};

// All threads of a block of a GPU, whose warps thus run the same stage at the same time. An SM's instruction cache has room
// for a stage and not for a step: warps that drift apart each fetch a step's code anew, which cost 78% of a step's time on
// an H200 (bench/README.md). Every thread that has not left its kernel comes here, whatever its environment; nothing on a CPU
#if DS_FOR_GPU
DS_HD void sync_threads_of_block() { asm volatile("barrier.sync 0;" ::: "memory"); }
// and tells the others whether anybody said so
DS_HD bool any_thread_of_block(bool said) {
  int any;
  asm volatile(
      "{\n\t.reg .pred mine, all;\n\tsetp.ne.s32 mine, %1, 0;\n\tbarrier.red.or.pred all, 0, mine;\n\t"
      "selp.s32 %0, 1, 0, all;\n\t}"
      : "=r"(any)
      : "r"(static_cast<int>(said))
      : "memory");
  return any != 0;
}
#else
DS_HD void sync_threads_of_block() {}
DS_HD bool any_thread_of_block(bool said) { return said; }
#endif

// one lane: packs of environments on the CPU, and a thread an environment on a GPU
struct SerialLanes {
  using Site = NoSite;
  static constexpr int kWidth = 1;
  DS_HD static constexpr int rank() { return 0; }
  DS_HD static constexpr int width() { return 1; }
  DS_HD static void sync(Site = {}) {}
  template <class Real, class F>
  DS_HD static Real accumulate(int n, F f, Site = {}) {
    return accumulate_eights<Real>(EveryEntry{}, n, f);
  }
  template <class Int>
  DS_HD static Int exclusive_scan(const Int& v, Int* total, Site = {}) {
    *total = v;
    return Int(0);
  }
  DS_HD static bool any_lane(bool b, Site = {}) { return b; }
};

#if defined(__CUDACC__)
// W neighbouring threads of a warp, in a block of one dimension. Holds nothing: where a thread stands is read
// from its registers, not from memory that a stage would have to fetch.
template <int W>
struct TileLanes {
  static_assert(W == 2 || W == 4 || W == 8 || W == 16 || W == 32);
  using Site = NoSite;
  static constexpr int kWidth = W;
  DS_HD static int rank() { return static_cast<int>(threadIdx.x % W); }
  DS_HD static constexpr int width() { return W; }
  // the threads of this tile within its warp
  DS_HD static unsigned tile() {
    return W == 32 ? 0xffffffffu : ((1u << (W % 32)) - 1u) << (threadIdx.x & (32u - W));
  }
  DS_HD static void sync(Site = {}) { __syncwarp(tile()); }
  template <class Real, class F>
  DS_HD static Real accumulate(int n, F f, Site = {}) {
    constexpr int kUsed = W < kStripes ? W : kStripes;
    Real s(0);
    if (rank() < kUsed) s = stripe_partial<Real, kUsed>(rank(), n, f);
    // butterfly over the first 8 lanes; addition commutes, so all of them hold the same bits
    for (int half = kUsed / 2; half > 0; half /= 2)
      s = s + handed(s, [half](auto x) { return __shfl_xor_sync(tile(), x, half, W); });
    if constexpr (W > kStripes)
      s = handed(s, [](auto x) { return __shfl_sync(tile(), x, rank() % kStripes, W); });
    return s;
  }
  DS_HD static int exclusive_scan(int v, int* total, Site = {}) {
    int inclusive = v;
    for (int d = 1; d < W; d *= 2) {
      const int up = __shfl_up_sync(tile(), inclusive, d, W);
      if (rank() >= d) inclusive += up;
    }
    *total = __shfl_sync(tile(), inclusive, W - 1, W);
    return inclusive - v;
  }
  DS_HD static bool any_lane(bool b, Site = {}) { return __any_sync(tile(), b) != 0; }

 private:
  // a number, or each of several, as another lane has it
  template <class Real, class F>
  DS_HD static Real handed(const Real& x, F from) {
    return from(x);
  }
  template <class Real, int N, class F>
  DS_HD static Sums<Real, N> handed(const Sums<Real, N>& x, F from) {
    Sums<Real, N> out;
    DS_UNROLL
    for (int k = 0; k < N; k++) out.of[k] = from(x.of[k]);
    return out;
  }
};
template <>
struct TileLanes<1> : SerialLanes {};
#endif

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
