#include "host/backends/cuda/cuda_batch_ops.h"

#include <stdexcept>

#include "host/backends/cuda/cuda_errors.h"
#include "host/backends/cuda/cuda_memory.h"

namespace dualstep {
namespace {

uintptr_t handle(cudaStream_t stream) { return reinterpret_cast<uintptr_t>(stream); }

}  // namespace

CudaRows rows_to_copy(const std::vector<CopiedRow>& rows, int num_envs) {
  if (rows.size() > kCudaRows) throw std::logic_error("more rows to copy than a launch can take");
  CudaRows list{};
  list.num_envs = num_envs;
  for (const CopiedRow& row : rows) {
    const int n = static_cast<int>(row.bytes / sizeof(uint32_t));
    list.row[list.count++] = {static_cast<uint32_t*>(row.to), static_cast<const uint32_t*>(row.from), n, n};
  }
  return list;
}

void CudaBatchOps::open(int device, int num_envs, cudaStream_t stream) {
  device_ = device;
  check(batch_ops::temp_storage_bytes(num_envs, &temp_storage_bytes_),
        "asking CUB for its temporary storage");
  // one piece of memory, in parts of 256 bytes
  size_t bytes = 0;
  const auto part = [&bytes](size_t size) {
    const size_t at = bytes;
    bytes += (size + 255) / 256 * 256;
    return at;
  };
  const size_t words = static_cast<size_t>(num_envs) * sizeof(int);
  const size_t workload = part(words), list = part(words), order = part(words), numbers = part(words),
               kinds = part(words), sorted = part(words), flags = part(static_cast<size_t>(num_envs)),
               count = part(sizeof(int)), summary = part(sizeof(BatchSummary)),
               temp_storage = part(temp_storage_bytes_);
  data_ = cuda_allocate(device, bytes);
  char* const base = static_cast<char*>(data_.get());
  const auto ints = [base](size_t at) { return reinterpret_cast<int*>(base + at); };
  const auto unsigneds = [base](size_t at) { return reinterpret_cast<uint32_t*>(base + at); };
  workload_ = ints(workload);
  list_ = ints(list);
  count_ = ints(count);
  sort_ = {unsigneds(kinds), unsigneds(sorted), ints(numbers), ints(order)};
  flags_ = reinterpret_cast<uint8_t*>(base + flags);
  summary_ = reinterpret_cast<BatchSummary*>(base + summary);
  temp_storage_ = base + temp_storage;
  check(cudaMemsetAsync(workload_, 0, words, stream), "clearing an array");
}

CudaList CudaBatchOps::compact(const uint8_t* flags, int num_envs, cudaStream_t stream) {
  check(batch_ops::compact(flags, num_envs, list_, count_, temp_storage_, temp_storage_bytes_, stream),
        "listing the environments that are flagged");
  return {list_, count_};
}

const uint8_t* CudaBatchOps::send_flags(const uint8_t* flags, int num_envs, cudaStream_t stream) {
  cuda_write(device_, handle(stream), flags_, flags, static_cast<size_t>(num_envs));
  return flags_;
}

CudaList CudaBatchOps::send_list(const std::vector<int>& envs, cudaStream_t stream) {
  const int count = static_cast<int>(envs.size());
  cuda_write(device_, handle(stream), list_, envs.data(), envs.size() * sizeof envs[0]);
  cuda_write(device_, handle(stream), count_, &count, sizeof count);
  return {list_, count_};
}

CudaList CudaBatchOps::with_status(const uint32_t* status, uint32_t bits, int num_envs, uint32_t* counts,
                                   cudaStream_t stream) {
  check(batch_ops::flag(status, bits, num_envs, flags_, counts, stream), "flagging environments");
  return compact(flags_, num_envs, stream);
}

const int* CudaBatchOps::order_by_workload(int num_envs, cudaStream_t stream) {
  check(batch_ops::sort(workload_, num_envs, sort_, temp_storage_, temp_storage_bytes_, stream),
        "sorting the environments");
  return sort_.order;
}

template <class Scalar>
BatchSummary CudaBatchOps::summarize(const BatchView<Scalar>& batch, cudaStream_t stream) {
  check(batch_ops::summarize<Scalar>({batch.status, batch.iterations, batch.residual, batch.num_envs},
                                     summary_, temp_storage_, temp_storage_bytes_, stream),
        "summing up the batch");
  BatchSummary summary;
  cuda_read(device_, handle(stream), &summary, summary_, sizeof summary);
  return summary;
}

template BatchSummary CudaBatchOps::summarize<float>(const BatchView<float>&, cudaStream_t);
template BatchSummary CudaBatchOps::summarize<double>(const BatchView<double>&, cudaStream_t);

}  // namespace dualstep
