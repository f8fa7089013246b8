// The rows of contacts, made: kDim a slot (n, t1, t2, spin, roll1, roll2), whitened.
//
// A slot's rows stand in kDim rows of Z behind the dense scalar rows, on the dofs of slot_support; rows beyond a contact's
// dimension, and slots that an environment does not use, are zeros.
//
// solves    J, whitened, and y0 of every contact
// equation  J_r = the axis' motion of the second body less the first's,   aref = -B J v - K imp(r) r (r on n alone)
// source    MuJoCo's documentation, "Contact" and "Solver parameters"
//           where surfaces move, J v is that relative to them (surface_velocity.h)
// deviation none; other laws of contact set con_kterm, con_Bn, con_Bt and con_D (kernels/contact), and explicit ones are
//           given J v in place of y
// reads     con_*, cdof, tree_com, qvel, qacc_smooth, LD, Dscale
// writes    its rows of Z, con_y0, con_frame (t1), slot_support; con_D under the integrator discrete (step_end.h)
// cost      O(contacts (nv + nM))
#pragma once

#include "kernels/data/law_has.h"
#include "kernels/rows/step_end.h"
#include "kernels/rows/support.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the dofs that slots reach; of packs, whose environments have other pairs, their signs too, in row 0 of each
// slot. A barrier has to follow
template <class E>
DS_HD void find_dofs(E& env, int kdim) {
  using Real = typename E::Real;
  const Real zero(0);
  const auto all = all_true<Real>();
  const int nv = env.t.n.nv;
  env.each(env.ncon_max, [&](int slot) {
    const auto row = env.Z().from((env.t.n.ndense + kdim * slot) * nv);
    bool first = true;
    find_support(env, slot, all, slot_support(env, slot), [&](int pair, const auto& here) {
      if constexpr (E::kPack > 1) {
        const int* sign = signs_of(env, pair);
        if (first)
          for (Index d = 0; d < nv; d++) row[d] = select(here, Real(sign[d]), zero);
        else
          for (Index d = 0; d < nv; d++) row[d] = select(here, Real(sign[d]), row[d]);
        first = false;
      }
    });
  });
}

// unit normal given, a hint for t1 (or zero): t1 orthogonal to n, t2 = n x t1
template <class Real>
DS_HD void contact_frame(const Vec3<Real>& n, const Vec3<Real>& hint, Vec3<Real>* t1, Vec3<Real>* t2) {
  const Real zero(0), one(1);
  // as MuJoCo makes a frame: from the hint, or where that is shorter than a half from y, or from z where n is near to y
  const auto lying = abs(n.y) < Real(0.5);
  const Vec3<Real> rule{zero, select(lying, one, zero), select(lying, zero, one)};
  const Vec3<Real> start = select3(dot(hint, hint) < Real(0.25), rule, hint);
  Real length;
  *t1 = normalize(start - n * dot(n, start), rule, &length);
  *t2 = cross(n, *t1);
}

// integrator discrete: the weight of a contact whose J stands in its rows
template <int kDim, class E>
DS_FN void weigh_contact(E& env, int slot) {
  using Real = typename E::Real;
  using Sum = Sums<Real, 2>;
  const auto& t = env.t;
  const auto z = rows_of<kDim>(env.Z(), t.n.ndense + kDim * slot, t.n.nv);
  const bool edges = t.o.weights == kWeighsEdges;
  const Real mu = friction_of(env, slot)[kSlide1];
  const auto rubs = env.con_dim()[slot] > Real(1);
  const Sum sum = env.template accumulate_in<Sum>(slot_support(env, slot), t.n.nv, [&](Index d, Sum s) {
    const Real n = z[0][d], j = edges ? select(rubs, fma(mu, z[1][d], n), n) : n;
    RowShares<Real> shares{s.of[0], s.of[1]};
    shares.add(env, d, j);
    s.of[0] = shares.of_step;
    s.of[1] = shares.of_M;
    return s;
  });
  if (env.lanes.rank() == 0)
    env.con_D()[slot] = env.con_D()[slot] * RowShares<Real>{sum.of[0], sum.of[1]}.weight();
}

template <class E>
DS_HD bool surfaces_move(const E& env) {
  if constexpr (!kCompiledFor<StepTables<typename E::Scalar>, &Sizes::nsurface>) return false;
  return env.t.n.nsurface > 0;
}
// of a slot's rows those that see the surfaces move: two along them, and the one about the normal
constexpr int kSurfaceRow = 1, kSurfaceRows = 3;
template <int kDim>
constexpr int kSurfaceRowEnd = kDim < kSurfaceRow + kSurfaceRows ? kDim : kSurfaceRow + kSurfaceRows;

// rows of contact slots: J on the support, b, then whitened
template <int kDim, class E>
DS_STAGE void contact_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto Z = env.Z(), pos = env.con_pos(), y0 = env.con_y0();
  const auto cdof = env.cdof(), com = env.tree_com(), qvel = env.qvel(), qacc = env.qacc_smooth();
  const int nv = t.n.nv;
  const bool velocities = law_has<kLawVelocities>(t.o);  // what such a law starts from, in place of y
  const Real zero(0);
  find_dofs(env, kDim);
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const int first = t.n.ndense + kDim * slot;
    const auto z = rows_of<kDim>(Z, first, nv);
    const auto support = slot_support(env, slot);
    const auto frame = frame_of(env, slot);
    const Vec3<Real> p = pos.vec(slot), n = frame.vec_at(kFrameNormal);
    Vec3<Real> axis[3] = {n, {zero, zero, zero}, {zero, zero, zero}};
    contact_frame(n, frame.vec_at(kFrameTangent), &axis[1], &axis[2]);
    env.sync();
    if (env.lanes.rank() == 0) frame.set_at(kFrameTangent, axis[1]);
    const Real dim = env.con_dim()[slot];
    env.each(nv, [&](int d) {
      if (!in_set(support, d)) {
        DS_UNROLL
        for (int r = 0; r < kDim; r++) z[r][d] = zero;
        return;
      }
      Real sign;
      if constexpr (E::kPack > 1)
        sign = z[0][d];
      else
        sign = Real(signs_of(env, pair_of(env, slot))[d]);
      const Spatial<Real> s = cdof.spatial(d);
      const Vec3<Real> v = s.lin + cross(s.ang, p - com.vec(t.body_tree[t.dof_body[d]]));
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        const Real j = fma(sign, dot(axis[r % 3], r < 3 ? v : s.ang), zero);
        z[r][d] = r == 0 ? j : select(dim > Real(r), j, zero);
      }
    });
    env.sync();
    if (t.o.integrator == kDiscrete) weigh_contact<kDim>(env, slot);
    const Real Bn = env.con_Bn()[slot], Bt = env.con_Bt()[slot];
    DS_UNROLL
    for (int three = 0; three < kDim; three += 3) {
      using Sum = Sums<Real, 3>;
      const Sum s = env.template accumulate_in<Sum>(support, nv, [&](Index d, Sum sum) {
        DS_UNROLL
        for (int k = 0; k < 3; k++) {
          const int r = three + k;
          sum.of[k] = fma(z[r][d], velocities ? qvel[d] : fma(r == 0 ? Bn : Bt, qvel[d], qacc[d]), sum.of[k]);
        }
        return sum;
      });
      if (env.lanes.rank() != 0) continue;
      DS_UNROLL
      for (int k = 0; k < 3; k++)
        y0[kDim * slot + three + k] = three + k == 0 ? s.of[k] + env.con_kterm()[slot] : s.of[k];
    }
    if (surfaces_move(env) && env.lanes.rank() == 0) {
      const auto surface = env.con_surface().from(kSurfaceRows * slot);
      DS_UNROLL
      for (int r = kSurfaceRow; r < kSurfaceRowEnd<kDim>; r++) {
        const Real rate = select(dim > Real(r), Bt * surface[r - kSurfaceRow], zero);
        y0[kDim * slot + r] = y0[kDim * slot + r] + rate;
      }
    }
  }
  env.sync();
  // lanes take a row each, one lane three of them
  static_assert(kDim % 3 == 0);
  constexpr int kRows = E::Lanes::kWidth == 1 ? 3 : 1;
  env.each(kDim / kRows * env.ncon_max, [&](int i) {
    whiten<kRows>(env, Z, t.n.ndense + kRows * i, slot_support(env, kRows * i / kDim));
  });
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
