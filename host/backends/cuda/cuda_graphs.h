// Sequences of launches that repeat, as CUDA graphs. The first time a sequence is asked for, it is launched as
// it is; the second time it is recorded; from then on it is one launch.
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <string>

namespace dualstep {

bool captures(cudaStream_t stream);
// whether the host may wait for a stream without ending a capture: neither it nor, where it is the legacy one, a stream
// that waits for it is captured
bool may_wait(cudaStream_t stream);

class CudaGraphs {
 public:
  CudaGraphs() = default;
  CudaGraphs(const CudaGraphs&) = delete;
  CudaGraphs& operator=(const CudaGraphs&) = delete;
  // on the present device, before the first launch; and before that device is left for good
  void open();
  void close();

  // launches what `enqueue` puts into a stream; the key says what it was asked with
  using Enqueue = std::function<void(cudaStream_t)>;
  void launch(const std::string& key, cudaStream_t stream, const Enqueue& enqueue);
  // what the graphs hold by value has changed
  void forget();

 private:
  struct Graph {
    std::string key;
    cudaGraphExec_t exec = nullptr;  // null until it is asked for again
  };
  static constexpr size_t kGraphs = 8;  // sequences that are remembered
  // false where somebody else ended the recording: nothing was done then
  bool record(Graph* graph, const Enqueue& enqueue);

  cudaStream_t recorder_ = nullptr;
  std::deque<Graph> graphs_;  // latest first
};

// a key is made of the bytes of what a launch is given; bytes that nobody set only cost a graph
template <class T>
void append_key(std::string* key, const T& value) {
  key->append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace dualstep
