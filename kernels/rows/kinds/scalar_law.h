// The laws of one scalar row: its cost s(y), its force l = -s'(y), its curvature s''(y), and the set of l.
//
// A kind of rows names the law of each of its rows; a law of a new shape is a struct more, with the members of these, and
// its name in ScalarLaws. add_conditions adds the weights (cone.h) of what holds at y, kConditions numbers a row from
// kConditions i on: the sum changes when the active set does. piece tells apart where the force is linear. kOwnWeight: R is
// the law's own, whatever the weight of its row. bound() and of(bound, R) take a law apart and make it anew.
//
// solves    nothing: functions of y and of D
// equation  one-sided   s = D/2 min(y, 0)^2                                   l >= 0          limits
//           two-sided   s = D/2 y^2                                           any l           equality constraints
//           Huber       s = y^2 / (2 R) where |y| < R f, f |y| - R f^2 / 2    |l| <= f        friction loss
//           with y = J qacc - aref,  D = 1 / R
// source    Todorov 2014 ("Convex and analytically-invertible dynamics with contacts and constraints"); MuJoCo's
//           documentation, "Primal problem"
// deviation none
// reads     its arguments
// writes    its arguments
// cost      O(1)
#pragma once

#include "kernels/data/single_dof_kinds.h"
#include "kernels/rows/cone.h"
#include "kernels/rows/rigid_weight.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

DS_HD constexpr int side_of_limit(int limit, int side) { return kLimitSides * limit + side; }
DS_HD constexpr int limit_of(int row) { return row / kLimitSides; }
DS_HD constexpr bool is_upper(int row) { return (row & kUpperSide) != 0; }

struct OneSided {
  static constexpr int kConditions = 1;
  static constexpr bool kOwnWeight = false;
  DS_HD static float bound() { return 0; }
  template <class Real>
  DS_HD static OneSided of(const Real&, const Real&) {
    return {};
  }
  template <class Real>
  DS_HD static Real add_cost(const Real& sum, const Real& y, const Real& D) {
    const Real below = negative_part(y);
    return fma(Real(0.5) * D * below, below, sum);
  }
  template <class Real>
  DS_HD static Real curvature(const Real& y, const Real& D) {
    return select(y < Real(0), D, Real(0));
  }
  template <class Real>
  DS_HD static Real force(const Real& y, const Real& D) {
    return -(D * negative_part(y));
  }
  // the force of a row whose curvature is known
  template <class Real>
  DS_HD static Real force(const Real& y, const Real&, const Real& curvature) {
    return -(curvature * y);
  }
  template <class Real>
  DS_HD static Real add_conditions(const Real& sum, const Real&, const Real& curvature, Condition kind,
                                   int i) {
    return sum + select(curvature > Real(0), set_weight<Real>(kind, i), Real(0));
  }
  template <class Real>
  DS_HD static Real piece(const Real&, const Real& curvature) {
    return select(curvature > Real(0), Real(1), Real(0));
  }
  // slope and curvature of the cost along d, at y0 + alpha d
  template <class Real>
  DS_HD static void add_along(const Real& y0, const Real& d, const Real& alpha, const Real& D, Real* slope,
                              Real* bend) {
    const Real zero(0);
    const auto used = D > zero;
    const Real step = select(used, d, zero), y = select(used, fma(alpha, d, y0), zero);
    const Real h = select(y < zero, D * step, zero);
    *slope = fma(h, y, *slope);
    *bend = fma(h, step, *bend);
  }
  template <class Real>
  DS_HD static Real project(const Real& l) {
    return max(l, Real(0));
  }
};

struct TwoSided {
  static constexpr int kConditions = 1;
  static constexpr bool kOwnWeight = false;
  DS_HD static float bound() { return 0; }
  template <class Real>
  DS_HD static TwoSided of(const Real&, const Real&) {
    return {};
  }
  template <class Real>
  DS_HD static Real add_cost(const Real& sum, const Real& y, const Real& D) {
    return fma(Real(0.5) * D * y, y, sum);
  }
  template <class Real>
  DS_HD static Real curvature(const Real&, const Real& D) {
    return D;
  }
  template <class Real>
  DS_HD static Real force(const Real& y, const Real& D) {
    return -(D * y);
  }
  template <class Real>
  DS_HD static Real force(const Real& y, const Real&, const Real& curvature) {
    return -(curvature * y);
  }
  // the row is always active
  template <class Real>
  DS_HD static Real add_conditions(const Real& sum, const Real&, const Real&, Condition, int) {
    return sum;
  }
  template <class Real>
  DS_HD static Real piece(const Real&, const Real& curvature) {
    return select(curvature > Real(0), Real(1), Real(0));
  }
  template <class Real>
  DS_HD static void add_along(const Real& y0, const Real& d, const Real& alpha, const Real& D, Real* slope,
                              Real* bend) {
    *slope = fma(D * d, fma(alpha, d, y0), *slope);
    *bend = fma(D * d, d, *bend);
  }
  template <class Real>
  DS_HD static Real project(const Real& l) {
    return l;
  }
};

template <class Real>
struct Huber {
  static constexpr int kConditions = 2;
  static constexpr bool kOwnWeight = true;
  Real f;  // the bound of the force
  Real R;
  DS_HD Real bound() const { return f; }
  DS_HD static Huber of(const Real& bound, const Real& own) { return {bound, own}; }

  DS_HD MaskOf<Real> inside(const Real& y) const { return abs(y) < R * f; }

  DS_HD Real add_cost(const Real& sum, const Real& y, const Real&) const {
    const Real half(0.5);
    return sum + select(inside(y), half * y * y / R, abs(y) * f - half * R * f * f);
  }
  DS_HD Real curvature(const Real& y, const Real&) const { return select(inside(y), Real(1) / R, Real(0)); }
  DS_HD Real force(const Real& y, const Real&) const { return clamp(-(y / R), -f, f); }
  DS_HD Real force(const Real& y, const Real& D, const Real&) const { return force(y, D); }
  DS_HD Real add_conditions(const Real& sum, const Real& y, const Real&, Condition kind, int i) const {
    return sum + select(inside(y), set_weight<Real>(kind, 2 * i),
                        select(y > Real(0), set_weight<Real>(kind, 2 * i + 1), Real(0)));
  }
  DS_HD Real piece(const Real& y, const Real& curvature) const {
    return select(curvature > Real(0), Real(1), select(y > Real(0), Real(2), Real(0)));
  }
  DS_HD void add_along(const Real& y0, const Real& d, const Real& alpha, const Real& D, Real* slope,
                       Real* bend) const {
    const Real y = fma(alpha, d, y0);
    *slope = fma(-force(y, D), d, *slope);
    *bend = *bend + select(inside(y), d * d / R, Real(0));
  }
  DS_HD Real project(const Real& l) const { return clamp(l, -f, f); }
};

// THE list of the laws of scalar rows. A law's place in it is its number, so that rows of several kinds stand side by side
template <class... Laws>
struct ScalarLawList {
  template <class Law>
  DS_HD static constexpr int number_of(const Law&) {
    int number = 0;
    bool reached = false;
    ((reached = reached || kSameType<Laws, Law>, number += reached ? 0 : 1), ...);
    return number;
  }
  // f(law) of each, of which that with the row's number is taken
  template <class Real, class F>
  DS_HD static Real pick(const Real& number, const Real& bound, const Real& R, F f) {
    return pick<Real, F, 0, Laws...>(number, bound, R, f);
  }

 private:
  template <class Real, class F, int k, class Law, class... Rest>
  DS_HD static Real pick(const Real& number, const Real& bound, const Real& R, F f) {
    const Real own = f(Law::of(bound, R));
    if constexpr (sizeof...(Rest) == 0)
      return own;
    else
      return select(number == Real(k), own, pick<Real, F, k + 1, Rest...>(number, bound, R, f));
  }
};
template <class Real>
using ScalarLaws = ScalarLawList<OneSided, TwoSided, Huber<Real>>;

// adds f(i, R, y0) of a row where it is in use
template <class Real, class F>
DS_HD Real add_dual(const Real& sum, const F& f, int i, const Real& D, const Real& y0) {
  const Real zero(0), one(1);
  return sum + select(D > zero, f(i, one / select(D > zero, D, one), y0), zero);
}

// what the Jacobian and the whitening leave of a row of Z, relative: sixteen units of the last place
template <class Real>
constexpr double kRoundingOfRows = kSingle<Real> ? 1e-6 : 2e-15;
// what rounding may do to entry i of Z l, given the squares of its terms; with a sign that tells nothing
template <class Real>
DS_HD Real rounding_of_terms(int i, const Real& squares) {
  const bool minus = (static_cast<unsigned>(i + 1) * 0x9E3779B1u) >> 31;
  return Real(minus ? -kRoundingOfRows<Real> : kRoundingOfRows<Real>) * sqrt(squares);
}
// Where a row whose l is y0 / R rounds to this share of what it asks of w, y0 / |z|, it counts as stiff: a D is as great
constexpr double kShareOfAsked = 1e-2;
template <class Real>
constexpr double kStiff = kShareOfAsked / kRoundingOfRows<Real>;

// The largest D A of a row (conditioning.h). One that is as great may have been meant stiffer by any factor
template <class Real>
constexpr double kStiffest = kSingle<Real> ? 1e6 : 1e12;
constexpr double kAsStiff = 0.99;

// The terms of Z l of stiff rows, squared, |z|^2 l^2 = a l^2, summed; those of rows whose weight is bounded; and R l^2 of
// rows that are meant to be rigid
template <class Real>
struct StiffTerms {
  Real all = Real(0), bounded = Real(0), rigid = Real(0);
  // `terms`: of a row, or of all rows of a contact, whose normal counts
  DS_HD void add(const Real& a, const Real& D, const Real& terms) {
    const Real weighed = a * D;
    all = all + select(weighed > Real(kStiff<Real>), terms, Real(0));
    bounded = bounded + select(weighed > Real(kAsStiff * kStiffest<Real>), terms, Real(0));
  }
  // l of a scalar row, or of a contact's normal; D of rigid rows there (rows/rigid_weight.h)
  DS_HD void add_rigid(const Real& of_tree, const Real& D, const Real& l) {
    rigid = fma(if_rigid(of_tree, D, l), l / select(D > Real(0), D, Real(1)), rigid);
  }
};

// The mean diagonal of A + R over the rows in use, and what of them is stiff
template <class Real>
struct MeanDiagonal {
  Real sum = Real(0), count = Real(0);
  StiffTerms<Real> stiff;
  DS_HD void add(const MaskOf<Real>& used, const Real& a, const Real& R) {
    sum = sum + select(used, a + R, Real(0));
    count = count + select(used, Real(1), Real(0));
  }
  DS_HD Real mean() const { return sum / max(count, Real(1)); }
};

// The natural residual of the dual, |l - P_K(l - y / a)|^2, and |l|^2; y = (A + R) l + b, a the mean
// diagonal.
template <class Real>
struct NaturalResidual {
  Real diagonal;  // a
  Real error = Real(0), size = Real(0);

  DS_HD void add(const Real& l, const Real& e) {
    error = fma(e, e, error);
    size = fma(l, l, size);
  }
  // a scalar row: y of the primal, and what the dual's differs from it but for R l
  template <class Law>
  DS_HD void add_scalar(const Law& law, const MaskOf<Real>& used, const Real& y, const Real& change,
                        const Real& R, const Real& l) {
    const Real dual_y = (y + change) + R * l;
    add(l, select(used, l - law.project(l - dual_y / diagonal), Real(0)));
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
