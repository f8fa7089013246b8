// Steps and evaluations of a batch: in parts, so that whoever waits can stop them, and what follows a divergence.
#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "host/batch/batch.h"

namespace dualstep {
namespace {

// a device asks while this lives
class Watched {
 public:
  explicit Watched(Device* device) : device_(device) { device_->watch(true); }
  ~Watched() { device_->watch(false); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  Device* device_;
};

}  // namespace

StepArgs Batch::call(Action action, int nsubsteps, bool last_stage) {
  return {action, nsubsteps, /*freeze_diverged=*/1, /*sense_last_stage=*/last_stage, /*stage_ticks=*/nullptr};
}

void Batch::step(int nsubsteps) {
  if (nsubsteps < 1) {
    throw std::invalid_argument("nsubsteps " + std::to_string(nsubsteps) +
                                " is given, and it must be positive");
  }
  const std::lock_guard lock(mutex_);
  if (options_.reset_diverged && restart_on_device(nsubsteps)) return;
  if (options_.reset_diverged) {
    // clear the diverged bit: those environments were reset after the last step
    read_status();
    for (uint32_t& status : status_) status &= ~static_cast<uint32_t>(kDiverged);
    write_status();
  }
  const bool whole = run_substeps(nsubsteps);
  if (options_.reset_diverged) reset_diverged();
  if (!whole) throw Interrupted();
}

bool Batch::run_substeps(int nsubsteps) {
  // a device that the host only queues work for takes no time here
  if (!Interruptible::anyone() || engine_->device().device_index() >= 0) {
    engine_->run(call(Action::kStep, nsubsteps, options_.last_stage_outputs), nullptr, 0);
    renewed();
    return true;
  }
  constexpr double kPartSeconds = 0.05;
  constexpr int kUnknown = 1;  // substeps of the first part, where none was measured
  for (int done = 0; done < nsubsteps;) {
    if (done > 0 && Interruptible::told()) return false;
    const double fitting = substep_seconds_ > 0 ? kPartSeconds / substep_seconds_ : kUnknown;
    const int part = static_cast<int>(std::clamp(fitting, 1.0, static_cast<double>(nsubsteps - done)));
    const StepArgs args = call(Action::kStep, part, options_.last_stage_outputs);
    const bool takes_long = part == 1 && !(substep_seconds_ > 0 && substep_seconds_ < kPartSeconds / 2);
    const auto began = std::chrono::steady_clock::now();
    if (!takes_long)
      engine_->run(args, nullptr, 0);
    else if (!run_watched(args))
      return false;
    renewed();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    substep_seconds_ = took.count() / part;
    if (takes_long && substep_seconds_ < kPartSeconds / 2) before_substep_ = {};
    done += part;
  }
  return true;
}

bool Batch::run_watched(const StepArgs& args) {
  Device& device = engine_->device();
  // what a step changes, as it is before it: all memory first
  std::vector<BatchArray*> changed;
  for (size_t i = 0; i < num_states_; ++i)
    if (arrays_[i].row_bytes > 0) changed.push_back(&arrays_[i]);
  for (const char* name : {"time", "status", "iterations", "residual"}) changed.push_back(&record(name));
  before_substep_.resize(changed.size());
  for (size_t i = 0; i < changed.size(); ++i)
    before_substep_[i].resize(changed[i]->row_bytes * static_cast<size_t>(options_.num_envs));
  for (size_t i = 0; i < changed.size(); ++i) {
    if (Interruptible::told()) return false;
    device.read(before_substep_[i].data(), changed[i]->data.get(), before_substep_[i].size());
  }
  {
    const Watched watched(&device);
    engine_->run(args, nullptr, 0);
  }
  if (!device.stopped()) return true;
  for (size_t i = 0; i < changed.size(); ++i)
    device.write(changed[i]->data.get(), before_substep_[i].data(), before_substep_[i].size());
  // outputs stay those of each environment's last evaluation: of the state that is there now, or of the one before
  contacts_stale_ = true;
  return false;
}

bool Batch::restart_on_device(int nsubsteps) {
  if (engine_->device().device_index() < 0 || parameters_.moves_any_start()) return false;
  auto* counts = static_cast<uint32_t*>(record("reset_count").data.get());
  const StepArgs args = call(Action::kStep, nsubsteps, options_.last_stage_outputs);
  if (!engine_->step_and_restart(args, placed_after_divergence(), counts, any_output_)) return false;
  contacts_stale_ = !any_output_;
  return true;
}

void Batch::reset_diverged() {
  read_status();
  bool any = false;
  for (size_t e = 0; e < status_.size(); ++e) {
    marks_[e] = (status_[e] & kDiverged) != 0;
    any = any || marks_[e];
  }
  if (!any) return;
  {
    // the step is done
    const Uninterrupted whole;
    put_back(marks_.data(), -1);
  }
  // the reset cleared their status: what happened stays visible until the next step
  BatchArray& counts = record("reset_count");
  for (size_t e = 0; e < status_.size(); ++e) {
    if (!marks_[e]) continue;
    status_[e] = kDiverged;
    char* count = static_cast<char*>(counts.data.get()) + e * counts.row_bytes;
    uint32_t number;
    engine_->device().read(&number, count, sizeof number);
    ++number;
    engine_->device().write(count, &number, sizeof number);
  }
  write_status();
  refresh(marks_.data());
}

void Batch::run(Action action, const std::vector<int>* blocks) {
  const Watched watched(&engine_->device());
  engine_->run(call(action, 1), blocks ? blocks->data() : nullptr,
               blocks ? static_cast<int>(blocks->size()) : 0);
  if (!engine_->device().stopped()) return;
  outputs_stale_ = contacts_stale_ = true;
  throw Interrupted();
}

void Batch::forward(const uint8_t* mask) {
  const std::lock_guard lock(mutex_);
  if (!mask) {
    run(Action::kForward, nullptr);
    return renewed();
  }
  // those who share a pack with a marked environment are replayed from what they remember: the same bits
  engine_->device().copy_rows(remembered(), options_.num_envs, mask);
  refresh(mask);
}

}  // namespace dualstep
