// Numbers about a whole batch: counts and maxima alone, which come out the same in whatever order they are
// taken together, so a GPU gives the bits of the CPU.
#pragma once

#include "kernels/base/portable.h"
#include "kernels/data/tables.h"

namespace dualstep {

struct BatchSummary {
  long long diverged, overflowed, unconverged;  // environments with the bit in their status
  long long iterations;                         // of the last solve, of all environments together
  int most_iterations;
  int largest_residual_at;  // environment; the first of several
  double largest_residual;  // of those that are numbers; -1 where none is
};

// of no environment
inline BatchSummary empty_summary(int num_envs) {
  return {.diverged = 0,
          .overflowed = 0,
          .unconverged = 0,
          .iterations = 0,
          .most_iterations = 0,
          .largest_residual_at = num_envs,
          .largest_residual = -1.0};
}

template <class Scalar>
struct SummaryView {
  const uint32_t* status;
  const int* iterations;
  const Scalar* residual;
  int num_envs;
};

inline namespace DUALSTEP_ISA {

template <class Scalar>
DS_HD BatchSummary summary_of(const SummaryView<Scalar>& batch, int e) {
  const uint32_t status = batch.status[e];
  const double residual = static_cast<double>(batch.residual[e]);
  const bool known = residual >= 0;
  return {.diverged = (status & kDiverged) != 0,
          .overflowed = (status & kContactOverflow) != 0,
          .unconverged = (status & kNotConverged) != 0,
          .iterations = batch.iterations[e],
          .most_iterations = batch.iterations[e],
          .largest_residual_at = known ? e : batch.num_envs,
          .largest_residual = known ? residual : -1.0};
}
DS_HD BatchSummary both(const BatchSummary& a, const BatchSummary& b) {
  const bool second =
      b.largest_residual > a.largest_residual ||
      (b.largest_residual == a.largest_residual && b.largest_residual_at < a.largest_residual_at);
  const BatchSummary& worst = second ? b : a;
  return {.diverged = a.diverged + b.diverged,
          .overflowed = a.overflowed + b.overflowed,
          .unconverged = a.unconverged + b.unconverged,
          .iterations = a.iterations + b.iterations,
          .most_iterations = a.most_iterations > b.most_iterations ? a.most_iterations : b.most_iterations,
          .largest_residual_at = worst.largest_residual_at,
          .largest_residual = worst.largest_residual};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
