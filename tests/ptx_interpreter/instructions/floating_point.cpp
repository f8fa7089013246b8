// PTX ISA, "Floating Point Instructions".
//
// Arithmetic must say .rn, since a compiler may join a multiplication and an addition that do not, and nothing
// may be approximate or flush small numbers: `decode` refuses what is.
#include "instructions/arithmetic.h"

namespace ptx_interpreter {
namespace {

// bits of a sign
struct CopySign {
  template <class T>
  static T of(T a, T b) {
    return std::copysign(b, a);
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
template <class T>
void fused(Thread& t, const Op& o) {
  put<T>(t, o.r[0], std::fma(get<T>(t, o.r[1]), get<T>(t, o.r[2]), get<T>(t, o.r[3])));
}

Decoded decode_fused(const Name& name) {
  return plain(with_float(name.last(), name, []<class T>() -> Execute { return fused<T>; }));
}

}  // namespace

const Chapter& floating_point() {
  static const Chapter kChapter = {
      {"add", binary_float<Add>},
      {"sub", binary_float<Subtract>},
      {"mul", binary_float<Multiply>},
      {"mad", decode_fused},
      {"fma", decode_fused},
      {"div", binary_float<Divide>},
      {"abs", unary_float<Absolute>},
      {"neg", unary_float<Negate>},
      {"min", binary_float<Minimum>},
      {"max", binary_float<Maximum>},
      {"rcp", unary_float<Reciprocal>},
      {"sqrt", unary_float<Root>},
      {"copysign", binary_float<CopySign>},
  };
  return kChapter;
}

}  // namespace ptx_interpreter
