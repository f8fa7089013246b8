// THE list of the kinds of constraint rows, in the order in which every sum over rows takes them.
//
//   kind                   rows                        law of a row             file
//   Limits                 two a limited dof           one-sided                limit.h
//   FrictionLosses         one a dof with friction     Huber                    friction_loss.h
//   DenseScalarRows        those of DenseKinds:                                 dense_scalar.h
//     BallLimits           one a limited ball joint    one-sided                ball_limit.h
//     Equalities           one, three or six           two-sided                equality.h
//     TendonLimits         two a limited tendon        one-sided                tendon.h
//     TendonLosses         one a tendon with friction  Huber                    tendon.h
//   Contacts               kDim a slot                 a cone                   contact.h
//
// The solver's sums, sweeps and searches visit this list and name no kind. Each kind has these members, where
// l are its forces and i a force's place among those of all kinds:
//
//   count(), first(), lambda()       its forces in the sweeps: how many, where among all, their array
//   with_law(i, f), weight(i)        of a row: f(its law), D (scalar kinds)
//   y0(), y()                        the arrays of y0 and y (scalar kinds)
//   used(i), each_dof(i, f)          the environments that use a row; the dofs that it reaches (scalar kinds)
//   dof(i), sign(i)                  the entry of J (kinds of single_dof.h)
//   likely()                         how many rows that may push, for putting like environments together
//   each_residual(f)                 f(y, its change along dw) of every row in use
//   cost()                           the sum of s(y)
//   add_along(alpha, slope, bend)    slope and curvature of the cost along dw
//   add_diagonal, add_natural        its part in the natural residual of the dual; the first adds what is stiff too
//   sweep(w)                         a step of projected Gauss-Seidel, block by block
//   dual_sum(at, f), add_forces(l, w)   sum of f(i, R, y0); w <- w + Z l
//   lift(w)                          y0 <- y0 + Z'w (scalar kinds)
//   rest_in_impact()                 asks for nothing in impacts (kinds of single_dof.h that these do not see)
//
// and each place where whitened rows stand (SingleDofRows for the first two kinds, the others themselves)
//
//   put_residuals(w), put_changes(dw)    y = y0 + Z'w, dy = Z'dw
//   put_laws<kCurvature>()               l = -s'(y), s''(y); a number that changes when the active set does
//   subtract_forces<kTerms>(live, x)     x <- x - Z l; or of rigid rows alone; or x <- x + the squares of the terms
//
// A further kind of scalar rows is one file like ball_limit.h and its name in DenseKinds.
#pragma once

#include "kernels/rows/kinds/ball_limit.h"
#include "kernels/rows/kinds/contact.h"
#include "kernels/rows/kinds/dense_scalar.h"
#include "kernels/rows/kinds/equality.h"
#include "kernels/rows/kinds/single_dof.h"
// kinds of a program's own: a header that defines ExtraRowKinds
#if defined(DUALSTEP_EXTRA_ROW_KINDS)
#include DUALSTEP_EXTRA_ROW_KINDS
#endif

namespace dualstep {
inline namespace DUALSTEP_ISA {

#if !defined(DUALSTEP_EXTRA_ROW_KINDS)
using ExtraRowKinds = KindList<>;
#endif
using DenseKinds =
    decltype(KindList<BallLimits, Equalities, TendonLimits, TendonLosses>::joined(ExtraRowKinds{}));
template <class E>
using DenseRows = DenseScalarRows<DenseKinds, E>;

// calls f with each kind of scalar rows
template <class E, class F>
DS_HD void each_scalar_kind(const E& env, F f) {
  each_single_kind(env, f);
  f(DenseRows<E>{env});
}
// f(kind, i) of the kind that a scalar row is of, i its place there; `row` is its place among all
template <class E, class F>
DS_HD void with_scalar_row(const E& env, int row, F f) {
  each_scalar_kind(env, [&](const auto& kind) {
    const int i = row - kind.first();
    if (i >= 0 && i < kind.count()) f(kind, i);
  });
}
// with each kind
template <int kDim, bool kByRows, class E, class F>
DS_HD void each_kind(const E& env, F f) {
  each_scalar_kind(env, f);
  f(Contacts<kDim, kByRows, E>(env));
}
// with each place where whitened rows stand; what does not depend on the cone
template <int kDim, class E, class F>
DS_HD void each_whitened(const E& env, F f) {
  f(SingleDofRows<E>{env});
  f(DenseRows<E>{env});
  f(ContactRows<kDim, E>{env});
}
// and what does
template <int kDim, bool kByRows, class E, class F>
DS_HD void each_whitened(const E& env, F f) {
  f(SingleDofRows<E>{env});
  f(DenseRows<E>{env});
  f(Contacts<kDim, kByRows, E>(env));
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
