// The real stages under ThreadSanitizer, and every barrier of theirs tried for its need.
//
//   stages_program race_free            runs every scene on several widths and orders; silent where nothing is wrong
//   stages_program drop_barriers 0 1    leaves out one sync() or done() of the kernels after the other, everywhere in
//                                       the source where one stands, and prints a line for each:
//                                         kernels/file.h:line  sync | done  races | bits | parted | crash | nothing
//                                       what ThreadSanitizer reported; else whether a result differed; else whether
//                                       lanes parted; else nothing was wrong without the barrier. With `i n` in place
//                                       of `0 1`, every n-th barrier from the i-th on
//
// Built with -fsanitize=thread. In drop_barriers its reports are expected: they are counted and not shown.
#include "host/backends/fibers/lane_program.h"
// after it, because it chooses how the kernels are compiled
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "tests/support/rollout.h"

namespace {

using namespace dualstep;
using emulator::Fence;
using emulator::Order;
using emulator::Schedule;

std::atomic<long> reports = 0;

struct Barrier {
  std::string file;
  unsigned line, column;
  std::vector<size_t> scenes;  // those that come by: it can show in no other
  bool at(const std::source_location& where) const {
    return where.line() == line && where.column() == column && file == where.file_name();
  }
  // the word at this place of the source
  std::string call() const {
    std::ifstream source(SOURCE_ROOT "/" + path());  // the compiler may have been given another path
    std::string text;
    for (unsigned i = 0; i < line; i++) std::getline(source, text);
    const size_t end = text.find('(', column - 1), begin = text.find_last_of(".>", end) + 1;
    return source && end != std::string::npos ? text.substr(begin, end - begin) : "unknown";
  }
  std::string path() const { return file.substr(file.rfind("kernels/")); }
  std::string place() const { return path() + ":" + std::to_string(line); }
};

// emulated lanes that can leave a barrier out, and note where barriers stand
struct WatchedLanes : FiberLanes<kAnyWidth> {
  static inline const Barrier* left_out = nullptr;
  static inline std::vector<Barrier>* seen = nullptr;
  static inline size_t scene = 0;  // where they are seen

  explicit WatchedLanes(const FiberLanes<kAnyWidth>& lanes) : FiberLanes<kAnyWidth>(lanes) {}
  void sync(Site where = Site::current()) const {
    if (left_out && left_out->at(where)) return;
    if (seen && rank() == 0) note(where);
    FiberLanes<kAnyWidth>::sync(where);
  }
  static void note(const Site& where) {
    for (Barrier& b : *seen)
      if (b.at(where)) {
        if (b.scenes.back() != scene) b.scenes.push_back(scene);
        return;
      }
    seen->push_back({where.file_name(), where.line(), where.column(), {scene}});
  }
};

// one run of a scene, as a whole or in parts; true where it went through
bool run_scene(int lanes, Order order, int steps, Rollout<float>* rollout, bool in_parts = false) {
  const auto bytes = static_cast<size_t>(lane_scratch_bytes(rollout->tables));
  const std::unique_ptr<void, void (*)(void*)> scratch(std::aligned_alloc(64, (bytes + 63) / 64 * 64),
                                                       std::free);
  uint64_t seed = 0;
  try {
    // without a barrier, the first race says all: reports of the same in later steps take most of the time
    for (int k = 0; k < steps && !(WatchedLanes::left_out && reports != 0); k++)
      rollout->step([&](const StepArgs& args) {
        std::memset(scratch.get(), 0xff, bytes);
        const LaneProgram<float> program{
            .t = rollout->tables, .batch = rollout->batch, .args = args, .env = 0, .scratch = scratch.get()};
        const auto launch = [&](auto&& f) {
          run_lanes(lanes, Schedule{order, seed++, Fence::sync_only},
                    [&](const FiberLanes<kAnyWidth>& own) { f(WatchedLanes(own)); });
        };
        if (!in_parts) {
          launch([&](const WatchedLanes& own) { program.run(own); });
          return;
        }
        EvalIndex m;
        do {
          for (int part = 0; part < kParts; part++)
            launch([&](const WatchedLanes& own) { program.run_one(static_cast<Part>(part), m, own); });
        } while (advance(args, num_stages(rollout->tables.o.integrator), &m));
      });
  } catch (const emulator::LaneError&) {
    return false;
  }
  return true;
}

int race_free() {
  for (const Scene& scene : all_scenes()) {
    std::unique_ptr<Rollout<float>> first;
    for (int lanes : {2, 8, 16, 32})
      for (Order order : {Order::ordered, Order::reversed, Order::shuffled}) {
        auto rollout = std::make_unique<Rollout<float>>(scene, 1);
        // what one part hands to the next is another way through the same stages
        const bool in_parts = lanes == 8 && order == Order::shuffled;
        if (!run_scene(lanes, order, 12, rollout.get(), in_parts)) {
          std::printf("%s: %d lanes parted\n", scene.name.c_str(), lanes);
          return 1;
        }
        const std::string difference = first ? rollout->difference(*first) : "";
        if (!difference.empty()) {
          std::printf("%s, %d lanes: %s\n", scene.name.c_str(), lanes, difference.c_str());
          return 1;
        }
        if (!first) first = std::move(rollout);
      }
  }
  return 0;
}

// what shows when this barrier is left out
const char* try_without(const Barrier& barrier, const std::vector<Scene>& scenes,
                        const std::vector<std::unique_ptr<Rollout<float>>>& right, int steps) {
  bool differs = false, parted = false;
  reports = 0;
  WatchedLanes::left_out = &barrier;
  for (int lanes : {8, 32, 2})
    for (const size_t i : barrier.scenes) {
      if (reports != 0 || differs) break;
      Rollout<float> rollout(scenes[i], 1);
      parted = !run_scene(lanes, lanes == 2 ? Order::reversed : Order::shuffled, steps, &rollout) || parted;
      differs = differs || (!parted && rollout.difference(*right[i]) != "");
    }
  WatchedLanes::left_out = nullptr;
  return reports != 0 ? "races" : differs ? "bits" : parted ? "parted" : "nothing";
}

// the trial that runs, as the line that a crash prints, and what goes on after it
char crash_line[256];
char next_first[24], step_given[24];

void go_on_after_crash(int) {
  if (write(STDOUT_FILENO, crash_line, std::strlen(crash_line)) < 0) _exit(3);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, nullptr);
  char program[] = "/proc/self/exe", what[] = "drop_barriers";
  char* const arguments[] = {program, what, next_first, step_given, nullptr};
  execv(program, arguments);
  _exit(3);
}

int drop_barriers(size_t first, size_t step) {
  signal(SIGSEGV, go_on_after_crash);
  signal(SIGBUS, go_on_after_crash);
  constexpr int kSteps = 9;
  const std::vector<Scene> scenes = all_scenes();
  std::vector<std::unique_ptr<Rollout<float>>> right;
  std::vector<Barrier> barriers;
  WatchedLanes::seen = &barriers;
  for (const Scene& scene : scenes) {
    WatchedLanes::scene = right.size();
    right.push_back(std::make_unique<Rollout<float>>(scene, 1));
    if (!run_scene(8, Order::ordered, kSteps, right.back().get()) || reports != 0) return 1;
  }
  WatchedLanes::seen = nullptr;
  for (size_t i = first; i < barriers.size(); i += step) {
    const Barrier& barrier = barriers[i];
    if (barrier.call() == "done") continue;
    std::snprintf(crash_line, sizeof(crash_line), "%s  %s  crash\n", barrier.place().c_str(),
                  barrier.call().c_str());
    std::snprintf(next_first, sizeof(next_first), "%zu", i + step);
    std::snprintf(step_given, sizeof(step_given), "%zu", step);
    std::printf("%s  %s  %s\n", barrier.place().c_str(), barrier.call().c_str(),
                try_without(barrier, scenes, right, kSteps));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

// the sanitizer calls this with every report: it looks for the name among those that the program shows
extern "C" __attribute__((visibility("default"))) void __tsan_on_report(void*) {
  reports.fetch_add(1, std::memory_order_relaxed);
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "race_free") return race_free();
  if (what == "drop_barriers" && argc == 4)
    return drop_barriers(std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10));
  std::fprintf(stderr, "stages_program: race_free, or drop_barriers FIRST STEP\n");
  return 2;
}
