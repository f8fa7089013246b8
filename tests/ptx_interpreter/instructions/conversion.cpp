// PTX ISA, "Data Movement and Conversion Instructions": cvt, which changes a number's type.
#include <cmath>
#include <limits>

#include "instructions/instruction.h"

namespace ptx_interpreter {
namespace {

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

Decoded decode_cvt(const Name& name) { return plain(decode_conversion(name)); }

}  // namespace

const Chapter& conversion() {
  static const Chapter kChapter = {{"cvt", decode_cvt}};
  return kChapter;
}

}  // namespace ptx_interpreter
