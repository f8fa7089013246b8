// Included by every mutated file of a build with switchable mutants (tests/mutation): DS_MUTANT(k) is true where the
// environment variable DUALSTEP_MUTANT is k, and notes in the file that DUALSTEP_MUTANT_HITS names that it was asked.
#pragma once
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <type_traits>
#include <utility>

// what mutated code is warned of
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wlogical-not-parentheses"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Waggressive-loop-optimizations"
#pragma GCC diagnostic ignored "-Wnonnull"

namespace ds_mutation {
inline constexpr int kMost = 4096;
inline unsigned char own[kMost];
// set before anything else of a library runs: what asks earlier notes it for itself, and finds no mutant
inline unsigned char* hits = own;
inline int active = 0;
inline bool begin() {
  if (const char* number = getenv("DUALSTEP_MUTANT")) active = atoi(number);
  if (const char* name = getenv("DUALSTEP_MUTANT_HITS")) {
    const int file = open(name, O_RDWR | O_CLOEXEC);
    if (file < 0) return false;
    void* at = mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) hits = static_cast<unsigned char*>(at);
    close(file);
  }
  return true;
}
inline const bool begun = begin();
// no constant expression: where the compiler needs a constant, it refuses the mutant
__attribute__((always_inline)) inline bool on(int k) {
  __atomic_store_n(hits + k, static_cast<unsigned char>(1), __ATOMIC_RELAXED);
  return active == k;
}
}  // namespace ds_mutation

// the value of an expression: of Eigen's, the matrix; of what stands for a number, a copy
template <class T>
__attribute__((always_inline)) inline auto ds_value(T&& x) {
  using Plain = std::decay_t<T>;
  if constexpr (requires { typename Plain::PlainObject; }) {
    return typename Plain::PlainObject(x);
  } else {
    return Plain(std::forward<T>(x));
  }
}
#define DS_MUTANT(k) ::ds_mutation::on(k)
