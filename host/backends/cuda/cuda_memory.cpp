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
  if (may_wait(as_stream(stream))) return;
  const std::string which =
      captures(as_stream(stream)) ? "" : ", the legacy one, or a stream that waits for it,";
  throw std::runtime_error("CUDA, " + doing + ": the stream of the batch" + which +
                           " is being captured into a graph, which holds work of the device alone: the host "
                           "reads and writes before it, or after");
}

// the capture that a stream is part of, by its number; 0: none. The legacy stream may not be used while a stream that
// waits for it captures, and is then in a capture of its own
unsigned long long capture_of(uintptr_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long number = 0;
  const cudaError_t error = cudaStreamGetCaptureInfo(as_stream(stream), &status, &number);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    return ~0ull;
  }
  return status == cudaStreamCaptureStatusNone ? 0 : number;
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
  if (!cuda_order(device, stream, other))
    throw std::runtime_error(
        "CUDA, letting one stream wait for another: a graph captures one of them and not the other, or "
        "another graph does. Set Batch.stream to the stream that is captured, and make there what the batch "
        "reads; take arrays of the batch before the capture, or for the stream of the batch");
}

bool cuda_order(int device, uintptr_t stream, uintptr_t other) {
  if (stream == other) return true;
  const OnDevice here(device);
  if (capture_of(stream) != capture_of(other)) return false;
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  cudaError_t error = cudaEventRecord(event, as_stream(other));
  if (error == cudaSuccess) error = cudaStreamWaitEvent(as_stream(stream), event, 0);
  // the wait that was queued outlives the event
  (void)cudaEventDestroy(event);
  check(error, "letting one stream wait for another");
  return true;
}

bool cuda_may_wait(int device, uintptr_t stream) {
  const OnDevice here(device);
  return may_wait(as_stream(stream));
}

void cuda_finish(int device, uintptr_t stream) {
  const OnDevice here(device);
  refuse_capture(stream, "waiting for a stream");
  check(cudaStreamSynchronize(as_stream(stream)), "waiting for a stream");
}

}  // namespace dualstep
