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
  // from element i of a run on
  template <int kStride>
  DS_HD Eight(const Field<Scalar, kStride>& run, Index i) {
    DS_UNROLL
    for (int k = 0; k < kParts; k++) {
      if constexpr (kWide > 1)
        part[k] = load_pack<Part>(run.p + (i + kWide * k));
      else
        part[k] = run[i + k];
    }
  }
  template <int kStride>
  DS_HD void store(const Field<Scalar, kStride>& run, Index i) const {
    DS_UNROLL
    for (int k = 0; k < kParts; k++) {
      if constexpr (kWide > 1)
        store_pack(run.p + (i + kWide * k), part[k]);
      else
        run[i + k] = part[k];
    }
  }
  // this + a x
  DS_HD void add(Scalar a, const Eight& x) {
    DS_UNROLL
    for (int k = 0; k < kParts; k++) part[k] = fma(Part(a), x.part[k], part[k]);
  }
  DS_HD void add_product(const Eight& x, const Eight& y) {
    DS_UNROLL
    for (int k = 0; k < kParts; k++) part[k] = fma(x.part[k], y.part[k], part[k]);
  }
  // the sum of all eight, as a tree
  DS_HD Scalar fold() const {
    Scalar s[kEight];
    if constexpr (kWide > 1) {
      __builtin_memcpy(s, part, sizeof s);
    } else {
      DS_UNROLL
      for (int k = 0; k < kEight; k++) s[k] = part[k];
    }
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
