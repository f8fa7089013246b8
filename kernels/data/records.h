// kRecordRun consecutive numbers of many records at once: of the environments of a pack, or of contacts that stand side by
// side in one. Packs are transposed, so that every record is read and written as it lies.
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

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
// the records of the elements of a pack: that of one stands `size` numbers behind that of the one before
template <class Scalar, int kStride>
struct Records {
  Field<Scalar, kStride> first;
  Index size;
  DS_HD Field<Scalar, kStride> operator()(int element) const { return first.from(element * size); }
};
// record `number` of every element, of records of `size` numbers each in an array of the workspace
template <class E>
DS_HD auto records_of(const Field<typename E::Real, E::kStride>& array, Index number, int size) {
  if constexpr (E::kPack == 1)
    return Records<typename E::Real, E::kStride>{array.from(number * size), 0};
  else
    return Records<typename E::Scalar, 1>{{reinterpret_cast<typename E::Scalar*>(array.p + number * size)},
                                          size};
}

// and back, into the records of all elements
template <class Real, class Scalar, int kStride>
DS_HD void store_records(const Records<Scalar, kStride>& records, int first, const Real (&x)[kRecordRun]) {
  constexpr int kPack = kPackSize<Real>;
  if constexpr (kPack == 1) {
    const auto run = records.first.from(first);
    DS_UNROLL
    for (int k = 0; k < kRecordRun; k++) run[k] = x[k];
  } else {
    DS_UNROLL
    for (int part = 0; part < kRecordRun; part += kPack) {
      Real y[kPack];
      DS_UNROLL
      for (int k = 0; k < kPack; k++) y[k] = x[part + k];
      transpose(y);
      auto run = records.first.from(first + part);
      DS_UNROLL
      for (int l = 0; l < kPack; l++) {
        store_pack(run.p, y[l]);
        run = run.from(records.size);
      }
    }
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
