#include "host/backends/fibers/emulated_backend.h"

#include <cstring>
#include <stdexcept>

#include "host/backends/cpu/cpu_backend.h"
#include "host/backends/fibers/emulated_kernels.h"

namespace dualstep {
namespace {

emulator::Order choose_order(const std::string& given) {
  if (given.empty() || given == "shuffled") return emulator::Order::shuffled;
  if (given == "ordered") return emulator::Order::ordered;
  if (given == "reversed") return emulator::Order::reversed;
  throw std::invalid_argument("order '" + given +
                              "' is given, and it must be 'ordered', 'reversed' or 'shuffled'");
}

}  // namespace

template <class Scalar>
EmulatedBackend<Scalar>::EmulatedBackend(const DeviceOptions& options)
    : choice_(choose_lanes(options.lanes)),
      schedule_{choose_order(options.order), options.seed, emulator::Fence::sync_only},
      order_(options.order.empty() ? "shuffled" : options.order) {}

template <class Scalar>
std::string EmulatedBackend<Scalar>::description() const {
  return "emulated, " + describe_lanes(choice_, "lane") + ", " + order_;
}

template <class Scalar>
std::shared_ptr<void> EmulatedBackend<Scalar>::allocate(size_t bytes) {
  return allocate_aligned(bytes);
}

template <class Scalar>
void EmulatedBackend<Scalar>::set_tables(const Tables<Scalar>& tables) {
  tables_ = &tables;
  scratch_bytes_ = static_cast<size_t>(emulated_scratch_bytes(tables));
  scratch_ = allocate_aligned(scratch_bytes_);
}

template <class Scalar>
void EmulatedBackend<Scalar>::run(const BatchView<Scalar>& batch, const StepArgs& args, const int* blocks,
                                  int num_blocks) {
  const int n = blocks ? num_blocks : batch.num_envs;
  stopped_ = false;
  for (int i = 0; i < n; ++i) {
    stopped_ = watched_ && Interruptible::told();
    if (stopped_) return;
    std::memset(scratch_.get(), 0xff, scratch_bytes_);
    run_emulated(*tables_, batch, args, blocks ? blocks[i] : i, scratch_.get(), choice_, schedule_);
    ++schedule_.seed;  // another order for every environment and step
  }
}

template class EmulatedBackend<float>;
template class EmulatedBackend<double>;

}  // namespace dualstep
