// Runs one seeded kernel, or one use of the emulator, and says nothing when nothing is wrong.
//
//   seeded_program KERNEL right|planted every_exchange|sync_only
//   seeded_program exchanges | unwinding | threads | overrun_right | overrun_planted
//
// Built once for ThreadSanitizer and once for AddressSanitizer, which end the process with the exit code that
// TSAN_OPTIONS or ASAN_OPTIONS gives when they find something.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "host/backends/fibers/fiber_lanes.h"
#include "tests/emulator/seeded_kernels.h"

namespace {

using dualstep::FiberLanes;
using dualstep::run_lanes;
using namespace dualstep::emulator;

template <int W, class Kernel>
void run_all_orders(Fence fence, Kernel kernel) {
  // the host touches the scratch before, between and after launches, as a batch does
  auto scratch = std::make_unique<seeded::Scratch>(seeded::fresh_scratch());
  for (std::uint64_t seed = 0; seed < 8; seed++) {
    for (Order order : {Order::ordered, Order::reversed, Order::shuffled})
      run_lanes<W>(Schedule{order, seed, fence}, [&](FiberLanes<W>& lanes) { kernel(lanes, *scratch); });
    scratch->shared.fill(0);
    scratch->in[seed] += scratch->out[seed] % 2;
  }
}

// values handed over by the calls alone, one after another, without a sync() between
template <int W>
void exchanges() {
  const seeded::Numbers in = seeded::fresh_scratch().in;
  for (std::uint64_t seed = 0; seed < 4; seed++)
    run_lanes<W>(Schedule{Order::shuffled, seed, Fence::sync_only}, [&](FiberLanes<W>& lanes) {
      for (int n = 0; n < 40; n++) {
        int total = 0;
        const int before = lanes.exclusive_scan(in[n], &total);
        const double sum = lanes.template accumulate<double>(n, [&](int i, double s) { return s + in[i]; });
        if (before != in[n] * lanes.rank() || total != in[n] * W) std::exit(3);
        if (lanes.any_lane(sum > 0 && lanes.rank() == n % W) != (n > 0)) std::exit(3);
      }
    });
}

// lanes that part, throw and are unwound
void unwinding() {
  for (std::uint64_t seed = 0; seed < 20; seed++) {
    const auto failing = [&](FiberLanes<32>& lanes) {
      const std::vector<int> held(100, lanes.rank());
      lanes.sync();
      if (lanes.rank() == static_cast<int>(seed)) {
        if (seed % 2) throw std::runtime_error("planted");
        return;
      }
      lanes.sync();
    };
    bool caught = false;
    try {
      run_lanes<32>(Order::shuffled, seed, failing);
    } catch (const std::runtime_error&) {
      caught = true;
    }
    if (!caught) std::exit(3);
    run_all_orders<32>(Fence::sync_only,
                       [](const auto& lanes, auto& s) { seeded::compaction<false>(lanes, s); });
  }
}

void threads() {
  const auto work = [] {
    run_all_orders<32>(Fence::sync_only,
                       [](const auto& lanes, auto& s) { seeded::tree_levels<false>(lanes, s); });
    run_all_orders<4>(Fence::sync_only,
                      [](const auto& lanes, auto& s) { seeded::compaction<false>(lanes, s); });
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; i++) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
}

// each lane writes an array on its own stack; with too many lanes for it, the last ones write past the end
void overrun(int length) {
  run_lanes<32>(Order::shuffled, 1, [&](FiberLanes<32>& lanes) {
    volatile int own[24] = {};
    lanes.sync();
    if (lanes.rank() < length) own[lanes.rank()] = 1;
    lanes.sync();
    if (lanes.rank() < 24 && own[lanes.rank()] != 1) std::exit(3);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  if (!std::strcmp(name, "exchanges"))
    return exchanges<1>(), exchanges<2>(), exchanges<4>(), exchanges<8>(), exchanges<16>(), exchanges<32>(),
           0;
  if (!std::strcmp(name, "unwinding")) return unwinding(), 0;
  if (!std::strcmp(name, "threads")) return threads(), 0;
  if (!std::strcmp(name, "overrun_right")) return overrun(24), 0;
  if (!std::strcmp(name, "overrun_planted")) return overrun(25), 0;
  if (argc == 4) {
    const bool planted = !std::strcmp(argv[2], "planted");
    const Fence fence = std::strcmp(argv[3], "sync_only") ? Fence::every_exchange : Fence::sync_only;
#define RUN(kernel, found_by)                                                                               \
  if (!std::strcmp(name, #kernel))                                                                          \
    return planted ? run_all_orders<32>(fence, [](const auto& l, auto& s) { seeded::kernel<true>(l, s); }), \
           0 : (run_all_orders<32>(fence, [](const auto& l, auto& s) { seeded::kernel<false>(l, s); }), 0);
    SEEDED_KERNELS(RUN)
#undef RUN
  }
  std::fprintf(stderr, "seeded_program: no such run: %s\n", name);
  return 2;
}
