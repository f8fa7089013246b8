// How a stage asks what an actuator acts on: by what the row of its transmission says (actuators.h), and never by its
// code.
#pragma once

#include "kernels/base/portable.h"
#include "kernels/data/actuators.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

#define DS_NO(...)
// whether the ids of a transmission are those of such objects
template <MovedObject kObject>
DS_HD constexpr bool acts_on(int trn) {
#define DS_ON(code, word, kind, object, second, traits) || (kObject == (object) && trn == code)
  return false DS_TRANSMISSIONS(DS_ON, DS_NO);
#undef DS_ON
}
// whether it has a trait
template <TransmissionTrait kTrait>
DS_HD constexpr bool transmission_has(int trn) {
#define DS_HAS(code, word, kind, object, second, traits) || (((traits)&kTrait) != 0 && trn == code)
  return false DS_TRANSMISSIONS(DS_HAS, DS_NO);
#undef DS_HAS
}
#undef DS_NO

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
