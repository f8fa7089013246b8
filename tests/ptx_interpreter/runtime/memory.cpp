// Device memory: an arena that only the machine may touch, and copies, which wait in a stream as launches do.
#include <algorithm>
#include <cstring>

#include "runtime/state.h"

namespace ptx_interpreter {

Arena::Arena() {
  void* const at = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) std::abort();
  base_ = static_cast<char*>(at);
  if (const char* const mebibytes = std::getenv("PTX_INTERPRETER_MEMORY"))
    most_ = std::min<size_t>(kBytes, std::strtoull(mebibytes, nullptr, 10) << 20);
}
void* Arena::allocate(size_t bytes) {
  const size_t padded = (bytes + 255) / 256 * 256 + 256;  // a gap behind, so that overruns are seen
  if (padded < bytes || padded > room()) return nullptr;
  char* const at = base_ + used_;
  used_ += padded;
  const Open open(this);
  std::memset(at, 0xff, bytes);
  return at;
}
void Arena::release(void* p, size_t bytes) {
  const auto first = (reinterpret_cast<uintptr_t>(p) + kPage - 1) / kPage * kPage,
             end = (reinterpret_cast<uintptr_t>(p) + bytes) / kPage * kPage;
  if (first < end) (void)madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}
void Arena::protect(int how) { (void)mprotect(base_, (used_ + kPage - 1) / kPage * kPage, how); }

namespace {

// whether bytes at p may be copied from or to: memory of the host, or all of it allocated on the device
bool copyable(const void* p, size_t bytes) {
  for (const Device& other : process().devices)
    if (&other != &device() && other.arena.has(p)) return false;
  if (!device().arena.has(p)) return p != nullptr;
  const auto at = reinterpret_cast<uintptr_t>(p);
  const Memory::Piece piece = device().machine.memory.find(at);
  return at >= piece.from && at + bytes <= piece.to;
}

}  // namespace
}  // namespace ptx_interpreter

using namespace ptx_interpreter;

extern "C" {

cudaError_t CUDARTAPI cudaMalloc(void** memory, size_t bytes) {
  const Hold hold;
  Device& d = device();
  d.initialized = true;
  if (forbidden_by_capture()) return answer(cudaErrorStreamCaptureUnsupported);
  void* const at = d.arena.allocate(bytes);
  if (!at) return answer(cudaErrorMemoryAllocation);
  d.machine.memory.add(at, bytes);
  d.allocations[at] = bytes;
  *memory = at;
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaFree(void* memory) {
  const Hold hold;
  device().initialized = true;
  if (!memory) return answer(cudaSuccess);
  if (forbidden_by_capture()) return answer(cudaErrorStreamCaptureUnsupported);
  // memory knows its device
  for (Device& d : process().devices) {
    const auto found = d.allocations.find(memory);
    if (found == d.allocations.end()) continue;
    const OnDevice there(&d);
    ++process().waits;
    drain_all();
    d.arena.release(memory, found->second);
    d.allocations.erase(found);
    d.machine.memory.remove(memory);
    return answer(cudaSuccess);
  }
  return answer(cudaErrorInvalidValue);
}
cudaError_t CUDARTAPI cudaMemGetInfo(size_t* left, size_t* all) {
  const Hold hold;
  *left = device().arena.room(), *all = Arena::kBytes;
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  const Hold hold;
  Device& d = device();
  const bool to_device = d.arena.has(to), from_device = d.arena.has(from);
  const bool meant = kind == cudaMemcpyDefault ||
                     (kind == cudaMemcpyHostToDevice && to_device && !from_device) ||
                     (kind == cudaMemcpyDeviceToHost && !to_device && from_device) ||
                     (kind == cudaMemcpyDeviceToDevice && to_device && from_device);
  if (!meant || !copyable(to, bytes) || !copyable(from, bytes)) {
    say("a copy of " + std::to_string(bytes) + " bytes from or to where it may not be");
    return answer(cudaErrorInvalidValue);
  }
  // memory of the host is not pinned, and read at once, unless a graph reads it
  StreamState* const state = state_of(stream);
  if (to_device && !from_device && state && !state->capture) {
    const auto* first = static_cast<const char*>(from);
    const auto staged = std::make_shared<std::vector<char>>(first, first + bytes);
    return answer(enqueue(stream, [=] { std::memcpy(to, staged->data(), bytes); }));
  }
  return answer(enqueue(stream, [=] { std::memmove(to, from, bytes); }));
}
cudaError_t CUDARTAPI cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  const Hold hold;
  if (!device().arena.has(to) || !copyable(to, bytes)) return answer(cudaErrorInvalidValue);
  return answer(enqueue(stream, [=] { std::memset(to, value, bytes); }));
}

}  // extern "C"
