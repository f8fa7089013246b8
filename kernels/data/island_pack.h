// The workspace of a pack of islands: islands of one tree each, from any environments of a pack, are solved side by side,
// an island in each element. It lies behind the arena of island_arena.h; sizes in packs of real numbers.
//
//   ISLAND_P(name, size, meaning)   its arrays, written with d, c, r (dofs, contacts, scalar rows that have room) and k
#pragma once

#include "kernels/data/island_arena.h"

namespace dualstep {

// Islands with more of them are solved with the others of their environment, and so are those with few dofs, which an
// eight holds: beside those a pack saves nothing
constexpr int kPackedDofs = 48, kPackedRows = 32;
constexpr int kPackedRoom = 8;  // numbers behind the last dof, at least; a row has a multiple of sixteen
// Whether an island is solved among its rows (solver/islands/island_row_space.h): where these are few. A tree that an eight
// holds is soon eliminated, and so are the trees of a large island, each of which touches few others
constexpr int kMostRowsAmong = 96;
constexpr bool is_among_rows(int trees, int dofs, int rows) {
  return dofs > kIslandEight && 3 * rows <= 2 * dofs && (trees == 1 || rows <= kMostRowsAmong);
}
// numbers that such an island takes: S, A, Z', b, and G of each row
constexpr int kRootOfRow = 4;
constexpr int row_space_numbers(int dofs, int rows) {
  const int width = (rows + kIslandEight - 1) / kIslandEight * kIslandEight;
  return width * (2 * width + dofs + 1 + kRootOfRow);
}
// and at most, where it has one tree of so many dofs
constexpr int row_space_numbers(int dofs) {
  return dofs > kIslandEight ? row_space_numbers(dofs, 2 * dofs / 3) : 0;
}
// and at most all islands of several trees of an environment together, of rows that are rounded up to eights
constexpr int row_space_numbers_of_many(int dofs, int trees) {
  const int width = kMostRowsAmong, widths = 2 * dofs / 3 + kIslandEight * trees;
  return width * (2 * widths + dofs + (1 + kRootOfRow) * trees);
}

// Islands with about as many contacts share a pack, those that are solved in the same space: none of those before it,
// and no more than here
struct PackBin {
  int contacts;
  bool among_rows;
};
constexpr int kPackedContacts = 24;
constexpr PackBin kPackBins[] = {{2, true},  {4, true},   {kPackedContacts, true}, {4, false},
                                 {8, false}, {14, false}, {kPackedContacts, false}};
constexpr int kPackBinCount = sizeof(kPackBins) / sizeof(kPackBins[0]);

struct IslandPackSizes {
  int d, c, r, k;
};
template <class Sizes>
constexpr IslandPackSizes island_pack_sizes(const Sizes& n, int bin) {
  const auto least = [](int a, int b) { return a < b ? a : b; };
  if (n.nisland == 0 || n.ntreepad <= kIslandEight) return {0, 0, 0, 0};
  return {with_island_room(least(n.ntreepad, kPackedDofs) + kPackedRoom),
          least(n.ncon, kPackBins[bin].contacts), least(n.nrow1, kPackedRows), n.kdim};
}
// whether an island of one tree goes into a pack
template <class Sizes>
constexpr bool is_packed(const Sizes& n, int dofs, int contacts, int rows) {
  const IslandPackSizes most = island_pack_sizes(n, kPackBinCount - 1);
  return dofs > kIslandEight && dofs <= kPackedDofs && contacts <= most.c && rows <= most.r;
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
// of the bins before one
template <class Sizes>
constexpr int island_pack_reals(const Sizes& n, int bins = kPackBinCount) {
  int total = 0;
  for (int bin = 0; bin < bins; bin++) total += island_pack_layout(island_pack_sizes(n, bin)).total;
  return total;
}

}  // namespace dualstep
