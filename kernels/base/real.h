// Real: what a number is. float and double, or a pack of them in which every element is another environment.
//
// A comparison gives a mask (bool, or one bit or word an element); select, any and all turn data-dependent
// branches into arithmetic that costs nothing for scalars. Every function here is exact IEEE arithmetic in a
// fixed order, so a result has the same bits in every backend: no contraction (fma is called by name), no
// approximate instructions. min and max are written as comparisons because their treatment of NaN then
// agrees everywhere: min(a, b) is b unless a < b.
#pragma once

#include "kernels/base/portable.h"

#if DS_HOST_PACKS
#include <cmath>
#include <cstring>
#include <utility>
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#endif

namespace dualstep {
inline namespace DUALSTEP_ISA {

// scalars ------------------------------------------------------------------------------------------------

template <class Real>
struct RealTraits;
template <>
struct RealTraits<float> {
  using Scalar = float;
  using Mask = bool;
  using Int = int;
  static constexpr int kSize = 1;
};
template <>
struct RealTraits<double> {
  using Scalar = double;
  using Mask = bool;
  using Int = int;
  static constexpr int kSize = 1;
};
template <class Real>
using ScalarOf = typename RealTraits<Real>::Scalar;
template <class Real>
using MaskOf = typename RealTraits<Real>::Mask;
template <class Real>
using IntOf = typename RealTraits<Real>::Int;
template <class Real>
constexpr int kPackSize = RealTraits<Real>::kSize;
// true for numbers of 4 bytes
template <class Real>
constexpr bool kSingle = sizeof(ScalarOf<Real>) == 4;

// MuJoCo's mjMINVAL: what is divided by is no smaller, and what is smaller counts as zero; whatever its unit
constexpr double kMinVal = 1e-15;
// mjMAXVAL: a state with a number that is not below has diverged
constexpr double kMaxVal = 1e10;
// Positions have diverged from here on: a quarter of a radian, and of a metre, is what floats of 4e6 are apart
template <class Real>
constexpr double kMostPosition = kSingle<Real> ? 4e6 : kMaxVal;
// above every length, square and residual of a scene, and finite in either precision: where the search for a least
// number begins. What is not below is infinite, or no number
constexpr double kVast = 1e30;
// what is divided by is no smaller where an inverse need only be finite, as this one's is in either precision
constexpr double kFiniteInverse = 1e-30;

template <class A, class B>
constexpr bool kSameType = false;
template <class A>
constexpr bool kSameType<A, A> = true;

template <class Real>
DS_HD Real broadcast(ScalarOf<Real> x) {
  return Real(x);
}

DS_HD float select(bool m, float a, float b) { return m ? a : b; }
DS_HD double select(bool m, double a, double b) { return m ? a : b; }
DS_HD int select(bool m, int a, int b) { return m ? a : b; }
DS_HD bool any(bool m) { return m; }
DS_HD bool all(bool m) { return m; }
DS_HD bool mask_and(bool a, bool b) { return a && b; }
DS_HD bool mask_or(bool a, bool b) { return a || b; }
DS_HD bool mask_not(bool a) { return !a; }
DS_HD bool mask_bit(bool m, int) { return m; }
DS_HD unsigned mask_word(bool m) { return m ? 1u : 0u; }
// the elements of a pack as bits: all of them
template <class Real>
constexpr unsigned kAllElements = (2u << (RealTraits<Real>::kSize - 1)) - 1u;
template <class Real>
requires(RealTraits<Real>::kSize == 1) DS_HD bool mask_of_word(unsigned bits) { return bits != 0; }
// for integers of a pack: the elements for which it holds, as bits; and the smaller number
DS_HD unsigned word_where_equal(int a, int b) { return a == b ? 1u : 0u; }
DS_HD unsigned word_where_above(int a, int b) { return a > b ? 1u : 0u; }
DS_HD int at_most(int a, int b) { return a < b ? a : b; }

#if defined(DS_NO_FMA)
// for tests/cuda/check_sass.py: what is left of fused operations when the source has none
DS_HD float fma(float a, float b, float c) { return a * b + c; }
DS_HD double fma(double a, double b, double c) { return a * b + c; }
DS_HD float sqrt(float a) { return __builtin_sqrtf(a); }
DS_HD double sqrt(double a) { return __builtin_sqrt(a); }
#elif DS_DEVICE
DS_HD float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
DS_HD double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
DS_HD float sqrt(float a) { return __fsqrt_rn(a); }
DS_HD double sqrt(double a) { return __dsqrt_rn(a); }
#else
DS_HD float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DS_HD double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
DS_HD float sqrt(float a) { return __builtin_sqrtf(a); }
DS_HD double sqrt(double a) { return __builtin_sqrt(a); }
#endif
#if DS_DEVICE
DS_HD float abs(float a) { return ::fabsf(a); }
DS_HD double abs(double a) { return ::fabs(a); }
#else
DS_HD float abs(float a) { return __builtin_fabsf(a); }
DS_HD double abs(double a) { return __builtin_fabs(a); }
#endif

// the NaN with these bits, of the argument's type: positive, quiet, without a payload
#if DS_DEVICE
DS_HD float quiet_nan(float) { return __int_as_float(0x7fc00000); }
DS_HD double quiet_nan(double) { return __longlong_as_double(0x7ff8000000000000ll); }
#else
DS_HD float quiet_nan(float) { return __builtin_nanf(""); }
DS_HD double quiet_nan(double) { return __builtin_nan(""); }
#endif

// element `lane` of a pack: reads and writes one environment
DS_HD float lane_of(float x, int) { return x; }
DS_HD double lane_of(double x, int) { return x; }
DS_HD int lane_of(int x, int) { return x; }
DS_HD void set_lane(float& x, int, float v) { x = v; }
DS_HD void set_lane(double& x, int, double v) { x = v; }
DS_HD void set_lane(int& x, int, int v) { x = v; }

// all elements from consecutive memory
template <class Real>
requires(RealTraits<Real>::kSize == 1) DS_HD Real load_pack(const ScalarOf<Real>* p) { return *p; }

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

#if DS_HOST_PACKS
#include "kernels/base/pack.h"
#endif

namespace dualstep {
inline namespace DUALSTEP_ISA {

// for both ------------------------------------------------------------------------------------------------

template <class Real>
DS_HD Real min(const Real& a, const Real& b) {
  return select(a < b, a, b);
}
template <class Real>
DS_HD Real max(const Real& a, const Real& b) {
  return select(a > b, a, b);
}
// min(x, 0), with +0 where x is -0. A CUDA compiler makes PTX's min of it, for which -0 is the smaller zero: the sum
// takes the sign away. max(x, 0) is the same either way
template <class Real>
DS_HD Real negative_part(const Real& x) {
#if DS_DEVICE
  return min(x, Real(0)) + Real(0);
#else
  return min(x, Real(0));
#endif
}
template <class Real>
DS_HD Real clamp(const Real& x, const Real& lo, const Real& hi) {
  return min(max(x, lo), hi);
}
template <class Real>
DS_HD Real square(const Real& x) {
  return x * x;
}
template <class Real>
DS_HD Real sign_nonzero(const Real& x) {
  return select(x < Real(0), Real(-1), Real(1));
}
// a where m holds, else b, for masks
template <class Mask>
DS_HD Mask select_mask(const Mask& m, const Mask& a, const Mask& b) {
  return mask_or(mask_and(m, a), mask_and(mask_not(m), b));
}
// masks with every element set, and with none
template <class Real>
DS_HD MaskOf<Real> all_true() {
  return Real(0) == Real(0);
}
template <class Real>
DS_HD MaskOf<Real> all_false() {
  return Real(0) != Real(0);
}
// x, whose size an int has room for, as a whole number
template <class Real>
requires(kPackSize<Real> == 1) DS_HD IntOf<Real> without_fraction(const Real& x) {
  return static_cast<int>(lane_of(x, 0));
}
// gather: element l of the result is p[i_l]
template <class Real>
requires(kPackSize<Real> == 1) DS_HD Real gather(const ScalarOf<Real>* p, const IntOf<Real>& i) {
  return p[i];
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

#include "kernels/base/mathfn.h"
