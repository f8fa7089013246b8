// Bits of words.
#pragma once

#include "kernels/base/portable.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

DS_HD int bit_count(unsigned x) {
#if DS_DEVICE
  return __popc(x);
#else
  return __builtin_popcount(x);
#endif
}
DS_HD int bit_count_trailing(unsigned x) {
#if DS_DEVICE
  return __ffs(static_cast<int>(x)) - 1;
#else
  return __builtin_ctz(x);
#endif
}
DS_HD int lowest_bit(unsigned long long x) {
#if DS_DEVICE
  return __ffsll(static_cast<long long>(x)) - 1;
#else
  return __builtin_ctzll(x);
#endif
}
DS_HD int highest_bit(unsigned x) {
#if DS_DEVICE
  return 31 - __clz(static_cast<int>(x));
#else
  return 31 - __builtin_clz(x);
#endif
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
