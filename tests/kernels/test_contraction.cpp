// The build's options keep products and sums apart, where the compiler would fuse them unasked: GCC 12 makes
// one instruction of products whose sums and differences alternate, in spite of -ffp-contract=off.
#include <gtest/gtest.h>

namespace {

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void alternate(double* __restrict out, const double* a, const double* b,
                                                   const double* c) {
  out[0] = a[0] * b[0] - c[0];
  out[1] = a[1] * b[1] + c[1];
  out[2] = a[2] * b[2] - c[2];
  out[3] = a[3] * b[3] + c[3];
}

TEST(Contraction, AlternatingSumsRoundTwice) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "this processor has no fused instruction";
  // a b is 1 - 2^-60, which a double rounds to 1: a sum of one rounding tells it from that
  const double tiny = 0x1p-30, up = 1 + tiny, down = 1 - tiny;
  const double a[] = {up, up, up, up}, b[] = {down, down, down, down}, c[] = {1, -1, 1, -1};
  double out[4];
  // a compiler that knew the numbers would need no instructions
  void (*volatile unknown)(double*, const double*, const double*, const double*) = alternate;
  unknown(out, a, b, c);
  for (const double x : out) EXPECT_EQ(x, 0);
}
#endif

}  // namespace
