// FiberLanes: W lanes of one environment on the CPU, each with a stack of its own, behind the same interface
// as SerialLanes and TileLanes (kernels/base/lanes.h) and with the same bits. The `emulated` backend's lanes.
//
// What is checked that a GPU leaves undefined: every lane reaches every barrier, at the same call in the
// source, with the same number of terms. A launch in which lanes part throws LaneError, which names the
// calls. What is shuffled: the order of lanes between two barriers. Built with -fsanitize=thread, scratch
// that one lane writes and another touches without a sync() between is a reported race (fibers.h says how).
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

#include "host/backends/fibers/fibers.h"
#include "kernels/base/lanes.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// unwinds a lane whose launch has failed elsewhere
struct LaneCancelled {};

// W of lanes whose width is chosen at the launch: one compilation of a stage for every width
constexpr int kAnyWidth = 0;

template <int W>
class FiberLanes {
  static_assert(W == kAnyWidth || W == 1 || W == 2 || W == 4 || W == 8 || W == 16 || W == 32);
  static constexpr int kMost = W == kAnyWidth ? emulator::kMaxLanes : W;
  using Call = emulator::Call;

 public:
  using Site = std::source_location;
  static constexpr int kWidth = kMost;

  FiberLanes(emulator::Launch& launch, int rank, int width) : launch_(&launch), rank_(rank), width_(width) {}

  int rank() const { return rank_; }
  int width() const { return W == kAnyWidth ? width_ : W; }

  void sync(Site where = Site::current()) const { meet(Call::sync, where, nullptr, 0, 0); }

  template <class Real, class F>
  Real accumulate(int n, F f, Site where = Site::current()) const {
    if constexpr (W == 1) {
      const Real sum = SerialLanes::accumulate<Real>(n, f);
      meet(Call::accumulate, where, &sum, sizeof(Real), n);
      return sum;
    } else {
      const int used = width() < kStripes ? width() : kStripes;
      Real own(0), part[kStripes];
      if constexpr (W == kAnyWidth) {
        if (rank_ < used) own = own_stripes<Real>(used, n, f);
      } else {
        constexpr int kUsed = W < kStripes ? W : kStripes;
        if (rank_ < kUsed) own = stripe_partial<Real, kUsed>(rank_, n, f);
      }
      exchange(Call::accumulate, where, own, n, part, used);
      fold(part, used);
      return part[0];
    }
  }

  template <class Int>
  Int exclusive_scan(const Int& v, Int* total, Site where = Site::current()) const {
    Int all[kMost], before(0), sum(0);
    exchange(Call::exclusive_scan, where, v, 0, all, width());
    for (int k = 0; k < width(); k++) {
      if (k == rank_) before = sum;
      sum = sum + all[k];
    }
    *total = sum;
    return before;
  }

  bool any_lane(bool b, Site where = Site::current()) const {
    bool all[kMost], some = false;
    exchange(Call::any_lane, where, b, 0, all, width());
    for (int k = 0; k < width(); k++) some = some || all[k];
    return some;
  }

 private:
  const void* meet(Call call, const Site& where, const void* value, std::size_t bytes, long argument) const {
    if (!emulator::is_running(*launch_)) throw emulator::LaneError("a FiberLanes was used after its launch");
    const void* values = emulator::arrive(*launch_, rank_, call, where, value, bytes, argument);
    if (!values) throw LaneCancelled{};
    return values;
  }

  // the values of the first `count` lanes
  template <class T>
  void exchange(Call call, const Site& where, const T& value, long argument, T* all, int count) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= emulator::kMaxValueBytes);
    const auto* values = static_cast<const unsigned char*>(meet(call, where, &value, sizeof(T), argument));
    for (int k = 0; k < count; k++)
      __builtin_memcpy(all + k, values + static_cast<std::size_t>(k) * sizeof(T), sizeof(T));
  }

  // sums as a tree: k + n/2, k + n/4, ..., k + 1; n is a power of two
  template <class Real>
  static void fold(Real* sum, int n) {
    for (int half = n / 2; half > 0; half /= 2)
      for (int k = 0; k < half; k++) sum[k] = sum[k] + sum[k + half];
  }

  // stripe_partial of lanes.h, for a width that is known at run time
  template <class Real, class F>
  Real own_stripes(int used, int n, const F& f) const {
    Real sum[kStripes];
    const int own = kStripes / used;
    for (int k = 0; k < own; k++) {
      sum[k] = Real(0);
      for (int i = rank_ + k * used; i < n; i += kStripes) sum[k] = f(i, sum[k]);
    }
    fold(sum, own);
    return sum[0];
  }

  emulator::Launch* launch_;
  int rank_, width_;
};

// f(lanes) on `width` lanes
template <int W, class F>
void run_lanes_of_width(int width, const emulator::Schedule& schedule, F&& f) {
  struct Job {
    std::remove_reference_t<F>* f;
    int width;
    std::exception_ptr error;
  } job{std::addressof(f), width, nullptr};
  const auto body = [](void* shared, emulator::Launch& launch, int rank) noexcept {
    Job& lane_job = *static_cast<Job*>(shared);
    try {
      FiberLanes<W> lanes(launch, rank, lane_job.width);
      (*lane_job.f)(lanes);
    } catch (const LaneCancelled&) {
    } catch (...) {
      if (emulator::fail(launch)) lane_job.error = std::current_exception();
    }
  };
  switch (emulator::launch_lanes(width, schedule, body, &job)) {
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
void run_lanes(const emulator::Schedule& schedule, F&& f) {
  static_assert(W != kAnyWidth);
  run_lanes_of_width<W>(W, schedule, std::forward<F>(f));
}

// the width, 1, 2, 4, 8, 16 or 32, is chosen here: f takes a FiberLanes<kAnyWidth>&
template <class F>
void run_lanes(int width, const emulator::Schedule& schedule, F&& f) {
  run_lanes_of_width<kAnyWidth>(width, schedule, std::forward<F>(f));
}

template <int W, class F>
void run_lanes(emulator::Order order, std::uint64_t seed, F&& f) {
  run_lanes<W>(emulator::Schedule{order, seed, emulator::Fence::every_exchange}, f);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
