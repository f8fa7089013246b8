// sin, cos, atan2, exp, log and pow from fixed polynomials, so that they have the same bits everywhere.
//
// Ranges are reduced with Cody and Waite's split constants; the polynomials are minimax fits (odd or even on
// [-pi/4, pi/4] for sine and cosine; on [0, tan(pi/8)] for the arctangent; on [-ln2/2, ln2/2] for exp; on
// [sqrt(1/2), sqrt(2)] for log). Errors, tested against double-double references: 2 ulp in float and in
// double for |x| below 1e4 (sine, cosine); beyond that the reduction loses bits, beyond half of kMostPosition the result
// is cos(0), sin(0).
#pragma once

namespace dualstep {
inline namespace DUALSTEP_ISA {

// nearest integer, ties to even, for |x| < 2^22 (float) or 2^51 (double): adding 1.5 2^p pushes the fraction
// out
template <class Real>
DS_HD Real round_nearest(const Real& x) {
  const Real magic = kSingle<Real> ? Real(12582912.0) : Real(6755399441055744.0);
  return (x + magic) - magic;
}

template <class Real>
DS_HD Real horner(const Real&, ScalarOf<Real> c) {
  return Real(c);
}
// c0 + c1 x + c2 x^2 + ...
template <class Real, class... Rest>
DS_HD Real horner(const Real& x, ScalarOf<Real> c, Rest... rest) {
  return fma(horner(x, static_cast<ScalarOf<Real>>(rest)...), x, Real(c));
}

template <class Real>
DS_HD void sincos(const Real& x, Real* sine, Real* cosine) {
  // half of an angle; quadrants of more than 2^22 are not resolved in float
  const Real xs = select(abs(x) < Real(0.5 * kMostPosition<Real>), x, Real(0));
  const Real k = round_nearest(xs * Real(0.63661977236758134308));
  Real r, s, c;
  if constexpr (kSingle<Real>) {
    r = fma(k, Real(-1.5703125f), xs);
    r = fma(k, Real(-4.83751296997e-4f), r);
    r = fma(k, Real(-7.5497899548918821e-8f), r);
    const Real z = r * r;
    s = fma(horner(z, -1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f), z * r, r);
    c = fma(horner(z, 4.166664568298827e-2f, -1.388731625493765e-3f, 2.443315711809948e-5f), z * z,
            fma(z, Real(-0.5f), Real(1)));
  } else {
    r = fma(k, Real(-1.57079632679489655800e+00), xs);
    r = fma(k, Real(-6.12323399573676603587e-17), r);
    const Real z = r * r;
    s = fma(horner(z, -1.66666666666666307295e-1, 8.33333333332211858878e-3, -1.98412698295895385996e-4,
                   2.75573136213857245213e-6, -2.50507477628578072866e-8, 1.58962301576546568060e-10),
            z * r, r);
    c = fma(horner(z, 4.16666666666665929218e-2, -1.38888888888730564116e-3, 2.48015872888517045348e-5,
                   -2.75573141792967388112e-7, 2.08757008419747316778e-9, -1.13585365213876817300e-11),
            z * z, fma(z, Real(-0.5), Real(1)));
  }
  // quadrant k mod 4, as -2, -1, 0, 1 or 2
  const Real q = fma(round_nearest(k * Real(0.25)), Real(-4), k);
  const auto odd = abs(q) == Real(1);
  const Real ss = select(odd, c, s), cc = select(odd, s, c);
  const auto half_turn = abs(q) == Real(2);
  *sine = select(mask_or(half_turn, q == Real(-1)), -ss, ss);
  *cosine = select(mask_or(half_turn, q == Real(1)), -cc, cc);
}

// arctangent of y / x in the right quadrant; atan2(0, 0) = 0
template <class Real>
DS_HD Real atan2(const Real& y, const Real& x) {
  const Real ax = abs(x), ay = abs(y);
  const auto steep = ay > ax;
  const Real num = select(steep, ax, ay), den = select(steep, ay, ax);
  const Real t = select(den > Real(0), num / den, Real(0));
  // one more reduction: atan t = pi/8-ish offset + atan((t - c)/(1 + c t)), c = tan(pi/8)
  const Real c(0.41421356237309504880);
  const auto far = t > c;
  const Real u = select(far, (t - Real(1)) / (t + Real(1)), t);
  const Real z = u * u;
  Real p;
  if constexpr (kSingle<Real>) {
    p = horner(z, -3.33329491539e-1f, 1.99777106478e-1f, -1.38776856032e-1f, 8.05374449538e-2f);
  } else {
    // rational form P(z)/Q(z)
    const Real num2 =
        horner(z, -6.485021904942025371773e1, -1.228866684490136173410e2, -7.500855792314704667340e1,
               -1.615753718733365076637e1, -8.750608600031904122785e-1);
    const Real den2 =
        horner(z, 1.945506571482613964425e2, 4.853903996359136964868e2, 4.328810604912902668951e2,
               1.650270098316988542046e2, 2.485846490142306297962e1, 1.0);
    p = num2 / den2;
  }
  Real a = fma(p * z, u, u);
  a = select(far, a + Real(0.78539816339744830962), a);
  a = select(steep, Real(1.57079632679489661923) - a, a);
  a = select(x < Real(0), Real(3.14159265358979323846) - a, a);
  return select(y < Real(0), -a, a);
}

// 2^k for integer k in the normal range, by repeated products of exact powers of two
template <class Real>
DS_HD Real exp2_integer(const Real& k) {
  Real r(1), n = abs(k);
  const auto negative = k < Real(0);
  Real step = select(negative, Real(0.5), Real(2));
  // k is at most 1100: eleven binary digits, highest first would overflow early; lowest first is exact
  for (int bit = 0; bit < 11; bit++) {
    const Real half = n * Real(0.5);
    const Real floor_half = round_nearest(half - Real(0.25));
    const auto set = (half - floor_half) > Real(0.25);
    r = select(set, r * step, r);
    n = floor_half;
    step = select(n > Real(0), step * step, step);
  }
  return r;
}

template <class Real>
DS_HD Real exp(const Real& x) {
  const bool single = kSingle<Real>;
  const Real lo = single ? Real(-87.0) : Real(-708.0), hi = single ? Real(88.0) : Real(709.0);
  const Real xc = clamp(x, lo, hi);
  const Real k = round_nearest(xc * Real(1.44269504088896340736));
  Real r, p;
  if constexpr (kSingle<Real>) {
    r = fma(k, Real(-0.693359375f), xc);
    r = fma(k, Real(2.12194440e-4f), r);
    p = horner(r, 5.0000001201e-1f, 1.6666665459e-1f, 4.1665795894e-2f, 8.3334519073e-3f, 1.3981999507e-3f,
               1.9875691500e-4f);
  } else {
    r = fma(k, Real(-6.93147180369123816490e-01), xc);
    r = fma(k, Real(-1.90821492927058770002e-10), r);
    p = horner(r, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
               1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0);
  }
  const Real e = fma(p, r * r, r) + Real(1);
  return e * exp2_integer(k);
}

// natural logarithm of x > 0; a very negative number otherwise
template <class Real>
DS_HD Real log(const Real& x) {
  const bool single = kSingle<Real>;
  const Real tiny = single ? Real(1.2e-38) : Real(2.3e-308);
  Real m = max(x, tiny), k(0);
  // bring the mantissa into [sqrt(1/2), sqrt(2)) by exact powers of two
  for (int bit = single ? 6 : 9; bit >= 0; bit--) {
    const ScalarOf<Real> up = static_cast<ScalarOf<Real>>(1ull << (bit > 5 ? 32 : 1 << bit));
    Real big(up);
    for (int i = 6; i <= bit; i++) big = big * big;
    const Real e(static_cast<ScalarOf<Real>>(1 << bit));
    const auto large = m >= big;
    m = select(large, m / big, m);
    k = select(large, k + e, k);
    const auto small = m * big <= Real(1);
    m = select(small, m * big, m);
    k = select(small, k - e, k);
  }
  const auto above = m > Real(1.41421356237309504880);
  m = select(above, m * Real(0.5), m);
  k = select(above, k + Real(1), k);
  const auto below = m < Real(0.70710678118654752440);
  m = select(below, m * Real(2), m);
  k = select(below, k - Real(1), k);
  // log m = 2 atanh((m - 1)/(m + 1)), as a series in s^2
  const Real s = (m - Real(1)) / (m + Real(1)), z = s * s;
  Real p;
  if constexpr (kSingle<Real>)
    p = horner(z, 1.f / 3, 1.f / 5, 1.f / 7, 1.f / 9, 1.f / 11);
  else
    p = horner(z, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19,
               1.0 / 21, 1.0 / 23);
  const Real lm = Real(2) * fma(p * z, s, s);
  return fma(k, Real(0.69314718055994530942), lm);
}

// x^y for x >= 0; 0^y = 0
template <class Real>
DS_HD Real pow(const Real& x, const Real& y) {
  return select(x > Real(0), exp(y * log(x)), Real(0));
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
