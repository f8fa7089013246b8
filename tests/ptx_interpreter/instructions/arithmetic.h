// Operations on two numbers or one, of any type, and instructions made of them.
#pragma once

#include <cmath>

#include "instructions/instruction.h"

namespace ptx_interpreter {

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
struct Divide {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
      if (b == -1) return Subtract::of<T>(0, a);
    return a / b;
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
template <class F, class T>
void binary(Thread& t, const Op& o) {
  put<T>(t, o.r[0], F::template of<T>(get<T>(t, o.r[1]), get<T>(t, o.r[2])));
}
template <class F, class T>
void unary(Thread& t, const Op& o) {
  put<T>(t, o.r[0], F::template of<T>(get<T>(t, o.r[1])));
}

template <class F>
Decoded binary_integer(const Name& name) {
  return plain(with_integer(name.last(), name, []<class T>() -> Execute { return binary<F, T>; }));
}
template <class F>
Decoded binary_float(const Name& name) {
  return plain(with_float(name.last(), name, []<class T>() -> Execute { return binary<F, T>; }));
}
template <class F>
Decoded unary_integer(const Name& name) {
  return plain(with_integer(name.last(), name, []<class T>() -> Execute { return unary<F, T>; }));
}
template <class F>
Decoded unary_float(const Name& name) {
  return plain(with_float(name.last(), name, []<class T>() -> Execute { return unary<F, T>; }));
}

}  // namespace ptx_interpreter
