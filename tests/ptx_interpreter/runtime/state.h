// The runtime of CUDA, as far as the backend and CUB call it, on the machine of machine.h. Linked before the
// real one, its names are found first; what it lacks would be taken from there, and the linker would say that
// names are defined twice.
//
// It has two devices, which share nothing: memory and streams of one are strangers to the other.
//
// It is as unfriendly as a GPU may be. Work that is queued on a stream runs as late as it may: when something
// that must wait for it does. Device memory is poisoned where it is allocated, and the host cannot touch it.
// An error stays: every later call answers with it.
//
// This is what the parts of the runtime share: the device, its memory, streams, modules and kernels.
#pragma once

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "machine.h"
#include "ptx.h"

namespace ptx_interpreter {

// what there is to run on: a small Turing, with as much shared memory as a Hopper has
constexpr int kDevices = 2, kMajor = 7, kMinor = 5, kMultiprocessors = 2, kBlocksOfMultiprocessor = 2;
constexpr size_t kSharedMost = 227 << 10, kSharedByDefault = 48 << 10;

using Task = std::function<void()>;

struct Device;
struct StreamState;
// what goes into a graph, by the streams that take part: tasks, each with those that it comes after
struct Capture {
  struct Node {
    Task task;
    std::vector<size_t> after;
  };
  unsigned long long number = 0;
  StreamState* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  bool invalidated = false;
  std::vector<Node> nodes;
};
struct StreamState {
  Device* device = nullptr;
  bool blocking = true;  // waits for the legacy stream, and that for it
  std::deque<Task> tasks;
  uint64_t queued = 0, done = 0;
  std::shared_ptr<Capture> capture;  // null where there is none
  std::vector<size_t> after;         // what the next task of the capture comes after
};
struct EventState {
  StreamState* stream = nullptr;
  uint64_t after = 0;
  std::shared_ptr<uint64_t> time;  // instructions until then; known when the stream has come there
  std::shared_ptr<Capture> capture;
  std::vector<size_t> after_nodes;
};
struct GraphState {
  std::vector<Task> tasks;
};
struct LoadedModule {
  const void* fat_binary = nullptr;
  std::string text;
  std::unique_ptr<Module> module;
};
struct Kernel {
  LoadedModule* module = nullptr;
  std::string name;
  size_t dynamic_most = kSharedByDefault;
  int carve_out = cudaSharedmemCarveoutDefault;
};

// device memory: a piece of address space that nobody but the machine may touch
class Arena {
 public:
  static constexpr size_t kBytes = size_t{64} << 30, kPage = 4096;
  Arena();
  bool has(const void* p) const { return p >= base_ && p < base_ + kBytes; }
  size_t room() const { return most_ - used_; }
  // null where no memory is left
  void* allocate(size_t bytes);
  // the pages go back to the system; their addresses are given to nobody else, so that late uses are seen
  void release(void* p, size_t bytes);
  class Open {
   public:
    explicit Open(Arena* arena) : arena_(arena) {
      if (arena_->open_++ == 0) arena_->protect(PROT_READ | PROT_WRITE);
    }
    ~Open() {
      if (--arena_->open_ == 0 && !arena_->for_all_) arena_->protect(PROT_NONE);
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    Arena* arena_;
  };

 private:
  void protect(int how);
  char* base_ = nullptr;
  size_t used_ = 0, most_ = kBytes;
  int open_ = 0;
  // a library of the CPU may stand for one of the GPU, and compute on device memory
  bool for_all_ = std::getenv("PTX_INTERPRETER_OPEN") != nullptr;
};

// what may be wrong with the machine, as PTX_INTERPRETER_FAULT says: "no driver", "old driver", "old device", or
// "lost N" after so many launches
struct Faults {
  bool no_driver = false, old_driver = false, old_device = false;
  uint64_t launches_until_lost = ~uint64_t{0};
};

struct Device {
  int number = 0;
  Machine machine;
  Arena arena;
  StreamState legacy;
  std::set<StreamState*> streams;
  std::map<const void*, size_t> allocations;
  bool initialized = false;         // has a context
  cudaError_t last = cudaSuccess;   // until it is asked for
  cudaError_t stuck = cudaSuccess;  // for good
};

// what devices share
struct Process {
  std::recursive_mutex mutex;
  Faults faults;
  std::deque<Device> devices;
  std::deque<LoadedModule> modules;
  std::map<const void*, Kernel> kernels;  // by the host's function, or the handle of a library's
  std::map<void*, std::vector<const void*>> libraries;
  struct Configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
  };
  std::vector<Configuration> configurations;
  struct Executed {
    uint64_t launches = 0, instructions = 0;
  };
  std::map<std::string, Executed> executed;  // by kernel
  unsigned long long captures = 0;           // begun
  int broken_captures = 0;                   // those to come that another thread is to end
  uint64_t calls = 0;                        // of the runtime, since the process began
  uint64_t waits = 0;                        // of the host for a device
};
Process& process();
// a call of the runtime: one at a time
class Hold {
 public:
  Hold() : lock_(process().mutex) { ++process().calls; }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

// the calling thread's
Device& device();
class OnDevice {
 public:
  explicit OnDevice(const Device* device);
  ~OnDevice();
};
// whether a capture, of this thread or another, forbids what is not queued: it is invalid then
bool forbidden_by_capture();

// the error that a call returns: the sticky one where there is one
cudaError_t answer(cudaError_t error);
void say(const std::string& what);

// null where there is no such stream
StreamState* state_of(cudaStream_t stream);
// whether a stream that waits for the legacy one captures: nobody may use that one then
bool captures_beside_legacy(bool invalidate);
// runs what was queued on a stream until so many tasks are done
void drain(StreamState* stream, uint64_t until);
void drain_all();
// after what the legacy stream and blocking streams owe each other
cudaError_t enqueue(cudaStream_t given, Task task);

}  // namespace ptx_interpreter
