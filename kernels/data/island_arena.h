// Where the arrays of island_arena.inl lie: a part of the pool of an environment (of a pack, on a CPU), behind the sets
// and lists of the other solver.
#pragma once

#include <stdint.h>

namespace dualstep {

// packs of a CPU may read and write so far past the last contact or scalar row
constexpr int kIslandRoom = 16;
constexpr int kIslandEight = 8;  // numbers that stand for the six of a spatial vector
constexpr int with_island_room(int n) { return (n + kIslandRoom - 1) / kIslandRoom * kIslandRoom; }

// what stands in `head`: islands, contacts and scalar rows; numbers of H in use; islands before those that go into packs;
// scalar rows that some environment of the pack has in use
enum IslandHead : int {
  kHeadIslands,
  kHeadContacts,
  kHeadRows,
  kHeadH,
  kHeadOwn,
  kHeadSources,
  kHeadNumbers
};

struct IslandLayout {
#define ISLAND_I(name, size, meaning) int name = 0;
#define ISLAND_R(name, size, meaning) int name = 0;
#include "kernels/data/island_arena.inl"
  int ints = 0;
  int64_t reals = 0;
};
template <class Sizes>
constexpr IslandLayout island_layout(const Sizes& n) {
  IslandLayout l;
  if (n.nisland == 0) return l;
  [[maybe_unused]] const int slots = with_island_room(n.ncon), scalars = with_island_room(n.nrow1);
#define ISLAND_I(name, size, meaning) \
  l.name = l.ints;                    \
  l.ints += size;
#define ISLAND_R(name, size, meaning) \
  l.name = static_cast<int>(l.reals); \
  l.reals += (static_cast<int64_t>(size) + kIslandRoom - 1) / kIslandRoom * kIslandRoom;
#include "kernels/data/island_arena.inl"
  l.ints = with_island_room(l.ints);
  return l;
}
// words of 4 bytes
template <class Scalar, class Sizes>
constexpr int64_t island_words(const Sizes& n) {
  const IslandLayout l = island_layout(n);
  return l.ints + l.reals * static_cast<int64_t>(sizeof(Scalar) / 4);
}

}  // namespace dualstep
