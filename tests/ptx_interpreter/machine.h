// A PTX interpreter: runs a grid of threads of a PTX function, one thread at a time, each until it has to
// wait for others or its turn is over. Blocks start in any order, and several take turns; warps of a block drift apart. What a GPU leaves undefined is an error here: an address outside what was allocated or not
// aligned, a warp barrier or shuffle whose threads do not all come, or have left, a branch that never ends.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx.h"

namespace ptx_interpreter {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  unsigned count() const { return x * y * z; }
};

// memory that threads may touch: by address, in order
class Memory {
 public:
  void add(const void* at, size_t bytes) { pieces_[reinterpret_cast<uintptr_t>(at)] = bytes; }
  void remove(const void* at) { pieces_.erase(reinterpret_cast<uintptr_t>(at)); }
  // the piece that has this address, or an empty one
  struct Piece {
    uintptr_t from = 0, to = 0;
  };
  Piece find(uintptr_t address) const {
    auto next = pieces_.upper_bound(address);
    if (next == pieces_.begin()) return {};
    --next;
    return address < next->first + next->second ? Piece{next->first, next->first + next->second} : Piece{};
  }

 private:
  std::map<uintptr_t, size_t> pieces_;
};

struct Block;

struct Frame {
  const Function* function;
  uint64_t* registers;
  char* memory;
  int pc;
};

enum class State : uint8_t { kReady, kWaits, kLeft };

// a warp's share of a first-level cache: sectors of device memory, the one used longest ago is
// replaced. What is stored goes through it
class WarpCache {
 public:
  static constexpr size_t kSector = 32, kBytes = 12288;
  struct Traffic {
    uint64_t fetched = 0, written = 0;  // bytes
  };
  Traffic* traffic = nullptr;  // where it is counted
  void use(uintptr_t at, size_t stored);

 private:
  std::list<uintptr_t> recent_;  // the last one first
  std::unordered_map<uintptr_t, std::list<uintptr_t>::iterator> entries_;
};

struct Thread {
  uint64_t* registers = nullptr;        // of the present call
  const uint64_t* constants = nullptr;  // their end
  char* memory = nullptr;               // parameters and local variables of the present call
  const Op* next = nullptr;
  State state = State::kReady;
  bool stopped = false;  // out of the loop over instructions
  const Op* waits_at = nullptr;
  uint32_t waits_mask = 0;
  Block* block = nullptr;
  const Function* function = nullptr;
  Memory::Piece last;          // where it last read or wrote
  WarpCache* cache = nullptr;  // of its warp, where a launch is profiled
  unsigned number = 0;         // in its block
  Dim3 at;
  std::vector<Frame> callers;
  char* stack = nullptr;
  char* stack_top = nullptr;
  uint64_t executed = 0;

  const uint64_t& slot(Ref r) const { return (r < 0 ? constants : registers)[r]; }
  unsigned lane() const { return number % 32; }
};

struct Block {
  const Module* module = nullptr;
  const Memory* memory = nullptr;
  Dim3 at, grid, size;
  std::vector<char> shared_buffer;
  char* shared = nullptr;  // aligned
  size_t shared_bytes = 0;
  size_t dynamic_bytes = 0;
  std::vector<Thread> threads;
};

// something that a GPU leaves undefined, or ends a kernel for: says what, where, and in which thread
class Fault : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
[[noreturn]] void fault(const Thread& thread, const std::string& what);

// what is counted of a function while a block runs
struct Counted {
  std::vector<uint32_t> times;  // by warp, by instruction, by thread of the warp
  WarpCache::Traffic traffic;
};

struct Launch {
  const Module* module = nullptr;
  const Function* function = nullptr;
  Dim3 grid, block;
  size_t dynamic_shared = 0;
  std::vector<char> parameters;
};

class Machine {
 public:
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  Memory memory;
  // the order in which blocks, warps, and threads of a warp run, and how long their turns are
  uint64_t seed = 1;
  uint64_t executed = 0;  // instructions, of all threads so far
  // of each function, where `profiled`: instructions as warps issue them, if threads that part come together
  // again, so each as often as the thread that needs it most; of those barriers, and shuffles with votes;
  // instructions as threads execute them; bytes of device memory that are fetched past a warp's share of a
  // first-level cache, and bytes that are written
  struct Issued {
    uint64_t by_warps = 0, barriers = 0, shuffles = 0, by_threads = 0;
    WarpCache::Traffic traffic;
  };
  bool profiled = false;
  std::map<std::string, Issued> profile;
  void run(const Launch& launch);

 private:
  struct Resident;
  void start_block(const Launch& launch, unsigned number, char* const* stacks, Resident* resident);
  void start_threads(const Launch& launch, char* const* stacks, Block* block);
  void end_block(const Resident& resident);
  void add_to_profile(const Function& function, const Counted& counted);
  std::vector<char*> stacks_;
};

}  // namespace ptx_interpreter
