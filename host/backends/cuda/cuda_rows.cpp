#include "host/backends/cuda/cuda_rows.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "host/backends/cuda/cuda_errors.h"
#include "host/backends/cuda/cuda_memory.h"

namespace dualstep {

std::shared_ptr<void> CudaPlacedRows::take_oldest(size_t bytes) {
  for (auto old = sent_.end(); sent_.size() >= kSent && old != sent_.begin();) {
    --old;
    if (old->captured || old->words.size() * sizeof old->words[0] != bytes) continue;
    std::shared_ptr<void> data = std::move(old->data);
    sent_.erase(old);
    return data;
  }
  return nullptr;
}

const CudaPlacedRows::Sent& CudaPlacedRows::send(std::vector<uint32_t> words, cudaStream_t stream,
                                                 bool captured) {
  const auto found =
      std::find_if(sent_.begin(), sent_.end(), [&](const Sent& sent) { return sent.words == words; });
  if (found != sent_.end()) {
    found->captured = found->captured || captured;
    sent_.splice(sent_.begin(), sent_, found);
    return sent_.front();
  }
  Sent made;
  const size_t bytes = words.size() * sizeof words[0];
  if (!captured) made.data = take_oldest(bytes);
  if (made.data) {
    // after launches that wait for what it was; memory of the host is read at once
    check(cudaMemcpyAsync(made.data.get(), words.data(), bytes, cudaMemcpyHostToDevice, stream),
          "sending rows to cuda:" + std::to_string(device_));
  } else {
    made.data = cuda_allocate(device_, bytes);
    cuda_send(device_, made.data.get(), words.data(), bytes);
  }
  made.words = std::move(words);
  made.captured = captured;
  sent_.push_front(std::move(made));
  for (auto old = std::prev(sent_.end()); sent_.size() > kSent && old != sent_.begin();) {
    const auto gone = old--;
    if (!gone->captured) sent_.erase(gone);
  }
  return sent_.front();
}

CudaRows CudaPlacedRows::find(const std::vector<PlacedRow>& rows, int num_envs, cudaStream_t stream,
                              bool captured) {
  if (rows.size() > kCudaRows) throw std::logic_error("more rows to place than a launch can take");
  std::vector<uint32_t> words;
  for (const PlacedRow& row : rows) {
    const size_t at = words.size();
    words.resize(at + row.bytes / sizeof(uint32_t));
    std::memcpy(words.data() + at, row.row, row.bytes);
  }
  CudaRows list{};
  list.num_envs = num_envs;
  const auto* from = static_cast<const uint32_t*>(send(std::move(words), stream, captured).data.get());
  for (const PlacedRow& row : rows) {
    const size_t n = row.bytes / sizeof(uint32_t);
    list.row[list.count++] = {static_cast<uint32_t*>(row.array), from, static_cast<int>(n), 0};
    from += n;
  }
  return list;
}

}  // namespace dualstep
