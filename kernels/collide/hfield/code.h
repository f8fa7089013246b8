// What the tables of height fields say beside the heights: which edges and vertices are convex, where the ground is
// planar, and how high it is at most. Facts of a model, made once. No functions of packs, so host code reads it too.
#pragma once

#include "kernels/base/portable.h"

namespace dualstep {

// The code of a vertex is a whole number: bits, and kPlanarStep times the cells along a side of the largest square of
// cells, from the vertex towards larger x and y, whose vertices lie in a plane
enum GridCode : int {
  kConvexEast = 1,   // the edge to (i + 1, j)
  kConvexNorth = 2,  // to (i, j + 1)
  kConvexFar = 4,    // to (i + 1, j + 1)
  kConvexVertex = 8,
  kPlanarStep = 16,
};
constexpr int kPlanarSide = 32;     // squares are no larger
constexpr double kFlatEdge = 1e-4;  // of a cell: by how much an edge must rise over the line beside it
// of the largest height, and at most 1e-5 of a cell: how far off a plane is planar. Heights are single precision
constexpr double kPlanarError = 5e-7;

// Block (I, J) of level k spans the vertices from (I 2^k, J 2^k) to ((I + 2) 2^k, (J + 2) 2^k): a window of up to 2^k
// cells lies within the block in which its first vertex lies. Levels follow each other, from 0 on
DS_HD constexpr int blocks_along(int vertices, int level) { return ((vertices - 1) >> level) + 1; }
// the levels of a grid: the last one has a block that spans all
DS_HD constexpr int block_levels(int nrow, int ncol) {
  int levels = 1;
  while (blocks_along(nrow, levels - 1) > 2 || blocks_along(ncol, levels - 1) > 2) levels++;
  return levels;
}

}  // namespace dualstep
