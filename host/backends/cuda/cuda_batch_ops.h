// What goes on around a step on a GPU (kernels/launch/cuda/batch_ops.cuh), with the device memory that it
// takes: environments scattered anew, lists of those that are flagged, an order in which warps stay full.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "host/backends/backend.h"
#include "kernels/launch/cuda/batch_ops.cuh"

namespace dualstep {

// rows of a batch's own arrays, as they are scattered
CudaRows rows_to_copy(const std::vector<CopiedRow>& rows, int num_envs);

class CudaBatchOps {
 public:
  // allocates on a device for so many environments
  void open(int device, int num_envs, cudaStream_t stream);

  // the environments whose flag, in device memory, is not 0
  CudaList compact(const uint8_t* flags, int num_envs, cudaStream_t stream);
  // the environments that the host names: by flags, by number
  const uint8_t* send_flags(const uint8_t* flags, int num_envs, cudaStream_t stream);
  CudaList send_list(const std::vector<int>& envs, cudaStream_t stream);
  // those whose status has one of the bits; counts goes up where it has
  CudaList with_status(const uint32_t* status, uint32_t bits, int num_envs, uint32_t* counts,
                       cudaStream_t stream);
  // all environments, by the workload of the last step; the step writes that of this one
  const int* order_by_workload(int num_envs, cudaStream_t stream);
  int* workload() { return workload_; }

  template <class Scalar>
  BatchSummary summarize(const BatchView<Scalar>& batch, cudaStream_t stream);

 private:
  int device_ = 0;
  std::shared_ptr<void> data_;
  int *list_ = nullptr, *count_ = nullptr, *workload_ = nullptr;
  uint8_t* flags_ = nullptr;
  SortWords sort_{};
  BatchSummary* summary_ = nullptr;
  void* temp_storage_ = nullptr;
  size_t temp_storage_bytes_ = 0;
};

}  // namespace dualstep
