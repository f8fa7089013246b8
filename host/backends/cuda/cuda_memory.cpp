// Memory, copies and waits, by device number and stream handle.
#include "host/backends/cuda/cuda_memory.h"

#include <algorithm>

#include "host/backends/cuda/cuda_errors.h"
#include "host/backends/cuda/cuda_graphs.h"

namespace dualstep {

namespace {
cudaStream_t as_stream(uintptr_t handle) { return reinterpret_cast<cudaStream_t>(handle); }

// a graph holds work of the device alone: waiting for it would invalidate the capture
void refuse_capture(uintptr_t stream, const std::string& doing) {
  if (captures(as_stream(stream)))
    throw std::runtime_error("CUDA, " + doing +
                             ": the stream of the batch is being captured into a graph, which holds work of "
                             "the device alone: the host reads and writes before it, or after");
}

std::string free_memory() {
  size_t left = 0, all = 0;
  if (cudaMemGetInfo(&left, &all) != cudaSuccess) return "";
  return ", of which " + std::to_string(left >> 20) + " of " + std::to_string(all >> 20) + " MiB are free";
}

}  // namespace

std::shared_ptr<void> cuda_allocate(int device, size_t bytes) {
  const OnDevice here(device);
  const OutsideCapture outside;
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, std::max<size_t>(bytes, 1));
  if (error != cudaSuccess)
    check(error, "allocating " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(device) +
                     (error == cudaErrorMemoryAllocation ? free_memory() : ""));
  return std::shared_ptr<void>(memory, [device](void* p) {
    try {
      const OnDevice there(device);
      const OutsideCapture free_now;
      (void)cudaFree(p);
    } catch (const std::exception&) {
      // the device is lost, and all that it held
    }
  });
}

void cuda_send(int device, void* to, const void* from, size_t bytes) {
  const OnDevice here(device);
  const OutsideCapture outside;
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  (void)cudaStreamDestroy(stream);
  check(error, "sending rows to cuda:" + std::to_string(device));
}

void cuda_fill(int device, uintptr_t stream, void* to, unsigned char byte, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device);
  refuse_capture(stream, "making an array");
  check(cudaMemsetAsync(to, byte, bytes, as_stream(stream)), "filling an array");
  check(cudaStreamSynchronize(as_stream(stream)), "filling an array");
}

void cuda_read(int device, uintptr_t stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device);
  refuse_capture(stream, "reading an array");
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, as_stream(stream)), "reading an array");
  check(cudaStreamSynchronize(as_stream(stream)), "reading an array");
}

void cuda_write(int device, uintptr_t stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device);
  refuse_capture(stream, "writing to an array");
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
  // what is captured may not wait for what is not, nor the other way round: who replays the graph orders them
  if (captures(as_stream(stream)) || captures(as_stream(other))) return;
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  cudaError_t error = cudaEventRecord(event, as_stream(other));
  if (error == cudaSuccess) error = cudaStreamWaitEvent(as_stream(stream), event, 0);
  // the wait that was queued outlives the event
  (void)cudaEventDestroy(event);
  check(error, "letting one stream wait for another");
}

}  // namespace dualstep
