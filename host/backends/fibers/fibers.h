// The fibers below FiberLanes: W stacks on one thread that take turns between the barriers of a launch.
//
// One lane runs at a time, from barrier to barrier. When the last lane of a phase has arrived, the arrivals
// are compared (every lane must wait at the same call, or every lane must have returned) and the next phase
// begins in an order of its own. So a result that depends on the order of lanes between two barriers shows as
// a difference between orders, and a lane that misses a barrier shows at once.
//
// Under ThreadSanitizer every lane is a thread of its own: switches carry no happens-before; only barriers
// and the two ends of a launch do. fibers.cpp is compiled without instrumentation, so what the lanes hand
// each other through the launch is never a race, and what they hand each other in any other way without
// sync() always is.
//
// Source: fcontext of Boost.Context; the fiber interface of ThreadSanitizer (__tsan_switch_to_fiber without
// synchronisation) and AddressSanitizer (__sanitizer_start_switch_fiber).
// Scope: called by fiber_lanes.h alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>

namespace dualstep::emulator {

constexpr int kMaxLanes = 32;
constexpr std::size_t kMaxValueBytes = 64;  // of one value handed over by one lane: a pack of 16 floats

// the order in which lanes run between two barriers
enum class Order { ordered, reversed, shuffled };

// which calls order memory between lanes. On a GPU __syncwarp does; shuffles and votes only hand over their
// own value, so sync_only is the exact model, and every_exchange forgives scratch that is passed across a
// reduction.
enum class Fence { every_exchange, sync_only };

struct Schedule {
  Order order = Order::shuffled;
  std::uint64_t seed = 0;
  Fence fence = Fence::every_exchange;
};

// lanes that did not meet at one barrier; what() names the lanes, the calls, their file and line, and the
// order
class LaneError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Call : std::uint8_t { none, sync, accumulate, exclusive_scan, any_lane };
enum class LaneState : std::uint8_t { idle, waiting, returned };

// where a lane is, as its last arrival left it
struct Arrival {
  std::source_location where;
  long argument = 0;  // what every lane must agree on: the length of a sum
  std::size_t bytes = 0;
  Call call = Call::none;
  LaneState state = LaneState::idle;
};

enum class Failure : std::uint8_t { none, thrown, diverged, foreign_lane };

struct Launch;  // one environment's lanes; lives in the pool of the thread that runs it

// runs one lane from begin to end; reports an exception through fail() and keeps it to itself
using LaneBody = void (*)(void* job, Launch& launch, int rank) noexcept;

enum class Outcome { done, failed, nested, no_memory };

// runs body on `width` lanes of the calling thread. Its stacks are kept for the next launch of the thread.
Outcome launch_lanes(int width, const Schedule& schedule, LaneBody body, void* job);

// the calling lane waits for the others. Returns the values of all lanes, `bytes` apart, valid until the
// lane's next call; nullptr when the launch has failed, after which the lane must unwind and return.
const void* arrive(Launch& launch, int rank, Call call, const std::source_location& where, const void* value,
                   std::size_t bytes, long argument);

// the calling lane ends with an exception; true for the first one, whose exception the caller keeps
bool fail(Launch& launch);

// true while the launch has lanes to run
bool is_running(const Launch& launch);

// why the thread's last launch failed
Failure last_failure();
std::string describe_failure();

// what report.cpp reads
struct LaunchRecord {
  int width = 0;
  int failed_rank = 0;  // foreign_lane: the lane that called; failed_as: the lane it called as
  int failed_as = 0;
  long phase = 0;  // barriers passed
  Schedule schedule;
  Failure failure = Failure::none;
  Arrival lane[kMaxLanes];
};
const LaunchRecord& last_record();

}  // namespace dualstep::emulator
