// What islands of one tree are worked out in where environments stand side by side: a pack of such islands, from any of
// the environments of a pack. Behind the arena of island_arena.h; sizes in packs of real numbers.
//
//   ISLAND_P(name, size, meaning)   its arrays, written with d, c, r (dofs, contacts, scalar rows that have room) and k
#pragma once

#include "kernels/data/island_arena.h"

namespace dualstep {

// islands with more of them are solved with the others of their environment
constexpr int kPackedDofs = 48, kPackedContacts = 24, kPackedRows = 32;

struct IslandPackSizes {
  int d, c, r, k;
};
template <class Sizes>
constexpr IslandPackSizes island_pack_sizes(const Sizes& n) {
  const auto least = [](int a, int b) { return a < b ? a : b; };
  if (n.nisland == 0) return {0, 0, 0, 0};
  return {least(n.ntreepad, kPackedDofs), least(n.ncon, kPackedContacts), least(n.nrow1, kPackedRows), n.kdim};
}

struct IslandPackLayout {
#define ISLAND_P(name, size, meaning) int name = 0;
#include "kernels/data/island_pack.inl"
  int total = 0;
};
constexpr IslandPackLayout island_pack_layout(const IslandPackSizes& s) {
  IslandPackLayout l;
  [[maybe_unused]] const int d = s.d, c = s.c, r = s.r, k = s.k;
#define ISLAND_P(name, size, meaning) \
  l.name = l.total;                   \
  l.total += size;
#include "kernels/data/island_pack.inl"
  return l;
}

}  // namespace dualstep
