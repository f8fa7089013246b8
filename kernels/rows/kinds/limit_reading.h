// What there is to read of a row of a limit, whatever it limits.
//
// solves    nothing; what sensors of limits are given
// deviation none
// cost      none
#pragma once

#include "kernels/base/portable.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// weight: 0 where the row is not in use; distance: to the bound, less the margin; rate: J v
template <class Real>
struct LimitReading {
  Real weight, distance, rate, force;
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
