// The primal cost of one contact, its force and its curvature, as functions of y = J qacc - aref (kDim rows).
//
// solves    cost s(y), force -s'(y), curvature s''(y) of a contact
// equation  pyramidal  edges y_n +- mu_i y_i, each 1/2 D min(0, .)^2
//           elliptic   with U = (mu y_n, mu_i y_i), mu = mu_1 / sqrt(impratio), N = U_0, T = |U_t|
//                      (mu_1: regularizing_friction):
//             N >= mu T          nothing (y in the dual cone)
//             mu N + T <= 0      1/2 sum D_j y_j^2, D_t = D_n mu_t^2 / mu^2
//             else               1/2 D_n / (mu^2 (1 + mu^2)) (N - mu T)^2
//           L1         a pyramid whose rows n, t_i are weighted as an elliptic cone's, and not its edges. Its section is
//                      |.|_1; with v_i = mu_i |y_i| and the least theta >= 0 of sum max(v_i - theta, 0) <= mu^2 (theta - y_n)
//             1/2 D_n ((theta - y_n)^2 + sum max(v_i - theta, 0)^2 / mu^2),   nothing where y_n >= max v_i
//                      which is the projection of -D y onto the cone
//           the curvature is positive semidefinite; for pyramids by edges it is an arrow: only row 0 couples
// source    Todorov 2014; MuJoCo's documentation, "Primal problem"; Moreau 1965 (the projection)
// deviation none
// reads     con_D, con_mu, con_dim
// writes    its arguments
// cost      O(dim^2)
#pragma once

#include "kernels/data/law_has.h"
#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// Sets of active conditions are told apart by the sum of their weights: 22 mixed bits each, since small
// numbers have equal sums too often (two limits that change places with an edge). Exact in float for a few of
// them.
enum class Condition : unsigned { kLimit = 0, kLoss = 1, kDense = 2, kEdge = 3, kNumber = 4 };
template <class Real>
DS_HD Real set_weight(Condition kind, int index) {
  constexpr unsigned kinds = static_cast<unsigned>(Condition::kNumber);
  unsigned h = (kinds * static_cast<unsigned>(index) + static_cast<unsigned>(kind) + 1u) * 0x9E3779B1u;
  h = (h ^ (h >> 15)) * 0x85EBCA77u;
  h = (h ^ (h >> 13)) * 0xC2B2AE3Du;
  return Real(static_cast<float>(1u + (h >> 10)));
}

// entries of a lower triangle with this many rows, and of one block of A or of a curvature
DS_HD constexpr int triangle(int i) { return i * (i + 1) / 2; }
// the edges n +- mu_i t_i of a pyramid, one behind the other: two a tangent
DS_HD constexpr int edge_of(int tangent, int minus) { return 2 * tangent + minus; }
template <int kDim>
constexpr int kEdges = 2 * (kDim - 1);
// edges are numbered as if every slot had those of six rows
constexpr int kSlotEdges = kEdges<1 + kFrictionNumbers>;
// the row that entry k of a triangle stands in, of six
DS_HD constexpr int triangle_row(int k) {
  return k < 1 ? 0 : k < 3 ? 1 : k < 6 ? 2 : k < 10 ? 3 : k < 15 ? 4 : 5;
}
template <int kDim>
constexpr int kTriangle = kDim*(kDim + 1) / 2;

// what the cost of a contact depends on besides y; zeros for an empty slot
template <class Real, int kDim>
struct ConeParams {
  Real D;
  Real mu[kDim - 1];
  Real dim;
  Real cone_mu;  // mu of the elliptic cone's regularization
  int slot;
  bool l1_cone;  // with kByRows: the section is |.|_1, not |.|_2
};

// the least friction of MuJoCo's contacts
constexpr double kLeastFriction = 1e-5;
// mu_1 of the regularization. Contacts of other laws than MuJoCo's may have none along t1 and some about n or
// along t2: hard rows, whose weights are their own, take the largest coefficient, and soft ones no less than
// MuJoCo would
template <int kDim, class Options, class Real>
DS_HD Real regularizing_friction(const Options& o, const Real* mu) {
  if (law_has<kLawMujocoMargins>(o)) return mu[0];
  Real most = mu[0];
  DS_UNROLL
  for (int i = 1; i < kDim - 1; i++) most = max(most, mu[i]);
  return law_has<kLawDirections>(o) ? most : max(mu[0], min(most, Real(kLeastFriction)));
}

template <int kDim, class E>
DS_HD ConeParams<typename E::Real, kDim> cone_params(const E& env, int slot) {
  using Real = typename E::Real;
  ConeParams<Real, kDim> p;
  p.slot = slot;
  p.l1_cone = env.l1_cone;
  p.D = env.con_D()[slot];
  p.dim = env.con_dim()[slot];
  const auto mu = friction_of(env, slot);
  DS_UNROLL
  for (int i = 0; i < kDim - 1; i++) p.mu[i] = mu[i];
  p.cone_mu = regularizing_friction<kDim>(env.t.o, p.mu) / Real(sqrt(env.t.o.impratio));
  return p;
}

// D of the pair of edges i: an empty slot or a row beyond the contact's dimension has none; a frictionless
// contact is edge 0 with mu = 0, counted once
template <class Real, int kDim>
DS_HD Real edge_D(const ConeParams<Real, kDim>& p, int i, bool minus) {
  const Real D = i == 0 ? p.D : select(p.dim > Real(i + 1), p.D, Real(0));
  return minus ? select(p.dim > Real(i + 1), D, Real(0)) : D;
}

// lower triangle, row-major: entry (i, j), j <= i, at i (i + 1) / 2 + j
template <class Real, int kDim>
struct ConeLaw {
  Real cost;
  Real force[kDim];
  Real curvature[kTriangle<kDim>];
  Real key;  // changes when the active set does
};

template <bool kCurvature, class Real, int kDim>
DS_FN void pyramid_law(const ConeParams<Real, kDim>& p, const Real* y, ConeLaw<Real, kDim>* out) {
  const Real zero(0);
  out->cost = zero;
  out->key = zero;
  out->force[0] = zero;
  if (kCurvature)
    for (int k = 0; k < kTriangle<kDim>; k++) out->curvature[k] = zero;
  DS_UNROLL
  for (int i = 0; i < kDim - 1; i++) {
    const Real mu = p.mu[i], Dp = edge_D(p, i, false), Dm = edge_D(p, i, true);
    const Real yp = negative_part(fma(mu, y[i + 1], y[0])), ym = negative_part(fma(-mu, y[i + 1], y[0]));
    const Real fp = -(Dp * yp), fm = -(Dm * ym);
    out->cost = out->cost - Real(0.5) * (fp * yp + fm * ym);
    out->force[0] = out->force[0] + (fp + fm);
    out->force[i + 1] = mu * (fp - fm);
    if (kCurvature) {
      const Real hp = select(yp < zero, Dp, zero), hm = select(ym < zero, Dm, zero);
      constexpr int kSide = kDim;
      static_assert(kSide > 1);
      const int row = (i + 1) * (i + 2) / 2;
      out->curvature[0] = out->curvature[0] + (hp + hm);
      out->curvature[row] = mu * (hp - hm);
      out->curvature[row + i + 1] = mu * mu * (hp + hm);
      const int edge = kSlotEdges * p.slot + edge_of(i, 0);
      out->key = out->key + select(hp > zero, set_weight<Real>(Condition::kEdge, edge), zero) +
                 select(hm > zero, set_weight<Real>(Condition::kEdge, edge + 1), zero);
    }
  }
}

// where y lies, and what the law there is made of
template <class Real, int kDim>
struct EllipticZone {
  using Mask = MaskOf<Real>;
  Mask stuck, slide;
  Real U[kDim];         // tangents only
  Real mu, T, Dm, gap;  // mu and T positive; gap = N - mu T, negative while sliding
  DS_HD Real tangent_D(const ConeParams<Real, kDim>& p, int i) const {
    const Real ratio = p.mu[i - 1] / mu;
    return p.D * ratio * ratio;
  }
};
template <class Real, int kDim>
DS_HD EllipticZone<Real, kDim> elliptic_zone(const ConeParams<Real, kDim>& p, const Real* y) {
  EllipticZone<Real, kDim> z;
  const Real zero(0), one(1);
  const Real mu = p.cone_mu;
  const auto frictionless = mask_or(p.dim < Real(2), mu <= zero);
  Real T2 = zero;
  DS_UNROLL
  for (int j = 1; j < kDim; j++) {
    z.U[j] = p.mu[j - 1] * y[j];
    T2 = fma(z.U[j], z.U[j], T2);
  }
  const Real T = sqrt(T2), N = mu * y[0];
  const auto open = select_mask(frictionless, y[0] >= zero, N >= mu * T);
  z.stuck = select_mask(frictionless, y[0] < zero, mask_and(mask_not(open), fma(mu, N, T) <= zero));
  z.slide = mask_and(mask_not(open), mask_not(z.stuck));
  z.mu = select(mu > zero, mu, one);
  z.T = select(T > zero, T, one);
  z.Dm = p.D / (z.mu * z.mu * fma(z.mu, z.mu, one));
  z.gap = N - mu * T;
  return z;
}

template <bool kCurvature, class Real, int kDim>
DS_FN void elliptic_law(const ConeParams<Real, kDim>& p, const Real* y, ConeLaw<Real, kDim>* out) {
  const Real zero(0), one(1), mu = p.cone_mu;
  const EllipticZone<Real, kDim> z = elliptic_zone(p, y);
  out->key = select(z.stuck, one, select(z.slide, Real(2), zero));
  const Real fn_slide = -(z.Dm * z.gap * mu), fn_stuck = -(p.D * y[0]);
  out->force[0] = select(z.stuck, fn_stuck, select(z.slide, fn_slide, zero));
  Real cost = p.D * y[0] * y[0];
  DS_UNROLL
  for (int j = 1; j < kDim; j++) {
    const Real Dt = z.tangent_D(p, j);
    cost = fma(Dt * y[j], y[j], cost);
    out->force[j] =
        select(z.stuck, -(Dt * y[j]), select(z.slide, -(fn_slide / z.T) * (z.U[j] * p.mu[j - 1]), zero));
  }
  out->cost = Real(0.5) * select(z.stuck, cost, select(z.slide, z.Dm * z.gap * z.gap, zero));
  if (kCurvature) {
    // scale (mu, mu_j); g = (1, -mu U/T); H = Dm (g g' - mu gap (I - u u')/T) on the tangents
    out->curvature[0] = select(z.stuck, p.D, select(z.slide, z.Dm * mu * mu, zero));
    const Real bend = -(mu * z.gap) / z.T;
    DS_UNROLL
    for (int i = 1; i < kDim; i++) {
      const int row = triangle(i);
      const Real ui = z.U[i] / z.T, si = p.mu[i - 1];
      out->curvature[row] = select(z.slide, -(z.Dm * mu * mu * ui * si), zero);
      for (int j = 1; j <= i; j++) {
        const Real uj = z.U[j] / z.T, sj = p.mu[j - 1];
        Real h = fma(mu * mu - bend, ui * uj, i == j ? bend : zero);
        h = select(z.slide, z.Dm * h * si * sj, zero);
        out->curvature[row + j] = i == j ? select(z.stuck, z.tangent_D(p, i), h) : h;
      }
    }
  }
}

// adds the slope of the cost along d, and its second derivative: -force d and d' curvature d, without either
template <class Real, int kDim>
DS_FN void elliptic_along(const ConeParams<Real, kDim>& p, const Real* y, const Real* d, Real* slope,
                          Real* bend) {
  const Real zero(0), mu = p.cone_mu;
  const EllipticZone<Real, kDim> z = elliptic_zone(p, y);
  Real first = p.D * y[0] * d[0], second = p.D * d[0] * d[0], along = zero, size = zero;
  DS_UNROLL
  for (int i = 1; i < kDim; i++) {
    const Real Dd = z.tangent_D(p, i) * d[i], V = p.mu[i - 1] * d[i];
    first = fma(Dd, y[i], first);
    second = fma(Dd, d[i], second);
    along = fma(z.U[i], V, along);
    size = fma(V, V, size);
  }
  // T' = u'V and T'' = (|V|^2 - T'^2) / T
  const Real rate = along / z.T, opening = mu * d[0] - mu * rate;
  const Real turning = (size - rate * rate) / z.T;
  *slope = *slope + select(z.stuck, first, select(z.slide, z.Dm * z.gap * opening, zero));
  *bend = *bend +
          select(z.stuck, second, select(z.slide, z.Dm * (opening * opening - mu * z.gap * turning), zero));
}

// theta of  sum over v_i > theta of (v_i - theta) = level + slope theta,  v >= 0 of the rows that the contact
// has; where that is negative, every row counts (Michelot 1986: what falls below drops out until nothing
// does)
template <int kDim, class Real>
DS_FN Real shrinkage(const Real* v, const Real& dim, const Real& level, const Real& slope) {
  const Real zero(0), one(1);
  Real theta(-1);
  for (int pass = 0; pass < kDim; pass++) {
    Real total = -level, count = slope;
    DS_UNROLL
    for (int i = 0; i < kDim - 1; i++) {
      const auto stays = mask_and(dim > Real(i + 1), v[i] >= theta);
      total = total + select(stays, v[i], zero);
      count = count + select(stays, one, zero);
    }
    theta = select(count > zero, total / select(count > zero, count, one), theta);
  }
  return theta;
}

// tangents x[1 ..] <- those nearest to them of |x|_1 <= level + slope theta, theta >= 0 the shrinkage, which
// it returns
template <int kDim, class Real>
DS_FN Real shrink_tangents(const Real& dim, const Real& level, const Real& slope, Real* x) {
  const Real zero(0);
  Real v[kDim - 1];
  DS_UNROLL
  for (int i = 1; i < kDim; i++) v[i - 1] = abs(x[i]);
  const Real theta = max(shrinkage<kDim>(v, dim, level, slope), zero);
  DS_UNROLL
  for (int i = 1; i < kDim; i++) {
    const Real rest = max(v[i - 1] - theta, zero);
    x[i] = select(x[i] < zero, -rest, rest);
  }
  return theta;
}

// where y lies, and what the law there is made of
template <class Real, int kDim>
struct L1Zone {
  using Mask = MaskOf<Real>;
  Mask stuck, slide;
  Real mu2, depth;              // theta - y_n where it pushes, else 0
  Real rest[kDim], side[kDim];  // of tangents: max(v - theta, 0); mu with the sign of y where that is above 0
  Real count;                   // of those
};
template <class Real, int kDim>
DS_HD L1Zone<Real, kDim> l1_zone(const ConeParams<Real, kDim>& p, const Real* y) {
  L1Zone<Real, kDim> z;
  const Real zero(0), one(1), dim = select(p.cone_mu > zero, p.dim, one);
  const Real mu = select(p.cone_mu > zero, p.cone_mu, one);
  z.mu2 = mu * mu;
  Real v[kDim - 1], largest = zero;
  DS_UNROLL
  for (int i = 0; i < kDim - 1; i++) {
    v[i] = select(dim > Real(i + 1), abs(p.mu[i] * y[i + 1]), zero);
    largest = max(largest, v[i]);
  }
  const auto apart = y[0] >= largest;
  const Real theta = max(shrinkage<kDim>(v, dim, -(z.mu2 * y[0]), z.mu2), zero);
  z.depth = select(apart, zero, max(theta - y[0], zero));
  // a depth that rounds to nothing leaves no room for tangents either
  const auto open = mask_not(z.depth > zero);
  z.stuck = mask_and(mask_not(open), theta <= zero);
  z.slide = mask_and(mask_not(open), mask_not(z.stuck));
  z.count = zero;
  // v_i - theta = (mu^2 (v_i - y_n) + sum over v_j >= theta of (v_i - v_j)) / (mu^2 + count): where mu^2 is less than
  // what rounding leaves of v_i, theta is v_i to rounding
  const auto counts = [&](int i) { return mask_and(dim > Real(i + 1), v[i] >= theta); };
  Real above = z.mu2;
  DS_UNROLL
  for (int i = 0; i < kDim - 1; i++) above = above + select(counts(i), one, zero);
  DS_UNROLL
  for (int i = 1; i < kDim; i++) {
    Real over = z.mu2 * (v[i - 1] - y[0]);
    DS_UNROLL
    for (int j = 0; j < kDim - 1; j++) over = over + select(counts(j), v[i - 1] - v[j], zero);
    const Real rest = select(theta > zero, select(counts(i - 1), over / above, zero), v[i - 1]);
    z.rest[i] = select(open, zero, max(rest, zero));
    const auto slides = z.rest[i] > zero;
    z.side[i] = select(slides, select(y[i] < zero, -p.mu[i - 1], p.mu[i - 1]), zero);
    z.count = z.count + select(slides, one, zero);
  }
  return z;
}

// the force is linear in y while the same rows slide
template <bool kCurvature, class Real, int kDim>
DS_FN void l1_law(const ConeParams<Real, kDim>& p, const Real* y, ConeLaw<Real, kDim>* out) {
  const Real zero(0), one(1);
  const L1Zone<Real, kDim> z = l1_zone(p, y);
  const Real Dt = p.D / z.mu2;
  out->key = select(z.stuck, one, select(z.slide, Real(2), zero));
  out->force[0] = p.D * z.depth;
  Real cost = p.D * z.depth * z.depth;
  DS_UNROLL
  for (int i = 1; i < kDim; i++) {
    out->force[i] = -(Dt * z.rest[i] * z.side[i]);
    cost = fma(Dt * z.rest[i], z.rest[i], cost);
  }
  out->cost = Real(0.5) * cost;
  if (kCurvature) {
    const Real share = select(z.slide, one / (z.mu2 + z.count), zero);
    out->curvature[0] = select(z.stuck, p.D, p.D * z.count * share);
    DS_UNROLL
    for (int i = 1; i < kDim; i++) {
      const int row = triangle(i);
      out->curvature[row] = -(p.D * share * z.side[i]);
      // a row that rests at y_i = 0 is stuck too
      const Real own = select(z.stuck, p.mu[i - 1] * p.mu[i - 1], z.side[i] * z.side[i]);
      for (int j = 1; j <= i; j++)
        out->curvature[row + j] = Dt * ((i == j ? own : zero) - share * z.side[i] * z.side[j]);
    }
  }
}

// as elliptic_along
template <class Real, int kDim>
DS_FN void l1_along(const ConeParams<Real, kDim>& p, const Real* y, const Real* d, Real* slope, Real* bend) {
  const Real zero(0), one(1);
  const L1Zone<Real, kDim> z = l1_zone(p, y);
  const Real Dt = p.D / z.mu2;
  Real first = -(p.D * z.depth * d[0]), along = zero, size = zero;
  DS_UNROLL
  for (int i = 1; i < kDim; i++) {
    const Real V = z.side[i] * d[i], own = select(z.stuck, p.mu[i - 1] * d[i], V);
    first = fma(Dt * z.rest[i], V, first);
    along = along + V;
    size = fma(own, own, size);
  }
  const Real share = select(z.slide, one / (z.mu2 + z.count), zero);
  const Real normal =
      select(z.stuck, p.D * d[0] * d[0], p.D * share * d[0] * (z.count * d[0] - (along + along)));
  *slope = *slope + first;
  *bend = *bend + (normal + Dt * (size - share * along * along));
}

template <class Real, int kDim>
DS_HD void cone_along(const ConeParams<Real, kDim>& p, const Real* y, const Real* d, Real* slope,
                      Real* bend) {
  if (p.l1_cone)
    l1_along(p, y, d, slope, bend);
  else
    elliptic_along(p, y, d, slope, bend);
}

template <bool kByRows, bool kCurvature, class Real, int kDim>
DS_HD void cone_law(const ConeParams<Real, kDim>& p, const Real* y, ConeLaw<Real, kDim>* out) {
  if constexpr (!kByRows)
    pyramid_law<kCurvature>(p, y, out);
  else if (p.l1_cone)
    l1_law<kCurvature>(p, y, out);
  else
    elliptic_law<kCurvature>(p, y, out);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
