// Outputs: derived quantities of an evaluation, written for those arrays that somebody wants.
//
// solves    the batch's output arrays
// equation  subtree_com = (sum of m x over the subtree) / (sum of m)
//           cfrc_ext = (sum of n + (p - c) x f, sum of f) over forces f and torques n at p, c a centre of mass
//           everything else is copied, or a pose of something that is fixed to a body
// source    MuJoCo's documentation of mjData
// deviation none
// reads     everything an evaluation left in the workspace
// writes    the arrays; in the workspace what nobody reads any more: subtree_sum, momentum, and cinert, which is made
//           again where it is wanted, since the composite inertias have replaced the bodies' own
// cost      O(size of the arrays that are wanted)
#pragma once

#include "kernels/data/env_io.h"
#include "kernels/rows/rows.h"
#include "kernels/sensors/sensors.h"
#include "kernels/smooth/bias.h"
#include "kernels/smooth/energy.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class E, class F>
DS_STAGE void sense_field(const EnvIO<E>& in, typename E::Scalar* to, const F& field, int width) {
  if (to == nullptr) return;
  in.store_field(to, field, width);
}

// vector i of the `count` that an environment has in an array; a matrix is a vector a row, a spatial vector is two
template <class E>
DS_HD void put_vec(const EnvIO<E>& in, typename E::Scalar* to, int count, int i,
                   const Vec3<typename E::Real>& v) {
  const int width = kVecNumbers * count, at = kVecNumbers * i;
  in.put(to, width, at, v.x);
  in.put(to, width, at + 1, v.y);
  in.put(to, width, at + 2, v.z);
}
constexpr int kMatRows = 3, kSpatialVecs = 2;

// things fixed to bodies: how many, where they are on which body, and where their poses go
template <class Scalar>
struct FixedPoses {
  int count;
  const int* body;
  const Param<Scalar>&pos, &quat;
  Scalar *xpos, *xmat;
};
template <class E>
DS_STAGE void sense_poses(E& env, const EnvIO<E>& in, FixedPoses<typename E::Scalar> to) {
  using Real = typename E::Real;
  if (to.xpos == nullptr && to.xmat == nullptr) return;
  env.each(to.count, [&](int g) {
    const int body = to.body[g];
    const Quat<Real> q = env.xquat().quat(body);
    if (to.xpos != nullptr)
      put_vec(in, to.xpos, to.count, g, env.xpos().vec(body) + rotate(q, env.vec(to.pos, g)));
    if (to.xmat != nullptr) {
      const Mat3<Real> r = to_matrix(mul(q, env.quat(to.quat, g)));
      for (int k = 0; k < kMatNumbers; k++)
        in.put(to.xmat, kMatNumbers * to.count, kMatNumbers * g + k, r.m[k]);
    }
  });
}

// centre of mass of every subtree: mass-weighted sums to the root
template <class E>
DS_STAGE void sense_subtree_com(E& env, const EnvIO<E>& in) {
  using Real = typename E::Real;
  const auto& t = env.t;
  if (in.batch.subtree_com == nullptr) return;
  const auto sum = env.subtree_sum();
  const Vec3<Real> zero{Real(0), Real(0), Real(0)};
  env.each(t.n.nbody, [&](int b) {
    const Real m = env.body_mass(b);
    sum.set(b, Spatial<Real>{{m, Real(0), Real(0)}, b == 0 ? zero : env.xipos().vec(b) * m});
  });
  sum_to_root(env, sum);
  env.each(t.n.nbody, [&](int b) {
    Spatial<Real> s = sum.spatial(b);
    if (b == 0)
      for (int c = t.child_adr[0]; c < t.child_adr[1]; c++) s = s + sum.spatial(t.child_body[c]);
    const Real mass = s.ang.x;
    put_vec(in, in.batch.subtree_com, t.n.nbody, b, weighted_mean(s.lin, mass, env.xipos().vec(b)));
  });
  env.done();
}

// adds what constraint rows of the kinds of DenseKinds, and tendons, do to a body
template <class E, class Real = typename E::Real>
DS_STAGE void add_held(const E& env, int b, WrenchSum<Real>* wrench) {
  const Vec3<Real> zero{Real(0), Real(0), Real(0)};
  WrenchSum<Real> taken{wrench->point, {zero, zero}};
  subtract_rows(env, {b, b + 1}, &taken);
  if (env.t.n.ntendon > 0) subtract_tendons(env, {b, b + 1}, &taken);
  wrench->sum = axpy(taken.sum, Real(-1), wrench->sum);
}

// forces on each body from outside its joints: of the user, of contacts, in the order of their slots, of connects and welds, and
// of spatial tendons
template <class E>
DS_STAGE void sense_external_forces(E& env, const EnvIO<E>& in) {
  using Real = typename E::Real;
  const auto& t = env.t;
  if (in.batch.cfrc_ext == nullptr) return;
  const Vec3<Real> zero{Real(0), Real(0), Real(0)};
  env.each(t.n.nbody, [&](int b) {
    WrenchSum<Real> wrench{zero, {zero, zero}};
    if (b > 0) {
      wrench.point = moment_point(env, b);
      if (env.any_xfrc) {
        const Spatial<Real> user = in.xfrc(b);
        wrench.add(user.lin, user.ang, env.xipos().vec(b));
      }
      each_contact(env, [&](int slot, int pair, const auto& here) {
        const int sides = sides_of_body(t, pair, b);
        if (sides == 0) return;
        // on the second geom's body it acts as it is, on the first's the other way
        const bool second = (sides & kSecondSide) != 0;
        add_contact(env, slot, here, &wrench, [&](const Vec3<Real>& v) { return second ? v : -v; });
      });
      if (t.n.ndense > 0 || t.n.ntendon > 0) add_held(env, b, &wrench);
    }
    const int count = kSpatialVecs * t.n.nbody, first = kSpatialVecs * b;
    put_vec(in, in.batch.cfrc_ext, count, first, wrench.sum.ang);
    put_vec(in, in.batch.cfrc_ext, count, first + 1, wrench.sum.lin);
  });
  env.done();
}

// moments of tendons, on all dofs
template <class E>
DS_STAGE void sense_tendons(E& env, const EnvIO<E>& in) {
  using Real = typename E::Real;
  const auto& t = env.t;
  if (in.batch.ten_J == nullptr) return;
  const int nv = t.n.nv, size = t.n.ntendon * nv;
  env.each(t.n.ntendon, [&](int ten) {
    int e = t.ten_adr[ten];
    for (int d = 0; d < nv; d++) {
      const bool moves = e < t.ten_adr[ten + 1] && t.ten_dof[e] == d;
      in.put(in.batch.ten_J, size, ten * nv + d, moves ? Real(env.ten_J()[e]) : Real(0));
      if (moves) e++;
    }
  });
}

// of the output energy
enum EnergyNumber : int { kPotentialEnergy = 0, kKineticEnergy = 1, kEnergyNumbers = 2 };
// potential energy of gravity and joint springs; kinetic energy 1/2 v' M v
template <class E>
DS_STAGE void sense_energy(E& env, const EnvIO<E>& in) {
  if (in.batch.energy == nullptr) return;
  const auto energy = energy_of(env);
  if (env.lanes.rank() == 0) {
    in.put(in.batch.energy, kEnergyNumbers, kPotentialEnergy, energy.potential);
    in.put(in.batch.energy, kEnergyNumbers, kKineticEnergy, energy.kinetic);
  }
}

// frames have the tangents that were found with the rows
template <class E>
DS_STAGE void sense_contacts(E& env, const EnvIO<E>& in) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto& b = in.batch;
  const int n = t.n.ncon, kdim = t.n.kdim;
  if (b.contact_count != nullptr && env.lanes.rank() == 0)
    for (int l = 0; l < in.count; l++) b.contact_count[in.row(l)] = lane_of(env.ncon, l);
  if (b.contacts_needed != nullptr && env.lanes.rank() == 0)
    for (int l = 0; l < in.count; l++) b.contacts_needed[in.row(l)] = lane_of(env.ncon_needed, l);
  if (b.contact_dist == nullptr && b.contact_pos == nullptr && b.contact_frame == nullptr &&
      b.contact_force == nullptr && b.contact_geom == nullptr)
    return;
  const Real zero(0);
  env.each(n, [&](int slot) {
    const bool opened = slot < env.ncon_max;
    const auto used = opened ? env.con_dim()[slot] > zero : zero > zero;
    const auto entry = [&](const Real& x) { return select(used, x, zero); };
    if (b.contact_dist != nullptr)
      in.put(b.contact_dist, n, slot, opened ? entry(env.con_dist()[slot]) : zero);
    const auto put_entries = [&](typename E::Scalar* to, int count, int i, const Vec3<Real>& v) {
      put_vec(in, to, count, i, {entry(v.x), entry(v.y), entry(v.z)});
    };
    if (b.contact_pos != nullptr)
      put_entries(b.contact_pos, n, slot, opened ? env.con_pos().vec(slot) : Vec3<Real>{zero, zero, zero});
    if (b.contact_frame != nullptr) {
      Vec3<Real> axis[kMatRows];
      for (auto& a : axis) a = {zero, zero, zero};
      if (opened) {
        contact_axes(env, slot, axis);
      }
      for (int k = 0; k < kMatRows; k++)
        put_entries(b.contact_frame, kMatRows * n, kMatRows * slot + k, axis[k]);
    }
    if (b.contact_force != nullptr)
      for (int k = 0; k < kSpatialNumbers; k++)  // a contact of fewer rows ends with zeros
        in.put(b.contact_force, kSpatialNumbers * n, kSpatialNumbers * slot + k,
               opened && k < kdim ? entry(env.con_f()[kdim * slot + k]) : zero);
    if (b.contact_geom != nullptr)
      for (int l = 0; l < in.count; l++) {
        const bool on = mask_bit(used, l);
        const int pair = on ? pair_of(env, slot, l) : 0;
        for (int side = 0; side < kPairSides; side++)
          b.contact_geom[(in.row(l) * n + slot) * kPairSides + side] =
              on ? t.geom_id[geom_of_pair(t, pair, side)] : -1;
      }
  });
}

template <class E>
DS_HD void sense_geoms(E& env, const EnvIO<E>& in) {
  const auto& t = env.t;
  sense_poses(env, in,
              {.count = t.n.nallgeom,
               .body = t.allgeom_body,
               .pos = t.allgeom_pos,
               .quat = t.allgeom_quat,
               .xpos = in.batch.geom_xpos,
               .xmat = in.batch.geom_xmat});
}
template <class E>
DS_HD void sense_sites(E& env, const EnvIO<E>& in) {
  const auto& t = env.t;
  sense_poses(env, in,
              {.count = t.n.nsite,
               .body = t.site_body,
               .pos = t.site_pos,
               .quat = t.site_quat,
               .xpos = in.batch.site_xpos,
               .xmat = in.batch.site_xmat});
}
// the composite inertias have replaced the bodies' own, so those are found once more
template <class E>
DS_HD void sense_inertias(E& env, const EnvIO<E>& in) {
  env.done();  // the scratch of the energy is the next one's
  if (in.batch.cinert == nullptr) return;
  body_inertias(env);
  sense_field(in, in.batch.cinert, env.cinert(), env.t.w.cinert);
}

// the outputs of the field table: copies of the workspace, then what functions find
template <class E>
DS_STAGE void sense(E& env, const EnvIO<E>& in) {
#define COPIED(name, array, width, shape, meaning) sense_field(in, in.batch.name, env.array(), env.t.w.name);
#include "kernels/data/fields.inl"
#define OUTPUT_STAGE(function) function(env, in);
#include "kernels/data/fields.inl"
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
