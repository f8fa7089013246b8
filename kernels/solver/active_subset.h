// While few environments of a pack still search, what none of them has is passed over: slots of contacts, and single-dof
// rows.
//
// solves    ncon_max and the set of single-dof rows in use, of the environments that still search, each time that these are
//           half as many as before; those of the whole pack again at the end of the scope
// equation  what is passed over is an exact zero for those that search, so no bit changes
// source    own derivation
// deviation none. An environment alone has nothing to pass over
// reads     ncon, lim_D
// writes    ncon_max, subset, the set of single-dof rows in use
// cost      O(single-dof rows) each time
#pragma once

#include "kernels/rows/rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the whole pack again at the end of the scope
template <class E>
class ActiveSubset {
 public:
  DS_HD explicit ActiveSubset(E& env) : env_(env) {}
  DS_HD ActiveSubset(const ActiveSubset&) = delete;
  DS_HD ActiveSubset& operator=(const ActiveSubset&) = delete;
  DS_HD ~ActiveSubset() {
    if constexpr (E::kPack > 1) {
      env_.subset = false;
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
      env_.subset = true;
      find_single_rows(env_, live, single_rows_in_use(env_));
    }
  }

 private:
  E& env_;
  const int ncon_max_ = env_.ncon_max;
  int count_ = E::kPack;
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
