// Batches on emulated lanes: one environment at a time, its W lanes as fibers that take turns between
// barriers (host/backends/fibers). A test device: it shows, where there is no GPU, that the stages give the same
// bits for every W and in every order of lanes, and with ThreadSanitizer that they do not race.
//
// Before each environment the workspace is filled with NaN, so that a stage that reads what no stage wrote
// shows it. Only sync() orders memory between lanes, as on a GPU.
#pragma once

#include <memory>
#include <string>

#include "host/backends/backend.h"
#include "host/backends/fibers/fibers.h"
#include "host/batch/lane_choice.h"

namespace dualstep {

template <class Scalar>
class EmulatedBackend final : public Backend<Scalar> {
 public:
  // throws std::invalid_argument
  explicit EmulatedBackend(const DeviceOptions& options);

  std::string device() const override { return "emulated"; }
  std::string description() const override;
  int pack() const override { return 1; }
  std::shared_ptr<void> allocate(size_t bytes) override;
  void set_tables(const Tables<Scalar>& tables) override;
  const Scalar* workspace() const override { return static_cast<const Scalar*>(scratch_.get()); }
  // throws emulator::LaneError where the lanes of an environment part
  void run(const BatchView<Scalar>& batch, const StepArgs& args, const int* blocks, int num_blocks) override;
  void watch(bool on) override { watched_ = on; }
  bool stopped() const override { return stopped_; }

 private:
  const LaneChoice choice_;
  emulator::Schedule schedule_;
  const std::string order_;
  const Tables<Scalar>* tables_ = nullptr;
  size_t scratch_bytes_ = 0;
  std::shared_ptr<void> scratch_;
  bool watched_ = false, stopped_ = false;
};

}  // namespace dualstep
