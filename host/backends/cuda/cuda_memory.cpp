// Memory, copies and waits, by device number and stream handle.
#include "host/backends/cuda/cuda_memory.h"

#include <algorithm>

#include "host/backends/cuda/cuda_errors.h"

namespace dualstep {

namespace {
cudaStream_t as_stream(uintptr_t handle) { return reinterpret_cast<cudaStream_t>(handle); }
}  // namespace

std::shared_ptr<void> cuda_allocate(int device, size_t bytes) {
  const OnDevice here(device);
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<size_t>(bytes, 1)),
        "allocating " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(device));
  return std::shared_ptr<void>(memory, [](void* p) { (void)cudaFree(p); });
}

void cuda_read(int device, uintptr_t stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, as_stream(stream)), "reading an array");
  check(cudaStreamSynchronize(as_stream(stream)), "reading an array");
}

void cuda_write(int device, uintptr_t stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, as_stream(stream)), "writing to an array");
  check(cudaStreamSynchronize(as_stream(stream)), "writing to an array");
}

void cuda_copy(int device, uintptr_t stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, as_stream(stream)), "copying an array");
}

void cuda_wait(int device, uintptr_t stream, uintptr_t other) {
  if (stream == other) return;
  const OnDevice here(device);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  cudaError_t error = cudaEventRecord(event, as_stream(other));
  if (error == cudaSuccess) error = cudaStreamWaitEvent(as_stream(stream), event, 0);
  // the wait that was queued outlives the event
  (void)cudaEventDestroy(event);
  check(error, "letting one stream wait for another");
}

}  // namespace dualstep
