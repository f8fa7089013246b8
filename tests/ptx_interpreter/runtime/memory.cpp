// Device memory: an arena that only the machine may touch, and copies, which wait in a stream as launches do.
#include <cstring>

#include "runtime/state.h"

namespace ptx_interpreter {

Arena::Arena() {
  void* const at = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) std::abort();
  base_ = static_cast<char*>(at);
}
void* Arena::allocate(size_t bytes) {
  const size_t padded = (bytes + 255) / 256 * 256 + 256;  // a gap behind, so that overruns are seen
  if (used_ + padded > kBytes) return nullptr;
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

}  // extern "C"
