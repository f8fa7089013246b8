// The plain structs that host code fills and kernels read: sizes, options, tables of the model, arrays of the
// batch. No functions, so every instruction set and the device share one definition. Made from fields.inl.
#pragma once

#include <stdint.h>

#include "kernels/base/mujoco_enums.h"
#include "kernels/data/actuators.h"
#include "kernels/data/contact_laws.h"
#include "kernels/data/island_arena.h"

namespace dualstep {

// bits of act_flags
enum ActuatorFlag : int {
  kForceLimited = 2,
  kActLimited = 4,
  kActEarly = 8,
  kActDisabled = 16,
  kActCircle = 32  // a position servo on a ball joint or the turn of a site: its setpoint is an angle
};

// bits of act_motor beside those of ControlInput: which activations a motor has, in this order
enum MotorActivation : int {
  kMotorSlew = 32,
  kMotorIntegral = 64,
  kMotorTemperature = 128,
  kMotorBristle = 256,
  kMotorCurrent = 512
};

// bits of which of two: geoms of a pair (sensor_pairs), bodies of an equality (eq_moves), sites of an actuator (trn_side)
enum SideBit : int { kFirstSide = 1, kSecondSide = 2, kBothSides = kFirstSide | kSecondSide };
// the two of a pair, or of a contact its two bodies and trees, are sides 0 and 1
constexpr int kPairSides = 2;

// the straight pieces of a stretch of a tendon: from site to site, or to its geom and on from it
enum StretchPiece : int { kPieceFree = 0, kPieceToGeom = 1, kPieceFromGeom = 2, kStretchPieces = 3 };

// o.weights: what the D of a contact weighs, the edges of its pyramid or rows of its frame. Pyramids may have the latter too
enum ContactWeights : int { kWeighsEdges = 0, kWeighsRows = 1 };
// how a cutoff bounds the reading of a sensor
enum SensorCut : int { kCutNever = 0, kCutAbove = 1, kCutBothSides = 2 };
// the numbers of an anchor (contact/anchor.h): where each begins, and how many they are
enum AnchorNumber : int { kAnchorPair = 0, kAnchorPos = 1, kAnchorStretch = 4, kAnchorNumbers = 7 };

// how many numbers of a record are read at once (data/records.h)
constexpr int kRecordRun = 16;

// sizes of a model as the kernels see it, and of its workspace
struct Sizes {
#define SIZE(name, meaning) int name;
#include "kernels/data/sizes.inl"
};

// options in the form the stages use
template <class Scalar>
struct StepOptions {
#define OPTION_I(name, source, meaning) int name;
#define OPTION_R(name, source, meaning) Scalar name;
#define OPTION_R3(name, source, meaning) Scalar name[3];
#define OPTION_D(name, source, meaning) double name;
#include "kernels/data/options.inl"
};

// an array of real model parameters: shared (env_stride 0), or per environment: block b holds its entries
// from p + b env_stride, each as one pack
template <class Scalar>
struct Param {
  const Scalar* p;
  int env_stride;
};

// words of the pool of one block: sets of dofs, and lists; first those of newton_dofs.h, then those of
// newton_rows.h, then the single-dof rows in use: all of them, and those of active_subset.h
constexpr int newton_words(const Sizes& n) {
  if (n.nisland > 0) return 0;
  return (2 * n.ncon + 2 * n.nv) * n.nword + n.nv + (n.nrow + n.nv + n.nsingle) + n.ncon;
}
constexpr int dual_words(const Sizes& n) {
  return n.nlocal * n.nword + n.nsingle + 2 * (n.ndense + n.ncone + n.nlocal);
}
constexpr int set_words(const Sizes& n) { return n.single_begin + 2 * n.nsingleword; }
// with the arena of kernels/solver/islands/
template <class Scalar>
constexpr long pool_words(const Sizes& n) {
  return n.arena_begin + static_cast<long>(island_words<Scalar>(n));
}

// where the columns of a table of rows stand in a row, and how long the row is: kColumn_lim_K, kWidth_lim_param
// clang-format off
#define ROW_R(table, meaning) enum : int {
#define COLUMN(table, name, width, meaning) kColumn_##name, kLast_##name = kColumn_##name + width - 1,
#define END_ROW(table) kWidth_##table };
#include "kernels/data/fields.inl"
// clang-format on

struct Layout {
#define SCRATCH(name, size, stage, meaning) int name;
#include "kernels/data/fields.inl"
  int total;
};

// numbers an environment of each array of a batch, from the width column of the field table
struct Widths {
#define STATE(name, width, role, meaning) int name;
#define OUTPUT(name, width, shape, meaning) int name;
#include "kernels/data/fields.inl"
};

template <class Scalar>
struct Tables {
  Sizes n;
  StepOptions<Scalar> o;
  Layout l;
  Widths w;
#define TABLE_I(name, meaning) const int* name;
#define TABLE_R(name, meaning) Param<Scalar> name;
#include "kernels/data/fields.inl"
};

// what the stages read: the tables; or, in a specialised program (host/backends/cuda/specialize), the same with n, o,
// l and w as constants, which that program defines
#if defined(DUALSTEP_FIXED_TABLES)
template <class Scalar>
struct StepTables;
#else
template <class Scalar>
using StepTables = Tables<Scalar>;
#endif

// whether a model may have pairs of the kind; whether no parameter is per environment. What is not known when
// a kernel is compiled is asked while it runs
template <class AnyTables, int kKind>
constexpr bool kKindPossible = true;
template <class AnyTables, int kKind>
requires requires { AnyTables::kKindPresent; }
constexpr bool kKindPossible<AnyTables, kKind> = AnyTables::kKindPresent[kKind];
template <class AnyTables>
constexpr bool kKnownShared = false;
template <class AnyTables>
requires requires { AnyTables::kAllShared; }
constexpr bool kKnownShared<AnyTables> = AnyTables::kAllShared;

// the arrays of a batch, (num_envs, width) row-major each; an output that nobody wants is null
template <class Scalar>
struct BatchView {
  int num_envs;
#define STATE(name, width, role, meaning) Scalar* name;
#include "kernels/data/fields.inl"
  // what the last evaluation started from: the state arrays as they were then
#define STATE(name, width, role, meaning) Scalar* last_##name;
#include "kernels/data/fields.inl"
#define RECORD(name, type, ...) type* name;
#include "kernels/data/records.inl"
#define OUTPUT(name, width, shape, meaning) Scalar* name;
#include "kernels/data/fields.inl"
};

enum class Action : int {
  kStep = 0,     // substeps of time, outputs of the last one's start
  kForward = 1,  // derived quantities at the current state, no integration
  kReplay = 2,  // the last evaluation once more, from the last_ arrays, for outputs that were not wanted then
};

// the stages of the step, for those who time them
#define DS_STAGES(X) \
  X(load)            \
  X(kinematics)      \
  X(bias)            \
  X(inertia)         \
  X(factorize)       \
  X(forces) X(collide) X(regroup) X(rows) X(sweeps) X(newton) X(finish) X(sense) X(integrate) X(store)
enum Stage : int {
#define DS_STAGE_NAME(name) kStage_##name,
  DS_STAGES(DS_STAGE_NAME)
#undef DS_STAGE_NAME
      kStages
};

// the parts of an evaluation of the step, and what follows it: launches of their own where a step is launched
// in parts (kernels/launch/staged.h)
#define DS_PARTS(X) X(smooth) X(collide) X(rows) X(solve) X(integrate)
enum Part : int {
#define DS_PART_NAME(name) kPart_##name,
  DS_PARTS(DS_PART_NAME)
#undef DS_PART_NAME
      kParts
};

struct StepArgs {
  Action action;
  int nsubsteps;
  int freeze_diverged;       // a diverged environment stays at its last good state until it is reset
  int sense_last_stage = 0;  // outputs of a step with RK4 are those of its last stage, not of its start
  // where not null: ticks spent in each stage, added up (kStages entries; CPU only)
  uint64_t* stage_ticks = nullptr;
  // where not null: which environment stands where. On the CPU a permutation, and only where all share one
  // model: a pack is one block of parameters
  const int* order = nullptr;
  // where not null: how many of that order take part, a number that a device has counted (CUDA only)
  const int* count = nullptr;
  // where not null: how hard each environment was to step, (num_envs,): contacts and Newton steps
  int* workload = nullptr;
};

// Where a call stands: the evaluation of a stage of the integrator (RK4 has four, others one) in a substep.
struct EvalIndex {
  int substep = 0, stage = 0;
};

// bits of status; sticky until the environment is reset or the status cleared
enum StatusBit : uint32_t { kDiverged = 1, kContactOverflow = 2, kNotConverged = 4 };

}  // namespace dualstep
