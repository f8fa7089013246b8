// A call in legs, so that the packs of a CPU are made anew in every substep, once contacts are known.
//
// A pack goes through the rows that any of its environments has, and takes as many Newton steps as its
// slowest. Which rows an environment has is known once its contacts are. So a substep begins with the frames
// of the bodies and the contacts alone; then every environment leaves its pack, with a record of its state
// and its contacts; the host sorts them; and those who are alike meet in packs of their own, where the frames
// are found again, with the rest of the evaluation. A leg is what lies between two such meetings: a substep
// but for its contacts, and those of the next. An environment's numbers are the same whoever stands beside
// it, so no bit differs from run_environment (step.h), which knows no legs. Cost: 6% of a humanoid's step;
// its record has 85 numbers, and 21 a contact, written along the rows of memory and read back across them.
#pragma once

#include "kernels/launch/cpu/cpu_kernels.h"
#include "kernels/step.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// calls f(run, its numbers) for what a record holds: of the environment, then of each slot of a contact
template <class E, class F>
void each_of_environment(const E& env, F f) {
#define CARRIED(name, width) f(env.name(), env.t.w.name);
#define HINT(name, width) CARRIED(name, width)
#include "kernels/data/fields.inl"
}
template <class E, class F>
void each_of_slot(const E& env, int slot, F f) {
  f(env.con_dist().from(slot), 1), f(env.con_D().from(slot), 1);
  f(env.con_dim().from(slot), 1), f(env.con_pair().from(slot), 1);
  f(env.con_pos().from(3 * slot), 3), f(env.con_frame().from(6 * slot), 6);
  f(env.con_kb().from(3 * slot), 3), f(env.con_mu().from(5 * slot), 5);
}
// behind them: whether it diverged, whether it lost a contact, how many contacts it has, whether somebody in
// its pack is pushed
constexpr int kNumbersOfTail = 4;

// before the tail, with so many contacts
template <class E>
int count_numbers(const E& env, int contacts) {
  int own = 0, slot = 0;
  each_of_environment(env, [&](const auto&, int width) { own += width; });
  each_of_slot(env, 0, [&](const auto&, int width) { slot += width; });
  return own + contacts * slot;
}
// of a whole record; where those before the tail lie in the workspace, if `places` is not null. None where
// steps of the model have no legs: it has no contacts, or is so small that records go number by number
template <class E>
int record_numbers(const E& env, int* places) {
  int count = 0;
  const auto add = [&](const auto& run, int width) {
    for (int i = 0; i < width; i++, count++)
      if (places != nullptr) places[count] = static_cast<int>(&run[i] - env.scratch);
  };
  each_of_environment(env, add);
  for (int slot = 0; slot < env.t.n.ncon; slot++) each_of_slot(env, slot, add);
  if (env.t.n.npair == 0 || !Inputs<E>::long_rows(count_numbers(env, 0))) return 0;
  // whole lines of a cache, an odd number of them: the records of a pack then lie in different sets of it
  constexpr int kLine = 64 / static_cast<int>(sizeof(typename E::Scalar));
  return kLine * (((count + kNumbersOfTail - 1) / kLine + 1) | 1);
}

// what makes environments alike: contacts, limits in use, and the pair of the first contact
template <class E>
DS_STAGE void note_keys(E& env, const Inputs<E>& in, const Records<typename E::Scalar>& records) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qpos = env.qpos();
  const Real limits = env.accumulate(2 * t.n.nlim, [&](int s, const Real& sum) {
    const int k = s / 2, j = t.lim_jnt[k];
    const Real r = qpos[t.jnt_qposadr[j]] - env.lim_range(s);
    return sum + select(s & 1 ? r > -env.lim_param(11 * k) : r < env.lim_param(11 * k), Real(1), Real(0));
  });
  for (int l = 0; l < in.count; l++) {
    const int contacts = lane_of(env.ncon, l), sides = static_cast<int>(lane_of(limits, l));
    const int pair = contacts > 0 ? pair_of(env, 0, l) : 0;
    // of the two numbers of an effort the second comes first
    records.keys[in.row(l) - records.first_row] =
        effort_kind(effort_of(sides, contacts)) * kEffortKinds + pair % kEffortKinds;
  }
}

// the numbers of a record in the workspace, in the record's order
template <class Real>
struct Recorded {
  Real* scratch;
  const int* places;
  Real& operator[](int i) const { return scratch[places[i]]; }
};
template <class E, class T>
void find_records(const Inputs<E>& in, const Records<typename E::Scalar>& records, T** record) {
  for (int l = 0; l < E::kPack; l++)
    record[l] = records.numbers + (in.row(l) - records.first_row) * records.width;
}

template <class E>
DS_STAGE void leave(E& env, const Inputs<E>& in, const Records<typename E::Scalar>& records) {
  using Real = typename E::Real;
  using Scalar = typename E::Scalar;
  Scalar* record[E::kPack];
  find_records(in, records, record);
  for (int l = 0; l < in.count; l++) {
    Scalar* tail = record[l] + records.width - kNumbersOfTail;
    tail[0] = Scalar(mask_bit(env.diverged, l));
    tail[1] = Scalar((env.lost >> l) & 1u);
    tail[2] = Scalar(lane_of(env.ncon, l));
    tail[3] = Scalar(in.any_xfrc);
  }
  in.write_rows(record, Recorded<Real>{env.scratch, records.places}, count_numbers(env, env.ncon_max));
  note_keys(env, in, records);
}

template <class E>
DS_STAGE void enter(E& env, const Inputs<E>& in, const Records<typename E::Scalar>& records) {
  using Real = typename E::Real;
  using Scalar = typename E::Scalar;
  const Scalar* record[E::kPack];
  find_records(in, records, record);
  Real diverged(0), contacts(0);
  env.lost = 0;
  env.ncon_max = 0;
  in.any_xfrc = false;
  for (int l = 0; l < E::kPack; l++) {
    const Scalar* tail = record[l] + records.width - kNumbersOfTail;
    set_lane(diverged, l, tail[0]);
    env.lost |= static_cast<unsigned>(tail[1] != 0) << l;
    const int ncon = static_cast<int>(tail[2]);
    set_lane(contacts, l, tail[2]);
    set_lane(env.ncon, l, ncon);
    if (ncon > env.ncon_max) env.ncon_max = ncon;
    in.any_xfrc |= tail[3] != 0;
  }
  env.diverged = diverged != Real(0);
  in.read_rows(Recorded<Real>{env.scratch, records.places}, record, count_numbers(env, env.ncon_max));
  // an environment with fewer contacts has nothing in the other slots, not even in its record
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const auto used = Real(slot) < contacts;
    if (all(used)) continue;
    each_of_slot(env, slot, [&](const auto& run, int width) {
      for (int k = 0; k < width; k++) run[k] = select(used, run[k], Real(0));
    });
  }
  in.load_drives();
}

// A leg of a call of kStep, of environments that all share their parameters. The first begins at the start of
// the call, the others where the packs were left, in the evaluation at moment m, which becomes that of the
// next. False at the end of the call. Packs are left in the first stage of a substep alone: the others have
// nearly the same contacts
template <int kDim, bool kElliptic, class E>
bool run_leg(E& env, const BatchView<typename E::Scalar>& batch, const StepArgs& args,
             const Records<typename E::Scalar>& records, bool first, Moment* m) {
  const Inputs<E> in(env, batch, args);
  const int stages = num_stages(env.t.o.integrator);
  env.laps = args.laps;
  env.lap(kStage_load);
  if (first) {
    in.load();
  } else {
    in.begin();
    enter(env, in, records);
    env.lap(kStage_repack);
  }
  for (bool known = !first;; known = false) {  // the contacts
    if (!known && m->stage == 0) {
      body_frames<false>(env, [&](int i) { return in.mocap(i); });
      env.lap(kStage_kinematics);
      collide(env);
      env.lap(kStage_collide);
      leave(env, in, records);
      env.lap(kStage_repack);
      return true;
    }
    env.ends_call = ends_call(args, stages, *m);
    keep_start(env, in, *m);
    smooth_dynamics(env, in);
    if (!known) collide(env);
    env.lap(kStage_collide);
    impacts_and_rows<kDim, kElliptic>(env);
    solve_and_jump<kDim, kElliptic>(env);
    integrate(env, in, *m);
    if (!advance(args, stages, m)) return false;
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
