// An array of a batch as other array libraries take it: by DLPack and, on a GPU, by the CUDA array interface.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dualstep {

// row-major memory and what is in it; shares the ownership of the memory
struct Tensor {
  std::shared_ptr<void> data;
  std::vector<int64_t> shape;
  char kind = 'f';     // 'f', 'i', 'u'
  int item_bytes = 4;  // of an entry
  int device = -1;     // number of the CUDA device; -1: memory of the host
  // the queue in which the owner works on it
  std::shared_ptr<const std::atomic<uintptr_t>> stream;

  int64_t size() const;
  size_t bytes() const { return static_cast<size_t>(size()) * static_cast<size_t>(item_bytes); }
};

}  // namespace dualstep
