// The rows of contacts on the trees that they reach, packs of contacts side by side.
//
// solves    Z, y0 and D of every contact of an environment
// equation  J_r = f_r' (S_2 - S_1),   aref as in rows/kinds/contact_rows.h,   f_r the wrench of a unit force (or moment)
//           along axis r,   Z = D^-1/2 L^-T J',   a block for each tree: kDim rows of the tree's dofs, padded to eights
// source    rows/rows.h, rows/kinds/contact_rows.h; rows/conditioning.h for what rounding leaves
// deviation as there
// reads     con_*, body_record
// writes    con_frame (t1), con_record, and of the arena con_z, con_y0, con_D, con_dim, con_mu, con_eights
// cost      O(contacts x dofs of a tree)
#pragma once

#include "kernels/solver/islands/island_bodies.h"
#include "kernels/solver/islands/island_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// records of a slot: its frame, position and softness, and the friction of sliding; where contacts turn and roll, that
// friction in sixteen numbers more
enum SlotRecord : int {
  kSlotNormal = 0,
  kSlotTangent = kSlotNormal + kVecNumbers,
  kSlotPos = kSlotTangent + kVecNumbers,
  kSlotKterm = kSlotPos + kVecNumbers,
  kSlotBn,
  kSlotBt,
  kSlotD,
  kSlotDim,
  kSlotSlide1,
  kSlotSlide2,
  kSlotEnd
};
static_assert(kSlotEnd == kRecordRun, "what all contacts have is read at once");
template <int kDim, class E>
DS_HD auto contact_records(const E& env, int slot) {
  return records_of<E>(env.con_record(), slot, kDim == 3 ? kRecordRun : 2 * kRecordRun);
}

// what each environment of a pack has in a slot
template <int kDim, class E>
DS_HD void put_contact_record(E& env, int slot) {
  using Real = typename E::Real;
  const Vec3<Real> n = contact_normal(env, slot);
  Vec3<Real> t1, t2;
  contact_frame(n, contact_tangent(env, slot), &t1, &t2);
  frame_of(env, slot).set_at(kFrameTangent, t1);
  const auto mu = friction_of(env, slot);
  Real run[kRecordRun];
  const auto put = [&](int at, const Vec3<Real>& v) { run[at] = v.x, run[at + 1] = v.y, run[at + 2] = v.z; };
  put(kSlotNormal, n), put(kSlotTangent, t1), put(kSlotPos, env.con_pos().vec(slot));
  run[kSlotKterm] = env.con_kterm()[slot];
  run[kSlotBn] = env.con_Bn()[slot], run[kSlotBt] = env.con_Bt()[slot];
  run[kSlotD] = env.con_D()[slot], run[kSlotDim] = env.con_dim()[slot];
  run[kSlotSlide1] = mu[kSlide1], run[kSlotSlide2] = mu[kSlide2];
  const auto records = contact_records<kDim>(env, slot);
  store_records(records, 0, run);
  if constexpr (kDim > 3) {
    Real rest[kRecordRun];
    for (int k = 0; k < kRecordRun; k++) rest[k] = kSpin + k < kFrictionNumbers ? mu[kSpin + k] : Real(0);
    store_records(records, kRecordRun, rest);
  }
}
template <int kDim, class E>
DS_HD void put_contact_records(E& env) {
  env.each(env.ncon_max, [&](int slot) { put_contact_record<kDim>(env, slot); });
}

template <int kDim, class E, bool kOneEight>
struct IslandContacts : IslandRows<kDim, E, kOneEight> {
  using Base = IslandRows<kDim, E, kOneEight>;
  using Base::env, Base::padded, Base::element, Base::contact_row, Base::store, Base::kPack;
  using Scalar = typename Base::Scalar;
  using Real = typename Base::Real;
  using Reals = typename Base::Reals;
  using Numbers = typename Base::Numbers;
  DS_HD explicit IslandContacts(const Base& base) : Base(base) {}

  // kPack contacts from number `first` on
  struct Group {
    int first;
    int body[kPairSides][kPack];  // the geoms' bodies; 0 where one does not move
    int side[kPairSides][kPack];  // the side that a body's rows stand on
    Vec3<Real> axis[3], p;
    Real kterm, Bn, Bt, D, dim;
    Real wrench[kPairSides][kDim][kSpatialNumbers];
    Real rate[kDim];  // J (B qvel + qacc_smooth)
    Real most[kDim];  // squares of what the rows could be, were nothing to cancel
    Real A[kDim];     // squares of the rows
  };

  DS_HD int contact_of(const Group& g, int l) const {
    return g.first + l < this->contacts() ? g.first + l : g.first;
  }
  DS_HD void find_bodies(Group* g) const {
    for (int l = 0; l < kPack; l++) {
      const int slot = this->con_slot()[contact_of(*g, l)], pair = pair_of(env, slot, element);
      const int first = this->tree_of_slot(slot, 0);
      for (int of = 0; of < kPairSides; of++) {
        const Moved moved = moved_by(env.t, pair, of);
        g->body[of][l] = moved.body;
        g->side[of][l] = moved.tree >= 0 && moved.tree != first;
      }
    }
  }
  DS_HD void read_contacts(Group* g) const {
    Real run[kRecordRun], rest[kRecordRun];
    const auto record = [&](int l) {
      return contact_records<kDim>(env, this->con_slot()[contact_of(*g, l)])(element);
    };
    load_records(record, 0, run);
    if constexpr (kDim > 3) load_records(record, kRecordRun, rest);
    const auto vec = [&](int at) { return Vec3<Real>{run[at], run[at + 1], run[at + 2]}; };
    g->axis[0] = vec(kSlotNormal), g->axis[1] = vec(kSlotTangent);
    g->axis[2] = cross(g->axis[0], g->axis[1]);
    g->p = vec(kSlotPos);
    g->kterm = run[kSlotKterm], g->Bn = run[kSlotBn], g->Bt = run[kSlotBt];
    // elements behind the last contact hold none
    auto there = all_true<Real>();
    if (g->first + kPack > this->contacts())
      there = mask_of_word<Real>((1u << (this->contacts() - g->first)) - 1u);
    const Real zero(0);
    g->D = select(there, run[kSlotD], zero);
    g->dim = select(there, run[kSlotDim], zero);
    store(this->con_dim(), g->first, g->dim);
    DS_UNROLL
    for (int k = 0; k < kFrictions<kDim>; k++) {
      const Real mu = k < kSpin ? run[kSlotSlide1 + k] : rest[k < kSpin ? 0 : k - kSpin];
      store(this->con_mu(), k * this->slots() + g->first, select(there, mu, zero));
    }
  }

  // wrenches of the rows on one of the bodies, and what they add
  DS_HD void add_body(Group* g, int of) const {
    const auto record = [&](int l) { return body_records(env, g->body[of][l])(element); };
    Real rates[kRecordRun], rest[kRecordRun];
    load_records(record, kBodyVelocity, rates);
    load_records(record, kBodySquares, rest);
    const auto centre = [&](int axis) { return rest[kBodyCentre - kBodySquares + axis]; };
    const Vec3<Real> arm = g->p - Vec3<Real>{centre(0), centre(1), centre(2)};
    const Vec3<Real> none{Real(0), Real(0), Real(0)};
    const Real sign(of == 0 ? -1 : 1);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) {
      const Vec3<Real> force = g->axis[r % 3] * select(g->dim > Real(r), sign, Real(0)),
                       moment = cross(arm, force);
      const Vec3<Real> ang = r < 3 ? moment : force, lin = r < 3 ? force : none;
      Real* const f = g->wrench[of][r];
      f[0] = ang.x, f[1] = ang.y, f[2] = ang.z, f[3] = lin.x, f[4] = lin.y, f[5] = lin.z;
    }
    DS_UNROLL
    for (int k = 0; k < kSpatialNumbers; k++) {
      const Real speed = rates[kBodyVelocity + k], acceleration = rates[kBodyAcceleration + k];
      const Real normal = fma(g->Bn, speed, acceleration), tangent = fma(g->Bt, speed, acceleration);
      DS_UNROLL
      for (int r = 0; r < kDim; r++)
        g->rate[r] = fma(g->wrench[of][r][k], r == 0 ? normal : tangent, g->rate[r]);
    }
    // an arm is as wrong as the places that it is between
    const Real reach = dot(arm, arm) + dot(g->p, g->p);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) DS_UNROLL
    for (int k = 0; k < kSpatialNumbers; k++) {
      const Real f = g->wrench[of][r][k], square = r < 3 && k < 3 ? reach : f * f;
      g->most[r] = fma(square, rest[k], g->most[r]);
    }
  }

  // the whitened rows of one contact of the group
  DS_HD void put_rows(Group* g, int l) const {
    const int i = g->first + l;
    Numbers square[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) square[r] = Numbers(Scalar(0));
    this->each_side(i, [&](int side, int tree) {
      Eights chain[kPairSides];
      DS_UNROLL
      for (int of = 0; of < kPairSides; of++) {
        const int body = g->body[of][l];
        const bool here = body != 0 && g->side[of][l] == side;
        chain[of] = {here ? static_cast<unsigned>(this->body_eights()[body]) : 0u};
      }
      const Eights eights{chain[0].set | chain[1].set};
      this->set_eights_of_contact(i, side, eights);
      for (int c = 0; c < padded(tree); c += kEight) {
        if (!kOneEight && !eights.has(c)) continue;
        Numbers z[kDim];
        DS_UNROLL
        for (int r = 0; r < kDim; r++) z[r] = Numbers(Scalar(0));
        DS_UNROLL
        for (int of = 0; of < kPairSides; of++) {
          if (kOneEight ? chain[of].set == 0 : !chain[of].has(c)) continue;
          const auto motion = body_records(env, g->body[of][l])(element);
          DS_UNROLL
          for (int k = 0; k < kSpatialNumbers; k++) {
            const Numbers x(motion, motion_of_eight(c) + kEight * k);
            DS_UNROLL
            for (int r = 0; r < kDim; r++) z[r].add(lane_of(g->wrench[of][r][k], l), x);
          }
        }
        DS_UNROLL
        for (int r = 0; r < kDim; r++) {
          z[r].store(contact_row(i, side, r), c);
          square[r].add_product(z[r], z[r]);
        }
      }
    });
    DS_UNROLL
    for (int r = 0; r < kDim; r++) set_lane(g->A[r], l, square[r].fold());
  }

  DS_HD Real rigid_weights(const Group& g) const {
    Real weights(kNoRigidWeight);
    if (env.t.o.has_rigid)
      for (int l = 0; l < kPack; l++) set_lane(weights, l, this->rigid_weight_of_contact(contact_of(g, l)));
    return weights;
  }
  // Rows that are rounding are zeros, and what is left has a weight that the factors can hold (rows/conditioning.h)
  DS_HD void condition(Group* g) const {
    const Real rounding = RowScale<Real>::unit(), zero(0);
    Real largest = zero;
    DS_UNROLL
    for (int r = 0; r < kDim; r++) {
      const auto kept = g->A[r] > rounding * rounding * g->most[r];
      largest = max(largest, select(kept, g->A[r], zero));
      each_element<Real>(mask_word(mask_not(kept)), [&](int l) {
        const int i = g->first + l;
        if (i >= this->contacts()) return;
        this->each_contact_eight(
            i, [&](int side, int c, int) { Numbers(Scalar(0)).store(contact_row(i, side, r), c); });
      });
    }
    const auto some = largest > zero;
    store(this->con_D(), g->first,
          select(some, this->capped(g->D, select(some, largest, Real(1)), rigid_weights(*g)), zero));
  }

  // where surfaces move, rates are those relative to them
  DS_HD void add_surfaces(Group* g) const {
    DS_UNROLL
    for (int r = kSurfaceRow; r < kSurfaceRowEnd<kDim>; r++) {
      Real speed(0);
      for (int l = 0; l < kPack; l++) {
        const int slot = this->con_slot()[contact_of(*g, l)];
        set_lane(speed, l, lane_of(env.con_surface()[kSurfaceRows * slot + r - kSurfaceRow], element));
      }
      g->rate[r] = g->rate[r] + select(g->dim > Real(r), g->Bt * speed, Real(0));
    }
  }

  DS_HD void make_group(int first) const {
    const int slots = this->slots();
    Group g;
    g.first = first;
    const Real zero(0);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) g.rate[r] = g.most[r] = g.A[r] = zero;
    find_bodies(&g);
    read_contacts(&g);
    add_body(&g, 0);
    add_body(&g, 1);
    if (surfaces_move(env)) add_surfaces(&g);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) {
      const Real y0 = r == 0 ? g.rate[r] + g.kterm : g.rate[r];
      store(this->con_y0(), r * slots + first, y0);
    }
    for (int l = 0; l < kPack && first + l < this->contacts(); l++) put_rows(&g, l);
    condition(&g);
    // no contact stands behind the last one
    for (int i = this->contacts(); i < first + kPack; i++)
      for (int r = 0; r < kDim; r++) this->con_y()[r * slots + i] = this->con_dy()[r * slots + i] = Scalar(0);
  }
  DS_HD void run() const {
    apart(*this, [=](const auto& self) { self.run_here(); });
  }
  DS_HD void run_here() const {
    const int groups = (this->contacts() + kPack - 1) / kPack;
    env.each(groups, [&](int g) { make_group(kPack * g); });
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
