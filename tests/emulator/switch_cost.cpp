// What the emulator costs: a switch between lanes, and a launch of 32 lanes with 10 barriers.
// Build the target emulator_switch_cost or emulator_switch_cost_thread (ThreadSanitizer) and run it alone.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "host/backends/fibers/fiber_lanes.h"

namespace {

using dualstep::FiberLanes;
using dualstep::run_lanes;
using dualstep::emulator::Order;
using Clock = std::chrono::steady_clock;

// seconds of one call: the best of 7 batches
template <class F>
double seconds_of(int calls, const F& f) {
  double best = 1e30;
  for (int batch = 0; batch < 7; batch++) {
    const auto begin = Clock::now();
    for (int i = 0; i < calls; i++) f(i);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count() / calls);
  }
  return best;
}

template <int W>
void report(Order order, const char* name) {
  constexpr int kBarriers = 10;
  std::vector<float> x(64, 1.0f);
  const auto empty = [&](int i) { run_lanes<W>(order, i, [](FiberLanes<W>&) {}); };
  const auto syncs = [&](int i) {
    run_lanes<W>(order, i, [&](FiberLanes<W>& lanes) {
      for (int k = 0; k < kBarriers; k++) {
        x[lanes.rank()] += 1.0f;
        lanes.sync();
      }
    });
  };
  const auto sums = [&](int i) {
    run_lanes<W>(order, i, [&](FiberLanes<W>& lanes) {
      for (int k = 0; k < kBarriers; k++)
        lanes.template accumulate<float>(64, [&](int j, float s) { return s + x[j]; });
    });
  };
  const int calls = 20000 / W;
  const double launch = seconds_of(calls, empty), with_syncs = seconds_of(calls, syncs);
  std::printf(
      "W %2d %-9s empty launch %8.2f us | 10 syncs %8.2f us | 10 sums of 64 %8.2f us | a lane and sync %6.1f "
      "ns\n",
      W, name, launch * 1e6, with_syncs * 1e6, seconds_of(calls, sums) * 1e6,
      (with_syncs - launch) / (kBarriers * W) * 1e9);
}

}  // namespace

int main() {
  report<2>(Order::ordered, "ordered");
  report<8>(Order::ordered, "ordered");
  report<32>(Order::ordered, "ordered");
  report<32>(Order::shuffled, "shuffled");
}
