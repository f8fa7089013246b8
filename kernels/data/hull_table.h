// Where the points and the normals of hulls stand in their tables, for the host that writes them and the kernels.
//
// Triples stand coordinate by coordinate: x of all of them first, then y, then z, each filled up to whole runs with the last
// one's, so that as many are read at once. A hull takes at most a run more than its points.
//
// Which triple is farthest along a direction is asked among few: the directions are divided into cells, `side` x `side` squares
// on each side of the cube |n|_max = 1, and a cell has those triples that are farthest along some direction in it, or so by less
// than rounding, in their order.
#pragma once

#include "kernels/base/portable.h"

namespace dualstep {

constexpr int kHullRun = 16;  // the widest pack
constexpr int kCellRun = 8;   // of the triples of a cell, which are few
DS_HD constexpr int whole_runs(int count, int run) { return (count + run - 1) / run * run; }
// of hull h, before which all hulls together have `before` of them
DS_HD constexpr int hull_begin(int before, int h) { return 3 * (before + kHullRun * h); }

// a cell has about (sqrt(count / cells) + 1)^2 of the points of a ball: a run at most, of up to 800
DS_HD constexpr int cells_a_side(int count) { return count <= kCellRun ? 1 : count <= 200 ? 4 : 8; }
DS_HD constexpr int cell_number(int face, int i, int j, int side) { return (face * side + i) * side + j; }
// so few are asked one by one by an element, and by a pack of one hull for each of its elements that wants to know
constexpr int kScannedTriples = 128, kScannedTriplesOfPack = 8;

}  // namespace dualstep
