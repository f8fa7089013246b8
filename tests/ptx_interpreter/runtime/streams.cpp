// Streams, events and graphs: queues of tasks, each run when something waits for it, and not before.
#include "runtime/state.h"

namespace ptx_interpreter {
namespace {

void queue(StreamState* stream, Task task) {
  stream->tasks.push_back(std::move(task));
  ++stream->queued;
}

// of any device
bool alive(StreamState* stream) {
  for (Device& device : process().devices)
    if (stream == &device.legacy || device.streams.count(stream)) return true;
  return false;
}

}  // namespace

StreamState* state_of(cudaStream_t stream) {
  // legacy, and the handles by which it and the per-thread one go
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return &device().legacy;
  auto* const state = reinterpret_cast<StreamState*>(stream);
  return device().streams.count(state) ? state : nullptr;
}

void drain(StreamState* stream, uint64_t until) {
  const OnDevice there(stream->device);
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
cudaError_t enqueue(cudaStream_t given, Task task) {
  StreamState* const stream = state_of(given);
  if (!stream) return cudaErrorInvalidResourceHandle;
  Device& d = device();
  if (stream->capturing) {
    if (stream->invalidated) return cudaErrorStreamCaptureInvalidated;
    stream->captured.push_back(std::move(task));
    return cudaSuccess;
  }
  if (stream == &d.legacy) {
    bool implicit = false;
    for (StreamState* other : d.streams)
      if (other->blocking && other->capturing) implicit = other->invalidated = true;
    if (implicit) return cudaErrorStreamCaptureImplicit;
    for (StreamState* other : d.streams)
      if (other->blocking)
        queue(stream, [other, until = other->queued] {
          if (alive(other)) drain(other, until);
        });
  } else if (stream->blocking) {
    queue(stream, [until = d.legacy.queued] { drain(&device().legacy, until); });
  }
  queue(stream, std::move(task));
  return cudaSuccess;
}

}  // namespace ptx_interpreter

using namespace ptx_interpreter;

extern "C" {

cudaError_t CUDARTAPI cudaDeviceSynchronize() {
  const Hold hold;
  if (forbidden_by_capture()) return answer(cudaErrorStreamCaptureUnsupported);
  ++process().waits;
  drain_all();
  return answer(cudaSuccess);
}

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Hold hold;
  auto* const made = new StreamState;
  made->device = &device();
  made->blocking = !(flags & cudaStreamNonBlocking);
  device().streams.insert(made);
  *stream = reinterpret_cast<cudaStream_t>(made);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t given) {
  const Hold hold;
  StreamState* const stream = state_of(given);
  if (!stream || stream == &device().legacy) return answer(cudaErrorInvalidResourceHandle);
  drain(stream, stream->queued);
  device().streams.erase(stream);
  delete stream;
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t given) {
  const Hold hold;
  StreamState* const stream = state_of(given);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  if (stream->capturing) {
    stream->invalidated = true;
    return answer(cudaErrorStreamCaptureUnsupported);
  }
  ++process().waits;
  drain(stream, stream->queued);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Hold hold;
  const EventState at = *reinterpret_cast<EventState*>(event);
  if (!at.stream) return answer(cudaSuccess);
  StreamState* const waiting = state_of(stream);
  if (waiting && waiting->capturing) {
    // no event here was recorded while its stream captured
    waiting->invalidated = true;
    return answer(cudaErrorStreamCaptureIsolation);
  }
  return answer(enqueue(stream, [at] {
    if (alive(at.stream)) drain(at.stream, at.after);
  }));
}
cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t given, cudaStreamCaptureStatus* status) {
  const Hold hold;
  StreamState* const stream = state_of(given);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  *status = stream->capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t given, cudaStreamCaptureMode mode) {
  const Hold hold;
  StreamState* const stream = state_of(given);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  if (stream == &device().legacy || stream->capturing) return answer(cudaErrorStreamCaptureUnsupported);
  stream->capturing = true;
  stream->invalidated = false;
  stream->mode = mode;
  stream->capturer = std::this_thread::get_id();
  stream->captured.clear();
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t given, cudaGraph_t* graph) {
  const Hold hold;
  StreamState* const stream = state_of(given);
  if (!stream || !stream->capturing) return answer(cudaErrorIllegalState);
  stream->capturing = false;
  *graph = nullptr;
  if (stream->invalidated) return answer(cudaErrorStreamCaptureInvalidated);
  *graph = reinterpret_cast<cudaGraph_t>(new GraphState{std::move(stream->captured)});
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  const Hold hold;
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
  const Hold hold;
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
  const Hold hold;
  StreamState* const stream = state_of(given);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  if (stream->capturing) return answer(cudaErrorStreamCaptureUnsupported);
  const auto time = std::make_shared<uint64_t>(0);
  const cudaError_t error = enqueue(given, [time] { *time = device().machine.executed; });
  *reinterpret_cast<EventState*>(event) = {stream, stream->queued, time};
  return answer(error);
}
cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event) {
  const Hold hold;
  const EventState at = *reinterpret_cast<EventState*>(event);
  ++process().waits;
  if (at.stream) drain(at.stream, at.after);
  return answer(cudaSuccess);
}
// a clock that counts instructions: a thousand million in a second
cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const Hold hold;
  const auto &first = *reinterpret_cast<EventState*>(from), &last = *reinterpret_cast<EventState*>(to);
  if (!first.stream || !last.stream) return answer(cudaErrorInvalidResourceHandle);
  for (const EventState* event : {&first, &last})
    if (event->stream->done < event->after) return answer(cudaErrorNotReady);
  *milliseconds = 1e-6f * static_cast<float>(*last.time - *first.time);
  return answer(cudaSuccess);
}

}  // extern "C"
