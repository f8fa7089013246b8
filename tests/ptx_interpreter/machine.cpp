#include "machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace ptx_interpreter {
namespace {

constexpr size_t kStack = 4 << 20;            // bytes of a thread, touched where it is used
constexpr uint64_t kTooMany = 4'000'000'000;  // instructions without an end
constexpr unsigned kWarp = 32;

std::string place(const Thread& t) {
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

// a thread's turn: until it has to wait, or is done. count(t, o) sees every instruction
template <class Count>
void go(Thread& t, Count count) {
  t.stopped = false;
  uint64_t n = 0;
  while (!t.stopped) {
    const Op& o = *t.next++;
    ++n;
    count(t, o);
    if (o.guard != kNone && (t.registers[o.guard] != 0) == o.guard_negated) continue;
    o.run(t, o);
    if (n > kTooMany) fault(t, "a thread that never stops");
  }
  t.executed += n;
}

// what is counted of a function while a block runs
struct Counted {
  std::vector<uint32_t> times;  // by warp, by instruction, by thread of the warp
  WarpCache::Traffic traffic;
};

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

}  // namespace

void fault(const Thread& thread, const std::string& what) {
  std::string text = what + " (" + place(thread);
  for (auto frame = thread.callers.rbegin(); frame != thread.callers.rend(); ++frame)
    text += ", called by " + frame->function->name;
  throw Fault(text + ")");
}

void WarpCache::use(uintptr_t at, size_t stored) {
  traffic->written += stored;
  const uintptr_t sector = at / kSector;
  const auto found = place_.find(sector);
  if (found != place_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return;
  }
  if (stored == 0) traffic->fetched += kSector;
  recent_.push_front(sector);
  place_[sector] = recent_.begin();
  if (recent_.size() > kBytes / kSector) {
    place_.erase(recent_.back());
    recent_.pop_back();
  }
}

Machine::Machine() = default;
Machine::~Machine() {
  for (char* stack : stacks_) munmap(stack, kStack);
}

void Machine::run(const Launch& launch) {
  Block block;
  block.module = launch.module;
  block.memory = &memory;
  block.grid = launch.grid, block.size = launch.block;
  block.dynamic_bytes = launch.dynamic_shared;
  block.shared_bytes = static_cast<size_t>(launch.function->shared_bytes) + launch.dynamic_shared;
  block.shared_room.resize(block.shared_bytes + 1024);
  block.shared =
      reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(block.shared_room.data()) + 1023) / 1024 * 1024);
  block.threads.resize(launch.block.count());
  while (stacks_.size() < block.threads.size()) {
    void* const stack =
        mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) throw Fault("no memory for the threads of a block");
    stacks_.push_back(static_cast<char*>(stack));
  }
  for (unsigned z = 0; z < launch.grid.z; ++z)
    for (unsigned y = 0; y < launch.grid.y; ++y)
      for (unsigned x = 0; x < launch.grid.x; ++x) {
        block.at = {x, y, z};
        run_block(launch, &block);
      }
}

void Machine::run_block(const Launch& launch, Block* block) {
  const Function& f = *launch.function;
  // poison: NaN, and no index of anything
  std::memset(block->shared, 0xff, block->shared_bytes);
  for (unsigned i = 0; i < block->threads.size(); ++i) {
    Thread& t = block->threads[i];
    const uint64_t executed = t.executed;
    t = Thread{};
    t.executed = executed;
    t.block = block;
    t.number = i;
    t.at = {i % block->size.x, i / block->size.x % block->size.y, i / block->size.x / block->size.y};
    t.stack = stacks_[i];
    t.stack_top = t.stack + kStack;
    t.registers = reinterpret_cast<uint64_t*>(t.stack);
    t.memory = t.stack + (sizeof(uint64_t) * static_cast<size_t>(f.registers) + 255) / 256 * 256;
    std::memset(t.memory, 0xff, static_cast<size_t>(f.frame_bytes));
    std::memcpy(t.memory, launch.parameters.data(), launch.parameters.size());
    t.constants = launch.module->constants.data() + launch.module->constants.size();
    t.function = &f;
    t.next = f.ops.data();
  }
  std::vector<Warp> warps((block->threads.size() + kWarp - 1) / kWarp);
  std::vector<WarpCache> caches(profiled ? warps.size() : 0);
  std::unordered_map<const Function*, Counted> counts;
  std::vector<unsigned> order(warps.size()), turns(kWarp);
  for (unsigned i = 0; i < block->threads.size(); ++i) warps[i / kWarp].lane[i % kWarp] = &block->threads[i];
  std::iota(order.begin(), order.end(), 0u);
  std::iota(turns.begin(), turns.end(), 0u);
  std::mt19937_64 random(seed + 1000003 * block->at.x);
  for (;;) {
    // warps in turns, each until its threads wait for each other, and then the next
    for (bool any = true; any;) {
      any = false;
      std::shuffle(order.begin(), order.end(), random);
      for (const unsigned w : order) {
        std::shuffle(turns.begin(), turns.end(), random);
        for (const unsigned l : turns) {
          Thread* const t = warps[w].lane[l];
          if (!t || t->state != State::kReady) continue;
          if (!profiled) {
            go(*t, [](Thread&, const Op&) {});
            continue;
          }
          t->cache = &caches[w];
          go(*t, [&](Thread& thread, const Op& op) {
            const std::vector<Op>& ops = thread.function->ops;
            Counted& counted = counts[thread.function];
            counted.times.resize(ops.size() * warps.size() * kWarp);
            const size_t at = thread.number / kWarp * ops.size() + static_cast<size_t>(&op - ops.data());
            ++counted.times[at * kWarp + thread.lane()];
            thread.cache->traffic = &counted.traffic;
          });
        }
        any = together(warps[w]) || any;
      }
    }
    // all that are left have come to a barrier of the block
    bool left = true, all = true;
    const Thread* stuck = nullptr;
    for (const Thread& t : block->threads) {
      if (t.state == State::kLeft) continue;
      left = false;
      if (t.waits_at->together == Together::kBlockBarrier) continue;
      all = false;
      stuck = &t;
    }
    if (left) break;
    if (!all)
      fault(*stuck, "a thread waits for others of its warp (mask " + std::to_string(stuck->waits_mask) +
                        "), and they do not come");
    block_barrier(block);
  }
  for (Thread& t : block->threads) {
    executed += t.executed;
    t.executed = 0;
  }
  for (const auto& [function, counted] : counts) {
    Issued& sum = profile[function->name];
    sum.traffic.fetched += counted.traffic.fetched;
    sum.traffic.written += counted.traffic.written;
    for (size_t i = 0; i < counted.times.size(); i += kWarp) {
      const auto lanes = counted.times.begin() + static_cast<long>(i);
      const uint64_t issued = *std::max_element(lanes, lanes + kWarp);
      const Together together = function->ops[i / kWarp % function->ops.size()].together;
      sum.by_warps += issued;
      if (together == Together::kWarpBarrier || together == Together::kBlockBarrier)
        sum.barriers += issued;
      else if (together != Together::kAlone)
        sum.shuffles += issued;
      sum.by_threads += std::accumulate(lanes, lanes + kWarp, uint64_t{0});
    }
  }
}

}  // namespace ptx_interpreter
