// THE list of the kinds of single-dof rows, in the order in which they stand among the scalar rows.
//
//   ROW(kind, elements, rows, first)
//
// kind      the struct of kernels/rows/kinds/
// elements  how many elements of the model have such rows: a size of sizes.inl
// rows      rows of each, one behind the other
// first     the table whose entry u is the first element of the dof of single-dof row u
#pragma once

#include "kernels/base/portable.h"
#include "kernels/data/tables.h"

#define DS_SINGLE_DOF_KINDS(ROW)             \
  ROW(Limits, nlim, kLimitSides, single_lim) \
  ROW(FrictionLosses, nloss, 1, single_loss)

namespace dualstep {

// rows of limits come in pairs: the lower side of a limit, then its upper one
enum LimitSide : int { kLowerSide = 0, kUpperSide = 1, kLimitSides = 2 };

enum class SingleDofKind {
#define DS_ROW(kind, elements, rows, first) k##kind,
  DS_SINGLE_DOF_KINDS(DS_ROW)
#undef DS_ROW
      kEnd
};

// how many rows all kinds in front of one have
DS_HD constexpr int rows_before(SingleDofKind end, const Sizes& n) {
  int sum = 0;
#define DS_ROW(kind, elements, rows, first) \
  if (SingleDofKind::k##kind < end) sum += rows * n.elements;
  DS_SINGLE_DOF_KINDS(DS_ROW)
#undef DS_ROW
  return sum;
}

}  // namespace dualstep
