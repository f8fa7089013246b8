// Bits of words, and sets of the elements of a pack as bits.
#pragma once

#include "kernels/base/real.h"

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

// calls f(first + bit) for the bits of a set, lowest first
template <class F, class I = int>
DS_HD void each_bit(unsigned set, F f, I first = 0) {
  for (; set != 0; set &= set - 1) f(first + bit_count_trailing(set));
}
// calls f(element) for those of a set, likewise
template <class Real, class F>
DS_HD void each_element(unsigned set, F f) {
  if constexpr (kPackSize<Real> == 1) {
    if (set != 0) f(0);
  } else {
    each_bit(set, f);
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
