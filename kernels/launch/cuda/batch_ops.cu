// What goes on around a step on a GPU. Lists, orders and sums over the batch are CUB's and Thrust's; nothing
// here depends on a model or on the number of lanes, so it is compiled once.
//
// Reads and writes: the arrays of a batch, a word or a row an environment. Cost: microseconds.
#define DUALSTEP_ISA cuda

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_select.cuh>

#include "kernels/data/workload_key.h"
#include "kernels/launch/cuda/batch_ops.cuh"
#include "kernels/launch/cuda/cuda_try.cuh"

namespace dualstep::batch_ops {
namespace {

constexpr int kThreads = 128;
int blocks_for(int n) { return (n - 1) / kThreads + 1; }

// a block an environment, and the next one
__global__ void place_rows(const __grid_constant__ CudaRows rows, const CudaList envs) {
  const int n = envs.list ? *envs.count : rows.num_envs;
  for (int at = static_cast<int>(blockIdx.x); at < n; at += static_cast<int>(gridDim.x)) {
    const int e = envs.list ? envs.list[at] : at;
    for (int r = 0; r < rows.count; r++) {
      const CudaRow row = rows.row[r];
      for (int i = static_cast<int>(threadIdx.x); i < row.words; i += static_cast<int>(blockDim.x))
        row.to[static_cast<size_t>(e) * row.words + i] = row.from[static_cast<size_t>(e) * row.stride + i];
    }
  }
}
__global__ void clear_status_bits(uint32_t* status, uint32_t bits, int num_envs) {
  const int e = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (e < num_envs) status[e] &= ~bits;
}
__global__ void mark_status_bits(const uint32_t* status, uint32_t bits, int num_envs, uint8_t* flags,
                                 uint32_t* counts) {
  const int e = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (e >= num_envs) return;
  const bool marked = (status[e] & bits) != 0;
  flags[e] = marked;
  if (marked) counts[e]++;
}
__global__ void number_kinds(const int* workload, int num_envs, uint32_t* kinds, int* numbers) {
  const int e = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (e >= num_envs) return;
  kinds[e] = static_cast<uint32_t>(workload_bucket(workload[e]));
  numbers[e] = e;
}

// CUB, asked twice: first with no temp_storage, for how much it wants
cudaError_t select(void* temp_storage, size_t* bytes, const uint8_t* flags, int n, int* list, int* count,
                   cudaStream_t stream) {
  return cub::DeviceSelect::Flagged(temp_storage, *bytes, thrust::counting_iterator<int>(0), flags, list,
                                    count, n, stream);
}
cudaError_t sort_pairs(void* temp_storage, size_t* bytes, const SortWords& words, int n,
                       cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(temp_storage, *bytes, static_cast<const uint32_t*>(words.kinds),
                                         words.sorted, static_cast<const int*>(words.numbers), words.order, n,
                                         0, kWorkloadBits, stream);
}
template <class Scalar>
struct SummaryAt {
  SummaryView<Scalar> batch;
  __device__ BatchSummary operator()(int e) const { return summary_of(batch, e); }
};
struct Both {
  __device__ BatchSummary operator()(const BatchSummary& a, const BatchSummary& b) const {
    return both(a, b);
  }
};
template <class Scalar>
cudaError_t reduce(void* temp_storage, size_t* bytes, const SummaryView<Scalar>& batch, BatchSummary* out,
                   cudaStream_t stream) {
  const auto each =
      thrust::make_transform_iterator(thrust::counting_iterator<int>(0), SummaryAt<Scalar>{batch});
  const BatchSummary none = empty_summary(batch.num_envs);
  return cub::DeviceReduce::Reduce(temp_storage, *bytes, each, out, batch.num_envs, Both{}, none, stream);
}

}  // namespace

cudaError_t temp_storage_bytes(int num_envs, size_t* bytes) {
  size_t list = 0, order = 0, sum = 0, sum_of_doubles = 0;
  DS_TRY(select(nullptr, &list, nullptr, num_envs, nullptr, nullptr, nullptr));
  DS_TRY(sort_pairs(nullptr, &order, SortWords{}, num_envs, nullptr));
  DS_TRY(reduce<float>(nullptr, &sum, {nullptr, nullptr, nullptr, num_envs}, nullptr, nullptr));
  DS_TRY(reduce<double>(nullptr, &sum_of_doubles, {nullptr, nullptr, nullptr, num_envs}, nullptr, nullptr));
  *bytes = std::max({list, order, sum, sum_of_doubles});
  return cudaSuccess;
}

cudaError_t scatter(const CudaRows& rows, const CudaList& envs, cudaStream_t stream) {
  place_rows<<<std::min(rows.num_envs, 65536), kThreads, 0, stream>>>(rows, envs);
  return cudaGetLastError();
}
cudaError_t clear_bits(uint32_t* status, uint32_t bits, int num_envs, cudaStream_t stream) {
  clear_status_bits<<<blocks_for(num_envs), kThreads, 0, stream>>>(status, bits, num_envs);
  return cudaGetLastError();
}
cudaError_t flag(const uint32_t* status, uint32_t bits, int num_envs, uint8_t* flags, uint32_t* counts,
                 cudaStream_t stream) {
  mark_status_bits<<<blocks_for(num_envs), kThreads, 0, stream>>>(status, bits, num_envs, flags, counts);
  return cudaGetLastError();
}
cudaError_t compact(const uint8_t* flags, int num_envs, int* list, int* count, void* temp_storage,
                    size_t bytes, cudaStream_t stream) {
  return select(temp_storage, &bytes, flags, num_envs, list, count, stream);
}
cudaError_t sort(const int* workload, int num_envs, const SortWords& words, void* temp_storage, size_t bytes,
                 cudaStream_t stream) {
  number_kinds<<<blocks_for(num_envs), kThreads, 0, stream>>>(workload, num_envs, words.kinds, words.numbers);
  DS_TRY(cudaGetLastError());
  return sort_pairs(temp_storage, &bytes, words, num_envs, stream);
}
template <class Scalar>
cudaError_t summarize(const SummaryView<Scalar>& batch, BatchSummary* out, void* temp_storage, size_t bytes,
                      cudaStream_t stream) {
  return reduce(temp_storage, &bytes, batch, out, stream);
}
template cudaError_t summarize<float>(const SummaryView<float>&, BatchSummary*, void*, size_t, cudaStream_t);
template cudaError_t summarize<double>(const SummaryView<double>&, BatchSummary*, void*, size_t,
                                       cudaStream_t);

}  // namespace dualstep::batch_ops
