// PTX ISA, "Logic and Shift Instructions".
#include "instructions/arithmetic.h"

namespace ptx_interpreter {
namespace {

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
struct Not {
  template <class T>
  static T of(T a) {
    return static_cast<T>(~a);
  }
};
template <class F>
void join_predicates(Thread& t, const Op& o) {
  put_predicate(t, o.r[0], F::template of<int>(predicate(t, o.r[1]), predicate(t, o.r[2])) != 0);
}
void not_predicate(Thread& t, const Op& o) { put_predicate(t, o.r[0], !predicate(t, o.r[1])); }
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

template <class F>
Decoded decode_logic(const Name& name) {
  return name.last() == "pred" ? plain(join_predicates<F>) : binary_integer<F>(name);
}
Decoded decode_not(const Name& name) {
  return name.last() == "pred" ? plain(not_predicate) : unary_integer<Not>(name);
}
Decoded decode_logic3(const Name& name) {
  if (name.last() != "b32") unknown(name.whole);
  return plain(logic3);
}
Decoded decode_shift_left(const Name& name) {
  return plain(with_integer(name.last(), name, []<class T>() -> Execute { return shift_left<T>; }));
}
Decoded decode_shift_right(const Name& name) {
  return plain(with_integer(name.last(), name, []<class T>() -> Execute { return shift_right<T>; }));
}
Decoded decode_funnel(const Name& name) {
  const bool wrap = name.has("wrap");
  if (name.has("l")) return plain(wrap ? funnel<true, true> : funnel<true, false>);
  return plain(wrap ? funnel<false, true> : funnel<false, false>);
}

}  // namespace

const Chapter& logic_and_shift() {
  static const Chapter kChapter = {
      {"and", decode_logic<And>}, {"or", decode_logic<Or>},    {"xor", decode_logic<Xor>},
      {"not", decode_not},        {"lop3", decode_logic3},     {"shf", decode_funnel},
      {"shl", decode_shift_left}, {"shr", decode_shift_right},
  };
  return kChapter;
}

}  // namespace ptx_interpreter
