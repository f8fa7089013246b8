// PTX ISA, "Integer Arithmetic Instructions".
#include "instructions/arithmetic.h"

namespace ptx_interpreter {
namespace {

struct MultiplyHigh {
  template <class T>
  static T of(T a, T b) {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
  }
};
struct Remainder {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return 0;
    return a % b;
  }
};
template <class F, class T>
void divided(Thread& t, const Op& o) {
  if (get<T>(t, o.r[2]) == 0) fault(t, "an integer is divided by zero");
  binary<F, T>(t, o);
}
// the product or what it is added to has twice the width
template <class T>
struct Twice;
template <>
struct Twice<u16> : std::type_identity<u32> {};
template <>
struct Twice<s16> : std::type_identity<s32> {};
template <>
struct Twice<u32> : std::type_identity<u64> {};
template <>
struct Twice<s32> : std::type_identity<s64> {};

template <class T>
void multiply_wide(Thread& t, const Op& o) {
  using W = typename Twice<T>::type;
  put<W>(t, o.r[0], static_cast<W>(get<T>(t, o.r[1])) * static_cast<W>(get<T>(t, o.r[2])));
}
template <class T>
void multiply_add_wide(Thread& t, const Op& o) {
  using W = typename Twice<T>::type;
  put<W>(
      t, o.r[0],
      Add::of<W>(static_cast<W>(get<T>(t, o.r[1])) * static_cast<W>(get<T>(t, o.r[2])), get<W>(t, o.r[3])));
}
template <class F, class T>
void multiply_add(Thread& t, const Op& o) {
  put<T>(t, o.r[0], Add::of<T>(F::template of<T>(get<T>(t, o.r[1]), get<T>(t, o.r[2])), get<T>(t, o.r[3])));
}
template <class T>
void extract_bits(Thread& t, const Op& o) {
  constexpr u32 kBits = 8 * sizeof(T);
  const std::make_unsigned_t<T> a = get<std::make_unsigned_t<T>>(t, o.r[1]);
  const u32 from = get<u32>(t, o.r[2]) & 0xff, count = get<u32>(t, o.r[3]) & 0xff;
  const u32 top = std::min(from + count - 1, kBits - 1);
  const bool sign = std::is_signed_v<T> && count > 0 && (a >> top & 1);
  std::make_unsigned_t<T> d = 0;
  for (u32 i = 0; i < kBits; ++i)
    if (i < count && from + i < kBits ? (a >> (from + i) & 1) != 0 : sign)
      d |= std::make_unsigned_t<T>(1) << i;
  put(t, o.r[0], d);
}
template <class T>
void insert_bits(Thread& t, const Op& o) {
  const u32 from = get<u32>(t, o.r[3]) & 0xff, count = get<u32>(t, o.r[4]) & 0xff;
  const T a = get<T>(t, o.r[1]);
  T d = get<T>(t, o.r[2]);
  for (u32 i = 0; i < count && from + i < 8 * sizeof(T); ++i)
    d = (d & ~(T(1) << (from + i))) | ((a >> i & 1) << (from + i));
  put(t, o.r[0], d);
}
template <class T, bool kShift>
void find_bit(Thread& t, const Op& o) {
  using U = std::make_unsigned_t<T>;
  U a = get<U>(t, o.r[1]);
  if (std::is_signed_v<T> && (a >> (8 * sizeof(T) - 1))) a = ~a;
  const u32 zeros = static_cast<u32>(std::countl_zero(a)), top = 8 * sizeof(T) - 1;
  put<u32>(t, o.r[0], a == 0 ? ~0u : kShift ? zeros : top - zeros);
}
template <class T>
void reverse_bits(Thread& t, const Op& o) {
  T a = get<T>(t, o.r[1]), d = 0;
  for (size_t i = 0; i < 8 * sizeof(T); ++i, a >>= 1) d = static_cast<T>(d << 1 | (a & 1));
  put(t, o.r[0], d);
}
template <class T>
void count_zeros(Thread& t, const Op& o) {
  put<u32>(t, o.r[0], static_cast<u32>(std::countl_zero(get<T>(t, o.r[1]))));
}
template <class T>
void count_ones(Thread& t, const Op& o) {
  put<u32>(t, o.r[0], static_cast<u32>(std::popcount(get<T>(t, o.r[1]))));
}
// `count` ones from `from` on
template <bool kWrap>
void bit_mask(Thread& t, const Op& o) {
  const u32 a = get<u32>(t, o.r[1]), b = get<u32>(t, o.r[2]), from = kWrap ? a & 31 : a,
            count = kWrap ? b & 31 : b;
  u32 d = 0;
  for (u32 i = 0; i < 32; ++i)
    if (i >= from && i - from < count) d |= 1u << i;
  put(t, o.r[0], d);
}

// mul.wide, mul.lo, mul.hi, and the same with a sum
Decoded decode_multiply_wide(const Name& name, bool adds) {
  const std::string& type = name.last();
  if (type == "u16") return plain(adds ? multiply_add_wide<u16> : multiply_wide<u16>);
  if (type == "s16") return plain(adds ? multiply_add_wide<s16> : multiply_wide<s16>);
  if (type == "u32") return plain(adds ? multiply_add_wide<u32> : multiply_wide<u32>);
  if (type == "s32") return plain(adds ? multiply_add_wide<s32> : multiply_wide<s32>);
  unknown(name.whole);
}
template <bool kAdds>
Decoded decode_multiply(const Name& name) {
  if (name.has("wide")) return decode_multiply_wide(name, kAdds);
  if (!name.has("lo") && !name.has("hi")) unknown(name.whole);
  return plain(with_integer(name.last(), name, [&]<class T>() -> Execute {
    if (name.has("hi")) return kAdds ? multiply_add<MultiplyHigh, T> : binary<MultiplyHigh, T>;
    return kAdds ? multiply_add<Multiply, T> : binary<Multiply, T>;
  }));
}
template <class F>
Decoded decode_division(const Name& name) {
  return plain(with_integer(name.last(), name, []<class T>() -> Execute { return divided<F, T>; }));
}
Decoded decode_extract(const Name& name) {
  return plain(with_integer(name.last(), name, []<class T>() -> Execute { return extract_bits<T>; }));
}
Decoded decode_insert(const Name& name) {
  if (name.last() == "b32") return plain(insert_bits<u32>);
  if (name.last() == "b64") return plain(insert_bits<u64>);
  unknown(name.whole);
}
Decoded decode_find(const Name& name) {
  const bool shift = name.has("shiftamt");
  return plain(with_integer(name.last(), name, [&]<class T>() -> Execute {
    return shift ? find_bit<T, true> : find_bit<T, false>;
  }));
}
Decoded decode_mask(const Name& name) { return plain(name.has("wrap") ? bit_mask<true> : bit_mask<false>); }
template <Execute kOf32, Execute kOf64>
Decoded by_width(const Name& name) {
  return plain(name.last() == "b32" ? kOf32 : kOf64);
}

}  // namespace

const Chapter& integer_arithmetic() {
  static const Chapter kChapter = {
      {"add", binary_integer<Add>},
      {"sub", binary_integer<Subtract>},
      {"mul", decode_multiply<false>},
      {"mad", decode_multiply<true>},
      {"div", decode_division<Divide>},
      {"rem", decode_division<Remainder>},
      {"abs", unary_integer<Absolute>},
      {"neg", unary_integer<Negate>},
      {"min", binary_integer<Minimum>},
      {"max", binary_integer<Maximum>},
      {"popc", by_width<count_ones<u32>, count_ones<u64>>},
      {"clz", by_width<count_zeros<u32>, count_zeros<u64>>},
      {"bfind", decode_find},
      {"brev", by_width<reverse_bits<u32>, reverse_bits<u64>>},
      {"bfe", decode_extract},
      {"bfi", decode_insert},
      {"bmsk", decode_mask},
  };
  return kChapter;
}

}  // namespace ptx_interpreter
