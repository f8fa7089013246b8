// Batches on an NVIDIA GPU: groups of environments, W threads on each, taken by as many warps as the device
// holds (kernels/launch/cuda/launch.cuh). All work goes into one queue, a CUDA stream: by default the legacy
// one, which other libraries wait for by default too. Nothing here waits for the device but write, read and
// place with flags of the host, so that steps can be captured into a graph; a call that repeats is a graph
// already (cuda_graphs.h).
//
// The runtime library is linked statically and loads the driver when it is first asked for something: a
// process without a driver can hold this code, and is told so when it asks for a device.
//
// Kernels are specialised for the model where the run-time compiler is here (host/backends/cuda/specialize),
// else those for all models; the step is launched at once, or in parts where lanes are given by part and the
// kernels are specialised. Where a warp has several environments, those that were equally hard in the last step
// share one. None of this changes a bit.
//
// Environment variables: DUALSTEP_CUDA_LANES=W chooses the threads of an environment where the caller left it
// open; DUALSTEP_CUDA_SCRATCH=shared|global where the workspace lies; DUALSTEP_CUDA_CARVEOUT=default|shared how much
// of an SM's memory is cache, which is by default what the workspace leaves; DUALSTEP_CUDA_SORT=0 leaves environments
// in their order; DUALSTEP_CUDA_ADDRESSES=1 specialises kernels whose accesses know which memory they go to.
//
// A graph that a user captures owns what it points to: rows that environments are placed with are sent once and
// never overwritten, buffers that a later call replaces stay until the batch is closed, and kernels as long as the
// process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/backends/backend.h"
#include "host/backends/cuda/cuda_batch_ops.h"
#include "host/backends/cuda/cuda_fused.h"
#include "host/backends/cuda/cuda_graphs.h"
#include "host/backends/cuda/cuda_rows.h"
#include "host/backends/cuda/cuda_staged.h"
#include "host/backends/cuda/specialized_kernels.h"
#include "kernels/launch/cuda/launch.cuh"

namespace dualstep {

template <class Scalar>
class CudaBackend final : public Backend<Scalar> {
 public:
  // throws std::invalid_argument that says what was given and what there is
  explicit CudaBackend(const DeviceOptions& options);
  ~CudaBackend() override;

  std::string device() const override { return "cuda:" + std::to_string(device_); }
  std::string description() const override;
  int pack() const override { return kWarpThreads / lanes_; }
  int device_index() const override { return device_; }
  uintptr_t stream() const override { return reinterpret_cast<uintptr_t>(stream_); }
  void set_stream(uintptr_t stream) override;

  std::shared_ptr<void> allocate(size_t bytes) override;
  void write(void* to, const void* from, size_t bytes) override;
  void fill(void* to, unsigned char byte, size_t bytes) override;
  void read(void* to, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
  void prepare(const std::vector<PlacedRow>& rows) override;
  void place(const std::vector<PlacedRow>& rows, int num_envs, const uint8_t* mask) override;
  void copy_rows(const std::vector<CopiedRow>& rows, int num_envs, const uint8_t* mask) override;
  bool place_marked(const std::vector<PlacedRow>& rows, const uint8_t* flags, const Replay<Scalar>* replay,
                    int num_envs) override;
  bool copy_marked(const std::vector<CopiedRow>& rows, const uint8_t* flags, const Replay<Scalar>* replay,
                   int num_envs) override;
  void set_sizes(const TableCounts& counts, int num_envs) override;
  void set_tables(const Tables<Scalar>& tables) override;
  void run(const BatchView<Scalar>& batch, const StepArgs& args, const int* blocks, int num_blocks) override;
  bool step_and_restart(const BatchView<Scalar>& batch, const StepArgs& args,
                        const std::vector<PlacedRow>& rows, uint32_t* counts,
                        const Replay<Scalar>* replay) override;
  BatchSummary summarize(const BatchView<Scalar>& batch) override;
  // of the parts of a step that is launched in parts, in nanoseconds
  void time_stages(bool on) override;
  std::vector<uint64_t> stage_ticks() const override;

 private:
  // memory that grows and never shrinks
  struct Buffer {
    std::shared_ptr<void> data;
    size_t bytes = 0;
  };

  // how a step is launched, in one way or the other
  struct Plan {
    CudaFused<Scalar> fused;
    CudaStaged<Scalar> staged;
  };

  void upload(const Tables<Scalar>& tables);
  void* grow(Buffer* buffer, size_t bytes);
  // unloads kernels that nobody asks for any more, once what waits in the queue is done
  void let_go(std::shared_ptr<SpecializedKernels> kernels);
  // whether the user captures what is launched now; from then on nothing that is launched may go away
  bool capturing();
  // the kernels of the step, and how they are launched; throws where there are none
  Plan plan_step(const Tables<Scalar>& tables, SpecializedKernels* special) const;
  cudaError_t try_plan(const Tables<Scalar>& tables, const SpecializedKernels& special, Plan* plan) const;
  CudaRows rows_to_place(const std::vector<PlacedRow>& rows, int num_envs) {
    return placed_rows_.find(rows, num_envs, stream_, capturing());
  }
  void replay_some(const Replay<Scalar>& replay, const CudaList& envs, cudaStream_t stream);
  // the action on the environments of a list, or on all
  void step(const BatchView<Scalar>& batch, const StepArgs& args, const CudaList& envs, cudaStream_t stream);
  // launches what `enqueue(stream)` launches, by a graph where the key was given before
  void launch(const std::string& key, const CudaGraphs::Enqueue& enqueue);

  int device_ = 0, num_envs_ = 0;
  int lanes_ = 0;  // of the fused step
  bool captured_ = false;
  LaneChoice choice_;
  bool sorted_ = true;
  std::string name_, arch_;
  std::shared_ptr<SpecializedKernels> special_;
  FusedChoice fused_choice_;
  const GenericKernels<Scalar>* generic_ = nullptr;  // null where this build has none for these lanes
  cudaStream_t stream_ = nullptr;
  TableCounts counts_{};
  Tables<Scalar> tables_{};   // those of the device
  std::vector<char> packed_;  // all shared tables, as they lie there
  Buffer arena_, scratch_;
  std::vector<std::shared_ptr<void>> retired_;  // buffers that a captured graph may point to
  CudaBatchOps batch_ops_;
  CudaPlacedRows placed_rows_;
  Plan plan_;
  std::vector<double> seconds_;  // of parts, where somebody times them
  CudaGraphs graphs_;
};

}  // namespace dualstep
