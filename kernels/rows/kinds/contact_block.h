// One contact's block of the dual, lowered over its own cone: what projected Gauss-Seidel does to a contact.
//
// solves    minimize over l in K   1/2 l'(A + R) l + l'y,   A the diagonal block of Z'Z, y without A l and R l
// equation  pyramids by edges: three passes over the edges, each l_e <- max(l_e - y_e / (A_ee + R), 0)
//           round and L1 cones, in coordinates s_0 = l_n, s_i = l_i / mu_i in which they are round (or |.|_1): the exact
//           step along the ray of the present force, or from zero along the cone's steepest ray; then four projected
//           gradient steps of the tangents on the section of s_0, with step 1 / trace, which cannot raise the dual
// source    block updates after Jourdan, Alart and Jean 1998
// deviation none
// reads     its arguments
// writes    its arguments
// cost      O(dim^2) a pass
#pragma once

#include "kernels/rows/cone.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// one pyramidal block: y at entry without R l; returns the change of the contact force in df
template <class Real, int kDim>
DS_FN void block_by_edges(const ConeParams<Real, kDim>& p, const Real* A, Real* y, Real* lambda, Real* df) {
  const Real zero(0);
  DS_UNROLL
  for (int r = 0; r < kDim; r++) df[r] = zero;
  const Real R = Real(1) / select(p.D > zero, p.D, Real(1));
  for (int pass = 0; pass < 3; pass++) DS_UNROLL
  for (int i = 0; i < kDim - 1; i++) {
    const int row = (i + 1) * (i + 2) / 2;
    const Real cross = Real(2) * p.mu[i] * A[row], side = p.mu[i] * p.mu[i] * A[row + i + 1];
    for (int minus = 0; minus < 2; minus++) {
      const Real mu = minus ? -p.mu[i] : p.mu[i];
      const Real a = A[0] + (minus ? -cross : cross) + side + R;
      Real& l = lambda[edge_of(i, minus)];
      const Real ye = fma(mu, y[i + 1], y[0]) + R * l;
      const Real next = select(edge_D(p, i, minus) > zero, max(l - ye / a, zero), zero);
      const Real dl = next - l;
      l = next;
      const Real dt = mu * dl;
      df[0] = df[0] + dl;
      df[i + 1] = df[i + 1] + dt;
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        const int hi = r > i + 1 ? r : i + 1, lo = r > i + 1 ? i + 1 : r;
        y[r] = fma(A[triangle(r)], dl, fma(A[triangle(hi) + lo], dt, y[r]));
      }
    }
  }
}

// where `closed`: ray becomes the edge of a L1 cone along which y falls fastest
template <int kDim, class Real, class Mask>
DS_FN void steepest_edge(const Real* y, const Mask& closed, Real* ray) {
  const Real zero(0), one(1);
  Real largest = zero;
  DS_UNROLL
  for (int i = 1; i < kDim; i++) largest = max(largest, abs(y[i]));
  auto open = closed;  // no edge is taken yet
  DS_UNROLL
  for (int i = 1; i < kDim; i++) {
    const auto here = mask_and(mask_and(open, abs(y[i]) >= largest), largest > zero);
    ray[i] = select(closed, select(here, select(y[i] > zero, -one, one), zero), ray[i]);
    open = mask_and(open, mask_not(here));
  }
}

// a contact's block in the coordinates in which its cone is round: G = A + R, and the force
template <class Real, int kDim>
struct ScaledBlock {
  Real G[kTriangle<kDim>];
  Real scale[kDim];  // l_i = scale_i s_i
  Real s[kDim], y[kDim];
  Real trace;   // of the tangents
  Real Rn, Rt;  // R of the normal row; R_i mu_i^2, one number for all tangents

  DS_HD const Real& entry(int i, int j) const { return i > j ? G[triangle(i) + j] : G[triangle(j) + i]; }
  // y + G s
  DS_HD Real gradient(int i) const {
    Real g = y[i];
    DS_UNROLL
    for (int j = 0; j < kDim; j++) g = fma(entry(i, j), s[j], g);
    return g;
  }
};

// y_in: with the block's own share A l, but without R l
template <class Real, int kDim>
DS_HD ScaledBlock<Real, kDim> scaled_block(const ConeParams<Real, kDim>& p, const Real* A, const Real* y_in,
                                           const Real* lambda) {
  const Real zero(0), one(1);
  ScaledBlock<Real, kDim> b;
  b.Rn = one / select(p.D > zero, p.D, one);
  const Real safe_mu = select(p.cone_mu > zero, p.cone_mu, one);
  b.Rt = b.Rn * safe_mu * safe_mu;
  b.scale[0] = one;
  DS_UNROLL
  for (int i = 1; i < kDim; i++) b.scale[i] = p.mu[i - 1];
  b.trace = zero;
  DS_UNROLL
  for (int i = 0; i < kDim; i++) {
    for (int j = 0; j <= i; j++) b.G[triangle(i) + j] = A[triangle(i) + j] * b.scale[i] * b.scale[j];
    b.G[triangle(i) + i] = b.G[triangle(i) + i] + (i == 0 ? b.Rn : b.Rt);
    if (i > 0) b.trace = b.trace + b.G[triangle(i) + i];
    const Real mu = i == 0 ? one : select(p.mu[i - 1] > zero, p.mu[i - 1], one);
    b.s[i] = lambda[i] / mu;
    b.y[i] = y_in[i] * b.scale[i];
  }
  // y without the block's own share
  DS_UNROLL
  for (int i = 0; i < kDim; i++) {
    Real own = zero;
    DS_UNROLL
    for (int j = 0; j < kDim; j++)
      own = fma(i == j ? b.entry(i, j) - (i > 0 ? b.Rt : b.Rn) : b.entry(i, j), b.s[j], own);
    b.y[i] = b.y[i] - own;
  }
  return b;
}

// s <- the least point on the ray of the present force, or where it is zero on the steepest ray of the cone
template <class Real, int kDim>
DS_HD void step_along_ray(const ConeParams<Real, kDim>& p, ScaledBlock<Real, kDim>* b) {
  const Real zero(0), one(1);
  Real t2 = zero;
  DS_UNROLL
  for (int i = 1; i < kDim; i++) t2 = fma(b->y[i], b->y[i], t2);
  const Real tn = sqrt(t2);
  const auto closed = b->s[0] <= zero;
  Real ray[kDim];
  ray[0] = select(closed, one, b->s[0]);
  DS_UNROLL
  for (int i = 1; i < kDim; i++)
    ray[i] = select(closed, select(tn > zero, -(b->y[i] / select(tn > zero, tn, one)), zero), b->s[i]);
  if (p.l1_cone) steepest_edge<kDim>(b->y, closed, ray);
  Real slope = zero, bend = zero;
  DS_UNROLL
  for (int i = 0; i < kDim; i++) {
    slope = fma(b->y[i], ray[i], slope);
    Real g = zero;
    DS_UNROLL
    for (int j = 0; j < kDim; j++) g = fma(b->entry(i, j), ray[j], g);
    bend = fma(g, ray[i], bend);
  }
  const Real along = max(-(slope / bend), zero);
  DS_UNROLL
  for (int i = 0; i < kDim; i++) b->s[i] = ray[i] * along;
}

// tangents <- a projected gradient step on the section of radius s_0
template <class Real, int kDim>
DS_HD void step_on_section(const ConeParams<Real, kDim>& p, const Real& step, ScaledBlock<Real, kDim>* b) {
  const Real zero(0), one(1);
  Real trial[kDim], n2 = zero;
  DS_UNROLL
  for (int i = 1; i < kDim; i++) {
    trial[i] = select(p.dim > Real(i), b->s[i] - step * b->gradient(i), zero);
    n2 = fma(trial[i], trial[i], n2);
  }
  if (p.l1_cone) {
    shrink_tangents<kDim>(p.dim, b->s[0], zero, trial);
    DS_UNROLL
    for (int i = 1; i < kDim; i++) b->s[i] = trial[i];
    return;
  }
  const Real n = sqrt(n2);
  const Real shrink = select(n > b->s[0], b->s[0] / select(n > zero, n, one), one);
  DS_UNROLL
  for (int i = 1; i < kDim; i++) b->s[i] = trial[i] * shrink;
}

// one block of a round or L1 cone, likewise
template <class Real, int kDim>
DS_FN void block_by_rows(const ConeParams<Real, kDim>& p, const Real* A, const Real* y_in, Real* lambda,
                         Real* df) {
  const Real zero(0), one(1);
  ScaledBlock<Real, kDim> b = scaled_block(p, A, y_in, lambda);
  step_along_ray(p, &b);
  const Real step = one / select(b.trace > zero, b.trace, one);
  for (int pass = 0; pass < 4; pass++) step_on_section(p, step, &b);
  DS_UNROLL
  for (int i = 0; i < kDim; i++) {
    const Real next = select(p.D > zero, b.s[i] * b.scale[i], zero);
    df[i] = next - lambda[i];
    lambda[i] = next;
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
