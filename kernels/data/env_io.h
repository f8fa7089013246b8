// What an environment reads from the batch before a step, and writes to it after.
//
// Each row of an array of the batch belongs to one environment. On a CPU, where environments are stepped in packs, element l
// of a pack is row `first + l`; where the caller gives an order, it is row `order[first + l]`. Which environments share a
// pack changes no bit. The last pack of a batch may have more elements than there are rows left: the spare ones repeat the
// last environment and are never written back. Where an environment is stepped by itself, as on a GPU, whoever made it has
// applied the order, and `env.block` is the row.
//
// solves    nothing: copies between the rows of the batch and the workspace, and which environments may be advanced
// equation  diverged where an entry of the state or of what the user gives is not below kMaxVal (or is no number), where
//           the time is not finite, or where the status says so from before
// source    none
// deviation every NaN is written as one NaN
// reads     the arrays of the state by their roles in fields.inl, time, status; for a replay the copies last_*
// writes    the workspace of the same names, diverged, any_xfrc; the rows of CARRIED and HINT, the copies last_*; status,
//           residual, iterations, time, workload; qacc_warmstart and anchors (keep_warmstart)
// cost      O(the numbers of the state)
#pragma once

#include "kernels/data/views.h"
#include "kernels/data/workload_key.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class E>
struct EnvIO {
  using Real = typename E::Real;
  using Scalar = typename E::Scalar;
  using Mask = typename E::Mask;
  E& env;
  const BatchView<Scalar>& batch;
  const StepArgs& args;
  int first, count;  // rows of this pack, and how many of them are real

  DS_HD EnvIO(E& e, const BatchView<Scalar>& b, const StepArgs& a)
      : env(e),
        batch(b),
        args(a),
        first(e.block * E::kPack),
        count(b.num_envs - first < E::kPack ? b.num_envs - first : E::kPack) {}

  DS_HD long row(int l) const {
    if constexpr (E::kPack == 1) return env.block;
    const int at = first + (l < count ? l : count - 1);
    return args.order == nullptr ? at : args.order[at];
  }
  DS_HD bool replay() const { return args.action == Action::kReplay; }

  DS_HD Real get(const Scalar* p, int width, int i) const {
    Real x(0);
    for (int l = 0; l < E::kPack; l++) set_lane(x, l, p[row(l) * width + i]);
    return x;
  }
  DS_HD void put(Scalar* p, int width, int i, const Real& value) const {
    const Real x = one_nan(value);
    for (int l = 0; l < count; l++) p[row(l) * width + i] = lane_of(x, l);
  }
  // the sign and payload of a NaN depend on how a compiler ordered operands: users see one NaN
  DS_HD static Real one_nan(const Real& x) { return select(x == x, x, Real(quiet_nan(Scalar()))); }
  template <class F>
  struct OneNan {
    const F& field;
    DS_HD Real operator[](int i) const { return one_nan(field[i]); }
  };

  // three numbers and four of a row, from `at` on
  DS_HD Vec3<Real> get_vec(const Scalar* p, int width, int at) const {
    return {get(p, width, at), get(p, width, at + 1), get(p, width, at + 2)};
  }
  DS_HD Quat<Real> get_quat(const Scalar* p, int width, int at) const {
    return {get(p, width, at), get(p, width, at + 1), get(p, width, at + 2), get(p, width, at + 3)};
  }

  // xfrc_applied() and the other arrays of the role GIVEN, as the evaluation sees them: a replay sees what was there then
#define GIVEN(name, width) \
  DS_HD const Scalar* name() const { return replay() ? batch.last_##name : batch.name; }
#include "kernels/data/fields.inl"

  DS_HD MocapPose<Real> mocap(int i) const {
    const int n = env.t.n.nmocap;
    return {.pos = get_vec(mocap_pos(), kVecNumbers * n, kVecNumbers * i),
            .quat = get_quat(mocap_quat(), kQuatNumbers * n, kQuatNumbers * i)};
  }
  // the user's force and torque on body b; xfrc_applied has them in this order, a spatial vector in the other
  DS_HD Spatial<Real> xfrc(int b) const {
    const int width = kSpatialNumbers * env.t.n.nbody, force = kSpatialNumbers * b;
    const Scalar* p = xfrc_applied();
    return {.ang = get_vec(p, width, force + kVecNumbers), .lin = get_vec(p, width, force)};
  }

  // true where every number of a row is below kMaxVal, so finite
  DS_STAGE Mask rows_well_behaved(const Scalar* p, int width) const {
    const Real bound(kMaxVal);
    const Real bad = env.accumulate(width, [&](int i, const Real& s) {
      return s + select(abs(get(p, width, i)) < bound, Real(0), Real(1));
    });
    return bad == Real(0);
  }
  // whether any of these rows has a nonzero (or NaN) entry: one pass over consecutive memory
  DS_STAGE bool rows_nonzero(const Scalar* p, int width) const {
    bool some = false;
    for (int l = 0; l < count; l++) {
      const Scalar* const entries = p + row(l) * width;
      int begin = 0;
      if constexpr (E::kPack > 1) {
        for (; begin + E::kPack <= width; begin += E::kPack)
          some |= !all(load_pack<Real>(entries + begin) == Real(0));
      }
      for (int i = begin + env.lanes.rank(); i < width; i += env.lanes.width())
        some |= !(entries[i] == Scalar(0));
    }
    return env.lanes.any_lane(some);
  }

  // packs read and write kPack rows along the rows, kPack entries of each at a time; the last of them may
  // overlap those before. Rows that are shorter, and packs that are not full, go entry by entry
  DS_HD static bool long_rows(int width) { return width >= E::kPack; }
  // f(i) for the first of kPack entries that are dealt with at once
  template <class F>
  DS_HD static void each_stretch(int width, F f) {
    for (int i = 0; i < width; i += E::kPack) f(i + E::kPack <= width ? i : width - E::kPack);
  }
  template <class F>
  DS_HD static void read_rows(const F& field, const Scalar* const* rows, int width) {
    each_stretch(width, [&](int i) {
      Real x[E::kPack];
      for (int l = 0; l < E::kPack; l++) x[l] = load_pack<Real>(rows[l] + i);
      transpose(x);
      for (int k = 0; k < E::kPack; k++) field[i + k] = x[k];
    });
  }
  template <class F>
  DS_HD static void write_rows(Scalar* const* rows, const F& field, int width) {
    each_stretch(width, [&](int i) {
      Real x[E::kPack];
      for (int k = 0; k < E::kPack; k++) x[k] = field[i + k];
      transpose(x);
      for (int l = 0; l < E::kPack; l++) store_pack(rows[l] + i, x[l]);
    });
  }
  template <class F>
  DS_STAGE void load_rows(const F& field, const Scalar* p, int width) const {
    const Scalar* rows[E::kPack];
    for (int l = 0; l < E::kPack; l++) rows[l] = p + row(l) * width;
    read_rows(field, rows, width);
  }
  template <class F>
  DS_STAGE void store_rows(Scalar* p, const F& field, int width) const {
    Scalar* rows[E::kPack];
    for (int l = 0; l < E::kPack; l++) rows[l] = p + row(l) * width;
    write_rows(rows, OneNan<F>{field}, width);
  }

  template <class F>
  DS_HD void load_field(const F& field, const Scalar* now, const Scalar* last, int width) const {
    const Scalar* p = replay() ? last : now;
    if constexpr (E::kPack > 1)
      if (long_rows(width)) return load_rows(field, p, width);
    env.each(width, [&](int i) { field[i] = get(p, width, i); });
  }
  template <class F>
  DS_HD void store_field(Scalar* p, const F& field, int width) const {
    if constexpr (E::kPack > 1)
      if (long_rows(width) && count == E::kPack) return store_rows(p, field, width);
    env.each(width, [&](int i) { put(p, width, i, field[i]); });
  }

  // the arrays of the state by their roles in the field table
  DS_HD void load_carried() const {
#define CARRIED(name, width) load_field(env.name(), batch.name, batch.last_##name, env.t.w.name);
#define HINT(name, width) CARRIED(name, width)
#include "kernels/data/fields.inl"
  }
  DS_HD void load_drives() const {
#define DRIVE(name, width) load_field(env.name(), batch.name, batch.last_##name, env.t.w.name);
#include "kernels/data/fields.inl"
  }
  DS_HD Mask state_in_bounds() const {
    auto good = all_true<Real>();
#define CARRIED(name, width) \
  if (env.t.w.name > 0)      \
    good = mask_and(         \
        good, in_bounds<&BatchView<Scalar>::name == &BatchView<Scalar>::qpos>(env.name(), env.t.w.name));
#define DRIVE(name, width) CARRIED(name, width)
#include "kernels/data/fields.inl"
    return good;
  }

  DS_STAGE void load() const {
    const auto& n = env.t.n;
    load_carried();
    load_given();
    env.sync();
    // an environment that was given numbers no simulation can use is not advanced
    auto good = state_in_bounds();
    if (env.any_xfrc) good = mask_and(good, rows_well_behaved(xfrc_applied(), kSpatialNumbers * n.nbody));
    if (n.nmocap > 0)
      good = mask_and(good, mask_and(rows_well_behaved(mocap_pos(), kVecNumbers * n.nmocap),
                                     rows_well_behaved(mocap_quat(), kQuatNumbers * n.nmocap)));
    Real frozen(0);
    for (int l = 0; l < E::kPack; l++) {
      const bool timeless = !(batch.time[row(l)] - batch.time[row(l)] == 0);  // infinite, or no number
      set_lane(frozen, l, Scalar(timeless || (batch.status[row(l)] & kDiverged) ? 1 : 0));
    }
    env.diverged = mask_or(mask_not(good), frozen != Real(0));
    begin();
  }
  // what the user gives for the whole of a call
  DS_STAGE void load_given() const {
    load_drives();
    env.any_xfrc = rows_nonzero(xfrc_applied(), kSpatialNumbers * env.t.n.nbody);
  }
  // what the lanes agree on, before anything is found
  DS_HD void begin() const {
    env.overflow_bits = 0;
    env.residual = Real(0);
    env.iterations = Real(0);
    env.unsolved = all_false<Real>();
    env.l1_cone = env.t.o.l1_rows;
  }
  template <bool kPositions, class F>
  DS_STAGE Mask in_bounds(const F& x, int n) const {
    const Real bound(kPositions ? kMostPosition<Real> : kMaxVal);
    const Real bad = env.accumulate(
        n, [&](int i, const Real& s) { return s + select(abs(x[i]) < bound, Real(0), Real(1)); });
    return bad == Real(0);
  }

  // what the evaluation starts from, for a replay
  DS_STAGE void remember() const {
#define CARRIED(name, width) store_field(batch.last_##name, env.name(), env.t.w.name);
#define HINT(name, width) CARRIED(name, width)
#define DRIVE(name, width) CARRIED(name, width)
#define GIVEN(name, width) copy_rows(batch.last_##name, batch.name, env.t.w.name);
#include "kernels/data/fields.inl"
  }
  DS_HD void copy_rows(Scalar* to, const Scalar* from, int width) const {
    for (int l = 0; l < count; l++) {
      const long begin = row(l) * width;
      if constexpr (E::kPack > 1) {
        // of no width there are no arrays either
        if (width > 0) __builtin_memcpy(to + begin, from + begin, static_cast<size_t>(width) * sizeof *to);
      } else {
        for (int i = env.lanes.rank(); i < width; i += env.lanes.width()) to[begin + i] = from[begin + i];
      }
    }
  }

  DS_STAGE void write_status() const {
    if (env.lanes.rank() != 0) return;
    for (int l = 0; l < count; l++) {
      unsigned bits = batch.status[row(l)];
      const bool bad = mask_bit(env.diverged, l);
      if (bad) bits |= kDiverged;
      if ((env.overflow_bits >> l) & 1u) bits |= kContactOverflow;
      if (!bad && mask_bit(env.unsolved, l)) bits |= kNotConverged;
      batch.status[row(l)] = bits;
      batch.residual[row(l)] = lane_of(one_nan(env.residual), l);
      batch.iterations[row(l)] = static_cast<int>(lane_of(env.iterations, l));
      // one that stands still has solved nothing, whoever is beside it
      if (bad) batch.residual[row(l)] = 0, batch.iterations[row(l)] = 0;
      if (args.workload != nullptr)
        args.workload[row(l)] =
            workload_key(static_cast<int>(lane_of(env.ncon, l)), batch.iterations[row(l)]);
      if (args.action == Action::kStep && !bad)
        batch.time[row(l)] += static_cast<double>(env.t.o.timestep_exact);
    }
  }

  DS_STAGE void store() const {
#define CARRIED(name, width) store_field(batch.name, env.name(), env.t.w.name);
#define HINT(name, width) CARRIED(name, width)
#include "kernels/data/fields.inl"
  }
};

// what the next step takes over: the acceleration that its solve may start from, the anchors of contacts; a
// diverged environment keeps its old ones
template <class E>
DS_STAGE void keep_warmstart(E& env) {
  const auto live = mask_not(env.diverged);
  env.each(env.t.n.nv,
           [&](int i) { env.qacc_warmstart()[i] = select(live, env.qacc()[i], env.qacc_warmstart()[i]); });
  env.each(kAnchorNumbers * env.t.n.nanchor,
           [&](int i) { env.anchors()[i] = select(live, env.next_anchors()[i], env.anchors()[i]); });
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
