// Batches on the CPU: blocks of `pack` environments, side by side in SIMD registers, shared out to a pool of
// threads. The instruction set is chosen when the batch is made; every choice gives the same bits.
//
// Environment variables: DUALSTEP_ISA=portable|avx2|avx512 chooses where the caller left it open;
// DUALSTEP_POISON=1 fills the workspace with NaN before every block, so that a stage that reads what no stage
// wrote shows it.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "host/backends/backend.h"
#include "host/backends/cpu/thread_pool.h"
#include "kernels/data/workload_key.h"
#include "kernels/launch/cpu/cpu_kernels.h"

namespace dualstep {

// the instruction sets that are built in and that this processor has, best first
template <class Scalar>
std::vector<const CpuKernels<Scalar>*> available_kernels();

// where environments of each kind of workload begin
using SortCounts = std::array<int, kWorkloadBuckets + 1>;

template <class Scalar>
class CpuBackend final : public Backend<Scalar> {
 public:
  // throws std::invalid_argument
  explicit CpuBackend(const DeviceOptions& options);

  std::string device() const override { return "cpu"; }
  std::string description() const override;
  int pack() const override { return kernels_->pack; }
  std::shared_ptr<void> allocate(size_t bytes) override;
  void set_tables(const Tables<Scalar>& tables) override;
  void run(const BatchView<Scalar>& batch, const StepArgs& args, const int* blocks, int num_blocks) override;
  void watch(bool on) override { pool_.watch(on); }
  bool stopped() const override { return pool_.stopped(); }
  void time_stages(bool on) override;
  std::vector<uint64_t> stage_ticks() const override;

 private:
  // of one thread; on lines of the cache of its own
  struct alignas(128) StageTicks {
    uint64_t ticks[kStages] = {};
  };
  struct Run {
    CpuBackend* self;
    const BatchView<Scalar>* batch;
    const StepArgs* args;
    const int* blocks;  // those to run; null: all
    int pieces;         // that the pool shares out
  };
  // the packs of a piece, whose loop a thread shares
  struct Part {
    const Run* run;
    int first_pack, last_pack;  // up to before the last
  };
  // of one thread: the snapshots and keys of a group, for calls in segments, and counts to sort environments
  struct Group {
    std::shared_ptr<void> numbers;
    size_t size = 0;  // of them
    std::vector<unsigned> keys;
    std::vector<int> rows;
    SortCounts counts;
  };
  struct Segment : Part {
    const Snapshots<Scalar>* snapshots;
    bool is_first = true;
    EvalIndex start{}, end{};
    bool more = false;  // segments behind it
  };
  int count_packs(int num_envs) const { return (num_envs - 1) / kernels_->pack + 1; }
  Part part_of(const Run& run, int piece) const;
  void run_pack(const Run& run, int pack, int thread);
  static void run_piece(void* context, int piece, int thread);
  static void run_part(void* context, int part, int thread);
  static void run_group(void* context, int group, int thread);
  static void run_segment(void* context, int pack, int thread);
  void* scratch_of(int thread, StepArgs* args);
  void sort_by_workload(int first_pack, int last_pack, SortCounts* counts);
  int choose_groups(int num_envs) const;
  void make_groups(int num_envs, int groups);

  const CpuKernels<Scalar>* kernels_;
  ThreadPool pool_;
  bool poison_;
  const Tables<Scalar>* tables_ = nullptr;
  size_t scratch_bytes_ = 0;                    // of one thread
  std::vector<std::shared_ptr<void>> scratch_;  // one a thread
  bool shared_ = false;                         // all environments have the same parameters
  std::vector<StageTicks> stage_ticks_;         // one a thread, where stages are timed
  std::vector<int> workload_, order_;           // by environment, by place
  std::vector<int> snapshot_offsets_;           // where the numbers of a snapshot lie in a workspace
  std::vector<Group> groups_;                   // one a thread
  std::vector<int> standing_;                   // by place, where environments change places in groups
  int num_groups_ = 0;                          // that those were made for
};

// memory aligned to kCacheLine, at least one byte; throws std::bad_alloc
std::shared_ptr<void> allocate_aligned(size_t bytes);

}  // namespace dualstep
