#include "machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

namespace ptx_interpreter {
namespace {

constexpr size_t kStack = 4 << 20;            // bytes of a thread, touched where it is used
constexpr uint64_t kTooMany = 4'000'000'000;  // instructions without an end
constexpr unsigned kWarp = 32;
constexpr size_t kResident = 4;   // blocks that take turns
constexpr uint64_t kTurn = 4096;  // most instructions of a thread before another one has its turn

std::string location(const Thread& t) {
  const Op* op = t.waits_at && t.state == State::kWaits ? t.waits_at : t.next ? t.next - 1 : nullptr;
  std::string text =
      t.function->name + ", block " + std::to_string(t.block->at.x) + ", thread " + std::to_string(t.number);
  if (op) text += ", line " + std::to_string(op->line) + " of the PTX";
  if (op && op->source_line > 0) {
    const auto file = t.block->module->files.find(op->file);
    if (file != t.block->module->files.end())
      text += ", " + file->second + ":" + std::to_string(op->source_line);
  }
  return text;
}

// runs a thread until it has to wait, or is done, or its turn is over. count(t, o) sees every instruction
template <class Count>
void go(Thread& t, uint64_t turn, Count count) {
  t.stopped = false;
  uint64_t n = 0;
  while (!t.stopped && n < turn) {
    const Op& o = *t.next++;
    ++n;
    count(t, o);
    if (o.guard != kNone && (t.registers[o.guard] != 0) == o.guard_negated) continue;
    o.run(t, o);
  }
  t.executed += n;
  if (t.executed > kTooMany) fault(t, "a thread that never stops");
}

// the threads of a warp: those that left, or never were, are null
struct Warp {
  Thread* lane[kWarp] = {};
};

uint32_t low(const Thread& t, Ref r) { return static_cast<uint32_t>(t.slot(r)); }

void shuffle(const Warp& warp, uint32_t threads) {
  uint32_t values[kWarp] = {};
  for (unsigned l = 0; l < kWarp; ++l)
    if (threads >> l & 1) values[l] = low(*warp.lane[l], warp.lane[l]->waits_at->r[2]);
  for (unsigned l = 0; l < kWarp; ++l) {
    if (!(threads >> l & 1)) continue;
    Thread& t = *warp.lane[l];
    const Op& o = *t.waits_at;
    const unsigned by = low(t, o.r[3]) & 31, c = low(t, o.r[4]), clamp = c & 31, segment = c >> 8 & 31;
    const int most = static_cast<int>((l & segment) | (clamp & ~segment));
    const int lane = static_cast<int>(l);
    int from = 0;
    bool inside = false;
    switch (o.mode) {
      case 0:
        from = lane - static_cast<int>(by), inside = from >= most;
        break;
      case 1:
        from = lane + static_cast<int>(by), inside = from <= most;
        break;
      case 2:
        from = lane ^ static_cast<int>(by), inside = from <= most;
        break;
      default:
        from = static_cast<int>((l & segment) | (by & ~segment)), inside = from <= most;
    }
    if (!inside) from = lane;
    if (!(threads >> from & 1)) fault(t, "a shuffle from a thread that takes no part in it");
    t.registers[o.r[0]] = values[from];
    if (o.r[1] != kNone) t.registers[o.r[1]] = inside;
  }
}
void vote(const Warp& warp, uint32_t threads) {
  uint32_t yes = 0;
  for (unsigned l = 0; l < kWarp; ++l) {
    if (!(threads >> l & 1)) continue;
    const Thread& t = *warp.lane[l];
    if ((t.slot(t.waits_at->r[1]) != 0) != t.waits_at->negated_source) yes |= 1u << l;
  }
  for (unsigned l = 0; l < kWarp; ++l) {
    if (!(threads >> l & 1)) continue;
    Thread& t = *warp.lane[l];
    const uint64_t answers[] = {yes != 0, yes == threads, yes, yes == 0 || yes == threads};
    t.registers[t.waits_at->r[0]] = answers[t.waits_at->mode];
  }
}
void match(const Warp& warp, uint32_t threads) {
  const auto value = [&](unsigned l) {
    const Thread& t = *warp.lane[l];
    const uint64_t word = t.slot(t.waits_at->r[1]);
    return t.waits_at->mode ? word : word & 0xffffffffu;
  };
  uint32_t equal[kWarp] = {};
  for (unsigned l = 0; l < kWarp; ++l)
    for (unsigned k = 0; k < kWarp; ++k)
      if ((threads >> l & 1) && (threads >> k & 1) && value(l) == value(k)) equal[l] |= 1u << k;
  for (unsigned l = 0; l < kWarp; ++l)
    if (threads >> l & 1) warp.lane[l]->registers[warp.lane[l]->waits_at->r[0]] = equal[l];
}

// does what the threads of a warp came for, where all have come. True where any went on
bool together(const Warp& warp) {
  bool any = false;
  for (unsigned l = 0; l < kWarp; ++l) {
    Thread* const first = warp.lane[l];
    if (!first || first->state != State::kWaits || first->waits_at->together == Together::kBlockBarrier)
      continue;
    uint32_t threads = 0;
    bool all = true;
    for (unsigned k = 0; k < kWarp && all; ++k) {
      const Thread* const t = warp.lane[k];
      if (!(first->waits_mask >> k & 1) || !t || t->state == State::kLeft) continue;
      all = t->state == State::kWaits && t->waits_mask == first->waits_mask &&
            t->waits_at->together == first->waits_at->together && t->waits_at->mode == first->waits_at->mode;
      threads |= 1u << k;
    }
    if (!all) continue;
    switch (first->waits_at->together) {
      case Together::kShuffle:
        shuffle(warp, threads);
        break;
      case Together::kVote:
        vote(warp, threads);
        break;
      case Together::kMatch:
        match(warp, threads);
        break;
      case Together::kWarpBarrier:
        break;
      case Together::kAlone:
      case Together::kBlockBarrier:
        continue;
    }
    for (unsigned k = 0; k < kWarp; ++k)
      if (threads >> k & 1) warp.lane[k]->state = State::kReady;
    any = true;
  }
  return any;
}

// all threads of a block have come to a barrier, where they may also tell each other of a predicate
void block_barrier(Block* block) {
  const Op* first = nullptr;
  bool all = true, any = false;
  for (const Thread& t : block->threads) {
    if (t.state != State::kWaits) continue;
    if (!first) first = t.waits_at;
    const Op& o = *t.waits_at;
    if (o.mode != first->mode) fault(t, "threads of a block at barriers of different kinds");
    const uint64_t number = t.slot(o.mode ? o.r[1] : o.r[0]);
    if (number != 0 || o.r[o.mode ? 3 : 1] != kNone)
      fault(t, "a barrier other than that of all threads, which is not simulated");
    if (o.mode == 0) continue;
    const bool said = (t.slot(o.r[2]) != 0) != o.negated_source;
    all = all && said, any = any || said;
  }
  for (Thread& t : block->threads) {
    if (t.state != State::kWaits) continue;
    if (t.waits_at->mode) t.registers[t.waits_at->r[0]] = t.waits_at->mode == 1 ? all : any;
    t.state = State::kReady;
  }
}

// false where all threads of a block have left; else all that are left have come to a barrier of the block
bool pass_barrier(Block* block) {
  bool left = true;
  for (const Thread& t : block->threads) {
    if (t.state == State::kLeft) continue;
    left = false;
    if (t.waits_at->together != Together::kBlockBarrier)
      fault(t, "a thread waits for others of its warp (mask " + std::to_string(t.waits_mask) +
                   "), and they do not come");
  }
  if (left) return false;
  block_barrier(block);
  return true;
}

// runs the threads of a block, warps and threads of a warp in random order
class Scheduler {
 public:
  Scheduler(Block* block, uint64_t seed, bool profiled)
      : block_(block),
        warps_((block->threads.size() + kWarp - 1) / kWarp),
        caches_(profiled ? warps_.size() : 0),
        warp_order_(warps_.size()),
        lane_order_(kWarp),
        random_(seed) {
    for (unsigned i = 0; i < block->threads.size(); ++i)
      warps_[i / kWarp].lane[i % kWarp] = &block->threads[i];
    std::iota(warp_order_.begin(), warp_order_.end(), 0u);
    std::iota(lane_order_.begin(), lane_order_.end(), 0u);
  }

  // some warps go on, and the others fall behind; false where all threads have left
  bool turn() {
    bool any = false;
    std::shuffle(warp_order_.begin(), warp_order_.end(), random_);
    for (const unsigned w : warp_order_) {
      if (random_() % 2 == 0) any = run_warp(w) || any;
    }
    if (any) return true;
    // where none of those could, one of the others can, or all wait
    for (const unsigned w : warp_order_) any = run_warp(w) || any;
    return any || pass_barrier(block_);
  }
  const std::unordered_map<const Function*, Counted>& counts() const { return counts_; }

 private:
  bool run_warp(unsigned w) {
    bool any = false;
    std::shuffle(lane_order_.begin(), lane_order_.end(), random_);
    for (const unsigned l : lane_order_) {
      Thread* const t = warps_[w].lane[l];
      if (!t || t->state != State::kReady) continue;
      const uint64_t turn = 1 + random_() % kTurn;
      if (caches_.empty()) {
        go(*t, turn, [](Thread&, const Op&) {});
      } else {
        t->cache = &caches_[w];
        go(*t, turn, [this](Thread& thread, const Op& op) { count(thread, op); });
      }
      any = any || t->state == State::kReady;
    }
    return together(warps_[w]) || any;
  }
  void count(Thread& thread, const Op& op) {
    const std::vector<Op>& ops = thread.function->ops;
    Counted& counted = counts_[thread.function];
    counted.times.resize(ops.size() * warps_.size() * kWarp);
    const size_t at = thread.number / kWarp * ops.size() + static_cast<size_t>(&op - ops.data());
    ++counted.times[at * kWarp + thread.lane()];
    thread.cache->traffic = &counted.traffic;
  }

  Block* block_;
  std::vector<Warp> warps_;
  std::vector<WarpCache> caches_;  // by warp, where a launch is profiled
  std::vector<unsigned> warp_order_, lane_order_;
  std::mt19937_64 random_;
  std::unordered_map<const Function*, Counted> counts_;
};

}  // namespace

void fault(const Thread& thread, const std::string& what) {
  std::string text = what + " (" + location(thread);
  for (auto frame = thread.callers.rbegin(); frame != thread.callers.rend(); ++frame)
    text += ", called by " + frame->function->name;
  throw Fault(text + ")");
}

void WarpCache::use(uintptr_t at, size_t stored) {
  traffic->written += stored;
  const uintptr_t sector = at / kSector;
  const auto found = entries_.find(sector);
  if (found != entries_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return;
  }
  if (stored == 0) traffic->fetched += kSector;
  recent_.push_front(sector);
  entries_[sector] = recent_.begin();
  if (recent_.size() > kBytes / kSector) {
    entries_.erase(recent_.back());
    recent_.pop_back();
  }
}

Machine::Machine() = default;
Machine::~Machine() {
  for (char* stack : stacks_) munmap(stack, kStack);
}

// a block that takes turns with others
struct Machine::Resident {
  Block block;
  std::unique_ptr<Scheduler> scheduler;
};

void Machine::run(const Launch& launch) {
  const unsigned threads = launch.block.count();
  // blocks start in any order
  std::vector<unsigned> waiting(launch.grid.count());
  std::iota(waiting.begin(), waiting.end(), 0u);
  std::mt19937_64 random(seed);
  std::shuffle(waiting.begin(), waiting.end(), random);
  std::vector<Resident> residents(std::min(kResident, waiting.size()));
  while (stacks_.size() < residents.size() * threads) {
    void* const stack =
        mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) throw Fault("no memory for the threads of a block");
    stacks_.push_back(static_cast<char*>(stack));
  }
  const auto start = [&](size_t place) {
    start_block(launch, waiting.back(), &stacks_[place * threads], &residents[place]);
    waiting.pop_back();
  };
  for (size_t place = 0; place < residents.size(); ++place) start(place);
  std::vector<size_t> running(residents.size());
  std::iota(running.begin(), running.end(), size_t{0});
  while (!running.empty()) {
    const size_t which = random() % running.size(), place = running[which];
    if (residents[place].scheduler->turn()) continue;
    end_block(residents[place]);
    if (!waiting.empty()) {
      start(place);
      continue;
    }
    running[which] = running.back();
    running.pop_back();
  }
}

void Machine::start_block(const Launch& launch, unsigned number, char* const* stacks, Resident* resident) {
  Block& block = resident->block;
  block.module = launch.module;
  block.memory = &memory;
  block.grid = launch.grid, block.size = launch.block;
  block.at = {number % launch.grid.x, number / launch.grid.x % launch.grid.y,
              number / launch.grid.x / launch.grid.y};
  block.dynamic_bytes = launch.dynamic_shared;
  block.shared_bytes = static_cast<size_t>(launch.function->shared_bytes) + launch.dynamic_shared;
  block.shared_buffer.resize(block.shared_bytes + 1024);
  block.shared =
      reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(block.shared_buffer.data()) + 1023) / 1024 * 1024);
  block.threads.resize(launch.block.count());
  start_threads(launch, stacks, &block);
  resident->scheduler = std::make_unique<Scheduler>(&block, seed + 1000003 * number, profiled);
}

void Machine::end_block(const Resident& resident) {
  for (const Thread& t : resident.block.threads) executed += t.executed;
  for (const auto& [function, counted] : resident.scheduler->counts()) add_to_profile(*function, counted);
}

// the threads of a block at the first instruction, with their parameters
void Machine::start_threads(const Launch& launch, char* const* stacks, Block* block) {
  const Function& f = *launch.function;
  // poison: NaN, and no index of anything
  std::memset(block->shared, 0xff, block->shared_bytes);
  for (unsigned i = 0; i < block->threads.size(); ++i) {
    Thread& t = block->threads[i];
    t = Thread{};
    t.block = block;
    t.number = i;
    t.at = {i % block->size.x, i / block->size.x % block->size.y, i / block->size.x / block->size.y};
    t.stack = stacks[i];
    t.stack_top = t.stack + kStack;
    t.registers = reinterpret_cast<uint64_t*>(t.stack);
    t.memory = t.stack + (sizeof(uint64_t) * static_cast<size_t>(f.registers) + 255) / 256 * 256;
    std::memset(t.memory, 0xff, static_cast<size_t>(f.frame_bytes));
    std::memcpy(t.memory, launch.parameters.data(), launch.parameters.size());
    t.constants = launch.module->constants.data() + launch.module->constants.size();
    t.function = &f;
    t.next = f.ops.data();
  }
}

// what was counted of a block, as warps issue it
void Machine::add_to_profile(const Function& function, const Counted& counted) {
  Issued& sum = profile[function.name];
  sum.traffic.fetched += counted.traffic.fetched;
  sum.traffic.written += counted.traffic.written;
  for (size_t i = 0; i < counted.times.size(); i += kWarp) {
    const auto lanes = counted.times.begin() + static_cast<long>(i);
    const uint64_t issued = *std::max_element(lanes, lanes + kWarp);
    const Together together = function.ops[i / kWarp % function.ops.size()].together;
    sum.by_warps += issued;
    if (together == Together::kWarpBarrier || together == Together::kBlockBarrier)
      sum.barriers += issued;
    else if (together != Together::kAlone)
      sum.shuffles += issued;
    sum.by_threads += std::accumulate(lanes, lanes + kWarp, uint64_t{0});
  }
}

}  // namespace ptx_interpreter
