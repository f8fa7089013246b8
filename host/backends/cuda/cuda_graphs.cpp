#include "host/backends/cuda/cuda_graphs.h"

#include <algorithm>
#include <exception>

#include "host/backends/cuda/cuda_errors.h"

namespace dualstep {

namespace {

// the legacy stream cannot capture, and answers with an error while a stream that waits for it does
cudaError_t ask(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const cudaError_t error = cudaStreamIsCapturing(stream, status);
  if (error != cudaSuccess) (void)cudaGetLastError();
  return error;
}

// somebody else did what a capture forbids, such as to wait for the whole device
bool breaks_capture(cudaError_t error) {
  return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread;
}

}  // namespace

bool captures(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return ask(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

bool may_wait(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return ask(stream, &status) == cudaSuccess && status == cudaStreamCaptureStatusNone;
}

void CudaGraphs::open() {
  check(cudaStreamCreateWithFlags(&recorder_, cudaStreamNonBlocking), "making a stream");
}

void CudaGraphs::close() {
  forget();
  if (recorder_) (void)cudaStreamDestroy(recorder_);
  recorder_ = nullptr;
}

void CudaGraphs::forget() {
  for (Graph& graph : graphs_) {
    if (graph.exec) (void)cudaGraphExecDestroy(graph.exec);
  }
  graphs_.clear();
}

bool CudaGraphs::record(Graph* graph, const Enqueue& enqueue) {
  check(cudaStreamBeginCapture(recorder_, cudaStreamCaptureModeRelaxed), "recording a step");
  std::exception_ptr failed;
  try {
    enqueue(recorder_);
  } catch (...) {
    failed = std::current_exception();
  }
  cudaGraph_t recorded = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(recorder_, &recorded);
  if (ended != cudaSuccess) (void)cudaGetLastError();
  if (failed && recorded) (void)cudaGraphDestroy(recorded);
  if (breaks_capture(ended)) return false;
  if (failed) std::rethrow_exception(failed);
  check(ended, "recording a step");
  const cudaError_t error = cudaGraphInstantiate(&graph->exec, recorded, 0);
  (void)cudaGraphDestroy(recorded);
  check(error, "making a graph of a step");
  return true;
}

void CudaGraphs::launch(const std::string& key, cudaStream_t stream, const Enqueue& enqueue) {
  const auto found =
      std::find_if(graphs_.begin(), graphs_.end(), [&](const Graph& graph) { return graph.key == key; });
  if (found == graphs_.end()) {
    // the first time may be the only one
    enqueue(stream);
    if (graphs_.size() == kGraphs) {
      if (graphs_.back().exec) (void)cudaGraphExecDestroy(graphs_.back().exec);
      graphs_.pop_back();
    }
    graphs_.push_front({key, nullptr});
    return;
  }
  if (found->exec || record(&*found, enqueue))
    check(cudaGraphLaunch(found->exec, stream), "launching a step");
  else
    enqueue(stream);
}

}  // namespace dualstep
