// Sixteen consecutive numbers of many records at once: of the environments of a pack, or of contacts that stand side by
// side in one. Packs are transposed, so that every record is read and written as it lies.
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr int kRecordRun = 16;

// x[k] <- numbers first + k of the record of every element; record(element): where that one's begins
template <class Real, class RecordOf>
DS_HD void load_records(RecordOf record, int first, Real (&x)[kRecordRun]) {
  constexpr int kPack = kPackSize<Real>;
  if constexpr (kPack == 1) {
    const auto run = record(0);
    DS_UNROLL
    for (int k = 0; k < kRecordRun; k++) x[k] = run[first + k];
  } else {
    DS_UNROLL
    for (int part = 0; part < kRecordRun; part += kPack) {
      Real y[kPack];
      DS_UNROLL
      for (int l = 0; l < kPack; l++) y[l] = load_pack<Real>(record(l).p + first + part);
      transpose(y);
      DS_UNROLL
      for (int k = 0; k < kPack; k++) x[part + k] = y[k];
    }
  }
}
// and back, into the records of those elements that have their bit in `of`
template <class Real, class RecordOf>
DS_HD void store_records(RecordOf record, int first, const Real (&x)[kRecordRun], unsigned of = ~0u) {
  constexpr int kPack = kPackSize<Real>;
  if constexpr (kPack == 1) {
    const auto run = record(0);
    DS_UNROLL
    for (int k = 0; k < kRecordRun; k++) run[first + k] = x[k];
  } else {
    DS_UNROLL
    for (int part = 0; part < kRecordRun; part += kPack) {
      Real y[kPack];
      DS_UNROLL
      for (int k = 0; k < kPack; k++) y[k] = x[part + k];
      transpose(y);
      DS_UNROLL
      for (int l = 0; l < kPack; l++)
        if ((of >> l) & 1u) store_pack(record(l).p + first + part, y[l]);
    }
  }
}

// record `number` of an element, of records of `size` numbers each in an array of the workspace
template <class E>
DS_HD auto record_of(const Field<typename E::Real, E::kStride>& array, Index number, int size, int element) {
  using Scalar = typename E::Scalar;
  if constexpr (E::kPack == 1) {
    (void)element;
    return array.from(number * size);
  } else {
    return Field<Scalar, 1>{reinterpret_cast<Scalar*>(array.p + number * size) +
                            static_cast<Index>(element) * size};
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
