// Batches on an NVIDIA GPU: groups of environments, W threads on each, taken by as many warps as the device
// holds (kernels/launch/cuda/launch.cuh). All work goes into one queue, a CUDA stream: by default the legacy one, which
// other libraries wait for by default too. Nothing here waits for the device but write, read and place with
// flags of the host, so that steps can be captured into a graph; a call that repeats is a graph already.
//
// The runtime library is linked statically and loads the driver when it is first asked for something: a
// process without a driver can hold this code, and is told so when it asks for a device.
//
// The step is one made for the model where the run-time compiler is here (host/backends/cuda/specialize), else the one for
// all models; launched at once, or in parts where lanes are given by part and it is made for the model. Where
// a warp has several environments, those that were equally hard in the last step share one. None of this
// changes a bit.
//
// Environment variables: DUALSTEP_CUDA_LANES=W chooses the threads of an environment where the caller left it
// open; DUALSTEP_CUDA_SCRATCH=shared|global where the workspace lies; DUALSTEP_CUDA_SORT=0 leaves
// environments in their order.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "host/backends/backend.h"
#include "host/backends/cuda/cuda_staged.h"
#include "host/backends/cuda/specialized_kernels.h"
#include "kernels/launch/cuda/batch_ops.cuh"
#include "kernels/launch/cuda/launch.cuh"

namespace dualstep {

// whether there is a device and a driver that serves it
bool cuda_device_present();

template <class Scalar>
class CudaBackend final : public Backend<Scalar> {
 public:
  // throws std::invalid_argument that says what was given and what there is
  explicit CudaBackend(const DeviceOptions& options);
  ~CudaBackend() override;

  std::string device() const override { return "cuda:" + std::to_string(device_); }
  std::string description() const override;
  int pack() const override { return kernels_->group; }
  int device_index() const override { return device_; }
  uintptr_t stream() const override { return reinterpret_cast<uintptr_t>(stream_); }
  void set_stream(uintptr_t stream) override;

  std::shared_ptr<void> allocate(size_t bytes) override;
  void write(void* to, const void* from, size_t bytes) override;
  void read(void* to, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
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
  // a sequence of launches that was asked for before, and what it was asked with
  struct Graph {
    std::string key;
    cudaGraphExec_t exec = nullptr;  // null until it is asked for again
  };
  // memory that grows and never shrinks
  struct Buffer {
    std::shared_ptr<void> data;
    size_t bytes = 0;
  };

  void upload(const Tables<Scalar>& tables);
  void* grow(Buffer* buffer, size_t bytes);
  // words of the rows in device memory, and where each goes
  CudaRows place_words(const std::vector<PlacedRow>& rows, int num_envs);
  void replay_some(const Replay<Scalar>& replay, const CudaList& envs, cudaStream_t stream);
  // the action on the environments of a list, or on all
  void step(const BatchView<Scalar>& batch, const StepArgs& args, const CudaList& envs, cudaStream_t stream);
  // the list of those that are marked, by flags of the device
  CudaList collect(const uint8_t* flags, int num_envs, cudaStream_t stream);
  // launches what `enqueue(stream)` launches, by a graph where the key was given before
  template <class Enqueue>
  void launch(const std::string& key, Enqueue enqueue);
  void forget_graphs();

  // words an environment for lists and orders, and what CUB wants
  struct BatchOpsBuffers {
    std::shared_ptr<void> data;
    int *list = nullptr, *count = nullptr, *workload = nullptr;
    uint8_t* flags = nullptr;
    SortWords sort{};
    BatchSummary* summary = nullptr;
    void* temp_storage = nullptr;
    size_t temp_storage_bytes = 0;
  };

  int device_ = 0, num_envs_ = 0;
  LaneChoice choice_;
  bool sorted_ = true;
  std::string name_, arch_;
  CudaSpecial special_;
  ScratchPlace place_ = ScratchPlace::kBest;
  const CudaKernels<Scalar>* kernels_ = nullptr;
  cudaStream_t stream_ = nullptr, recorder_ = nullptr;
  TableCounts counts_{};
  Tables<Scalar> tables_{};   // those of the device
  std::vector<char> packed_;  // all shared tables, as they lie there
  Buffer arena_, scratch_, words_;
  BatchOpsBuffers batch_ops_;
  CudaStaged<Scalar> staged_;
  std::vector<double> seconds_;   // of parts, where somebody times them
  std::vector<uint32_t> placed_;  // what words_ holds
  CudaPlan plan_;
  std::deque<Graph> graphs_;  // latest first
};

}  // namespace dualstep
