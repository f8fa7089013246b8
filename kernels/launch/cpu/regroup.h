// A call in segments, so that the packs of a CPU are regrouped in every substep, once contacts are known.
//
// A pack computes the rows that any of its environments has, and takes as many Newton steps as its slowest. The contacts
// of an environment tell which rows it has. So a substep begins with body frames and contacts alone. Snapshots of the
// state and the contacts of every environment are then scattered to memory, the host sorts environments by their keys
// (note_keys), and packs of like ones gather their snapshots and go on: body frames again, then the rest of the evaluation. A
// segment lies between two regroupings: a substep but for its contacts, and the contacts of the next. The numbers of an
// environment do not depend on its neighbours, so no bit differs from run_environment (step.h), which has no segments.
//
// reads, writes   a driver: what its stages do (data/accesses.inl), and the snapshots
// cost      6% of a humanoid's step; its snapshot has 85 numbers, and 21 a contact, written along the rows of
//           memory and read back across them
#pragma once

#include "kernels/launch/cpu/cpu_kernels.h"
#include "kernels/step.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// calls f(run, its numbers) for what a snapshot holds of the environment; each_of_slot (views.h) has the contacts
template <class E, class F>
void each_of_environment(const E& env, F f) {
#define CARRIED(name, width) f(env.name(), env.t.w.name);
#define HINT(name, width) CARRIED(name, width)
#include "kernels/data/fields.inl"
}
// behind them its tail: a number of each COLLIDED of env_state.inl
constexpr int kNumbersOfTail = 0
#define COLLIDED(type, name, meaning) +1
#include "kernels/data/env_state.inl"
    ;
// of environment l of a pack: a bit of what is one for each, what its pack knows, an integer, a mask
inline int tail_number(unsigned x, int l) { return static_cast<int>((x >> l) & 1u); }
inline int tail_number(bool x, int) { return x ? 1 : 0; }
template <class X>
int tail_number(const X& x, int l) {
  if constexpr (requires { lane_of(x, l); })
    return lane_of(x, l);
  else
    return mask_bit(x, l) ? 1 : 0;
}
template <class Real, class X>
void clear_tail(X& x) {
  if constexpr (requires { X(0); })
    x = X(0);
  else
    x = mask_of_word<Real>(0u);
}
template <class Real>
void put_tail_number(unsigned& x, int l, int number) {
  x |= static_cast<unsigned>(number) << l;
}
template <class Real>
void put_tail_number(bool& x, int, int number) {
  x |= number != 0;
}
template <class Real, class X>
void put_tail_number(X& x, int l, int number) {
  if constexpr (requires { lane_of(x, l); })
    set_lane(x, l, number);
  else if (number != 0)
    x = mask_or(x, mask_of_word<Real>(1u << l));
}

// before the tail, with so many contacts
template <class E>
int count_numbers(const E& env, int contacts) {
  int own = 0, slot = 0;
  each_of_environment(env, [&](const auto&, int width) { own += width; });
  each_of_slot(env, 0, [&](const auto&, int width) { slot += width; });
  return own + contacts * slot;
}
// of a whole snapshot; where those before the tail lie in the workspace, if `offsets` is not null. None where
// steps of the model have no segments: it has no contacts, or is so small that snapshots go number by number
template <class E>
int snapshot_size(const E& env, int* offsets) {
  int count = 0;
  const auto add = [&](const auto& run, int width) {
    for (int i = 0; i < width; i++, count++)
      if (offsets != nullptr) offsets[count] = static_cast<int>(&run[i] - env.scratch);
  };
  each_of_environment(env, add);
  for (int slot = 0; slot < env.t.n.ncon; slot++) each_of_slot(env, slot, add);
  if (env.t.n.npair == 0 || !EnvIO<E>::long_rows(count_numbers(env, 0))) return 0;
  // whole lines of a cache, an odd number of them: the snapshots of a pack then lie in different sets of it
  constexpr int kLine = kCacheLine / static_cast<int>(sizeof(typename E::Scalar));
  return kLine * (((count + kNumbersOfTail - 1) / kLine + 1) | 1);
}

// what makes environments alike: contacts, rows that may push, and the pair of the first contact
template <class E>
DS_STAGE void note_keys(E& env, const EnvIO<E>& in, const Snapshots<typename E::Scalar>& snapshots) {
  using Real = typename E::Real;
  Real likely(0);
  each_scalar_kind(env, [&](const auto& kind) { likely = likely + kind.likely(); });
  for (int l = 0; l < in.count; l++) {
    const int contacts = lane_of(env.ncon, l), rows = static_cast<int>(lane_of(likely, l));
    const int pair = contacts > 0 ? pair_of(env, 0, l) : 0;
    // of the two numbers of a workload key the second comes first
    snapshots.keys[in.row(l) - snapshots.first_row] =
        workload_bucket(workload_key(rows, contacts)) * kWorkloadBuckets + pair % kWorkloadBuckets;
  }
}

// the numbers of a snapshot in the workspace, in the snapshot's order
template <class Real>
struct SnapshotNumbers {
  Real* scratch;
  const int* offsets;
  Real& operator[](int i) const { return scratch[offsets[i]]; }
};
template <class E, class T>
void find_snapshots(const EnvIO<E>& in, const Snapshots<typename E::Scalar>& snapshots, T** snapshot) {
  for (int l = 0; l < E::kPack; l++)
    snapshot[l] = snapshots.numbers + (in.row(l) - snapshots.first_row) * snapshots.width;
}

template <class E>
DS_STAGE void scatter_snapshots(E& env, const EnvIO<E>& in, const Snapshots<typename E::Scalar>& snapshots) {
  using Real = typename E::Real;
  using Scalar = typename E::Scalar;
  Scalar* snapshot[E::kPack];
  find_snapshots(in, snapshots, snapshot);
  for (int l = 0; l < in.count; l++) {
    Scalar* tail = snapshot[l] + snapshots.width - kNumbersOfTail;
    int k = 0;
#define COLLIDED(type, name, meaning) tail[k++] = Scalar(tail_number(env.name, l));
#include "kernels/data/env_state.inl"
  }
  in.write_rows(snapshot, SnapshotNumbers<Real>{env.scratch, snapshots.offsets},
                count_numbers(env, env.ncon_max));
  note_keys(env, in, snapshots);
}

template <class E>
DS_STAGE void gather_snapshots(E& env, const EnvIO<E>& in, const Snapshots<typename E::Scalar>& snapshots) {
  using Real = typename E::Real;
  using Scalar = typename E::Scalar;
  const Scalar* snapshot[E::kPack];
  find_snapshots(in, snapshots, snapshot);
#define COLLIDED(type, name, meaning) clear_tail<Real>(env.name);
#include "kernels/data/env_state.inl"
  for (int l = 0; l < E::kPack; l++) {
    const Scalar* tail = snapshot[l] + snapshots.width - kNumbersOfTail;
    int k = 0;
#define COLLIDED(type, name, meaning) put_tail_number<Real>(env.name, l, static_cast<int>(tail[k++]));
#include "kernels/data/env_state.inl"
  }
  Real contacts(0);
  env.ncon_max = 0;
  for (int l = 0; l < E::kPack; l++) {
    const int ncon = lane_of(env.ncon, l);
    set_lane(contacts, l, Scalar(ncon));
    if (ncon > env.ncon_max) env.ncon_max = ncon;
  }
  in.read_rows(SnapshotNumbers<Real>{env.scratch, snapshots.offsets}, snapshot,
               count_numbers(env, env.ncon_max));
  // an environment with fewer contacts has nothing in the other slots, not even in its snapshot
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const auto used = Real(slot) < contacts;
    if (all(used)) continue;
    each_of_slot(env, slot, [&](const auto& run, int width) {
      for (int k = 0; k < width; k++) run[k] = select(used, run[k], Real(0));
    });
  }
  in.load_drives();
}

// A segment of a call. False at the end of the call. Packs are left in the first stage of a substep alone: the others
// have nearly the same contacts
template <int kDim, bool kByRows, class E>
bool run_segment(E& env, const BatchView<typename E::Scalar>& batch, const StepArgs& args,
                 const SegmentArgs<typename E::Scalar>& segment) {
  const EnvIO<E> in(env, batch, args);
  EvalIndex* const m = segment.index;
  const int stages = num_stages(env.t.o.integrator);
  env.stage_ticks = args.stage_ticks;
  env.time_stage(kStage_load);
  if (segment.is_first) {
    in.load();
  } else {
    in.begin();
    gather_snapshots(env, in, segment.snapshots);
    env.time_stage(kStage_regroup);
  }
  for (bool known = !segment.is_first;; known = false) {  // the contacts
    if (!known && m->stage == 0) {
      contacts_alone(env, in);
      scatter_snapshots(env, in, segment.snapshots);
      env.time_stage(kStage_regroup);
      return true;
    }
    each_part([&](auto part) {
      if (decltype(part)::kPart == kPart_collide && known) return;
      evaluate_part<decltype(part)::kPart, kDim, kByRows>(env, in, *m);
    });
    if (!advance(args, stages, m)) return false;
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
