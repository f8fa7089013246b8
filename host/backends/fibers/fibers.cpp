// Switching of lanes, their stacks, and what the sanitizers must be told. Compiled without instrumentation in
// every build; the sanitizers' functions are weak, so one object serves plain, thread and address builds.
// No library templates here: a copy of theirs without instrumentation could displace the instrumented one.
// Cost: a switch is a jump_fcontext and a few stores; a phase of W lanes is W switches and W comparisons.
#include "host/backends/fibers/fibers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <new>

extern "C" {
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
__attribute__((weak)) void __tsan_set_fiber_name(void* fiber, const char* name);
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** save, const void* bottom, std::size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* save, const void** bottom,
                                                           std::size_t* size);
}

namespace dualstep::emulator {
namespace {

namespace ctx = boost::context::detail;

constexpr unsigned kNoSync = 1;                   // a switch orders nothing
constexpr std::size_t kStackBytes = 1024 * 1024;  // reserved; only touched pages cost memory
constexpr std::size_t kStackShift = 5 * 64;       // stacks that start at one page offset share cache sets

bool with_tsan() { return __tsan_create_fiber != nullptr; }
bool with_asan() { return __sanitizer_start_switch_fiber != nullptr; }
void acquire(void* address) {
  if (with_tsan()) __tsan_acquire(address);
}
void release(void* address) {
  if (with_tsan()) __tsan_release(address);
}

struct Fiber {
  ctx::fcontext_t context = nullptr;
  Launch* launch = nullptr;
  void* tsan = nullptr;
  void* fake_stack = nullptr;    // of the address sanitizer, while the fiber is suspended
  const void* bottom = nullptr;  // the usable stack
  std::size_t size = 0;
  void* mapping = nullptr;  // the stack with its guard page
  int rank = -1;            // -1: the thread that launches
  bool finished = false;
};

}  // namespace

struct Launch {
  LaunchRecord record;
  LaneBody body = nullptr;
  void* job = nullptr;
  std::uint64_t random = 0;
  int cursor = 0;  // position in turn[] of the lane that runs
  int turn[kMaxLanes] = {};
  bool running = false;
  bool closing = false;
  Fiber* current = nullptr;
  Fiber host;
  Fiber fiber[kMaxLanes];
  // addresses of happens-before. Barriers use two in turn: with one, a lane that is late to leave a barrier
  // would take over what an early lane released at the next.
  char begin_clock = 0, end_clock = 0, barrier_clock[2] = {};
  // values in flight, two in turn for the same reason
  alignas(kMaxValueBytes) unsigned char value[2][kMaxLanes * kMaxValueBytes] = {};
};

namespace {

// a word at a time through volatile, so that no compiler makes it a call of memcpy, which sanitizers watch
void copy_unseen(unsigned char* to, const void* from, std::size_t bytes) {
  using Word = std::uint64_t __attribute__((may_alias, aligned(1)));
  const auto* source = static_cast<const unsigned char*>(from);
  std::size_t i = 0;
  for (; i + sizeof(Word) <= bytes; i += sizeof(Word))
    *reinterpret_cast<volatile Word*>(to + i) = *reinterpret_cast<const Word*>(source + i);
  for (; i < bytes; i++) *static_cast<volatile unsigned char*>(to + i) = source[i];
}

// what a fiber does when it has just been resumed by `from`
void landed(Fiber& self, ctx::transfer_t t) {
  Fiber* from = static_cast<Fiber*>(t.data);
  from->context = t.fctx;
  if (with_asan()) __sanitizer_finish_switch_fiber(self.fake_stack, &from->bottom, &from->size);
}

void switch_to(Fiber& to, bool for_good = false) {
  Launch& launch = *to.launch;
  Fiber& from = *launch.current;
  if (&from == &to) return;
  launch.current = &to;
  if (with_asan()) __sanitizer_start_switch_fiber(for_good ? nullptr : &from.fake_stack, to.bottom, to.size);
  if (with_tsan()) __tsan_switch_to_fiber(to.tsan, kNoSync);
  landed(from, ctx::jump_fcontext(to.context, &from));
}

// splitmix64 (Steele, Lea, Flood 2014)
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void shuffle_turns(Launch& launch) {
  for (int i = launch.record.width - 1; i > 0; i--) {
    const std::uint64_t r = next_random(launch.random) >> 32;
    const int k = static_cast<int>((r * static_cast<std::uint64_t>(i + 1)) >> 32);
    const int swap = launch.turn[i];
    launch.turn[i] = launch.turn[k];
    launch.turn[k] = swap;
  }
}

bool same_text(const char* a, const char* b) {
  if (a == b) return true;
  for (; *a && *a == *b; a++, b++) {
  }
  return *a == *b;
}

bool same_arrival(const Arrival& a, const Arrival& b) {
  return a.state == b.state && (a.state == LaneState::returned ||
                                (a.call == b.call && a.bytes == b.bytes && a.argument == b.argument &&
                                 a.where.line() == b.where.line() && a.where.column() == b.where.column() &&
                                 same_text(a.where.file_name(), b.where.file_name())));
}

// every lane of the phase has arrived: true when there is another phase
bool end_phase(Launch& launch) {
  LaunchRecord& record = launch.record;
  bool some_left = false;
  for (int rank = 0; rank < record.width; rank++) some_left = some_left || !launch.fiber[rank].finished;
  if (!some_left) return false;
  if (record.failure == Failure::none) {
    record.phase++;
    for (int rank = 1; rank < record.width; rank++)
      if (!same_arrival(record.lane[0], record.lane[rank])) record.failure = Failure::diverged;
  }
  if (record.schedule.order == Order::shuffled) shuffle_turns(launch);
  return true;
}

// the running lane has arrived or returned: resumes the next, and is resumed later
void pass_on(Launch& launch) {
  do {
    while (++launch.cursor < launch.record.width) {
      // a lane returns ahead of others only in a failed launch, where the others are resumed to unwind
      Fiber& next = launch.fiber[launch.turn[launch.cursor]];
      if (next.finished) continue;
      switch_to(next);
      return;
    }
    launch.cursor = -1;
  } while (end_phase(launch));
  switch_to(launch.host);
}

// the life of a fiber: one lane of one launch after another, until its thread ends
void fiber_main(ctx::transfer_t t) {
  Launch& launch = *static_cast<Fiber*>(t.data)->launch;
  Fiber& self = *launch.current;
  landed(self, t);
  while (!launch.closing) {
    if (launch.record.failure == Failure::none) {
      acquire(&launch.begin_clock);
      launch.body(launch.job, launch, self.rank);
    }
    release(&launch.end_clock);
    self.finished = true;
    if (launch.record.failure == Failure::none) launch.record.lane[self.rank].state = LaneState::returned;
    pass_on(launch);
  }
  switch_to(launch.host, true);
}

bool open_fiber(Launch& launch, int rank) {
  Fiber& fiber = launch.fiber[rank];
  if (fiber.mapping) return true;
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* mapping = mmap(nullptr, page + kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) return false;
  // a lane that runs off its stack stops here and not in its neighbour's
  mprotect(mapping, page, PROT_NONE);
  fiber.mapping = mapping;
  fiber.launch = &launch;
  fiber.rank = rank;
  fiber.bottom = static_cast<char*>(mapping) + page;
  fiber.size = kStackBytes - static_cast<std::size_t>(rank) * kStackShift;
  char* top = static_cast<char*>(mapping) + page + fiber.size;
  fiber.context = ctx::make_fcontext(top, fiber.size, fiber_main);
  if (with_tsan()) {
    // reports then say which lane, as they say which thread
    const char name[] = {
        'l', 'a', 'n', 'e', ' ', static_cast<char>('0' + rank / 10), static_cast<char>('0' + rank % 10), 0};
    fiber.tsan = __tsan_create_fiber(0);
    __tsan_set_fiber_name(fiber.tsan, name);
  }
  return true;
}

// the pool of a thread: one launch at a time, its stacks kept for the next
struct Pool {
  Launch* launch = nullptr;
  Launch* get() {
    if (!launch) launch = new (std::nothrow) Launch;
    if (launch) launch->host.launch = launch;
    return launch;
  }
  ~Pool() {
    if (!launch) return;
    launch->closing = true;
    launch->current = &launch->host;
    if (with_tsan()) launch->host.tsan = __tsan_get_current_fiber();
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (Fiber& fiber : launch->fiber) {
      if (!fiber.mapping) continue;
      switch_to(fiber);
      if (with_tsan()) __tsan_destroy_fiber(fiber.tsan);
      munmap(fiber.mapping, page + kStackBytes);
    }
    delete launch;
    launch = nullptr;
  }
};
thread_local Pool pool;

}  // namespace

Outcome launch_lanes(int width, const Schedule& schedule, LaneBody body, void* job) {
  Launch* const found = pool.get();
  if (!found) return Outcome::no_memory;
  Launch& launch = *found;
  if (launch.running) return Outcome::nested;
  for (int rank = 0; rank < width; rank++)
    if (!open_fiber(launch, rank)) return Outcome::no_memory;
  launch.record = LaunchRecord{};
  launch.record.width = width;
  launch.record.schedule = schedule;
  launch.body = body;
  launch.job = job;
  launch.random = schedule.seed;
  for (int i = 0; i < width; i++) {
    launch.turn[i] = schedule.order == Order::reversed ? width - 1 - i : i;
    launch.fiber[i].finished = false;
  }
  if (schedule.order == Order::shuffled) shuffle_turns(launch);
  launch.current = &launch.host;
  if (with_tsan()) launch.host.tsan = __tsan_get_current_fiber();
  launch.running = true;
  release(&launch.begin_clock);
  launch.cursor = 0;
  switch_to(launch.fiber[launch.turn[0]]);
  acquire(&launch.end_clock);
  launch.running = false;
  return launch.record.failure == Failure::none ? Outcome::done : Outcome::failed;
}

const void* arrive(Launch& launch, int rank, Call call, const std::source_location& where, const void* value,
                   std::size_t bytes, long argument) {
  LaunchRecord& record = launch.record;
  if (record.failure != Failure::none) return nullptr;
  if (launch.current != &launch.fiber[rank]) {
    record.failure = Failure::foreign_lane;
    record.failed_rank = launch.current->rank;
    record.failed_as = rank;
    return nullptr;
  }
  Arrival& arrival = record.lane[rank];
  arrival.where = where;
  arrival.argument = argument;
  arrival.bytes = bytes;
  arrival.call = call;
  arrival.state = LaneState::waiting;
  const long parity = record.phase & 1;
  const bool orders_memory = call == Call::sync || record.schedule.fence == Fence::every_exchange;
  unsigned char* const values = launch.value[parity];
  copy_unseen(values + static_cast<std::size_t>(rank) * bytes, value, bytes);
  if (orders_memory) release(&launch.barrier_clock[parity]);
  pass_on(launch);
  if (record.failure != Failure::none) return nullptr;
  if (orders_memory) acquire(&launch.barrier_clock[parity]);
  return values;
}

bool fail(Launch& launch) {
  if (launch.record.failure != Failure::none) return false;
  launch.record.failure = Failure::thrown;
  launch.record.failed_rank = launch.current->rank;
  return true;
}

bool is_running(const Launch& launch) { return launch.running; }

const LaunchRecord& last_record() { return pool.launch->record; }

}  // namespace dualstep::emulator
