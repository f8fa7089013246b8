// Philox4x32-10: four random words as a function of a counter and a key, ten rounds of two products.
// Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
#pragma once

#include <array>
#include <cstdint>

namespace dualstep {

inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = counter[0] * uint64_t{0xD2511F53}, p1 = counter[2] * uint64_t{0xCD9E8D57};
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// 53 random bits of two words, in [0, 1)
inline double fraction_of(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high >> 5} << 26) | (low >> 6)) * 0x1p-53;
}

}  // namespace dualstep
