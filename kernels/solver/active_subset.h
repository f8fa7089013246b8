// While few environments of a pack still search, what none of them has is passed over: slots of contacts, and
// unit rows. That is an exact zero for them, so no bit changes. An environment alone has nothing to pass
// over.
#pragma once

#include "kernels/rows/rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the whole pack again at the end of the scope
template <class E>
class Narrowed {
 public:
  DS_HD explicit Narrowed(E& env) : env_(env) {}
  DS_HD Narrowed(const Narrowed&) = delete;
  DS_HD Narrowed& operator=(const Narrowed&) = delete;
  DS_HD ~Narrowed() {
    if constexpr (E::kPack > 1) {
      env_.narrow = false;
      env_.ncon_max = ncon_max_;
    }
  }

  // to the environments in `live`, a subset of those before, once they are half as many
  DS_HD void to([[maybe_unused]] const typename E::Mask& live) {
    if constexpr (E::kPack > 1) {
      const unsigned bits = mask_word(live);
      const int count = bit_count(bits);
      if (2 * count > count_) return;
      count_ = count;
      int most = 0;
      each_member(&bits, 1,
                  [&](int l) { most = lane_of(env_.ncon, l) > most ? lane_of(env_.ncon, l) : most; });
      env_.ncon_max = most;
      env_.narrow = true;
      find_units(env_, live, units_in_use(env_));
    }
  }

 private:
  E& env_;
  const int ncon_max_ = env_.ncon_max;
  int count_ = E::kPack;
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
