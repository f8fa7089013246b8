// Counts the work of a step on lanes, for the model of its cost (bench/cost/predict.py): every operation on
// numbers of every lane, between one barrier and the next, by the file that the barrier stands in.
//
//   count_work MODEL.xml STATES LANES
//
// STATES: rows of float, qpos, qvel, qacc_warmstart and ctrl of an environment. The step of kernels/ runs on
// emulated lanes with a number that counts what is done to it. Between two barriers a warp issues what its
// slowest lane needs, so the cost of an interval is the largest count of the lanes. Prints JSON: per
// environment and file [sum of those costs, operations of all lanes together, barriers].
#define DUALSTEP_ISA counted
#define DUALSTEP_LANES_SHARE

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <vector>

#include "bench/cost/counted.h"
#include "host/emulator/fiber_lanes.h"
#include "host/mjcf.h"
#include "host/tables.h"
#include "kernels/step.h"
#include "tests/support/rollout.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr int kMostLanes = 32;

struct Interval {
  const char *file = nullptr, *function = nullptr;
  long operations[kMostLanes] = {};
};

// of the environment that runs; lanes run one after the other on one thread
std::vector<Interval> intervals;

// lanes that note at every barrier what was done since the last one
struct CountingLanes : FiberLanes<kAnyWidth> {
  using Base = FiberLanes<kAnyWidth>;
  mutable size_t at = 0;
  explicit CountingLanes(const Base& lanes) : Base(lanes) { operations = 0; }

  void note(const Site& where, long own) const {
    if (intervals.size() <= at) intervals.resize(at + 1);
    intervals[at].file = where.file_name();
    intervals[at].function = where.function_name();
    intervals[at++].operations[rank()] = own;
  }
  void sync(Site where = Site::current()) const {
    note(where, operations);
    Base::sync(where);
    operations = 0;
  }
  template <class Real, class F>
  Real accumulate(int n, F f, Site where = Site::current()) const {
    // other lanes run before it returns: what this one does is counted apart
    long own = operations;
    const Real sum = Base::template accumulate<Real>(
        n,
        [&](int i, const Real& s) {
          const long before = operations;
          const Real next = f(i, s);
          own += operations - before;
          return next;
        },
        where);
    note(where, own);
    operations = 0;
    return sum;
  }
  template <class Int>
  Int exclusive_scan(const Int& v, Int* total, Site where = Site::current()) const {
    note(where, operations);
    const Int before = Base::exclusive_scan(v, total, where);
    operations = 0;
    return before;
  }
  bool any_lane(bool b, Site where = Site::current()) const {
    note(where, operations);
    const bool some = Base::any_lane(b, where);
    operations = 0;
    return some;
  }
};

using Lane = Env<Counted, CountingLanes>;

// one step of one environment, whose counts are in `intervals` then
void count_step(const Tables<float>& tables, const BatchView<float>& batch, int lanes) {
  std::vector<Counted> reals(static_cast<size_t>(tables.l.total));
  std::vector<int> words(static_cast<size_t>(pool_words(tables.n)));
  intervals.clear();
  const StepArgs args{Action::kStep, 1, 1};
  run_lanes(lanes, emulator::Schedule{emulator::Order::ordered, 0, emulator::Fence::every_exchange},
            [&](const FiberLanes<kAnyWidth>& own) {
              const CountingLanes counting(own);
              Lane env{tables, counting, reals.data(), words.data(), 0, 0, 0, 0, {}, {}, {}, {}, nullptr, 0};
              if (tables.n.kdim == 3)
                tables.o.cone == 1 ? run_environment<3, true>(env, batch, args)
                                   : run_environment<3, false>(env, batch, args);
              else
                tables.o.cone == 1 ? run_environment<6, true>(env, batch, args)
                                   : run_environment<6, false>(env, batch, args);
            });
}

struct Cost {
  long cost = 0, operations = 0, barriers = 0;
};
std::map<std::string, Cost> by_function(int lanes) {
  std::map<std::string, Cost> sums;
  for (const Interval& interval : intervals) {
    const std::string path = interval.file;
    Cost& sum = sums[path.substr(path.rfind("kernels/")) + " " + interval.function];
    long most = 0;
    for (int k = 0; k < lanes; k++) {
      most = std::max(most, interval.operations[k]);
      sum.operations += interval.operations[k];
    }
    sum.cost += most;
    sum.barriers++;
  }
  return sums;
}

void copy_row(std::ifstream* file, float* to, int count) {
  file->read(reinterpret_cast<char*>(to), count * static_cast<std::streamsize>(sizeof(float)));
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

int main(int count, char** arguments) {
  using namespace dualstep;
  if (count != 4) {
    std::fprintf(stderr, "usage: %s MODEL.xml STATES LANES\n", arguments[0]);
    return 1;
  }
  const Scene scene{"", load_mjcf(arguments[1]), false};
  const int lanes = std::atoi(arguments[3]);
  std::ifstream file(arguments[2], std::ios::binary);
  Rollout<float> rollout(scene, 1);
  const Sizes& n = rollout.tables.n;
  std::fill_n(rollout.batch.xfrc_applied, 6 * n.nbody, 0.0f);
  std::fill_n(rollout.batch.qfrc_applied, n.nv, 0.0f);
  std::printf("[");
  for (bool first = true;; first = false) {
    copy_row(&file, rollout.batch.qpos, n.nq);
    copy_row(&file, rollout.batch.qvel, n.nv);
    copy_row(&file, rollout.batch.qacc_warmstart, n.nv);
    copy_row(&file, rollout.batch.ctrl, n.nu);
    if (!file) break;
    *rollout.batch.status = 0;
    count_step(rollout.tables, rollout.batch, lanes);
    std::printf("%s{", first ? "" : ",\n");
    const char* comma = "";
    for (const auto& [name, sum] : by_function(lanes)) {
      std::printf("%s\"%s\": [%ld, %ld, %ld]", comma, name.c_str(), sum.cost, sum.operations, sum.barriers);
      comma = ", ";
    }
    std::printf("}");
  }
  std::printf("]\n");
  return 0;
}
