// What a stage sees: the model's tables, the workspace of its environment (or pack), and its lanes.
// The only code that knows strides. Made from fields.inl.
#pragma once

#include "kernels/base/lanes.h"
#include "kernels/base/spatial.h"
#include "kernels/data/tables.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// Whether these kernels have what only models need whose size kCount is not 0. Those of the CPU have everything, a
// specialised program what its model has; generic ones of a GPU leave it out, so that other models need no more
// registers, and refuse such models (host/backends/cuda/cuda_backend.cpp)
template <class AnyTables, int Sizes::*kCount>
constexpr bool kCompiledFor = !DS_FOR_GPU;
template <class AnyTables, int Sizes::*kCount>
requires requires { AnyTables::kKindPresent; }
constexpr bool kCompiledFor<AnyTables, kCount> = (AnyTables::n.*kCount > 0);

// the collidable geoms of a pair
template <class AnyTables>
DS_HD int geom_of_pair(const AnyTables& t, int pair, int side) {
  return side == 0 ? t.pair_geom1[pair] : t.pair_geom2[pair];
}
// which geoms of a pair are the body's, as SideBits
template <class Tables>
DS_HD int sides_of_body(const Tables& t, int pair, int body) {
  const int first = t.geom_body[geom_of_pair(t, pair, 0)], second = t.geom_body[geom_of_pair(t, pair, 1)];
  return (first == body ? kFirstSide : 0) + (second == body ? kSecondSide : 0);
}
// what either geom of a pair moves with: a body (0 where it does not move) and its tree (then -1)
struct Moved {
  int body, tree;
};
template <class AnyTables>
DS_HD Moved moved_by(const AnyTables& t, int pair, int side) {
  if (side == 0) return {t.pair_body1[pair], t.pair_tree1[pair]};
  return {t.pair_body2[pair], t.pair_tree2[pair]};
}

// the first or second body, joint or tendon of an equality
template <class AnyTables>
DS_HD int equality_object(const AnyTables& t, int e, int side) {
  return side == 0 ? t.eq_obj1[e] : t.eq_obj2[e];
}

// where the point and the orientation of an equality on its first or second body stand, in eq_point and eq_quat
DS_HD constexpr int equality_side(int e, int side) { return kPairSides * e + side; }

// What kernels are compiled for, kByRows: calls f(whether contacts weigh rows of their frame, a constant)
template <auto kValue>
struct Constant {
  DS_HD constexpr operator decltype(kValue)() const { return kValue; }
};
template <class Options, class F>
DS_HD auto with_weights(const Options& o, F f) {
  return o.weights == kWeighsRows ? f(Constant<true>{}) : f(Constant<false>{});
}
// f(the rows of a contact, that)
template <class AnyTables, class F>
DS_HD void with_contact_rows(const AnyTables& t, F f) {
  with_weights(t.o, [&](auto by_rows) {
    if (t.n.kdim == 3)
      f(Constant<3>{}, by_rows);
    else
      f(Constant<6>{}, by_rows);
  });
}

// where the user has put mocap bodies
template <class Real>
struct MocapPose {
  Vec3<Real> pos;
  Quat<Real> quat;
};

// a run of workspace: element i of this environment, whose neighbours stand interleaved, kStride of them
template <class Real, int kStride>
struct Field {
  Real* DS_RESTRICT p;
  DS_HD Real& operator[](Index i) const {
    DS_WORKSPACE_ADDRESS(p);
    return p[i * kStride];
  }
  // the run from element i on
  DS_HD Field from(Index i) const { return {p + i * kStride}; }
  // the numbers of vector i, of matrix i
  DS_HD Field vec_run(Index i) const { return from(kVecNumbers * i); }
  DS_HD Field mat_run(Index i) const { return from(kMatNumbers * i); }
  DS_HD Vec3<Real> vec_at(Index i) const { return {(*this)[i], (*this)[i + 1], (*this)[i + 2]}; }
  DS_HD Vec3<Real> vec(Index i) const { return vec_at(kVecNumbers * i); }
  DS_HD void set_at(Index i, const Vec3<Real>& v) const {
    (*this)[i] = v.x;
    (*this)[i + 1] = v.y;
    (*this)[i + 2] = v.z;
  }
  DS_HD void set(Index i, const Vec3<Real>& v) const { set_at(kVecNumbers * i, v); }
  DS_HD Quat<Real> quat_at(Index i) const {
    return {(*this)[i], (*this)[i + 1], (*this)[i + 2], (*this)[i + 3]};
  }
  DS_HD Quat<Real> quat(Index i) const { return quat_at(kQuatNumbers * i); }
  DS_HD void set_at(Index i, const Quat<Real>& q) const {
    (*this)[i] = q.w;
    (*this)[i + 1] = q.x;
    (*this)[i + 2] = q.y;
    (*this)[i + 3] = q.z;
  }
  DS_HD void set(Index i, const Quat<Real>& q) const { set_at(kQuatNumbers * i, q); }
  DS_HD Mat3<Real> mat(Index i) const {
    Mat3<Real> m;
    for (int k = 0; k < kMatNumbers; k++) m.m[k] = (*this)[kMatNumbers * i + k];
    return m;
  }
  DS_HD void set(Index i, const Mat3<Real>& m) const {
    for (int k = 0; k < kMatNumbers; k++) (*this)[kMatNumbers * i + k] = m.m[k];
  }
  DS_HD Spatial<Real> spatial(Index i) const {
    return {vec_at(kSpatialNumbers * i), vec_at(kSpatialNumbers * i + kVecNumbers)};
  }
  DS_HD void set(Index i, const Spatial<Real>& s) const {
    set(2 * i, s.ang);
    set(2 * i + 1, s.lin);
  }
  DS_HD Inertia10<Real> inertia(Index i) const {
    const Field f = from(kInertiaNumbers * i);
    return {f[0], f[1], f[2], f[3], f[4], f[5], {f[6], f[7], f[8]}, f[9]};
  }
  DS_HD void set(Index i, const Inertia10<Real>& I) const {
    const Field f = from(kInertiaNumbers * i);
    f[0] = I.xx, f[1] = I.yy, f[2] = I.zz, f[3] = I.xy, f[4] = I.xz, f[5] = I.yz;
    f[6] = I.h.x, f[7] = I.h.y, f[8] = I.h.z, f[9] = I.mass;
  }
};

// kRows rows of a matrix, each by an address of its own: one index of a column serves them all
template <int kRows, class F>
struct Rows {
  F row[kRows];
  DS_HD const F& operator[](int r) const { return row[r]; }
};
template <int kRows, class F>
DS_HD Rows<kRows, F> rows_of(const F& matrix, int first, int columns) {
  Rows<kRows, F> rows;
  DS_UNROLL
  for (int r = 0; r < kRows; r++) rows.row[r] = matrix.from((first + r) * columns);
  return rows;
}

// whether any of these flags of MuJoCo's is set
template <class Scalar>
DS_HD bool disabled(const StepOptions<Scalar>& o, int flags) {
  return (o.disableflags & flags) != 0;
}
// one position, one dof: no quaternion
DS_HD bool is_scalar_joint(int type) { return type >= kSlide; }

// f(run, its numbers) for what a slot holds of a contact
template <class E, class F>
DS_HD void each_of_slot(const E& env, int slot, F f) {
#define SLOT(name, width, stage, meaning) f(env.name().from((width)*slot), width);
#include "kernels/data/fields.inl"
}

// the coefficients of friction of a slot
enum FrictionNumber : int { kSlide1, kSlide2, kSpin, kRoll1, kRoll2, kFrictionNumbers };
static_assert(kFrictionNumbers == 5, "as the field table has it");
template <class E>
DS_HD auto friction_of(const E& env, int slot) {
  return env.con_mu().from(kFrictionNumbers * slot);
}

// the rows of a slot in an array of contact rows (con_y, con_f, ...)
template <int kDim, class Run>
DS_HD Run rows_of_slot(const Run& rows, int slot) {
  return rows.from(kDim * slot);
}

// the frame of a slot: its normal, and the first tangent (a hint for its direction until the rows are made)
enum FrameNumber : int { kFrameNormal = 0, kFrameTangent = 3, kFrameNumbers = 6 };
template <class E>
DS_HD auto frame_of(const E& env, int slot) {
  return env.con_frame().from(kFrameNumbers * slot);
}
template <class E>
DS_HD auto contact_normal(const E& env, int slot) {
  return frame_of(env, slot).vec_at(kFrameNormal);
}
template <class E>
DS_HD auto contact_tangent(const E& env, int slot) {
  return frame_of(env, slot).vec_at(kFrameTangent);
}

// what con_pair says of contact k of the manifold of a pair, as one number; and the pair that a contact is of
constexpr int kManifoldContacts = 8;  // the most of a pair
DS_HD constexpr int contact_id(int pair, int k) { return kManifoldContacts * pair + k; }
DS_HD constexpr int pair_of_id(int id) {
  return static_cast<int>(static_cast<unsigned>(id) / kManifoldContacts);
}

// kStride environments share a run of workspace, element by element: 1 on the CPU, where a pack takes the
// place of interleaving; the environments of a warp on a GPU, so that its threads touch neighbouring words
template <class Real_, class Lanes_, int kStride_ = 1>
struct Env {
  using Real = Real_;
  using Scalar = ScalarOf<Real>;
  using Mask = MaskOf<Real>;
  using Int = IntOf<Real>;
  using Lanes = Lanes_;
  static constexpr int kPack = kPackSize<Real>;
  static constexpr int kStride = kStride_;
  using Words = Field<int, kStride>;

  const StepTables<Scalar>& t;
  const Lanes& lanes;
  Real* scratch;  // the workspace; consecutive entries are kStride apart
  int* pool;      // sets of dofs as words, shared by the environments of a pack; likewise
  int block;      // which pack (or environment): where per-environment parameters lie

  // what the lanes agree on while a step runs, and a part of it hands on to the next
#define ENV_STATE(type, name, meaning) type name{};
#include "kernels/data/env_state.inl"
  // no rows there, which every part would copy: a launch, an evaluation or the solver sets these for itself
  uint64_t* stage_ticks = nullptr;  // ticks of each stage, where somebody times them
  uint64_t stage_start = 0;
  Mask missed = all_false<Real>();  // unsolved, in a stage before this one
  bool ends_call = true;            // nobody sees the residual of an evaluation before the last of its call
  // of Runge and Kutta's four, or 0: when in a step it evaluates, where controls have delays (delayed_control)
  signed char rk_stage = 0;
  // the single-dof rows in use are those of environments that still search (active_subset.h)
  bool subset = false;
  int launch_index = 0;  // on a GPU: where the environment stands among those of the launch

  // the time since the last call belongs to this stage
  DS_HD void time_stage([[maybe_unused]] Stage stage) {
#if DS_HOST_PACKS
    if (stage_ticks == nullptr) return;
    const uint64_t now = ticks();
    if (stage != kStage_load) stage_ticks[stage] += now - stage_start;
    stage_start = now;
#endif
  }

#define SCRATCH(name, size, stage, meaning) \
  DS_HD Field<Real, kStride> name() const { return {scratch + t.l.name * kStride}; }
#include "kernels/data/fields.inl"

#define ALIAS(name, array, stage, meaning) \
  DS_HD Field<Real, kStride> name() const { return array(); }
#include "kernels/data/fields.inl"

#define TABLE_R(name, meaning) \
  DS_HD Real name(int i) const { return param(t.name, i); }
// of a table of rows only the columns have names: a number of a row, or number `at` of several
#define ROW_R(table, meaning)
#define COLUMN(table, name, width, meaning)                            \
  DS_HD Real name(int row, int at = 0) const {                         \
    return param(t.table, kWidth_##table * row + kColumn_##name + at); \
  }
#include "kernels/data/fields.inl"

  DS_HD Real param(const Param<Scalar>& a, int i) const {
    DS_TABLE_ADDRESS(a.p);
    if (kKnownShared<StepTables<Scalar>> || a.env_stride == 0) return Real(a.p[i]);
    if constexpr (kStride > 1)
      return Real(a.p[static_cast<long>(block / kStride) * a.env_stride + i * kStride + block % kStride]);
    else
      return load_pack<Real>(a.p + static_cast<long>(block) * a.env_stride + i * kPack);
  }
  DS_HD Words words(int i) const { return {pool + i * kStride}; }
  DS_HD Vec3<Real> vec(const Param<Scalar>& a, int i) const { return vec_at(a, kVecNumbers * i); }
  DS_HD Vec3<Real> vec_at(const Param<Scalar>& a, int i) const {
    return {param(a, i), param(a, i + 1), param(a, i + 2)};
  }
  DS_HD Quat<Real> quat(const Param<Scalar>& a, int i) const {
    const int w = kQuatNumbers * i;
    return {param(a, w), param(a, w + 1), param(a, w + 2), param(a, w + 3)};
  }
  // the loop of the lanes over i < n; follow it by sync() where another lane reads what it wrote
  template <class F>
  DS_HD void each(int n, F f) const {
    DS_ROLLED
    for (int i = lanes.rank(); i < n; i += lanes.width()) f(i);
  }
  // where a call stands in the source: its caller's line, not this file's
  using Site = typename Lanes::Site;
  DS_HD void sync(Site where = Site::current()) const { lanes.sync(where); }
  // the same at the end of a stage, or of a part of one: what it wrote is there for every lane, whatever
  // comes next. A sync() is needed by what stands around it, and tests/emulator proves that of each
  DS_HD void done(Site where = Site::current()) const { lanes.sync(where); }
  // where all environments of a block are together: what each of them does from here on is the same code for a while, and
  // they are to run it at the same time (kernels/base/lanes.h). Never in a branch that some of them do not take
  DS_HD void sync_block() const { sync_threads_of_block(); }
  // whether one of these says so; on a CPU what its own pack says
  DS_HD bool any_in_block(bool said) const { return any_thread_of_block(said); }
  template <class Sum = Real, class F>
  DS_HD Sum accumulate(int n, F f, Site where = Site::current()) const {
    return lanes.template accumulate<Sum>(n, f, where);
  }
  // the same where entries outside a set are known to add zeros
  template <class Sum = Real, class Set, class F>
  DS_HD Sum accumulate_in(const Set& set, int n, F f, Site where = Site::current()) const {
    if constexpr (Lanes::kWidth == 1)
      return accumulate_eights<Sum>(set, n, f);
    else
      return lanes.template accumulate<Sum>(
          n, [&](int i, const Sum& s) { return touches_stripes(set, i / kStripes) ? f(i, s) : s; }, where);
  }
};

// the memory of an environment's workspace: numbers, and sets of dofs as words
template <class Real>
struct Workspace {
  Real* reals;
  int* words;
};
// where numbers lie before words, of kStride environments that share the memory: that of the one at `in_group`
template <class Real, int kStride = 1>
DS_HD Workspace<Real> workspace_in(void* memory, const StepTables<ScalarOf<Real>>& t, int in_group = 0) {
  Real* const reals = static_cast<Real*>(memory);
  int* const words = reinterpret_cast<int*>(reals + static_cast<size_t>(kStride) * t.l.total);
  return {.reals = reals + in_group, .words = words + in_group};
}
template <int kStride = 1, class Real, class Lanes>
DS_HD Env<Real, Lanes, kStride> make_env(const StepTables<ScalarOf<Real>>& t, const Lanes& lanes,
                                         const Workspace<Real>& workspace, int block) {
  return {.t = t, .lanes = lanes, .scratch = workspace.reals, .pool = workspace.words, .block = block};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
