// The runtime of CUDA, as far as the backend and CUB call it, on the machine of machine.h. Linked before the
// real one, its names are found first; what it lacks would be taken from there, and the linker would say that
// names are defined twice.
//
// It is as unfriendly as a GPU may be. Work that is queued on a stream runs as late as it may: when something
// that must wait for it does. Device memory is poisoned where it is allocated, and the host cannot touch it.
// An error stays: every later call answers with it.
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "fat_binary.h"
#include "machine.h"
#include "ptx.h"

namespace ptx_interpreter {
namespace {

// what there is to run on: a small Turing, with as much shared memory as a Hopper has
constexpr int kMajor = 7, kMinor = 5, kProcessors = 2, kBlocksOfProcessor = 2;
constexpr size_t kSharedMost = 227 << 10, kSharedByDefault = 48 << 10;

using Task = std::function<void()>;

struct StreamState {
  bool blocking = true;  // waits for the legacy stream, and that for it
  std::deque<Task> tasks;
  uint64_t queued = 0, done = 0;
  bool capturing = false;
  std::vector<Task> captured;
};
struct EventState {
  StreamState* stream = nullptr;
  uint64_t after = 0;
  std::shared_ptr<uint64_t> time;  // instructions until then; known when the stream has come there
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
};

// device memory: a piece of address space that nobody but the machine may touch
class Arena {
 public:
  static constexpr size_t kBytes = size_t{64} << 30, kPage = 4096;
  Arena() {
    void* const at = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    base_ = static_cast<char*>(at);
  }
  bool has(const void* p) const { return p >= base_ && p < base_ + kBytes; }
  // null where there is no room
  void* allocate(size_t bytes) {
    const size_t room = (bytes + 255) / 256 * 256 + 256;  // a gap behind, so that who runs over is seen
    if (used_ + room > kBytes) return nullptr;
    char* const at = base_ + used_;
    used_ += room;
    const Open open(this);
    std::memset(at, 0xff, bytes);
    return at;
  }
  // the pages go back to the system; their addresses are given to nobody else, so that whoever comes late is
  // seen
  void release(void* p, size_t bytes) {
    const auto first = (reinterpret_cast<uintptr_t>(p) + kPage - 1) / kPage * kPage,
               end = (reinterpret_cast<uintptr_t>(p) + bytes) / kPage * kPage;
    if (first < end) (void)madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
  }
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
  void protect(int how) { (void)mprotect(base_, (used_ + kPage - 1) / kPage * kPage, how); }
  char* base_ = nullptr;
  size_t used_ = 0;
  int open_ = 0;
  // a library of the CPU may stand for one of the GPU, and compute on device memory
  bool for_all_ = std::getenv("SOFTWARE_GPU_OPEN") != nullptr;
};

struct Device {
  std::recursive_mutex mutex;
  Machine machine;
  Arena arena;
  StreamState legacy;
  std::set<StreamState*> streams;
  std::deque<LoadedModule> modules;
  std::map<const void*, Kernel> kernels;  // by the host's function, or the handle of a library's
  std::map<void*, std::vector<const void*>> libraries;
  std::map<const void*, size_t> allocations;
  cudaError_t last = cudaSuccess;   // until it is asked for
  cudaError_t stuck = cudaSuccess;  // for good
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
};
void print_counts();
void print_profile();
Device& device() {
  static Device* const one = [] {
    auto* made = new Device;  // lives as long as the process, whatever ends first
    const char* seed = std::getenv("SOFTWARE_GPU_SEED");
    made->machine.seed = seed ? std::strtoull(seed, nullptr, 10) : 1;
    made->legacy.blocking = false;
    if (std::getenv("SOFTWARE_GPU_COUNT")) std::atexit(print_counts);
    made->machine.profiled = std::getenv("SOFTWARE_GPU_PROFILE") != nullptr;
    if (made->machine.profiled) std::atexit(print_profile);
    return made;
  }();
  return *one;
}
// what all threads together executed
void print_counts() {
  for (const auto& [name, e] : device().executed)
    std::fprintf(stderr, "PTX interpreter: %12llu instructions in %6llu launches of %s\n",
                 static_cast<unsigned long long>(e.instructions), static_cast<unsigned long long>(e.launches),
                 name.c_str());
}

// what Machine::Issued says of every function
void print_profile() {
  for (const auto& [name, sum] : device().machine.profile) {
    std::fprintf(stderr, "PTX interpreter: in %s", name.c_str());
    for (const auto& [what, number] : {std::pair{"instructions of warps", sum.by_warps},
                                       {"barriers", sum.barriers},
                                       {"shuffles", sum.shuffles},
                                       {"instructions of threads", sum.by_threads},
                                       {"bytes fetched", sum.traffic.fetched},
                                       {"bytes written", sum.traffic.written}})
      std::fprintf(stderr, ", %llu %s", static_cast<unsigned long long>(number), what);
    std::fprintf(stderr, "\n");
  }
}

using Hold = std::lock_guard<std::recursive_mutex>;

cudaError_t answer(cudaError_t error) {
  Device& d = device();
  if (d.stuck != cudaSuccess) error = d.stuck;
  if (error != cudaSuccess) d.last = error;
  return error;
}
void say(const std::string& what) { std::fprintf(stderr, "PTX interpreter: %s\n", what.c_str()); }

StreamState* state_of(cudaStream_t stream) {
  // legacy, and the handles by which it and the per-thread one go
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return &device().legacy;
  auto* const state = reinterpret_cast<StreamState*>(stream);
  return device().streams.count(state) ? state : nullptr;
}

void drain(StreamState* stream, uint64_t until) {
  while (stream->done < until) {
    Task task = std::move(stream->tasks.front());
    stream->tasks.pop_front();
    ++stream->done;
    if (device().stuck != cudaSuccess) continue;
    try {
      const Arena::Open open(&device().arena);
      task();
    } catch (const std::exception& error) {
      say(error.what());
      device().stuck = cudaErrorIllegalAddress;
    }
  }
}
void drain_all() {
  Device& d = device();
  drain(&d.legacy, d.legacy.queued);
  for (StreamState* stream : d.streams) drain(stream, stream->queued);
}
void queue(StreamState* stream, Task task) {
  stream->tasks.push_back(std::move(task));
  ++stream->queued;
}
cudaError_t enqueue(cudaStream_t given, Task task) {
  StreamState* const stream = state_of(given);
  if (!stream) return cudaErrorInvalidResourceHandle;
  Device& d = device();
  if (stream->capturing) {
    stream->captured.push_back(std::move(task));
    return cudaSuccess;
  }
  if (stream == &d.legacy) {
    for (StreamState* other : d.streams)
      if (other->blocking)
        queue(stream, [other, until = other->queued] {
          if (device().streams.count(other)) drain(other, until);
        });
  } else if (stream->blocking) {
    queue(stream, [until = d.legacy.queued] { drain(&device().legacy, until); });
  }
  queue(stream, std::move(task));
  return cudaSuccess;
}

const Module& loaded(LoadedModule* m) {
  if (!m->module) {
    if (m->text.empty()) m->text = ptx_of_fat_binary(m->fat_binary);
    m->module = read_ptx(m->text);
    m->text.clear();
    for (const auto& variable : m->module->variables)
      device().machine.memory.add(variable->at, variable->bytes.size());
  }
  return *m->module;
}
const Function* function_of(const void* kernel) {
  const auto found = device().kernels.find(kernel);
  if (found == device().kernels.end()) return nullptr;
  try {
    const auto& functions = loaded(found->second.module).functions;
    const auto entry = functions.find(found->second.name);
    return entry == functions.end() ? nullptr : entry->second.get();
  } catch (const PtxError& error) {
    say(error.what());
    return nullptr;
  }
}

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                   cudaStream_t stream) {
  const Function* const f = function_of(kernel);
  if (!f) return cudaErrorInvalidDeviceFunction;
  const Kernel& k = device().kernels.at(kernel);
  Launch made;
  made.module = k.module->module.get();
  made.function = f;
  made.grid = {grid.x, grid.y, grid.z}, made.block = {block.x, block.y, block.z};
  made.dynamic_shared = shared;
  if (made.grid.count() == 0 || made.block.count() == 0 ||
      made.block.count() > static_cast<unsigned>(f->most_threads)) {
    say("a launch of " + f->name + " with " + std::to_string(made.grid.count()) + " blocks of " +
        std::to_string(made.block.count()) + " threads");
    return cudaErrorInvalidConfiguration;
  }
  if (shared > k.dynamic_most) {
    say("a launch of " + f->name + " with " + std::to_string(shared) + " bytes of shared memory, where " +
        std::to_string(k.dynamic_most) + " are allowed");
    return cudaErrorInvalidValue;
  }
  made.parameters.assign(static_cast<size_t>(f->parameter_bytes), 0);
  for (size_t i = 0; i < f->parameters.size(); ++i) {
    const Parameter& p = f->parameters[i];
    std::memcpy(made.parameters.data() + p.offset, arguments[i], static_cast<size_t>(p.bytes));
  }
  return enqueue(stream, [made] {
    Device& d = device();
    const uint64_t before = d.machine.executed;
    d.machine.run(made);
    Device::Executed& count = d.executed[made.function->name];
    ++count.launches;
    count.instructions += d.machine.executed - before;
  });
}

// whether bytes at p may be copied from or to: memory of the host, or all of it allocated on the device
bool copyable(const void* p, size_t bytes) {
  if (!device().arena.has(p)) return p != nullptr;
  const auto at = reinterpret_cast<uintptr_t>(p);
  const Memory::Piece piece = device().machine.memory.find(at);
  return at >= piece.from && at + bytes <= piece.to;
}

}  // namespace
}  // namespace ptx_interpreter

using namespace ptx_interpreter;

extern "C" {

// what nvcc's stubs call ------------------------------------------------------------------------------------

void** CUDARTAPI __cudaRegisterFatBinary(void* given) {
  // magic, version, the binary
  struct Wrapper {
    int magic, version;
    const void* data;
    void* name;
  };
  Device& d = device();
  const Hold hold(d.mutex);
  d.modules.emplace_back();
  d.modules.back().fat_binary = static_cast<const Wrapper*>(given)->data;
  return reinterpret_cast<void**>(&d.modules.back());
}
void CUDARTAPI __cudaRegisterFatBinaryEnd(void**) {}
void CUDARTAPI __cudaUnregisterFatBinary(void**) {}
void CUDARTAPI __cudaRegisterFunction(void** module, const char* host, char*, const char* name, int, uint3*,
                                      uint3*, dim3*, dim3*, int*) {
  Device& d = device();
  const Hold hold(d.mutex);
  d.kernels[host] = {reinterpret_cast<LoadedModule*>(module), name, kSharedByDefault};
}
void CUDARTAPI __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                               struct CUstream_st* stream) {
  const Hold hold(device().mutex);
  device().configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  const Hold hold(device().mutex);
  if (device().configurations.empty()) return cudaErrorMissingConfiguration;
  const auto c = device().configurations.back();
  device().configurations.pop_back();
  *grid = c.grid, *block = c.block, *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}
cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                         size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

// errors --------------------------------------------------------------------------------------------------

cudaError_t CUDARTAPI cudaGetLastError() {
  const Hold hold(device().mutex);
  const cudaError_t error = device().stuck != cudaSuccess ? device().stuck : device().last;
  device().last = cudaSuccess;
  return error;
}
cudaError_t CUDARTAPI cudaPeekAtLastError() {
  const Hold hold(device().mutex);
  return device().stuck != cudaSuccess ? device().stuck : device().last;
}
const char* CUDARTAPI cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorInvalidDeviceFunction:
      return "cudaErrorInvalidDeviceFunction";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    default:
      return "an error of the PTX interpreter";
  }
}
const char* CUDARTAPI cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

// devices -------------------------------------------------------------------------------------------------

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGetDevice(int* number) {
  *number = 0;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaSetDevice(int number) {
  return answer(number == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
  if (number != 0) return answer(cudaErrorInvalidDevice);
  *properties = cudaDeviceProp{};
  std::snprintf(properties->name, sizeof properties->name, "the PTX interpreter");
  properties->major = kMajor, properties->minor = kMinor;
  properties->multiProcessorCount = kProcessors;
  properties->warpSize = 32;
  properties->sharedMemPerBlock = kSharedByDefault;
  properties->sharedMemPerBlockOptin = kSharedMost;
  properties->maxThreadsPerBlock = 1024;
  properties->totalGlobalMem = Arena::kBytes;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int number) {
  if (number != 0) return answer(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = kProcessors;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = kSharedMost;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = kSharedByDefault;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = kMajor;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = kMinor;
      return cudaSuccess;
    case cudaDevAttrMaxGridDimX:
      *value = 0x7fffffff;
      return cudaSuccess;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = 65535;
      return cudaSuccess;
    case cudaDevAttrWarpSize:
      *value = 32;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = 1024;
      return cudaSuccess;
    default:
      say("asked for attribute " + std::to_string(attribute) + ", which it does not have");
      return answer(cudaErrorInvalidValue);
  }
}
cudaError_t CUDARTAPI cudaDeviceSynchronize() {
  const Hold hold(device().mutex);
  drain_all();
  return answer(cudaSuccess);
}

// memory --------------------------------------------------------------------------------------------------

cudaError_t CUDARTAPI cudaMalloc(void** memory, size_t bytes) {
  Device& d = device();
  const Hold hold(d.mutex);
  void* const at = d.arena.allocate(bytes);
  if (!at) return answer(cudaErrorMemoryAllocation);
  d.machine.memory.add(at, bytes);
  d.allocations[at] = bytes;
  *memory = at;
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaFree(void* memory) {
  Device& d = device();
  const Hold hold(d.mutex);
  if (!memory) return answer(cudaSuccess);
  drain_all();
  const auto found = d.allocations.find(memory);
  if (found == d.allocations.end()) return answer(cudaErrorInvalidValue);
  d.arena.release(memory, found->second);
  d.allocations.erase(found);
  d.machine.memory.remove(memory);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  Device& d = device();
  const Hold hold(d.mutex);
  const bool to_device = d.arena.has(to), from_device = d.arena.has(from);
  const bool meant = kind == cudaMemcpyDefault ||
                     (kind == cudaMemcpyHostToDevice && to_device && !from_device) ||
                     (kind == cudaMemcpyDeviceToHost && !to_device && from_device) ||
                     (kind == cudaMemcpyDeviceToDevice && to_device && from_device);
  if (!meant || !copyable(to, bytes) || !copyable(from, bytes)) {
    say("a copy of " + std::to_string(bytes) + " bytes from or to where it may not be");
    return answer(cudaErrorInvalidValue);
  }
  return answer(enqueue(stream, [=] { std::memmove(to, from, bytes); }));
}
cudaError_t CUDARTAPI cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  const Hold hold(device().mutex);
  if (!device().arena.has(to) || !copyable(to, bytes)) return answer(cudaErrorInvalidValue);
  return answer(enqueue(stream, [=] { std::memset(to, value, bytes); }));
}

// streams, events, graphs ---------------------------------------------------------------------------------

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Hold hold(device().mutex);
  auto* const made = new StreamState;
  made->blocking = !(flags & cudaStreamNonBlocking);
  device().streams.insert(made);
  *stream = reinterpret_cast<cudaStream_t>(made);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t given) {
  const Hold hold(device().mutex);
  StreamState* const stream = state_of(given);
  if (!stream || stream == &device().legacy) return answer(cudaErrorInvalidResourceHandle);
  drain(stream, stream->queued);
  device().streams.erase(stream);
  delete stream;
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t given) {
  const Hold hold(device().mutex);
  StreamState* const stream = state_of(given);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  if (stream->capturing) return answer(cudaErrorStreamCaptureUnsupported);
  drain(stream, stream->queued);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Hold hold(device().mutex);
  const EventState at = *reinterpret_cast<EventState*>(event);
  if (!at.stream) return answer(cudaSuccess);
  return answer(enqueue(stream, [at] {
    if (at.stream == &device().legacy || device().streams.count(at.stream)) drain(at.stream, at.after);
  }));
}
cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t given, cudaStreamCaptureStatus* status) {
  const Hold hold(device().mutex);
  StreamState* const stream = state_of(given);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  *status = stream->capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t given, cudaStreamCaptureMode) {
  const Hold hold(device().mutex);
  StreamState* const stream = state_of(given);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  if (stream == &device().legacy || stream->capturing) return answer(cudaErrorStreamCaptureUnsupported);
  stream->capturing = true;
  stream->captured.clear();
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t given, cudaGraph_t* graph) {
  const Hold hold(device().mutex);
  StreamState* const stream = state_of(given);
  if (!stream || !stream->capturing) return answer(cudaErrorIllegalState);
  stream->capturing = false;
  *graph = reinterpret_cast<cudaGraph_t>(new GraphState{std::move(stream->captured)});
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  const Hold hold(device().mutex);
  *exec = reinterpret_cast<cudaGraphExec_t>(new GraphState(*reinterpret_cast<GraphState*>(graph)));
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<GraphState*>(graph);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete reinterpret_cast<GraphState*>(exec);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const Hold hold(device().mutex);
  const std::vector<Task> tasks = reinterpret_cast<GraphState*>(exec)->tasks;
  return answer(enqueue(stream, [tasks] {
    for (const Task& task : tasks) task();
  }));
}
cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new EventState);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<EventState*>(event);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t given) {
  const Hold hold(device().mutex);
  StreamState* const stream = state_of(given);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  if (stream->capturing) return answer(cudaErrorStreamCaptureUnsupported);
  const auto time = std::make_shared<uint64_t>(0);
  const cudaError_t error = enqueue(given, [time] { *time = device().machine.executed; });
  *reinterpret_cast<EventState*>(event) = {stream, stream->queued, time};
  return answer(error);
}
cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event) {
  const Hold hold(device().mutex);
  const EventState at = *reinterpret_cast<EventState*>(event);
  if (at.stream) drain(at.stream, at.after);
  return answer(cudaSuccess);
}
// a clock that counts instructions: a thousand million in a second
cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const Hold hold(device().mutex);
  const auto &first = *reinterpret_cast<EventState*>(from), &last = *reinterpret_cast<EventState*>(to);
  if (!first.stream || !last.stream) return answer(cudaErrorInvalidResourceHandle);
  for (const EventState* event : {&first, &last})
    if (event->stream->done < event->after) return answer(cudaErrorNotReady);
  *milliseconds = 1e-6f * static_cast<float>(*last.time - *first.time);
  return answer(cudaSuccess);
}

// kernels -------------------------------------------------------------------------------------------------
cudaError_t CUDARTAPI cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                       size_t shared, cudaStream_t stream) {
  const Hold hold(device().mutex);
  return answer(launch(kernel, grid, block, arguments, shared, stream));
}
cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const Hold hold(device().mutex);
  const Function* const f = function_of(kernel);
  if (!f) return answer(cudaErrorInvalidDeviceFunction);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return answer(cudaSuccess);
  if (value < 0 || static_cast<size_t>(value) > kSharedMost) return answer(cudaErrorInvalidValue);
  device().kernels.at(kernel).dynamic_most = static_cast<size_t>(value);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  const Hold hold(device().mutex);
  const Function* const f = function_of(kernel);
  if (!f) return answer(cudaErrorInvalidDeviceFunction);
  *attributes = cudaFuncAttributes{};
  attributes->ptxVersion = attributes->binaryVersion = 10 * kMajor + kMinor;
  attributes->maxThreadsPerBlock = f->most_threads;
  attributes->numRegs = 32;
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                             int threads, size_t shared,
                                                                             unsigned) {
  const Hold hold(device().mutex);
  const Function* const f = function_of(kernel);
  if (!f) return answer(cudaErrorInvalidDeviceFunction);
  *blocks = threads > f->most_threads || shared > kSharedMost
                ? 0
                : std::min<int>(kBlocksOfProcessor,
                                shared ? static_cast<int>(kSharedMost / shared) : kBlocksOfProcessor);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                                    int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, 0);
}

// libraries: PTX, which the NVRTC of nvrtc.cpp makes where machine code is asked for
cudaError_t CUDARTAPI cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                          unsigned, cudaLibraryOption*, void**, unsigned) {
  Device& d = device();
  const Hold hold(d.mutex);
  d.modules.emplace_back();
  LoadedModule& made = d.modules.back();
  made.text = static_cast<const char*>(code);
  try {
    (void)loaded(&made);
  } catch (const PtxError& error) {
    say(error.what());
    return answer(cudaErrorInvalidPtx);
  }
  *library = reinterpret_cast<cudaLibrary_t>(&made);
  d.libraries[&made] = {};
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  Device& d = device();
  const Hold hold(d.mutex);
  auto* const module = reinterpret_cast<LoadedModule*>(library);
  if (!d.libraries.count(module) || !module->module->functions.count(name))
    return answer(cudaErrorSymbolNotFound);
  const void* const handle = new char;  // an address that nobody else has
  d.kernels[handle] = {module, name, kSharedByDefault};
  d.libraries[module].push_back(handle);
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(handle));
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaLibraryUnload(cudaLibrary_t library) {
  Device& d = device();
  const Hold hold(d.mutex);
  const auto found = d.libraries.find(library);
  if (found == d.libraries.end()) return answer(cudaErrorInvalidResourceHandle);
  // who launches one of its kernels now is told that there is no such function; what waits in a queue would
  // have run on a GPU, or not: nobody may rely on it
  for (const void* handle : found->second) d.kernels.erase(handle);
  d.libraries.erase(found);
  return answer(cudaSuccess);
}

}  // extern "C"
