// Rows that environments are placed with, in device memory. What was sent once stays as it is: a graph that was
// captured points to it, and so do launches that wait in a queue.
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
  // where the rows lie on the device, and where each goes. Rows that are not there yet are sent by a stream of
  // their own, so that the caller's may be capturing. What a capture was given is kept as long as this lives
  CudaRows find(const std::vector<PlacedRow>& rows, int num_envs, bool captured);

 private:
  struct Sent {
    std::vector<uint32_t> words;
    std::shared_ptr<void> data;
    bool captured = false;
  };
  // starts that are remembered, but for those that graphs hold
  static constexpr size_t kSent = 64;
  const Sent& send(std::vector<uint32_t> words, bool captured);

  int device_ = 0;
  std::list<Sent> sent_;  // latest first
};

}  // namespace dualstep
