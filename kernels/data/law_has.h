// How a stage asks for the contact law: by a trait (contact_laws.h), and never by its code.
#pragma once

#include "kernels/base/portable.h"
#include "kernels/data/contact_laws.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// whether the law in use has a trait: the same for all environments, and a constant in a program of one model
template <LawTrait kTrait, class Options>
DS_HD bool law_has(const Options& o) {
  return (kLawsWith<kTrait> >> o.contact_law & 1) != 0;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
