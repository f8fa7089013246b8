#include "host/backends/cuda/cuda_graphs.h"

#include <algorithm>

#include "host/backends/cuda/cuda_errors.h"

namespace dualstep {

bool captures(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  // the legacy stream cannot capture, and says so when another stream does
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) (void)cudaGetLastError();
  return status != cudaStreamCaptureStatusNone;
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

void CudaGraphs::record(Graph* graph, const Enqueue& enqueue) {
  check(cudaStreamBeginCapture(recorder_, cudaStreamCaptureModeRelaxed), "recording a step");
  cudaGraph_t recorded = nullptr;
  try {
    enqueue(recorder_);
  } catch (...) {
    (void)cudaStreamEndCapture(recorder_, &recorded);
    if (recorded) (void)cudaGraphDestroy(recorded);
    throw;
  }
  check(cudaStreamEndCapture(recorder_, &recorded), "recording a step");
  const cudaError_t error = cudaGraphInstantiate(&graph->exec, recorded, 0);
  (void)cudaGraphDestroy(recorded);
  check(error, "making a graph of a step");
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
  if (!found->exec) record(&*found, enqueue);
  check(cudaGraphLaunch(found->exec, stream), "launching a step");
}

}  // namespace dualstep
