// Rows that environments are placed with, in device memory. What was sent once stays as it is where a graph that was
// captured points to it, and for launches that wait in the queue: that is where it is overwritten.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "host/backends/backend.h"
#include "kernels/launch/cuda/batch_ops.cuh"

namespace dualstep {

class CudaPlacedRows {
 public:
  void open(int device) { device_ = device; }
  // where the rows lie on the device, and where each goes, for what is launched into the stream. Where that captures,
  // rows that are not there yet are sent by a stream of their own. What a capture was given is kept as long as this
  // lives
  CudaRows find(const std::vector<PlacedRow>& rows, int num_envs, cudaStream_t stream, bool captured);
  // what there is now stays for good: somebody may use it in another stream
  void keep() {
    for (Sent& sent : sent_) sent.captured = true;
  }

 private:
  struct Sent {
    std::vector<uint32_t> words;
    std::shared_ptr<void> data;
    bool captured = false;  // stays for good
  };
  // starts that are remembered, but for those that graphs hold
  static constexpr size_t kSent = 64;
  const Sent& send(std::vector<uint32_t> words, cudaStream_t stream, bool captured);
  // memory of the start that was asked for longest ago, where more are not remembered; null: none of that size
  std::shared_ptr<void> take_oldest(size_t bytes);

  int device_ = 0;
  std::list<Sent> sent_;  // latest first
};

}  // namespace dualstep
