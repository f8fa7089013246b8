// A batch in plain memory, stepped by whatever kernels a test gives it, with every array of the field table.
#pragma once

#include <cstring>
#include <deque>

#include "host/tables/tables.h"
#include "tests/support/models.h"

namespace dualstep {

template <class Scalar>
class Rollout {
 public:
  // every environment starts at the reference configuration with velocities of its own
  Rollout(const Scene& scene, int num_envs)
      : n_(num_envs), outputs_(scene.outputs), set_(scene.model), tables(tables_of(scene)) {
    const Sizes& n = tables.n;
    batch.num_envs = num_envs;
    Widths{n}.make_arrays(this);
    batch.time = make(doubles_, "time", num_envs);
    batch.residual = make(reals_, "residual", num_envs);
    batch.status = make(words_, "status", num_envs);
    batch.iterations = make(ints_, "iterations", num_envs);
    batch.contact_count = make(ints_, "contact_count", num_envs);
    batch.contacts_needed = make(ints_, "contacts_needed", num_envs);
    batch.contact_geom = make(ints_, "contact_geom", 2L * n.ncon * num_envs);
    start(scene.model);
  }

  // runs one step of all environments by run(args); the forces of the user change from step to step
  template <class Run>
  void step(Run run) {
    const Sizes& n = tables.n;
    for (int i = 0; i < n_ * n.nu; i++) batch.ctrl[i] = random(1);
    for (int i = 0; i < n_ * n.nv; i++) batch.qfrc_applied[i] = random(0.3);
    // every other step somebody pulls at bodies, and three steps are one call
    for (int i = 0; i < n_ * 6 * n.nbody; i++) batch.xfrc_applied[i] = steps_ % 2 ? random(0.5) : Scalar(0);
    run(StepArgs{Action::kStep, steps_ % 3 == 2 ? 3 : 1, 1});
    steps_++;
  }

  // the first array in which two rollouts differ, with its environment and entry; "" where all bits agree
  std::string difference(const Rollout& other) const {
    std::string found;
    const auto compare = [&](const auto& mine, const auto& theirs) {
      for (size_t a = 0; a < mine.size(); a++)
        for (size_t i = 0; i < mine[a].data.size() && found.empty(); i++)
          if (std::memcmp(&mine[a].data[i], &theirs[a].data[i], sizeof mine[a].data[i]) != 0)
            found = mine[a].name + "[" + std::to_string(i) + "] of " + std::to_string(mine[a].data.size()) +
                    ": " + std::to_string(mine[a].data[i]) + " and " + std::to_string(theirs[a].data[i]);
    };
    compare(reals_, other.reals_);
    compare(doubles_, other.doubles_);
    compare(ints_, other.ints_);
    compare(words_, other.words_);
    return found;
  }

 private:
  template <class T>
  struct Array {
    std::string name;
    std::vector<T> data;
  };
  // the widths of the field table are expressions in the sizes
  struct Widths : Sizes {
    void make_arrays(Rollout* r) const {
      const long envs = r->n_;
#define STATE(name, width, role, meaning)               \
  r->batch.name = make(r->reals_, #name, envs * width); \
  r->batch.last_##name = make(r->reals_, "last_" #name, envs * width);
#define OUTPUT(name, width, shape, meaning) \
  if (r->outputs_) r->batch.name = make(r->reals_, #name, envs * width);
#include "kernels/data/fields.inl"
    }
  };
  template <class T>
  static T* make(std::deque<Array<T>>& arrays, const std::string& name, long size) {
    arrays.push_back({name, std::vector<T>(static_cast<size_t>(size))});
    // what nobody writes stays what it was: a NaN, or -1
    if (size > 0)
      std::memset(static_cast<void*>(arrays.back().data.data()), 0xff, sizeof(T) * arrays.back().data.size());
    return arrays.back().data.data();
  }

  void start(const Model& model) {
    const Sizes& n = tables.n;
    for (int e = 0; e < n_; e++) {
      for (int i = 0; i < n.nq; i++) batch.qpos[e * n.nq + i] = static_cast<Scalar>(model.qpos0[i]);
      for (int i = 0; i < n.nv; i++) batch.qvel[e * n.nv + i] = random(1);
      for (int b = 0; b < n.nbody; b++) {
        const int m = model.body_mocapid[b];
        if (m < 0) continue;
        for (int i = 0; i < 3; i++)
          batch.mocap_pos[3 * (e * n.nmocap + m) + i] = static_cast<Scalar>(model.body_pos[3 * b + i]);
        for (int i = 0; i < 4; i++) batch.mocap_quat[4 * (e * n.nmocap + m) + i] = Scalar(i == 0);
      }
      batch.time[e] = 0;
      batch.status[e] = 0;
    }
    std::fill_n(batch.act, n_ * n.na, Scalar(0));
    std::fill_n(batch.ctrl_history, n_ * n.nctrlhist, Scalar(0));
    std::fill_n(batch.qacc_warmstart, n_ * n.nv, Scalar(0));
    std::fill_n(batch.anchors, n_ * 7 * n.nanchor, Scalar(0));
  }

  // sensors are computed with the other outputs
  Tables<Scalar> tables_of(const Scene& scene) {
    if (scene.outputs) set_.options().sensors = sensor_kinds(scene.model);
    return set_.view();
  }
  // between -size and size
  Scalar random(double size) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<Scalar>(size * (static_cast<double>(state_ >> 40) / (1 << 23) - 1));
  }

  const int n_;
  const bool outputs_;
  TableSet<Scalar> set_;
  std::deque<Array<Scalar>> reals_;
  std::deque<Array<double>> doubles_;
  std::deque<Array<int>> ints_;
  std::deque<Array<uint32_t>> words_;
  uint64_t state_ = 1;
  int steps_ = 0;

 public:
  const Tables<Scalar> tables;
  BatchView<Scalar> batch{};
};

}  // namespace dualstep
