// A number of single precision that counts what is done to it, in instructions of a GPU: one an addition,
// multiplication, fused multiply-add, comparison or selection; a correctly rounded division or square root is
// a seed and a few fused operations.
#pragma once

#include <type_traits>

#include "kernels/real.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// since the last barrier of the lane that runs
inline long operations = 0;
constexpr int kDivision = 8, kSquareRoot = 8;

struct Counted {
  float v;
  Counted() = default;
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) Counted(T x) : v(static_cast<float>(x)) {}

  static Counted after(int cost, float x) {
    operations += cost;
    return Counted(x);
  }
  friend Counted operator+(Counted a, Counted b) { return after(1, a.v + b.v); }
  Counted& operator+=(Counted b) { return *this = *this + b; }
  friend Counted operator-(Counted a, Counted b) { return after(1, a.v - b.v); }
  friend Counted operator*(Counted a, Counted b) { return after(1, a.v * b.v); }
  friend Counted operator/(Counted a, Counted b) { return after(kDivision, a.v / b.v); }
  // a sign is part of the operation that reads it
  friend Counted operator-(Counted a) { return Counted(-a.v); }
  friend bool operator<(Counted a, Counted b) { return after(1, 0), a.v < b.v; }
  friend bool operator>(Counted a, Counted b) { return after(1, 0), a.v > b.v; }
  friend bool operator<=(Counted a, Counted b) { return after(1, 0), a.v <= b.v; }
  friend bool operator>=(Counted a, Counted b) { return after(1, 0), a.v >= b.v; }
  friend bool operator==(Counted a, Counted b) { return after(1, 0), a.v == b.v; }
  friend bool operator!=(Counted a, Counted b) { return after(1, 0), a.v != b.v; }
};

template <>
struct RealTraits<Counted> {
  using Scalar = float;
  using Mask = bool;
  using Int = int;
  static constexpr int kSize = 1;
};

inline Counted select(bool m, Counted a, Counted b) { return Counted::after(1, m ? a.v : b.v); }
inline Counted fma(Counted a, Counted b, Counted c) { return Counted::after(1, fma(a.v, b.v, c.v)); }
inline Counted sqrt(Counted a) { return Counted::after(kSquareRoot, sqrt(a.v)); }
inline Counted abs(Counted a) { return Counted(abs(a.v)); }
inline float lane_of(Counted x, int) { return x.v; }
inline void set_lane(Counted& x, int, float v) { x.v = v; }

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
