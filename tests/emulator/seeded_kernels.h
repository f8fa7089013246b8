// Small kernels, each right and with one planted bug: what the emulator must pass and what it must catch.
//
// They are the shapes that the stages have (a recursion down a tree, a sweep over rows, a compaction, a
// scratch used again in a loop), cut down to one loop each. `planted` drops exactly one sync() or replaces
// exactly one reduction. A kernel reads `in` and writes `out`; `shared` is the scratch that the lanes share.
#pragma once

#include <array>

#include "kernels/base/lanes.h"

namespace seeded {

constexpr int kCount = 64;
using Numbers = std::array<int, kCount>;
struct Scratch {
  Numbers in{}, shared{}, out{};
};

// dropped barrier, read after write: each lane reads its neighbour's number
template <bool planted, class Lanes>
void read_after_write(const Lanes& lanes, Scratch& s) {
  const int rank = lanes.rank(), width = lanes.width();
  s.shared[rank] = 3 * s.in[rank];
  if constexpr (!planted) lanes.sync();
  s.out[rank] = s.shared[(rank + 1) % width];
}

// dropped barrier, write after read: a shift in place
template <bool planted, class Lanes>
void write_after_read(const Lanes& lanes, Scratch& s) {
  const int rank = lanes.rank(), width = lanes.width();
  s.shared[rank] = s.in[rank];
  lanes.sync();
  const int neighbour = s.shared[(rank + 1) % width];
  if constexpr (!planted) lanes.sync();
  s.shared[rank] = neighbour + 1;
  s.out[rank] = neighbour + 1;
  lanes.sync();
  s.out[rank] += s.shared[(rank + 2) % width];
}

// wrong reduction: every lane leaves its own value in one slot
template <bool planted, class Lanes>
void wrong_reduction(const Lanes& lanes, Scratch& s) {
  const auto term = [&](int i, int sum) { return sum + s.in[i]; };
  if constexpr (planted) {
    int own = 0;
    for (int i = lanes.rank(); i < kCount; i += lanes.width()) own = term(i, own);
    s.shared[0] = own;
  } else {
    const int sum = lanes.template accumulate<int>(kCount, term);
    if (lanes.rank() == 0) s.shared[0] = sum;
  }
  lanes.sync();
  s.out[lanes.rank()] = s.shared[0];
}

// work of lane 0 that the others use too early
template <bool planted, class Lanes>
void lane_zero_work(const Lanes& lanes, Scratch& s) {
  if (lanes.rank() == 0) {
    s.shared[0] = 1;
    for (int i = 0; i < kCount; i++) s.shared[0] += s.in[i];
  }
  if constexpr (!planted) lanes.sync();
  for (int i = lanes.rank(); i < kCount; i += lanes.width()) s.out[i] = s.in[i] * s.shared[0];
}

// += of all lanes into one slot. Integers commute, so no order of whole turns shows it
template <bool planted, class Lanes>
void unsynchronised_add(const Lanes& lanes, Scratch& s) {
  const int rank = lanes.rank();
  if constexpr (planted) {
    s.shared[0] += s.in[rank];
  } else {
    s.shared[rank] = s.in[rank];
    lanes.sync();
    if (rank == 0)
      for (int i = 1; i < lanes.width(); i++) s.shared[0] += s.shared[i];
  }
  lanes.sync();
  s.out[rank] = s.shared[0];
}

// a recursion from the root outward, a level of a binary tree between two barriers
template <bool planted, class Lanes>
void tree_levels(const Lanes& lanes, Scratch& s) {
  if (lanes.rank() == 0) s.out[1] = s.in[1];
  lanes.sync();
  for (int first = 2; first < kCount; first *= 2) {
    for (int i = first + lanes.rank(); i < 2 * first; i += lanes.width())
      s.out[i] = 2 * s.out[i / 2] + s.in[i];
    if constexpr (!planted) lanes.sync();
  }
}

// scratch used again by the next round while others still read this one
template <bool planted, class Lanes>
void scratch_used_again(const Lanes& lanes, Scratch& s) {
  const int rank = lanes.rank(), width = lanes.width();
  int sum = 0;
  for (int round = 1; round < 4; round++) {
    s.shared[rank] = round * s.in[rank];
    lanes.sync();
    sum = 2 * sum + s.shared[(rank + round) % width];
    if constexpr (!planted) lanes.sync();
  }
  s.out[rank] = sum;
}

// count, then place: the lanes pack what passes a test and read it from the far end, too early
template <bool planted, class Lanes>
void compaction(const Lanes& lanes, Scratch& s) {
  const int rank = lanes.rank();
  const bool keep = s.in[rank] % 3 != 0;
  int total = 0;
  const int slot = lanes.exclusive_scan(keep ? 1 : 0, &total);
  if (keep) s.shared[slot] = s.in[rank];
  if constexpr (!planted) lanes.sync();
  for (int i = rank; i < total; i += lanes.width()) s.out[i] = s.shared[total - 1 - i];
}

// scratch passed across a reduction: the lanes meet there, but only sync() orders memory on a GPU
template <bool planted, class Lanes>
void passed_across_reduction(const Lanes& lanes, Scratch& s) {
  const int rank = lanes.rank(), width = lanes.width();
  s.shared[rank] = 5 * s.in[rank];
  if constexpr (!planted) lanes.sync();
  const bool some = lanes.any_lane(s.in[rank] > 0);
  s.out[rank] = some ? s.shared[(rank + 1) % width] : 0;
}

// what finds the planted bug: any order of turns that differs, or only the happens-before of ThreadSanitizer
enum class FoundBy { order, threads, threads_if_only_sync_orders };

#define SEEDED_KERNELS(X)        \
  X(read_after_write, order)     \
  X(write_after_read, order)     \
  X(wrong_reduction, order)      \
  X(lane_zero_work, order)       \
  X(unsynchronised_add, threads) \
  X(tree_levels, order)          \
  X(scratch_used_again, order)   \
  X(compaction, order)           \
  X(passed_across_reduction, threads_if_only_sync_orders)

inline Scratch fresh_scratch() {
  Scratch s;
  for (int i = 0; i < kCount; i++) s.in[i] = 7 * i * i % 101 + 1;
  return s;
}

}  // namespace seeded
