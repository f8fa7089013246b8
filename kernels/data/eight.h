// Eight consecutive numbers of workspace: a part of a row of a dense block, whose rows are padded to eights.
//
// On a CPU they are as many packs as they fill, elsewhere eight scalars. Element i of a result depends on
// elements i alone, and fold() adds in the order of lanes.h: no bit depends on how they are held.
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr int kEight = 8;
DS_HD constexpr int eights(int n) { return (n + kEight - 1) / kEight; }

#if DS_HOST_PACKS
template <class Scalar, int kWide>
struct PartOfEight {
  using Type = Pack<Scalar, kWide>;
};
template <class Scalar>
struct PartOfEight<Scalar, 1> {
  using Type = Scalar;
};
#endif

// kWide: how many of them an instruction takes
template <class Scalar, int kWide>
struct Eight {
  static_assert(kEight % kWide == 0);
  static constexpr int kParts = kEight / kWide;
#if DS_HOST_PACKS
  using Part = typename PartOfEight<Scalar, kWide>::Type;
#else
  using Part = Scalar;
#endif
  Part part[kParts];

  Eight() = default;
  DS_HD explicit Eight(Scalar x) {
    DS_UNROLL
    for (int k = 0; k < kParts; k++) part[k] = Part(x);
  }
  // from element i of a run on; one of workspace may hold numbers that note who reads them
  template <class Number, int kStride>
  DS_HD Eight(const Field<Number, kStride>& run, Index i) {
    DS_UNROLL
    for (int k = 0; k < kParts; k++) {
      if constexpr (kWide > 1)
        part[k] = load_pack<Part>(run.p + (i + kWide * k));
      else if constexpr (requires(Part a, Number b) { a = b; })
        part[k] = run[i + k];
      else
        part[k] = lane_of(run[i + k], 0);
    }
  }
  template <class Number, int kStride>
  DS_HD void store(const Field<Number, kStride>& run, Index i) const {
    DS_UNROLL
    for (int k = 0; k < kParts; k++) {
      if constexpr (kWide > 1)
        store_pack(run.p + (i + kWide * k), part[k]);
      else
        run[i + k] = part[k];
    }
  }
  DS_HD void set(int i, Scalar x) {
    if constexpr (kWide > 1)
      set_lane(part[i / kWide], i % kWide, x);
    else
      part[i] = x;
  }
  // this + a x
  DS_HD void add(Scalar a, const Eight& x) {
    DS_UNROLL
    for (int k = 0; k < kParts; k++) part[k] = fma(Part(a), x.part[k], part[k]);
  }
  // the same of the first kCount numbers; those that share no part with them stay
  template <int kCount>
  DS_HD void add_first(Scalar a, const Eight& x) {
    constexpr int kUsed = (kCount + kWide - 1) / kWide;
    DS_UNROLL
    for (int k = 0; k < kUsed; k++) part[k] = fma(Part(a), x.part[k], part[k]);
  }
  DS_HD Eight scaled(Scalar a) const {
    Eight x;
    DS_UNROLL
    for (int k = 0; k < kParts; k++) x.part[k] = part[k] * Part(a);
    return x;
  }
  DS_HD void add_product(const Eight& x, const Eight& y) {
    DS_UNROLL
    for (int k = 0; k < kParts; k++) part[k] = fma(x.part[k], y.part[k], part[k]);
  }
  // the sum of all eight, as a tree: (s + 4), (s + 2), (s + 1)
  DS_HD Scalar fold() const {
    Part s[kParts];
    DS_UNROLL
    for (int k = 0; k < kParts; k++) s[k] = part[k];
    DS_UNROLL
    for (int half = kParts / 2; half > 0; half /= 2) DS_UNROLL
    for (int k = 0; k < half; k++) s[k] = s[k] + s[k + half];
#if DS_HOST_PACKS
    if constexpr (kWide == 8) {
      const auto four = __builtin_shufflevector(s[0].v, s[0].v, 0, 1, 2, 3) +
                        __builtin_shufflevector(s[0].v, s[0].v, 4, 5, 6, 7);
      return (four[0] + four[2]) + (four[1] + four[3]);
    } else if constexpr (kWide == 4) {
      return (s[0].v[0] + s[0].v[2]) + (s[0].v[1] + s[0].v[3]);
    } else if constexpr (kWide == 2) {
      return s[0].v[0] + s[0].v[1];
    }
#endif
    if constexpr (kWide == 1) return s[0];
  }
};

// number i of eight j becomes number j of eight i
template <class Scalar, int kWide>
DS_HD void transpose(Eight<Scalar, kWide> (&x)[kEight]) {
  using Part = typename Eight<Scalar, kWide>::Part;
  constexpr int kParts = kEight / kWide;
  Eight<Scalar, kWide> y[kEight];
  DS_UNROLL
  for (int i = 0; i < kParts; i++) DS_UNROLL
  for (int j = 0; j < kParts; j++) {
    Part block[kWide];
    DS_UNROLL
    for (int k = 0; k < kWide; k++) block[k] = x[kWide * j + k].part[i];
    if constexpr (kWide > 1) transpose(block);
    DS_UNROLL
    for (int k = 0; k < kWide; k++) y[kWide * i + k].part[j] = block[k];
  }
  DS_UNROLL
  for (int k = 0; k < kEight; k++) x[k] = y[k];
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
