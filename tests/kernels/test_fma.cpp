// The fused multiply-add of packs on processors that have none, against the C library's.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "kernels/base/real.h"

namespace {

using Packed = dualstep::Pack<float, 8>;

// any bits, or exponents close enough for the product and the addend to meet
float draw(std::mt19937& rng, int spread) {
  const uint32_t bits = rng();
  if (spread == 0) return std::bit_cast<float>(bits);
  return std::bit_cast<float>((bits & 0x807fffffu) | ((110 + bits % static_cast<uint32_t>(spread)) << 23));
}

TEST(Fma, RoundsOnce) {
  std::mt19937 rng(1);
  for (int trial = 0; trial < 200000; trial++) {
    const int spread = 9 * (trial % 5);
    Packed a, b, c;
    for (int l = 0; l < 8; l++) {
      a.v[l] = draw(rng, spread);
      b.v[l] = draw(rng, spread);
      c.v[l] = draw(rng, spread);
      // halfway between two floats, and a little beside it
      if (trial % 3 == 0) {
        a.v[l] = 1 + std::ldexp(1.0f, -static_cast<int>(rng() % 24));
        b.v[l] = 1 + std::ldexp(1.0f, -static_cast<int>(rng() % 24));
        c.v[l] = std::ldexp(static_cast<float>(rng() % 5) - 2, -20 - static_cast<int>(rng() % 60));
      }
    }
    const Packed got = fma(a, b, c);
    for (int l = 0; l < 8; l++) {
      const float want = std::fma(a.v[l], b.v[l], c.v[l]);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got.v[l]));
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(got.v[l]), std::bit_cast<uint32_t>(want))
            << a.v[l] << " * " << b.v[l] << " + " << c.v[l];
      }
    }
  }
}

}  // namespace
