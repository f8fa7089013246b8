// What each PTX instruction does to one thread. Those that threads do together only stop the thread here;
// machine.cpp does them when all have come.
//
// Rounding is what this file is strict about: arithmetic in floating point must say .rn, since a compiler may
// join a multiplication and an addition that do not, and nothing may be approximate or flush small numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include "machine.h"
#include "ptx.h"

namespace ptx_interpreter {
namespace {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;

template <class T>
T get(const Thread& t, Ref r) {
  T value;
  std::memcpy(&value, &t.slot(r), sizeof value);
  return value;
}
template <class T>
void put(Thread& t, Ref r, T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (value != value) value = std::bit_cast<float>(0x7fffffffu);  // the one NaN that a GPU makes
  }
  u64 word = 0;
  std::memcpy(&word, &value, sizeof value);
  t.registers[r] = word;
}
bool predicate(const Thread& t, Ref r) { return t.slot(r) != 0; }
void put_predicate(Thread& t, Ref r, bool value) {
  if (r != kNone) t.registers[r] = value;
}
// of a value that may be narrower than its register
template <class T>
void put_extended(Thread& t, Ref r, T value) {
  if constexpr (std::is_signed_v<T>)
    t.registers[r] = static_cast<u64>(static_cast<s64>(value));
  else
    t.registers[r] = static_cast<u64>(value);
}

// names --------------------------------------------------------------------------------------------------

struct Name {
  std::string whole;
  std::vector<std::string> parts;
  bool has(std::string_view part) const {
    return std::find(parts.begin() + 1, parts.end(), part) != parts.end();
  }
  const std::string& last() const { return parts.back(); }
  const std::string& before_last() const { return parts[parts.size() - 2]; }
};
[[noreturn]] void unknown(const std::string& name, const char* why = "is not simulated") {
  throw PtxError("instruction " + name + " " + why);
}
Name split(const std::string& whole) {
  Name name{whole, {}};
  size_t from = 0;
  while (from <= whole.size()) {
    const size_t dot = std::min(whole.find('.', from), whole.size());
    name.parts.push_back(whole.substr(from, dot - from));
    from = dot + 1;
  }
  return name;
}

template <class F>
Execute with_integer(const std::string& type, const Name& name, F f) {
  if (type == "u16" || type == "b16") return f.template operator()<u16>();
  if (type == "s16") return f.template operator()<s16>();
  if (type == "u32" || type == "b32") return f.template operator()<u32>();
  if (type == "s32") return f.template operator()<s32>();
  if (type == "u64" || type == "b64") return f.template operator()<u64>();
  if (type == "s64") return f.template operator()<s64>();
  unknown(name.whole);
}
template <class F>
Execute with_float(const std::string& type, const Name& name, F f) {
  if (type == "f32") return f.template operator()<float>();
  if (type == "f64") return f.template operator()<double>();
  unknown(name.whole);
}
bool is_float(const std::string& type) { return type[0] == 'f'; }
template <class F>
Execute with_number(const std::string& type, const Name& name, F f) {
  return is_float(type) ? with_float(type, name, f) : with_integer(type, name, f);
}

// arithmetic -----------------------------------------------------------------------------------------------

template <class T>
using Wrapping =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

struct Add {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct Subtract {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};
struct Multiply {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b));
    else
      return a * b;
  }
};
struct MultiplyHigh {
  template <class T>
  static T of(T a, T b) {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
  }
};
struct Divide {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
      if (b == -1) return Subtract::of<T>(0, a);
    return a / b;
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
// of numbers in floating point: the one that is a number, and -0 below +0
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return b;
      if (b != b) return a;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return b;
      if (b != b) return a;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a < b ? b : a;
  }
};
struct And {
  template <class T>
  static T of(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <class T>
  static T of(T a, T b) {
    return a ^ b;
  }
};
// bits of a sign
struct CopySign {
  template <class T>
  static T of(T a, T b) {
    return std::copysign(b, a);
  }
};

template <class F, class T>
void binary(Thread& t, const Op& o) {
  put<T>(t, o.r[0], F::template of<T>(get<T>(t, o.r[1]), get<T>(t, o.r[2])));
}
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
void fused(Thread& t, const Op& o) {
  put<T>(t, o.r[0], std::fma(get<T>(t, o.r[1]), get<T>(t, o.r[2]), get<T>(t, o.r[3])));
}

struct Negate {
  template <class T>
  static T of(T a) {
    if constexpr (std::is_integral_v<T>)
      return Subtract::of<T>(0, a);
    else
      return -a;
  }
};
struct Absolute {
  template <class T>
  static T of(T a) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(a);
    else if constexpr (std::is_signed_v<T>)
      return a < 0 ? Subtract::of<T>(0, a) : a;
    else
      return a;
  }
};
struct Root {
  template <class T>
  static T of(T a) {
    return std::sqrt(a);
  }
};
struct Reciprocal {
  template <class T>
  static T of(T a) {
    return T(1) / a;
  }
};
struct Not {
  template <class T>
  static T of(T a) {
    return static_cast<T>(~a);
  }
};
struct Same {
  template <class T>
  static T of(T a) {
    return a;
  }
};
template <class F, class T>
void unary(Thread& t, const Op& o) {
  put<T>(t, o.r[0], F::template of<T>(get<T>(t, o.r[1])));
}
// words are copied as they are, NaNs too
void copy(Thread& t, const Op& o) { t.registers[o.r[0]] = t.slot(o.r[1]); }

// bits -----------------------------------------------------------------------------------------------------

template <class T>
void shift_left(Thread& t, const Op& o) {
  const u32 by = get<u32>(t, o.r[2]);
  put<T>(t, o.r[0], by >= 8 * sizeof(T) ? T(0) : static_cast<T>(get<T>(t, o.r[1]) << by));
}
template <class T>
void shift_right(Thread& t, const Op& o) {
  const u32 by = std::min<u32>(get<u32>(t, o.r[2]), 8 * sizeof(T));
  const T a = get<T>(t, o.r[1]);
  if (by == 8 * sizeof(T))
    put<T>(t, o.r[0], static_cast<T>(std::is_signed_v<T> && a < T(0) ? -1 : 0));
  else
    put<T>(t, o.r[0], static_cast<T>(a >> by));
}
template <bool kLeft, bool kWrap>
void funnel(Thread& t, const Op& o) {
  const u64 both = static_cast<u64>(get<u32>(t, o.r[2])) << 32 | get<u32>(t, o.r[1]);
  const u32 given = get<u32>(t, o.r[3]), by = kWrap ? given & 31 : std::min<u32>(given, 32);
  put<u32>(t, o.r[0], static_cast<u32>(kLeft ? both >> (32 - by) : both >> by));
}
void logic3(Thread& t, const Op& o) {
  const u32 a = get<u32>(t, o.r[1]), b = get<u32>(t, o.r[2]), c = get<u32>(t, o.r[3]),
            table = get<u32>(t, o.r[4]);
  u32 d = 0;
  for (u32 i = 0; i < 8; ++i)
    if (table >> i & 1) d |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  put(t, o.r[0], d);
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
void permute_bytes(Thread& t, const Op& o) {
  const u64 both = static_cast<u64>(get<u32>(t, o.r[2])) << 32 | get<u32>(t, o.r[1]);
  const u32 selector = get<u32>(t, o.r[3]);
  u32 d = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 pick = selector >> (4 * i) & 15;
    u32 byte = static_cast<u32>(both >> (8 * (pick & 7))) & 0xff;
    if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
    d |= byte << (8 * i);
  }
  put(t, o.r[0], d);
}

// comparisons ----------------------------------------------------------------------------------------------

enum class Compare { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };
enum class Join { kNone, kAnd, kOr, kXor };

template <Compare kCompare, class T>
bool compare(T a, T b) {
  const bool nan = a != a || b != b;
  switch (kCompare) {
    case Compare::kEq:
      return a == b;
    case Compare::kNe:
      return !nan && a != b;
    case Compare::kLt:
      return a < b;
    case Compare::kLe:
      return a <= b;
    case Compare::kGt:
      return a > b;
    case Compare::kGe:
      return a >= b;
    case Compare::kEqu:
      return nan || a == b;
    case Compare::kNeu:
      return nan || a != b;
    case Compare::kLtu:
      return nan || a < b;
    case Compare::kLeu:
      return nan || a <= b;
    case Compare::kGtu:
      return nan || a > b;
    case Compare::kGeu:
      return nan || a >= b;
    case Compare::kNum:
      return !nan;
    case Compare::kNan:
      return nan;
  }
}
// p, q, a, b, and c where a predicate joins
template <Compare kCompare, Join kJoin, class T>
void set_predicate(Thread& t, const Op& o) {
  const bool found = compare<kCompare, T>(get<T>(t, o.r[2]), get<T>(t, o.r[3]));
  if constexpr (kJoin == Join::kNone) {
    put_predicate(t, o.r[0], found);
    put_predicate(t, o.r[1], !found);
  } else {
    const bool c = predicate(t, o.r[4]) != o.negated_source;
    const auto join = [c](bool a) {
      return kJoin == Join::kAnd ? a && c : kJoin == Join::kOr ? a || c : a != c;
    };
    put_predicate(t, o.r[0], join(found));
    put_predicate(t, o.r[1], join(!found));
  }
}
template <Compare kCompare>
Execute comparison(const Name& name, const std::string& type) {
  return with_number(type, name, [&]<class T>() -> Execute {
    if (name.has("and")) return set_predicate<kCompare, Join::kAnd, T>;
    if (name.has("or")) return set_predicate<kCompare, Join::kOr, T>;
    if (name.has("xor")) return set_predicate<kCompare, Join::kXor, T>;
    return set_predicate<kCompare, Join::kNone, T>;
  });
}
Execute decode_comparison(const Name& name) {
  const std::string& op = name.parts[1];
  const std::string& type = name.last();
  if (op == "eq") return comparison<Compare::kEq>(name, type);
  if (op == "ne") return comparison<Compare::kNe>(name, type);
  if (op == "lt" || op == "lo") return comparison<Compare::kLt>(name, type);
  if (op == "le" || op == "ls") return comparison<Compare::kLe>(name, type);
  if (op == "gt" || op == "hi") return comparison<Compare::kGt>(name, type);
  if (op == "ge" || op == "hs") return comparison<Compare::kGe>(name, type);
  if (op == "equ") return comparison<Compare::kEqu>(name, type);
  if (op == "neu") return comparison<Compare::kNeu>(name, type);
  if (op == "ltu") return comparison<Compare::kLtu>(name, type);
  if (op == "leu") return comparison<Compare::kLeu>(name, type);
  if (op == "gtu") return comparison<Compare::kGtu>(name, type);
  if (op == "geu") return comparison<Compare::kGeu>(name, type);
  if (op == "num") return comparison<Compare::kNum>(name, type);
  if (op == "nan") return comparison<Compare::kNan>(name, type);
  unknown(name.whole);
}
void select(Thread& t, const Op& o) {
  t.registers[o.r[0]] = t.slot(predicate(t, o.r[3]) != o.negated_source ? o.r[1] : o.r[2]);
}
template <class F>
void join_predicates(Thread& t, const Op& o) {
  put_predicate(t, o.r[0], F::template of<int>(predicate(t, o.r[1]), predicate(t, o.r[2])) != 0);
}
void not_predicate(Thread& t, const Op& o) { put_predicate(t, o.r[0], !predicate(t, o.r[1])); }
void copy_predicate(Thread& t, const Op& o) {
  put_predicate(t, o.r[0], predicate(t, o.r[1]) != o.negated_source);
}

// conversions ----------------------------------------------------------------------------------------------

enum class Round { kNearest, kZero, kDown, kUp };

template <Round kRound, class T>
T rounded(T a) {
  switch (kRound) {
    case Round::kNearest:
      return std::nearbyint(a);
    case Round::kZero:
      return std::trunc(a);
    case Round::kDown:
      return std::floor(a);
    case Round::kUp:
      return std::ceil(a);
  }
}
template <class D, class S>
void convert(Thread& t, const Op& o) {
  const D d = static_cast<D>(get<S>(t, o.r[1]));
  if constexpr (std::is_integral_v<D>)
    put_extended<D>(t, o.r[0], d);
  else
    put<D>(t, o.r[0], d);
}
template <class D, class S, Round kRound>
void convert_rounded(Thread& t, const Op& o) {
  const S a = rounded<kRound>(get<S>(t, o.r[1]));
  if constexpr (std::is_integral_v<D>) {
    using Limits = std::numeric_limits<D>;
    D d;
    if (a != a)
      d = 0;
    else if (a < static_cast<S>(Limits::min()))
      d = Limits::min();
    else if (a >= -2 * static_cast<S>(std::numeric_limits<std::make_signed_t<D>>::min()) /
                      (std::is_signed_v<D> ? 2 : 1))
      d = Limits::max();
    else
      d = static_cast<D>(a);
    put_extended<D>(t, o.r[0], d);
  } else {
    put<D>(t, o.r[0], static_cast<D>(a));
  }
}
template <class F>
Execute with_any(const std::string& type, const Name& name, F f) {
  if (type == "u8" || type == "b8") return f.template operator()<u8>();
  if (type == "s8") return f.template operator()<s8>();
  return with_number(type, name, f);
}
Execute decode_conversion(const Name& name) {
  const std::string &to = name.before_last(), &from = name.last();
  if (name.has("sat")) unknown(name.whole);
  return with_any(to, name, [&]<class D>() -> Execute {
    return with_any(from, name, [&]<class S>() -> Execute {
      if constexpr (std::is_floating_point_v<S>) {
        if (name.has("rni")) return convert_rounded<D, S, Round::kNearest>;
        if (name.has("rzi")) return convert_rounded<D, S, Round::kZero>;
        if (name.has("rmi")) return convert_rounded<D, S, Round::kDown>;
        if (name.has("rpi")) return convert_rounded<D, S, Round::kUp>;
        if constexpr (std::is_integral_v<D>) {
          unknown(name.whole);
        } else {
          if (sizeof(D) < sizeof(S) && !name.has("rn")) unknown(name.whole);
          return convert<D, S>;
        }
      } else {
        if (std::is_floating_point_v<D> && !name.has("rn")) unknown(name.whole);
        return convert<D, S>;
      }
    });
  });
}

// memory ---------------------------------------------------------------------------------------------------

enum class Where { kAbsolute, kShared, kFrame };

template <Where kWhere>
char* address(Thread& t, const Op& o, Ref base, size_t bytes) {
  if constexpr (kWhere == Where::kFrame) {
    return t.memory + o.offset;
  } else if constexpr (kWhere == Where::kShared) {
    const u64 at = (get<u64>(t, base) & 0xffffffffu) + static_cast<u64>(o.offset);
    if (at + bytes > t.block->shared_bytes)
      fault(t, "byte " + std::to_string(at) + " of shared memory, which has " +
                   std::to_string(t.block->shared_bytes));
    if (at % bytes) fault(t, "an address that is not aligned in shared memory");
    return t.block->shared + at;
  } else {
    const uintptr_t at = get<u64>(t, base) + static_cast<u64>(o.offset);
    char* const p = reinterpret_cast<char*>(at);
    if (at % bytes) fault(t, "an address that is not aligned");
    if (p >= t.stack && p + bytes <= t.stack_top) return p;
    if (p >= t.block->shared && p + bytes <= t.block->shared + t.block->shared_bytes) return p;
    if (at < t.last.from || at + bytes > t.last.to) {
      t.last = t.block->memory->find(at);
      if (at < t.last.from || at + bytes > t.last.to) fault(t, "an address where nothing was allocated");
    }
    if (t.cache) t.cache->use(at, o.stores ? bytes : 0);
    return p;
  }
}

template <Where kWhere, class T, int kVector>
void load(Thread& t, const Op& o) {
  const char* from = address<kWhere>(t, o, o.r[kVector], kVector * sizeof(T));
  for (int i = 0; i < kVector; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof value);
    if (o.r[i] != kNone) put_extended<T>(t, o.r[i], value);
  }
}
template <Where kWhere, class T, int kVector>
void store(Thread& t, const Op& o) {
  char* to = address<kWhere>(t, o, o.r[0], kVector * sizeof(T));
  for (int i = 0; i < kVector; ++i) {
    const T value = get<T>(t, o.r[1 + i]);
    std::memcpy(to + i * sizeof(T), &value, sizeof value);
  }
}

enum Atomic : uint8_t { kAdd, kExchange, kSwap, kAnd, kOr, kXor, kMin, kMax, kIncrement, kDecrement };

template <Where kWhere, class T, bool kResult>
void atomic(Thread& t, const Op& o) {
  char* const at = address<kWhere>(t, o, o.r[kResult ? 1 : 0], sizeof(T));
  const Ref* const given = o.r + (kResult ? 2 : 1);
  T old;
  std::memcpy(&old, at, sizeof old);
  const T b = get<T>(t, given[0]);
  T next = old;
  switch (o.mode) {
    case kAdd:
      next = Add::of<T>(old, b);
      break;
    case kExchange:
      next = b;
      break;
    case kSwap:
      if (std::memcmp(&old, &b, sizeof b) == 0) next = get<T>(t, given[1]);
      break;
    case kMin:
      next = Minimum::of<T>(old, b);
      break;
    case kMax:
      next = Maximum::of<T>(old, b);
      break;
    default:
      if constexpr (std::is_integral_v<T>) {
        if (o.mode == kAnd) next = old & b;
        if (o.mode == kOr) next = old | b;
        if (o.mode == kXor) next = old ^ b;
        if (o.mode == kIncrement) next = old >= b ? T(0) : old + 1;
        if (o.mode == kDecrement) next = old == 0 || old > b ? b : old - 1;
      }
  }
  std::memcpy(at, &next, sizeof next);
  if constexpr (kResult) {
    if (o.r[0] != kNone) put<T>(t, o.r[0], old);
  }
}

// all other spaces have the addresses of the host
bool of_shared(const Name& name) {
  return std::any_of(name.parts.begin(), name.parts.end(),
                     [](const std::string& part) { return part.substr(0, part.find("::")) == "shared"; });
}
template <class F>
Execute with_where(bool shared, bool in_frame, F f) {
  if (in_frame) return f.template operator()<Where::kFrame>();
  if (shared) return f.template operator()<Where::kShared>();
  return f.template operator()<Where::kAbsolute>();
}
template <class F>
Execute with_words(const std::string& type, const Name& name, F f) {
  if (type == "u8" || type == "b8") return f.template operator()<u8>();
  if (type == "s8") return f.template operator()<s8>();
  if (type == "u16" || type == "b16") return f.template operator()<u16>();
  if (type == "s16") return f.template operator()<s16>();
  if (type == "u32" || type == "b32" || type == "f32") return f.template operator()<u32>();
  if (type == "s32") return f.template operator()<s32>();
  if (type == "u64" || type == "b64" || type == "s64" || type == "f64") return f.template operator()<u64>();
  unknown(name.whole);
}
Decoded decode_memory(const Name& name, bool in_frame) {
  Decoded d;
  const int vector = name.has("v4") ? 4 : name.has("v2") ? 2 : 1;
  if (name.has("v8")) unknown(name.whole);
  const bool loads = name.parts[0] == "ld";
  d.stores = !loads;
  d.run = with_where(of_shared(name), in_frame, [&]<Where kWhere>() -> Execute {
    return with_words(name.last(), name, [&]<class T>() -> Execute {
      if (vector == 4) return loads ? load<kWhere, T, 4> : store<kWhere, T, 4>;
      if (vector == 2) return loads ? load<kWhere, T, 2> : store<kWhere, T, 2>;
      return loads ? load<kWhere, T, 1> : store<kWhere, T, 1>;
    });
  });
  return d;
}
Decoded decode_atomic(const Name& name, bool in_frame) {
  Decoded d;
  static const std::unordered_map<std::string, Atomic> kNames = {
      {"add", kAdd}, {"exch", kExchange}, {"cas", kSwap}, {"and", kAnd},       {"or", kOr},
      {"xor", kXor}, {"min", kMin},       {"max", kMax},  {"inc", kIncrement}, {"dec", kDecrement}};
  const auto found = kNames.find(name.before_last());
  if (found == kNames.end()) unknown(name.whole);
  d.mode = found->second;
  const bool result = name.parts[0] == "atom";
  d.run = with_where(of_shared(name), in_frame, [&]<Where kWhere>() -> Execute {
    return with_number(name.last(), name, [&]<class T>() -> Execute {
      return result ? atomic<kWhere, T, true> : atomic<kWhere, T, false>;
    });
  });
  return d;
}

void address_in_frame(Thread& t, const Op& o) {
  put<u64>(t, o.r[0], reinterpret_cast<u64>(t.memory + o.offset));
}
void generic_of_shared(Thread& t, const Op& o) {
  put<u64>(t, o.r[0], reinterpret_cast<u64>(t.block->shared) + (get<u64>(t, o.r[1]) & 0xffffffffu));
}
void shared_of_generic(Thread& t, const Op& o) {
  put<u64>(t, o.r[0], get<u64>(t, o.r[1]) - reinterpret_cast<u64>(t.block->shared));
}
void is_shared(Thread& t, const Op& o) {
  put_predicate(t, o.r[0],
                get<u64>(t, o.r[1]) - reinterpret_cast<u64>(t.block->shared) < t.block->shared_bytes);
}
template <class T>
void pack2(Thread& t, const Op& o) {
  put<u64>(t, o.r[0],
           static_cast<u64>(get<T>(t, o.r[1])) | static_cast<u64>(get<T>(t, o.r[2])) << (8 * sizeof(T)));
}
template <class T>
void unpack2(Thread& t, const Op& o) {
  const u64 word = get<u64>(t, o.r[2]);
  if (o.r[0] != kNone) put<T>(t, o.r[0], static_cast<T>(word));
  if (o.r[1] != kNone) put<T>(t, o.r[1], static_cast<T>(word >> (8 * sizeof(T))));
}

// where a thread stands ------------------------------------------------------------------------------------

template <unsigned Dim3::*kPart>
Execute with_grid(char which) {
  // ctaid, nctaid, tid, ntid
  if (which == 'c') return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.block->at.*kPart); };
  if (which == 'g') return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.block->grid.*kPart); };
  if (which == 't') return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.at.*kPart); };
  return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.block->size.*kPart); };
}
Execute decode_special(const std::string& name) {
  for (const auto& [prefix, which] :
       {std::pair{"%ctaid.", 'c'}, {"%nctaid.", 'g'}, {"%tid.", 't'}, {"%ntid.", 'n'}}) {
    if (name == std::string(prefix) + "x") return with_grid<&Dim3::x>(which);
    if (name == std::string(prefix) + "y") return with_grid<&Dim3::y>(which);
    if (name == std::string(prefix) + "z") return with_grid<&Dim3::z>(which);
  }
  if (name == "%laneid") return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.lane()); };
  if (name == "%warpid") return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.number / 32); };
  if (name == "%lanemask_lt")
    return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], (1u << t.lane()) - 1); };
  if (name == "%lanemask_le")
    return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], (2u << t.lane()) - 1); };
  if (name == "%lanemask_ge")
    return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], ~((1u << t.lane()) - 1)); };
  if (name == "%lanemask_gt")
    return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], ~((2u << t.lane()) - 1)); };
  if (name == "%lanemask_eq") return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], 1u << t.lane()); };
  if (name == "%smid") return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], 0); };
  // a clock that only goes on
  if (name == "%clock64" || name == "%globaltimer" || name == "%clock")
    return [](Thread& t, const Op& o) { put<u64>(t, o.r[0], t.executed); };
  if (name == "%dynamic_smem_size")
    return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], static_cast<u32>(t.block->dynamic_bytes)); };
  unknown(name);
}

// the way through a function -------------------------------------------------------------------------------

void jump(Thread& t, const Op& o) { t.next = t.function->ops.data() + o.target; }
void jump_by_number(Thread& t, const Op& o) {
  const u32 which = get<u32>(t, o.r[0]);
  if (which >= o.targets->size()) fault(t, "a jump to number " + std::to_string(which) + " of a table");
  t.next = t.function->ops.data() + (*o.targets)[which];
}
// behind the frame of the present call
char* room_of_frame(Thread& t) {
  char* const end = t.memory + t.function->frame_bytes;
  return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(end) + 15) / 16 * 16);
}
void call(Thread& t, const Op& o) {
  if (!o.call->callee) fault(t, "a call of " + o.call->name + ", which the module does not have");
  const Function& callee = *o.call->callee;
  char* const room = room_of_frame(t);
  const size_t registers = (sizeof(u64) * static_cast<size_t>(callee.registers) + 15) / 16 * 16;
  if (room + registers + callee.frame_bytes + 4096 > t.stack_top) fault(t, "no room for another call");
  t.callers.push_back({t.function, t.registers, t.memory, static_cast<int>(t.next - t.function->ops.data())});
  char* const memory = room + registers;
  // what nobody has written is no number
  std::memset(memory, 0xff, static_cast<size_t>(callee.frame_bytes));
  for (const Passed& p : o.call->arguments)
    std::memcpy(memory + p.to, t.memory + p.from, static_cast<size_t>(p.bytes));
  t.registers = reinterpret_cast<u64*>(room);
  t.memory = memory;
  t.function = &callee;
  t.next = callee.ops.data();
}
void leave(Thread& t, const Op&) {
  t.state = State::kLeft;
  t.stopped = true;
}
void give_back(Thread& t, const Op& o) {
  if (t.callers.empty()) return leave(t, o);
  const char* const from = t.memory;
  const Frame caller = t.callers.back();
  t.callers.pop_back();
  t.function = caller.function, t.registers = caller.registers, t.memory = caller.memory;
  t.next = t.function->ops.data() + caller.pc;
  for (const Passed& p : t.next[-1].call->results)
    std::memcpy(t.memory + p.to, from + p.from, static_cast<size_t>(p.bytes));
}
void trap(Thread& t, const Op&) { fault(t, "the program stops itself (trap)"); }
void nothing(Thread&, const Op&) {}

// together: the threads that are meant are the last operand, where there is one
template <int kMask>
void wait_for_warp(Thread& t, const Op& o) {
  t.waits_mask = get<u32>(t, o.r[kMask]);
  t.waits_at = &o;
  t.state = State::kWaits;
  t.stopped = true;
  if (!(t.waits_mask >> t.lane() & 1))
    fault(t, "a thread waits with others of its warp, and is not among those that are named");
}
void wait_for_block(Thread& t, const Op& o) {
  t.waits_at = &o;
  t.state = State::kWaits;
  t.stopped = true;
}
void threads_here(Thread& t, const Op& o) {
  // a thread runs alone: those that happen to run with it are itself
  put<u32>(t, o.r[0], 1u << t.lane());
}

Decoded plain(Execute run) {
  Decoded d;
  d.run = run;
  return d;
}
Decoded together(Together what, Execute run, uint8_t mode = 0) {
  Decoded d;
  d.run = run;
  d.together = what;
  d.mode = mode;
  return d;
}

template <class F>
Execute arithmetic(const Name& name) {
  return with_number(name.last(), name, []<class T>() -> Execute { return binary<F, T>; });
}

}  // namespace

Execute special_register(const std::string& name) { return decode_special(name); }

Decoded decode(const std::string& whole, bool in_frame) {
  const Name name = split(whole);
  const std::string& op = name.parts[0];
  const std::string& type = name.last();
  if (name.has("approx") || name.has("full") || name.has("ftz"))
    unknown(whole, "is approximate, which no kernel may be");
  const bool real = type == "f32" || type == "f64";
  if (real &&
      (op == "add" || op == "sub" || op == "mul" || op == "mad" || op == "fma" || op == "div" ||
       op == "sqrt" || op == "rcp") &&
      !name.has("rn"))
    unknown(whole, "does not say .rn, so that a compiler may contract it");
  if (name.has("sat") || name.has("NaN") || name.has("xorsign")) unknown(whole);

  if (op == "ld" || op == "st") return decode_memory(name, in_frame);
  if (op == "ldu") unknown(whole);
  if (op == "atom" || op == "red") return decode_atomic(name, in_frame);
  if (op == "mov") return plain(in_frame ? address_in_frame : type == "pred" ? copy_predicate : copy);
  if (op == "pack") return plain(type == "b64" ? pack2<u32> : pack2<u16>);
  if (op == "unpack") return plain(type == "b64" ? unpack2<u32> : unpack2<u16>);
  if (op == "cvta") {
    if (!of_shared(name)) return plain(copy);
    return plain(name.has("to") ? shared_of_generic : generic_of_shared);
  }
  if (op == "isspacep" && name.has("shared")) return plain(is_shared);
  if (op == "add") return plain(arithmetic<Add>(name));
  if (op == "sub") return plain(arithmetic<Subtract>(name));
  if (op == "min") return plain(arithmetic<Minimum>(name));
  if (op == "max") return plain(arithmetic<Maximum>(name));
  if (op == "mul" && real) return plain(arithmetic<Multiply>(name));
  if (op == "mul" || op == "mad") {
    const bool adds = op == "mad";
    if (real) return plain(with_float(type, name, []<class T>() -> Execute { return fused<T>; }));
    if (name.has("wide")) {
      if (type == "u16") return plain(adds ? multiply_add_wide<u16> : multiply_wide<u16>);
      if (type == "s16") return plain(adds ? multiply_add_wide<s16> : multiply_wide<s16>);
      if (type == "u32") return plain(adds ? multiply_add_wide<u32> : multiply_wide<u32>);
      if (type == "s32") return plain(adds ? multiply_add_wide<s32> : multiply_wide<s32>);
      unknown(whole);
    }
    if (!name.has("lo") && !name.has("hi")) unknown(whole);
    const bool high = name.has("hi");
    return plain(with_integer(type, name, [&]<class T>() -> Execute {
      if (high) return adds ? multiply_add<MultiplyHigh, T> : binary<MultiplyHigh, T>;
      return adds ? multiply_add<Multiply, T> : binary<Multiply, T>;
    }));
  }
  if (op == "fma") return plain(with_float(type, name, []<class T>() -> Execute { return fused<T>; }));
  if (op == "div" && real) return plain(arithmetic<Divide>(name));
  if (op == "div")
    return plain(with_integer(type, name, []<class T>() -> Execute { return divided<Divide, T>; }));
  if (op == "rem")
    return plain(with_integer(type, name, []<class T>() -> Execute { return divided<Remainder, T>; }));
  if (op == "neg")
    return plain(with_number(type, name, []<class T>() -> Execute { return unary<Negate, T>; }));
  if (op == "abs")
    return plain(with_number(type, name, []<class T>() -> Execute { return unary<Absolute, T>; }));
  if (op == "sqrt") return plain(with_float(type, name, []<class T>() -> Execute { return unary<Root, T>; }));
  if (op == "rcp")
    return plain(with_float(type, name, []<class T>() -> Execute { return unary<Reciprocal, T>; }));
  if (op == "copysign")
    return plain(with_float(type, name, []<class T>() -> Execute { return binary<CopySign, T>; }));
  if (op == "and" || op == "or" || op == "xor") {
    if (type == "pred")
      return plain(op == "and"  ? join_predicates<And>
                   : op == "or" ? join_predicates<Or>
                                : join_predicates<Xor>);
    return plain(with_integer(type, name, [&]<class T>() -> Execute {
      return op == "and" ? binary<And, T> : op == "or" ? binary<Or, T> : binary<Xor, T>;
    }));
  }
  if (op == "not") {
    if (type == "pred") return plain(not_predicate);
    return plain(with_integer(type, name, []<class T>() -> Execute { return unary<Not, T>; }));
  }
  if (op == "shl") return plain(with_integer(type, name, []<class T>() -> Execute { return shift_left<T>; }));
  if (op == "shr")
    return plain(with_integer(type, name, []<class T>() -> Execute { return shift_right<T>; }));
  if (op == "shf") {
    const bool wrap = name.has("wrap");
    if (name.has("l")) return plain(wrap ? funnel<true, true> : funnel<true, false>);
    return plain(wrap ? funnel<false, true> : funnel<false, false>);
  }
  if (op == "lop3" && type == "b32") return plain(logic3);
  if (op == "prmt" && name.parts.size() == 2) return plain(permute_bytes);
  if (op == "bfe")
    return plain(with_integer(type, name, []<class T>() -> Execute { return extract_bits<T>; }));
  if (op == "bfi" && type == "b32") return plain(insert_bits<u32>);
  if (op == "bfi" && type == "b64") return plain(insert_bits<u64>);
  if (op == "bfind") {
    const bool shift = name.has("shiftamt");
    return plain(with_integer(
        type, name, [&]<class T>() -> Execute { return shift ? find_bit<T, true> : find_bit<T, false>; }));
  }
  if (op == "bmsk") return plain(name.has("wrap") ? bit_mask<true> : bit_mask<false>);
  if (op == "brev") return plain(type == "b32" ? reverse_bits<u32> : reverse_bits<u64>);
  if (op == "clz") return plain(type == "b32" ? count_zeros<u32> : count_zeros<u64>);
  if (op == "popc") return plain(type == "b32" ? count_ones<u32> : count_ones<u64>);
  if (op == "setp") return plain(decode_comparison(name));
  if (op == "selp") return plain(select);
  if (op == "cvt") return plain(decode_conversion(name));
  if (op == "bra") return plain(jump);
  if (op == "brx" && name.has("idx")) return plain(jump_by_number);
  if (op == "call") return plain(call);
  if (op == "ret") return plain(give_back);
  if (op == "exit") return plain(leave);
  if (op == "trap") return plain(trap);
  if (op == "membar" || op == "fence" || op == "nanosleep" || op == "prefetch" || op == "prefetchu")
    return plain(nothing);
  if (op == "activemask") return plain(threads_here);
  if (op == "bar" && name.has("warp")) return together(Together::kWarpBarrier, wait_for_warp<0>);
  if ((op == "bar" || op == "barrier") && name.has("sync"))
    return together(Together::kBlockBarrier, wait_for_block);
  // d, barrier, a
  if (op == "bar" && name.has("red") && type == "pred")
    return together(Together::kBlockBarrier, wait_for_block, name.has("and") ? 1 : 2);
  // d, p, a, b, c, threads
  if (op == "shfl" && name.has("sync"))
    return together(Together::kShuffle, wait_for_warp<5>,
                    name.has("up")     ? 0
                    : name.has("down") ? 1
                    : name.has("bfly") ? 2
                                       : 3);
  // d, p, threads
  if (op == "vote" && name.has("sync"))
    return together(Together::kVote, wait_for_warp<2>,
                    name.has("any")      ? 0
                    : name.has("all")    ? 1
                    : name.has("ballot") ? 2
                                         : 3);
  // d, a, threads
  if (op == "match" && name.has("any")) return together(Together::kMatch, wait_for_warp<2>, type == "b64");
  unknown(whole);
}

}  // namespace ptx_interpreter
