// FiberLanes: W lanes of one environment on the CPU, each with a stack of its own, behind the same interface
// as SerialLanes and TileLanes (kernels/lanes.h) and with the same bits. The `emulated` backend's lanes.
//
// What is checked that a GPU leaves undefined: every lane reaches every barrier, at the same call in the
// source, with the same number of terms. A launch in which lanes part throws LaneError, which names the
// calls. What is shuffled: the order of lanes between two barriers. Built with -fsanitize=thread, scratch
// that one lane writes and another touches without a sync() between is a reported race (see fibers.h for
// how).
//
//   run_lanes<32>(Order::shuffled, seed, [&](FiberLanes<32>& lanes) {
//     Env env(view, lanes);   // an environment object of the lane, as a GPU thread has one
//     stage(env);
//   });
//
// The function object is shared by the lanes: what it captures by reference is shared memory, what it
// declares is the lane's own. An exception that leaves a lane unwinds all lanes and is rethrown by run_lanes;
// barriers then leave by an exception of a private type, so a stage must not swallow what it does not know.
// No barrier inside a catch block or a destructor. Cost: about 20 ns a lane and barrier,
// 230 ns under ThreadSanitizer (tests/emulator/switch_cost.cpp).
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "host/emulator/fibers.h"
#include "kernels/lanes.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// unwinds a lane whose launch has failed elsewhere
struct LaneCancelled {};

template <int W>
class FiberLanes {
  static_assert(W == 1 || W == 2 || W == 4 || W == 8 || W == 16 || W == 32);
  using Call = emulator::Call;

 public:
  using Site = std::source_location;
  static constexpr int kWidth = W;

  FiberLanes(emulator::Launch& launch, int rank) : launch_(&launch), rank_(rank) {}

  int rank() const { return rank_; }
  static constexpr int width() { return W; }

  void sync(Site where = Site::current()) const { meet(Call::sync, where, nullptr, 0, 0); }

  template <class Real, class F>
  Real accumulate(int n, F f, Site where = Site::current()) const {
    if constexpr (W == 1) {
      const Real sum = SerialLanes::accumulate<Real>(n, f);
      meet(Call::accumulate, where, &sum, sizeof(Real), n);
      return sum;
    } else {
      constexpr int kUsed = W < kStripes ? W : kStripes;
      Real own(0), part[kUsed];
      if (rank_ < kUsed) own = stripe_partial<Real, kUsed>(rank_, n, f);
      exchange(Call::accumulate, where, own, n, part);
      for (int half = kUsed / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++) part[k] = part[k] + part[k + half];
      return part[0];
    }
  }

  template <class Int>
  Int exclusive_scan(const Int& v, Int* total, Site where = Site::current()) const {
    Int all[W], before(0), sum(0);
    exchange(Call::exclusive_scan, where, v, 0, all);
    for (int k = 0; k < W; k++) {
      if (k == rank_) before = sum;
      sum = sum + all[k];
    }
    *total = sum;
    return before;
  }

  bool any_lane(bool b, Site where = Site::current()) const {
    bool all[W], some = false;
    exchange(Call::any_lane, where, b, 0, all);
    for (int k = 0; k < W; k++) some = some || all[k];
    return some;
  }

 private:
  const void* meet(Call call, const Site& where, const void* value, std::size_t bytes, long argument) const {
    if (!emulator::is_running(*launch_)) throw emulator::LaneError("a FiberLanes was used after its launch");
    const void* values = emulator::arrive(*launch_, rank_, call, where, value, bytes, argument);
    if (!values) throw LaneCancelled{};
    return values;
  }

  // the values of the first kCount lanes
  template <class T, int kCount>
  void exchange(Call call, const Site& where, const T& value, long argument, T (&all)[kCount]) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= emulator::kMaxValueBytes && kCount <= W);
    __builtin_memcpy(all, meet(call, where, &value, sizeof(T), argument), sizeof(all));
  }

  emulator::Launch* launch_;
  int rank_;
};

template <int W, class F>
void run_lanes(const emulator::Schedule& schedule, F&& f) {
  struct Job {
    std::remove_reference_t<F>* f;
    std::exception_ptr error;
  } job{std::addressof(f), nullptr};
  const auto body = [](void* shared, emulator::Launch& launch, int rank) noexcept {
    Job& lane_job = *static_cast<Job*>(shared);
    try {
      FiberLanes<W> lanes(launch, rank);
      (*lane_job.f)(lanes);
    } catch (const LaneCancelled&) {
    } catch (...) {
      if (emulator::fail(launch)) lane_job.error = std::current_exception();
    }
  };
  switch (emulator::launch_lanes(W, schedule, body, &job)) {
    case emulator::Outcome::done:
      return;
    case emulator::Outcome::no_memory:
      throw std::bad_alloc();
    case emulator::Outcome::nested:
      throw emulator::LaneError("run_lanes was called inside a lane");
    case emulator::Outcome::failed:
      break;
  }
  if (emulator::last_failure() == emulator::Failure::thrown) std::rethrow_exception(job.error);
  throw emulator::LaneError(emulator::describe_failure());
}

template <int W, class F>
void run_lanes(emulator::Order order, std::uint64_t seed, F&& f) {
  run_lanes<W>(emulator::Schedule{order, seed, emulator::Fence::every_exchange}, f);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
