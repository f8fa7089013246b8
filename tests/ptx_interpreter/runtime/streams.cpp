// Streams, events and graphs: queues of tasks, each run when something waits for it, and not before.
#include <algorithm>

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

// the tasks of a capture in an order that it allows: of those that may come next, the one that was queued last. Nothing
// where not all of them come before the end of the stream that it began in
std::vector<Task> in_order(const Capture& capture) {
  const size_t n = capture.nodes.size();
  std::vector<bool> joined(n), placed(n);
  std::vector<size_t> waiting = capture.origin->after;
  while (!waiting.empty()) {
    const size_t at = waiting.back();
    waiting.pop_back();
    if (joined[at]) continue;
    joined[at] = true;
    for (const size_t before : capture.nodes[at].after) waiting.push_back(before);
  }
  std::vector<Task> tasks;
  if (std::find(joined.begin(), joined.end(), false) != joined.end()) return tasks;
  while (tasks.size() < n) {
    size_t next = n;
    for (size_t at = 0; at < n; ++at) {
      const auto& after = capture.nodes[at].after;
      if (!placed[at] && std::all_of(after.begin(), after.end(), [&](size_t b) { return placed[b]; }))
        next = at;
    }
    placed[next] = true;
    tasks.push_back(capture.nodes[next].task);
  }
  return tasks;
}

cudaStreamCaptureStatus status_of(const StreamState* stream) {
  return !stream->capture               ? cudaStreamCaptureStatusNone
         : stream->capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                        : cudaStreamCaptureStatusActive;
}

}  // namespace

bool captures_beside_legacy(bool invalidate) {
  bool found = false;
  for (StreamState* other : device().streams) {
    if (!other->blocking || !other->capture) continue;
    found = true;
    other->capture->invalidated = other->capture->invalidated || invalidate;
  }
  return found;
}

StreamState* state_of(cudaStream_t stream) {
  device().initialized = true;
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
  if (stream->capture) {
    Capture& capture = *stream->capture;
    if (!capture.invalidated && process().broken_captures > 0) {
      --process().broken_captures;
      capture.invalidated = true;
    }
    if (capture.invalidated) return cudaErrorStreamCaptureInvalidated;
    capture.nodes.push_back({std::move(task), stream->after});
    stream->after = {capture.nodes.size() - 1};
    return cudaSuccess;
  }
  if (stream == &d.legacy) {
    if (captures_beside_legacy(true)) return cudaErrorStreamCaptureImplicit;
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
  // in whatever mode: it would wait for what is captured too
  bool captured = false;
  for (StreamState* stream : device().streams)
    if (stream->capture) captured = stream->capture->invalidated = true;
  if (captured) return answer(cudaErrorStreamCaptureUnsupported);
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
  if (stream->capture) {
    stream->capture->invalidated = true;
    return answer(cudaErrorStreamCaptureUnsupported);
  }
  if (stream == &device().legacy && captures_beside_legacy(true))
    return answer(cudaErrorStreamCaptureImplicit);
  ++process().waits;
  drain(stream, stream->queued);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Hold hold;
  const EventState at = *reinterpret_cast<EventState*>(event);
  if (!at.stream) return answer(cudaSuccess);
  StreamState* const waiting = state_of(stream);
  if (!waiting) return answer(cudaErrorInvalidResourceHandle);
  if (at.capture) {
    if (at.stream->capture != at.capture) return answer(cudaErrorCapturedEvent);
    if (waiting == &device().legacy || (waiting->capture && waiting->capture != at.capture)) {
      at.capture->invalidated = true;
      if (waiting->capture) waiting->capture->invalidated = true;
      return answer(waiting->capture ? cudaErrorStreamCaptureMerge : cudaErrorStreamCaptureImplicit);
    }
    // a stream that waits for what is captured is captured too
    if (!waiting->capture) waiting->after.clear();
    waiting->capture = at.capture;
    waiting->after.insert(waiting->after.end(), at.after_nodes.begin(), at.after_nodes.end());
    return answer(cudaSuccess);
  }
  if (waiting->capture) {
    waiting->capture->invalidated = true;
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
  *status = status_of(stream);
  if (stream == &device().legacy && captures_beside_legacy(false)) {
    *status = cudaStreamCaptureStatusActive;  // whatever: it means nothing beside an error
    return answer(cudaErrorStreamCaptureImplicit);
  }
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamGetCaptureInfo(cudaStream_t given, cudaStreamCaptureStatus* status,
                                               unsigned long long* number, cudaGraph_t*,
                                               const cudaGraphNode_t**,
#if CUDART_VERSION >= 13000
                                               const cudaGraphEdgeData**,
#endif
                                               size_t*) {
  const Hold hold;
  const cudaError_t error = cudaStreamIsCapturing(given, status);
  if (error == cudaSuccess && number && state_of(given)->capture) *number = state_of(given)->capture->number;
  return error;
}
cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t given, cudaStreamCaptureMode mode) {
  const Hold hold;
  StreamState* const stream = state_of(given);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  if (stream == &device().legacy || stream->capture) return answer(cudaErrorStreamCaptureUnsupported);
  stream->capture = std::make_shared<Capture>();
  stream->capture->number = ++process().captures;
  stream->capture->origin = stream;
  stream->capture->mode = mode;
  stream->capture->thread = std::this_thread::get_id();
  stream->after.clear();
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t given, cudaGraph_t* graph) {
  const Hold hold;
  StreamState* const stream = state_of(given);
  if (!stream || !stream->capture) return answer(cudaErrorIllegalState);
  const std::shared_ptr<Capture> ended = stream->capture;
  if (ended->origin != stream) {
    ended->invalidated = true;
    return answer(cudaErrorStreamCaptureUnmatched);
  }
  for (StreamState* other : device().streams)
    if (other->capture == ended) other->capture = nullptr;
  *graph = nullptr;
  if (ended->invalidated) return answer(cudaErrorStreamCaptureInvalidated);
  std::vector<Task> tasks = in_order(*ended);
  if (tasks.size() != ended->nodes.size()) return answer(cudaErrorStreamCaptureUnjoined);
  *graph = reinterpret_cast<cudaGraph_t>(new GraphState{std::move(tasks)});
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
  if (stream->capture) {
    if (stream->capture->invalidated) return answer(cudaErrorStreamCaptureInvalidated);
    *reinterpret_cast<EventState*>(event) = {stream, 0, nullptr, stream->capture, stream->after};
    return answer(cudaSuccess);
  }
  const auto time = std::make_shared<uint64_t>(0);
  const cudaError_t error = enqueue(given, [time] { *time = device().machine.executed; });
  *reinterpret_cast<EventState*>(event) = {stream, stream->queued, time, nullptr, {}};
  return answer(error);
}
cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event) {
  const Hold hold;
  const EventState at = *reinterpret_cast<EventState*>(event);
  if (at.capture) {
    at.capture->invalidated = true;
    return answer(cudaErrorCapturedEvent);
  }
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
