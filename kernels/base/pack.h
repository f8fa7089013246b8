// Pack<T, N>: N environments side by side in one SIMD register, on compiler vector extensions.
// Masks are integer vectors of the element's width, or mask registers where AVX-512 fills one exactly.
// Included by real.h only.
#pragma once

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class T>
struct WordOf;
template <>
struct WordOf<float> {
  using type = int;
};
template <>
struct WordOf<double> {
  using type = long long;
};

template <class T, int N>
struct VectorTypes {
  typedef T Value __attribute__((vector_size(sizeof(T) * N)));
  typedef typename WordOf<T>::type Word __attribute__((vector_size(sizeof(T) * N)));
  typedef int Index __attribute__((vector_size(4 * N)));
};

template <int N>
struct IntPack {
  typename VectorTypes<float, N>::Index v;
  IntPack() = default;
  DS_HD IntPack(int x) : v(typename VectorTypes<float, N>::Index{} + x) {}
  DS_HD IntPack(const typename VectorTypes<float, N>::Index& x) : v(x) {}
};
template <int N>
DS_HD IntPack<N> operator+(IntPack<N> a, const IntPack<N>& b) {
  a.v += b.v;
  return a;
}
template <int N>
DS_HD IntPack<N> operator*(IntPack<N> a, const IntPack<N>& b) {
  a.v *= b.v;
  return a;
}
template <int N>
DS_HD int lane_of(const IntPack<N>& x, int l) {
  return x.v[l];
}
template <int N>
DS_HD void set_lane(IntPack<N>& x, int l, int v) {
  x.v[l] = v;
}

// masks: bit l (or word l) is environment l
#if defined(__AVX512F__) && defined(__AVX512VL__)
#define DS_MASK_REGISTERS 1
template <class T, int N>
struct PackMask {
  unsigned bits;
};
template <class T, int N>
constexpr unsigned kFullMask = N == 32 ? ~0u : (1u << N) - 1u;
template <class T, int N>
DS_HD bool any(const PackMask<T, N>& m) {
  return m.bits != 0;
}
template <class T, int N>
DS_HD bool all(const PackMask<T, N>& m) {
  return m.bits == kFullMask<T, N>;
}
template <class T, int N>
DS_HD PackMask<T, N> mask_and(PackMask<T, N> a, PackMask<T, N> b) {
  return {a.bits & b.bits};
}
template <class T, int N>
DS_HD PackMask<T, N> mask_or(PackMask<T, N> a, PackMask<T, N> b) {
  return {a.bits | b.bits};
}
template <class T, int N>
DS_HD PackMask<T, N> mask_not(PackMask<T, N> a) {
  return {~a.bits & kFullMask<T, N>};
}
template <class T, int N>
DS_HD unsigned mask_word(PackMask<T, N> m) {
  return m.bits;
}
template <class P>
requires(kPackSize<P> > 1) DS_HD MaskOf<P> mask_of_word(unsigned bits) { return {bits}; }
#else
#define DS_MASK_REGISTERS 0
template <class T, int N>
struct PackMask {
  typename VectorTypes<T, N>::Word w;
};
template <class T, int N>
DS_HD unsigned mask_word(const PackMask<T, N>& m) {
#if defined(__AVX2__)
  if constexpr (sizeof(T) * N == 32 && sizeof(T) == 4)
    return static_cast<unsigned>(_mm256_movemask_ps((__m256)m.w));
  if constexpr (sizeof(T) * N == 32 && sizeof(T) == 8)
    return static_cast<unsigned>(_mm256_movemask_pd((__m256d)m.w));
#endif
  // through memory: GCC 12 loses the counter of a loop over w[l] under the address sanitizer
  typename WordOf<T>::type words[N];
  std::memcpy(words, &m.w, sizeof words);
  unsigned bits = 0;
  for (int l = 0; l < N; l++) bits |= (words[l] ? 1u : 0u) << l;
  return bits;
}
template <class P>
requires(kPackSize<P> > 1) DS_HD MaskOf<P> mask_of_word(unsigned bits) {
  // through memory, as in mask_word()
  typename WordOf<ScalarOf<P>>::type words[kPackSize<P>];
  for (int l = 0; l < kPackSize<P>; l++) words[l] = (bits >> l) & 1u ? -1 : 0;
  MaskOf<P> m;
  std::memcpy(&m.w, words, sizeof words);
  return m;
}
template <class T, int N>
DS_HD bool any(const PackMask<T, N>& m) {
  return mask_word(m) != 0;
}
template <class T, int N>
DS_HD bool all(const PackMask<T, N>& m) {
  return mask_word(m) == (1u << N) - 1u;
}
template <class T, int N>
DS_HD PackMask<T, N> mask_and(const PackMask<T, N>& a, const PackMask<T, N>& b) {
  return {a.w & b.w};
}
template <class T, int N>
DS_HD PackMask<T, N> mask_or(const PackMask<T, N>& a, const PackMask<T, N>& b) {
  return {a.w | b.w};
}
template <class T, int N>
DS_HD PackMask<T, N> mask_not(const PackMask<T, N>& a) {
  return {~a.w};
}
#endif
template <class T, int N>
DS_HD bool mask_bit(const PackMask<T, N>& m, int l) {
  return (mask_word(m) >> l) & 1u;
}

template <class T, int N>
struct Pack {
  using V = typename VectorTypes<T, N>::Value;
  V v;
  Pack() = default;
  // x - 0 is x for every x, -0 included, and costs nothing; x + 0 is not
  DS_HD Pack(T x) : v(x - V{}) {}
  // a literal of another arithmetic type: Pack(0), Pack(0.5)
  template <class U>
  DS_HD explicit Pack(U x) : v(static_cast<T>(x) - V{}) {}
  static DS_HD Pack from(const V& x) {
    Pack p;
    p.v = x;
    return p;
  }
};

template <class T, int N>
struct RealTraits<Pack<T, N>> {
  using Scalar = T;
  using Mask = PackMask<T, N>;
  using Int = IntPack<N>;
  static constexpr int kSize = N;
};

#define DS_PACK_OPERATOR(op)                                               \
  template <class T, int N>                                                \
  DS_HD Pack<T, N> operator op(const Pack<T, N>& a, const Pack<T, N>& b) { \
    return Pack<T, N>::from(a.v op b.v);                                   \
  }                                                                        \
  template <class T, int N>                                                \
  DS_HD Pack<T, N>& operator op##=(Pack<T, N>& a, const Pack<T, N>& b) {   \
    a.v = a.v op b.v;                                                      \
    return a;                                                              \
  }
DS_PACK_OPERATOR(+)
DS_PACK_OPERATOR(-)
DS_PACK_OPERATOR(*)
DS_PACK_OPERATOR(/)
#undef DS_PACK_OPERATOR
template <class T, int N>
DS_HD Pack<T, N> operator-(const Pack<T, N>& a) {
  return Pack<T, N>::from(-a.v);
}

#if DS_MASK_REGISTERS
template <int kPredicate, class T, int N>
DS_HD PackMask<T, N> compare(const Pack<T, N>& a, const Pack<T, N>& b) {
  if constexpr (sizeof(T) == 4 && N == 16)
    return {_mm512_cmp_ps_mask((__m512)a.v, (__m512)b.v, kPredicate)};
  else if constexpr (sizeof(T) == 4 && N == 8)
    return {_mm256_cmp_ps_mask((__m256)a.v, (__m256)b.v, kPredicate)};
  else if constexpr (sizeof(T) == 8 && N == 8)
    return {_mm512_cmp_pd_mask((__m512d)a.v, (__m512d)b.v, kPredicate)};
  else
    return {_mm256_cmp_pd_mask((__m256d)a.v, (__m256d)b.v, kPredicate)};
}
#define DS_PACK_COMPARE(op, predicate)                                         \
  template <class T, int N>                                                    \
  DS_HD PackMask<T, N> operator op(const Pack<T, N>& a, const Pack<T, N>& b) { \
    return compare<predicate>(a, b);                                           \
  }
DS_PACK_COMPARE(<, _CMP_LT_OQ)
DS_PACK_COMPARE(<=, _CMP_LE_OQ)
DS_PACK_COMPARE(>, _CMP_GT_OQ)
DS_PACK_COMPARE(>=, _CMP_GE_OQ)
DS_PACK_COMPARE(==, _CMP_EQ_OQ)
DS_PACK_COMPARE(!=, _CMP_NEQ_UQ)
#undef DS_PACK_COMPARE
template <class T, int N>
DS_HD Pack<T, N> select(PackMask<T, N> m, const Pack<T, N>& a, const Pack<T, N>& b) {
  using V = typename Pack<T, N>::V;
  if constexpr (sizeof(T) == 4 && N == 16)
    return Pack<T, N>::from(
        (V)_mm512_mask_blend_ps(static_cast<__mmask16>(m.bits), (__m512)b.v, (__m512)a.v));
  else if constexpr (sizeof(T) == 4 && N == 8)
    return Pack<T, N>::from((V)_mm256_mask_blend_ps(static_cast<__mmask8>(m.bits), (__m256)b.v, (__m256)a.v));
  else if constexpr (sizeof(T) == 8 && N == 8)
    return Pack<T, N>::from(
        (V)_mm512_mask_blend_pd(static_cast<__mmask8>(m.bits), (__m512d)b.v, (__m512d)a.v));
  else
    return Pack<T, N>::from(
        (V)_mm256_mask_blend_pd(static_cast<__mmask8>(m.bits), (__m256d)b.v, (__m256d)a.v));
}
template <class T, int N>
DS_HD IntPack<N> select(PackMask<T, N> m, const IntPack<N>& a, const IntPack<N>& b) {
  using V = typename VectorTypes<float, N>::Index;
  if constexpr (N == 16)
    return {(V)_mm512_mask_blend_epi32(static_cast<__mmask16>(m.bits), (__m512i)b.v, (__m512i)a.v)};
  else
    return {(V)_mm256_mask_blend_epi32(static_cast<__mmask8>(m.bits), (__m256i)b.v, (__m256i)a.v)};
}
// the elements of a comparison of integers, as bits
template <int N>
DS_HD unsigned bits_of(const typename VectorTypes<float, N>::Index& holds) {
  if constexpr (N == 16)
    return _mm512_test_epi32_mask((__m512i)holds, (__m512i)holds);
  else
    return _mm256_test_epi32_mask((__m256i)holds, (__m256i)holds);
}
#else
#define DS_PACK_COMPARE(op)                                                    \
  template <class T, int N>                                                    \
  DS_HD PackMask<T, N> operator op(const Pack<T, N>& a, const Pack<T, N>& b) { \
    return {a.v op b.v};                                                       \
  }
DS_PACK_COMPARE(<)
DS_PACK_COMPARE(<=)
DS_PACK_COMPARE(>)
DS_PACK_COMPARE(>=)
DS_PACK_COMPARE(==)
DS_PACK_COMPARE(!=)
#undef DS_PACK_COMPARE
template <class T, int N>
DS_HD Pack<T, N> select(const PackMask<T, N>& m, const Pack<T, N>& a, const Pack<T, N>& b) {
  return Pack<T, N>::from(m.w ? a.v : b.v);
}
template <class T, int N>
DS_HD IntPack<N> select(const PackMask<T, N>& m, const IntPack<N>& a, const IntPack<N>& b) {
  // all at once: of a loop over w[l], GCC 12 at -O3 makes other numbers (AVX2, with its vectorizer)
  IntPack<N> r;
  r.v = __builtin_convertvector(m.w, typename VectorTypes<float, N>::Index) ? a.v : b.v;
  return r;
}
template <int N>
DS_HD unsigned bits_of(const typename VectorTypes<float, N>::Index& holds) {
  return mask_word(PackMask<float, N>{holds});
}
#endif
template <int N>
DS_HD unsigned word_where_equal(const IntPack<N>& a, int b) {
  return bits_of<N>(a.v == b);
}
template <int N>
DS_HD unsigned word_where_above(const IntPack<N>& a, int b) {
  return bits_of<N>(a.v > b);
}
template <int N>
DS_HD IntPack<N> at_most(const IntPack<N>& a, int b) {
  IntPack<N> r;
  r.v = a.v < b ? a.v : IntPack<N>(b).v;
  return r;
}

#if defined(__SSE2__) && !defined(__FMA__)
#define DS_FMA_BY_DOUBLES 1
// a b + c with one rounding, for processors that have no such instruction. The product of two floats is exact
// in double; its sum with c is rounded to odd there (the neighbour with an odd last bit wherever it is not
// exact), after which rounding to float gives what one rounding would have (Boldo & Melquiond 2008, since
// 53 >= 24 + 2 bits)
DS_HD __m128d sum_to_odd(const __m128d& x, const __m128d& y) {
  const __m128d sum = _mm_add_pd(x, y), part = _mm_sub_pd(sum, x), zero = _mm_setzero_pd();
  const __m128d lost = _mm_add_pd(_mm_sub_pd(x, _mm_sub_pd(sum, part)), _mm_sub_pd(y, part));
  const __m128i bits = _mm_castpd_si128(sum), one = _mm_set1_epi64x(1);
  const __m128i inexact = _mm_castpd_si128(_mm_or_pd(_mm_cmplt_pd(lost, zero), _mm_cmpgt_pd(lost, zero)));
  const __m128i even = _mm_sub_epi64(_mm_and_si128(bits, one), one);
  // all bits of a word where the rest points towards zero
  const __m128i signs = _mm_srai_epi32(_mm_xor_si128(bits, _mm_castpd_si128(lost)), 31);
  const __m128i outwards = _mm_or_si128(_mm_shuffle_epi32(signs, 0xf5), one);
  return _mm_castsi128_pd(_mm_add_epi64(bits, _mm_and_si128(outwards, _mm_and_si128(inexact, even))));
}
DS_HD __m128 fma_by_doubles(const __m128& a, const __m128& b, const __m128& c) {
  const auto half = [](const __m128& x, const __m128& y, const __m128& z) {
    return _mm_cvtpd_ps(sum_to_odd(_mm_mul_pd(_mm_cvtps_pd(x), _mm_cvtps_pd(y)), _mm_cvtps_pd(z)));
  };
  return _mm_movelh_ps(half(a, b, c), half(_mm_movehl_ps(a, a), _mm_movehl_ps(b, b), _mm_movehl_ps(c, c)));
}
#endif

// a function that is called, since inlined everywhere it would be most of the code
template <class T, int N>
__attribute__((noinline)) Pack<T, N> fma_without_instruction(const Pack<T, N>& a, const Pack<T, N>& b,
                                                             const Pack<T, N>& c) {
  Pack<T, N> r;
#ifdef DS_FMA_BY_DOUBLES
  if constexpr (sizeof(T) == 4 && N % 4 == 0) {
    __m128 x, y, z;
    for (int l = 0; l < N; l += 4) {
      std::memcpy(&x, reinterpret_cast<const char*>(&a.v) + 4 * l, 16);
      std::memcpy(&y, reinterpret_cast<const char*>(&b.v) + 4 * l, 16);
      std::memcpy(&z, reinterpret_cast<const char*>(&c.v) + 4 * l, 16);
      x = fma_by_doubles(x, y, z);
      std::memcpy(reinterpret_cast<char*>(&r.v) + 4 * l, &x, 16);
    }
    return r;
  }
#endif
  for (int l = 0; l < N; l++) r.v[l] = fma(a.v[l], b.v[l], c.v[l]);
  return r;
}

template <class T, int N>
DS_HD Pack<T, N> fma(const Pack<T, N>& a, const Pack<T, N>& b, const Pack<T, N>& c) {
  using V [[maybe_unused]] = typename Pack<T, N>::V;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4 && N == 16)
    return Pack<T, N>::from((V)_mm512_fmadd_ps((__m512)a.v, (__m512)b.v, (__m512)c.v));
  if constexpr (sizeof(T) == 8 && N == 8)
    return Pack<T, N>::from((V)_mm512_fmadd_pd((__m512d)a.v, (__m512d)b.v, (__m512d)c.v));
#endif
#if defined(__FMA__)
  if constexpr (sizeof(T) == 4 && N == 8)
    return Pack<T, N>::from((V)_mm256_fmadd_ps((__m256)a.v, (__m256)b.v, (__m256)c.v));
  if constexpr (sizeof(T) == 8 && N == 4)
    return Pack<T, N>::from((V)_mm256_fmadd_pd((__m256d)a.v, (__m256d)b.v, (__m256d)c.v));
#endif
  return fma_without_instruction(a, b, c);
}
template <class T, int N>
DS_HD Pack<T, N> sqrt(const Pack<T, N>& a) {
  using V [[maybe_unused]] = typename Pack<T, N>::V;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4 && N == 16)
    return Pack<T, N>::from((V)_mm512_maskz_sqrt_ps(__mmask16(0xffff), (__m512)a.v));
  if constexpr (sizeof(T) == 8 && N == 8)
    return Pack<T, N>::from((V)_mm512_maskz_sqrt_pd(__mmask8(0xff), (__m512d)a.v));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 4 && N == 8) return Pack<T, N>::from((V)_mm256_sqrt_ps((__m256)a.v));
  if constexpr (sizeof(T) == 8 && N == 4) return Pack<T, N>::from((V)_mm256_sqrt_pd((__m256d)a.v));
#endif
  Pack<T, N> r;
  for (int l = 0; l < N; l++) r.v[l] = sqrt(a.v[l]);
  return r;
}
template <class T, int N>
DS_HD Pack<T, N> abs(const Pack<T, N>& a) {
  using W = typename VectorTypes<T, N>::Word;
  using V = typename Pack<T, N>::V;
  constexpr auto kMagnitude = static_cast<typename WordOf<T>::type>(~(1ull << (8 * sizeof(T) - 1)));
  return Pack<T, N>::from((V)((W)a.v & (W{} + kMagnitude)));
}
template <class T, int N>
DS_HD T lane_of(const Pack<T, N>& x, int l) {
  return x.v[l];
}
template <class T, int N>
DS_HD void set_lane(Pack<T, N>& x, int l, T v) {
  x.v[l] = v;
}
template <class P>
requires(RealTraits<P>::kSize > 1) DS_HD P load_pack(const ScalarOf<P>* p) {
  P x;
  __builtin_memcpy(&x.v, p, sizeof(x.v));
  return x;
}
template <class T, int N>
DS_HD void store_pack(T* p, const Pack<T, N>& x) {
  __builtin_memcpy(p, &x.v, sizeof(x.v));
}

// the greatest element, in every place: the pack and itself moved by half of its size, by a quarter and so on
template <int kBy, class V, size_t... k>
DS_HD V rotated(const V& x, std::index_sequence<k...>) {
  return __builtin_shufflevector(x, x, (k + kBy)...);
}
template <int kBy, class T, int N>
DS_HD Pack<T, N> greatest_by(const Pack<T, N>& x) {
  if constexpr (kBy == 0)
    return x;
  else
    return greatest_by<kBy / 2>(
        max(x, Pack<T, N>::from(rotated<kBy>(x.v, std::make_index_sequence<static_cast<size_t>(N)>{}))));
}
template <class T, int N>
DS_HD Pack<T, N> greatest(const Pack<T, N>& x) {
  return greatest_by<N / 2>(x);
}

template <class P>
requires(kPackSize<P> > 1) DS_HD IntOf<P> without_fraction(const P& x) {
  return __builtin_convertvector(x.v, typename VectorTypes<float, kPackSize<P>>::Index);
}
template <class P>
requires(kPackSize<P> > 1) DS_HD P gather(const ScalarOf<P>* p, const IntOf<P>& i) {
#if defined(__AVX512F__)
  if constexpr (kSingle<P> && kPackSize<P> == 16)
    return P::from(
        (typename P::V)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), __mmask16(0xffff), (__m512i)i.v, p, 4));
#endif
#if defined(__AVX2__)
  if constexpr (kSingle<P> && kPackSize<P> == 8)
    return P::from((typename P::V)_mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, (__m256i)i.v,
                                                           _mm256_castsi256_ps(_mm256_set1_epi32(-1)), 4));
#endif
  P x;
  for (int l = 0; l < kPackSize<P>; l++) set_lane(x, l, p[lane_of(i, l)]);
  return x;
}

// element l of x[i] changes places with element i of x[l]: rows of memory become packs, and packs rows. Pairs
// of rows that are N / 2 apart are interleaved, log2 N times
template <int kFirst, class V, size_t... k>
DS_HD V interleave(const V& a, const V& b, std::index_sequence<k...>) {
  constexpr size_t kSize = sizeof...(k);
  return __builtin_shufflevector(a, b, (kFirst + k / 2 + k % 2 * kSize)...);
}
template <class T, int N>
DS_HD void transpose(Pack<T, N> (&x)[N]) {
  using Entries = std::make_index_sequence<N>;
  for (int stage = 1; stage < N; stage *= 2) {
    Pack<T, N> y[N];
    DS_UNROLL
    for (int i = 0; i < N / 2; i++) {
      y[2 * i].v = interleave<0>(x[i].v, x[i + N / 2].v, Entries{});
      y[2 * i + 1].v = interleave<N / 2>(x[i].v, x[i + N / 2].v, Entries{});
    }
    DS_UNROLL
    for (int i = 0; i < N; i++) x[i] = y[i];
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
