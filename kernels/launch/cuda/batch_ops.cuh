// Operations on a whole batch around a step on a GPU: scatter rows to environments, flag and compact environments by their
// status, sort them by workload so that warps stay full, summarize the batch. Plain C++, so that host code need not be
// compiled by nvcc. Everything is put into the given stream, and nothing waits for the device.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/data/summary.h"

namespace dualstep {

// words for an array of many environments: the same for all, or of each a row of another array
struct CudaRow {
  uint32_t* to;  // row e of the array begins at to + e words
  const uint32_t* from;
  int words;
  int stride;  // of from, an environment: 0 or words
};
constexpr int kCudaRows = 32;
struct CudaRows {
  int num_envs, count;
  CudaRow row[kCudaRows];
};

// environments by number, in device memory; list null: all of them
struct CudaList {
  const int* list = nullptr;
  const int* count = nullptr;  // how many are on it
};

// arrays of num_envs words in device memory
struct SortWords {
  uint32_t *kinds, *sorted;
  int* numbers;
  int* order;  // what comes of it
};

namespace batch_ops {

// device memory that the functions below want for themselves: the most that any of them takes
cudaError_t temp_storage_bytes(int num_envs, size_t* bytes);

// rows of words to the environments of a list
cudaError_t scatter(const CudaRows& rows, const CudaList& envs, cudaStream_t stream);
// status without the bits
cudaError_t clear_bits(uint32_t* status, uint32_t bits, int num_envs, cudaStream_t stream);
// flags = whether the status has any of the bits; counts goes up by one where it has
cudaError_t flag(const uint32_t* status, uint32_t bits, int num_envs, uint8_t* flags, uint32_t* counts,
                 cudaStream_t stream);
// the environments where flags is not 0, in their order, and how many they are
cudaError_t compact(const uint8_t* flags, int num_envs, int* list, int* count, void* temp_storage,
                    size_t temp_storage_bytes, cudaStream_t stream);
// the environments by their workload, the hardest first, equals in their order: warps are then full of
// environments that take about as long
cudaError_t sort(const int* workload, int num_envs, const SortWords& words, void* temp_storage,
                 size_t temp_storage_bytes, cudaStream_t stream);
// numbers about the batch (kernels/data/summary.h), to a place in device memory
template <class Scalar>
cudaError_t summarize(const SummaryView<Scalar>& batch, BatchSummary* out, void* temp_storage,
                      size_t temp_storage_bytes, cudaStream_t stream);

}  // namespace batch_ops
}  // namespace dualstep
