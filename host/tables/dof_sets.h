// Sets as the kernels read them, bit i of word i / 32 for member i: of dofs above all.
#pragma once

#include <vector>

#include "host/model/model.h"

namespace dualstep {

constexpr int kWordBits = 32;
// words of a set of n
inline int words_of(int n) { return (n + kWordBits - 1) / kWordBits; }

inline void add_to_set(int i, int* set) { set[i / kWordBits] |= static_cast<int>(1u << (i % kWordBits)); }
inline bool set_has(const int* set, int i) {
  return (static_cast<unsigned>(set[i / kWordBits]) >> (i % kWordBits) & 1u) != 0;
}

// a dof and its ancestors: what whitening carries an entry of J to
inline void add_with_ancestors(const Model& m, int dof, std::vector<int>* set) {
  for (int d = dof; d >= 0; d = m.dof_parentid[d]) add_to_set(d, set->data());
}
// the dofs that a whitened row reaches whose entries in J are those of the dofs with a number that is not 0
inline std::vector<int> support_of(const Model& m, const std::vector<int>& entries) {
  std::vector<int> support(words_of(m.nv), 0);
  for (int d = 0; d < m.nv; ++d)
    if (entries[d] != 0) add_with_ancestors(m, d, &support);
  return support;
}

}  // namespace dualstep
