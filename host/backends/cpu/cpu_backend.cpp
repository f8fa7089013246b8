#include "host/backends/cpu/cpu_backend.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>
#include <stdexcept>

#include "host/model/options_table.h"

namespace dualstep {
namespace {

bool processor_has(const std::string& isa) {
  if (isa == "portable") return true;
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  // sets of dofs and environments are gone through by their bits
  const bool common =
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (isa == "avx2") return common && __builtin_cpu_supports("avx2");
  if (isa == "avx512") {
    return common && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  }
#endif
  return false;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

template <class Scalar>
const CpuKernels<Scalar>* choose_kernels(const std::string& given) {
  const bool asked = !given.empty();
  const std::string wanted = asked ? given : environment("DUALSTEP_ISA");
  const auto available = available_kernels<Scalar>();
  if (available.empty()) throw std::runtime_error("this build of dualstep has no CPU kernels");
  if (wanted.empty()) return available.front();
  std::string names;
  for (const auto* kernels : available) {
    if (kernels->isa == wanted) return kernels;
    names += (names.empty() ? "'" : ", '") + std::string(kernels->isa) + "'";
  }
  throw std::invalid_argument(std::string(asked ? "isa" : "environment variable DUALSTEP_ISA") + " '" +
                              wanted + "' is given, and this build and this processor have " + names);
}

// packs of a group whose environments change places (kernels/launch/cpu/regroup.h): fewer are too few to find others
// alike; more find hardly any more of them, and snapshots of so many bytes no longer fit into a cache
constexpr int kFewestPacks = 8, kMostPacks = 128;
constexpr size_t kMostBytes = size_t{8} << 20;

// A counting sort, stable: the rows that row(i) gives for i < count, by kind(row) < kWorkloadBuckets
template <class Row, class Kind>
void sort_by(int count, Row row, Kind kind, SortCounts* counts, int* to) {
  counts->fill(0);
  int* at = counts->data();
  for (int i = 0; i < count; ++i) ++at[kind(row(i)) + 1];
  for (int k = 0; k < kWorkloadBuckets; ++k) at[k + 1] += at[k];
  for (int i = 0; i < count; ++i) to[at[kind(row(i))]++] = row(i);
}

int choose_threads(int given) {
  if (given < 0) {
    throw std::invalid_argument("num_threads " + std::to_string(given) +
                                " is given, and it must be 0 (as many as there are) or positive");
  }
  constexpr int kMost = 4096;
  if (given > kMost) {
    throw std::invalid_argument("num_threads " + std::to_string(given) +
                                " is given, and it must be at most " + std::to_string(kMost));
  }
  return given == 0 ? available_threads() : given;
}

}  // namespace

std::shared_ptr<void> allocate_aligned(size_t bytes) {
  const size_t rounded = (std::max<size_t>(bytes, 1) + kCacheLine - 1) / kCacheLine * kCacheLine;
  void* memory = rounded < bytes ? nullptr : std::aligned_alloc(kCacheLine, rounded);
  if (!memory) throw std::bad_alloc();
  return std::shared_ptr<void>(memory, std::free);
}

template <class Scalar>
std::vector<const CpuKernels<Scalar>*> available_kernels() {
  std::vector<const CpuKernels<Scalar>*> list;
  for (const CpuKernels<Scalar>* kernels :
       {cpu_kernels_avx512<Scalar>(), cpu_kernels_avx2<Scalar>(), cpu_kernels_portable<Scalar>()}) {
    if (kernels && processor_has(kernels->isa)) list.push_back(kernels);
  }
  return list;
}

template <class Scalar>
CpuBackend<Scalar>::CpuBackend(const DeviceOptions& options)
    : kernels_(choose_kernels<Scalar>(options.isa)),
      pool_(choose_threads(options.num_threads)),
      poison_(environment("DUALSTEP_POISON") == "1"),
      groups_(pool_.size()) {}

template <class Scalar>
std::string CpuBackend<Scalar>::description() const {
  const int threads = pool_.size();
  return "cpu, " + std::string(kernels_->isa) + ", packs of " + std::to_string(kernels_->pack) + ", " +
         std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

template <class Scalar>
std::shared_ptr<void> CpuBackend<Scalar>::allocate(size_t bytes) {
  return allocate_aligned(bytes);
}

template <class Scalar>
void CpuBackend<Scalar>::set_tables(const Tables<Scalar>& tables) {
  tables_ = &tables;
  shared_ = true;
#define TABLE_R(name, meaning) shared_ = shared_ && tables.name.env_stride == 0;
#include "kernels/data/fields.inl"
  const size_t bytes = static_cast<size_t>(kernels_->scratch_bytes(tables));
  if (bytes != scratch_bytes_ || scratch_.empty()) {
    // all of it, or what was there: memory may end at any of them
    std::vector<std::shared_ptr<void>> scratch;
    for (int i = 0; i < pool_.size(); ++i) {
      scratch.push_back(allocate_aligned(bytes));
      // all bits set: a NaN, and the integer -1. Zeros would look like an answer.
      std::memset(scratch.back().get(), 0xff, bytes);
    }
    scratch_ = std::move(scratch);
    scratch_bytes_ = bytes;
  }
  snapshot_offsets_.resize(kernels_->snapshot(tables, scratch_[0].get(), nullptr));
  if (!snapshot_offsets_.empty()) kernels_->snapshot(tables, scratch_[0].get(), snapshot_offsets_.data());
}

// a thread's workspace, ready for the next block, and the arguments with the thread's own stage_ticks
template <class Scalar>
void* CpuBackend<Scalar>::scratch_of(int thread, StepArgs* args) {
  void* scratch = scratch_[thread].get();
  if (poison_) std::memset(scratch, 0xff, scratch_bytes_);
  if (!stage_ticks_.empty()) args->stage_ticks = stage_ticks_[thread].ticks;
  return scratch;
}

template <class Scalar>
void CpuBackend<Scalar>::run_pack(const Run& run, int pack, int thread) {
  StepArgs args = *run.args;
  void* scratch = scratch_of(thread, &args);
  kernels_->run(*tables_, *run.batch, args, pack, scratch);
}
template <class Scalar>
void CpuBackend<Scalar>::run_piece(void* context, int piece, int thread) {
  const Run& run = *static_cast<const Run*>(context);
  run.self->run_pack(run, run.blocks ? run.blocks[piece] : piece, thread);
}

// The order of kernels/data/workload_key.h for these packs; the hardest first also lets the threads end together
template <class Scalar>
void CpuBackend<Scalar>::sort_by_workload(int first_pack, int last_pack, SortCounts* counts) {
  const int begin = first_pack * kernels_->pack;
  const int end = std::min(last_pack * kernels_->pack, static_cast<int>(workload_.size()));
  sort_by(
      end - begin, [&](int i) { return begin + i; }, [&](int e) { return workload_bucket(workload_[e]); },
      counts, order_.data() + begin);
}

template <class Scalar>
typename CpuBackend<Scalar>::Part CpuBackend<Scalar>::part_of(const Run& run, int piece) const {
  const int packs = count_packs(run.batch->num_envs);
  return {&run, ThreadPool::share_begin(piece, run.pieces, packs),
          ThreadPool::share_begin(piece + 1, run.pieces, packs)};
}

// a whole call of a share of the environments that keep their packs in it
template <class Scalar>
void CpuBackend<Scalar>::run_part(void* context, int piece, int thread) {
  const Run& run = *static_cast<const Run*>(context);
  CpuBackend& self = *run.self;
  Part part = self.part_of(run, piece);
  self.sort_by_workload(part.first_pack, part.last_pack, &self.groups_[thread].counts);
  self.pool_.share(
      thread, part.last_pack - part.first_pack,
      [](void* inner, int i, int helper) {
        const Part& of = *static_cast<const Part*>(inner);
        of.run->self->run_pack(*of.run, of.first_pack + i, helper);
      },
      &part);
}

// Groups of packs that are regrouped among themselves (kernels/launch/cpu/regroup.h); 0 where that does not pay
template <class Scalar>
int CpuBackend<Scalar>::choose_groups(int num_envs) const {
  const int share = count_packs(num_envs) / pool_.size();
  if (snapshot_offsets_.empty() || share < kFewestPacks) return 0;
  const size_t fit = kMostBytes / (kernels_->pack * snapshot_offsets_.size() * sizeof(Scalar));
  const int most = std::clamp(static_cast<int>(std::min<size_t>(fit, kMostPacks)), kFewestPacks, kMostPacks);
  return pool_.size() * ((share - 1) / most + 1);
}

template <class Scalar>
void CpuBackend<Scalar>::make_groups(int num_envs, int groups) {
  if (groups != num_groups_ || static_cast<int>(standing_.size()) != num_envs) {
    standing_.resize(num_envs);
    std::iota(standing_.begin(), standing_.end(), 0);
    num_groups_ = groups;
  }
  const size_t most = static_cast<size_t>((count_packs(num_envs) - 1) / groups + 1) * kernels_->pack;
  const size_t size = most * snapshot_offsets_.size();
  for (Group& group : groups_) {
    if (group.size == size) continue;
    // a group has its size when it has all of its memory
    group.size = 0;
    group.numbers = allocate_aligned(size * sizeof(Scalar));
    group.keys.resize(most);
    group.rows.resize(most);
    group.size = size;
  }
}

// all segments of the environments of a group, the packs of each shared out among threads that have no group left
template <class Scalar>
void CpuBackend<Scalar>::run_group(void* context, int piece, int thread) {
  const Run& run = *static_cast<const Run*>(context);
  CpuBackend& self = *run.self;
  Group& group = self.groups_[thread];
  const Part part = self.part_of(run, piece);
  const int pack = self.kernels_->pack, begin = part.first_pack * pack;
  const int end = std::min(part.last_pack * pack, run.batch->num_envs);
  const Snapshots<Scalar> snapshots{.offsets = self.snapshot_offsets_.data(),
                                    .numbers = static_cast<Scalar*>(group.numbers.get()),
                                    .width = static_cast<long>(self.snapshot_offsets_.size()),
                                    .keys = group.keys.data(),
                                    .first_row = begin};
  int* const rows = self.standing_.data() + begin;
  const auto half_of_key = [&](int shift) {
    return [&, shift](int row) { return (group.keys[row - begin] >> shift) % kWorkloadBuckets; };
  };
  Segment segment{part, &snapshots};
  for (bool more = true; more; segment.is_first = false) {
    if (!segment.is_first) {
      sort_by(
          end - begin, [&](int i) { return rows[i]; }, half_of_key(0), &group.counts, group.rows.data());
      sort_by(
          end - begin, [&](int i) { return group.rows[i]; }, half_of_key(kWorkloadBits), &group.counts, rows);
    }
    self.pool_.share(thread, part.last_pack - part.first_pack, &run_segment, &segment);
    more = segment.more && !self.pool_.stopped();
    segment.start = segment.end;
  }
}

template <class Scalar>
void CpuBackend<Scalar>::run_segment(void* context, int piece, int thread) {
  Segment& segment = *static_cast<Segment*>(context);
  CpuBackend& self = *segment.run->self;
  StepArgs args = *segment.run->args;
  void* scratch = self.scratch_of(thread, &args);
  EvalIndex index = segment.start;
  const bool more = self.kernels_->run_segment(
      *self.tables_, *segment.run->batch, args, segment.first_pack + piece, scratch,
      {.snapshots = *segment.snapshots, .is_first = segment.is_first, .index = &index});
  // the others end it at the same moment
  if (piece == 0) segment.end = index, segment.more = more;
}

template <class Scalar>
void CpuBackend<Scalar>::run(const BatchView<Scalar>& batch, const StepArgs& args, const int* blocks,
                             int num_blocks) {
  StepArgs sorted = args;
  const int num_envs = batch.num_envs, packs = count_packs(num_envs);
  Run run{.self = this,
          .batch = &batch,
          .args = &sorted,
          .blocks = blocks,
          .pieces = blocks ? num_blocks : packs};
  if (args.action != Action::kStep || blocks || !shared_ || packs == 1)
    return pool_.run(run.pieces, &run_piece, &run);
  if (const int groups = choose_groups(num_envs); groups > 0) {
    run.pieces = groups;
    make_groups(num_envs, groups);
    sorted.order = standing_.data();
    return pool_.run(groups, &run_group, &run);
  }
  if (static_cast<int>(workload_.size()) != num_envs) {
    order_.resize(num_envs);
    workload_.assign(num_envs, 0);
  }
  sorted.order = order_.data();
  sorted.workload = workload_.data();
  // each thread sorts its environments among themselves, so that they stay in its cache from call to call,
  // where they are enough for packs of equals
  constexpr int kPacksOfEquals = 16;
  if (packs / pool_.size() >= kPacksOfEquals) {
    run.pieces = pool_.size();
    return pool_.run(run.pieces, &run_part, &run);
  }
  sort_by_workload(0, packs, &groups_[0].counts);
  pool_.run(packs, &run_piece, &run);
}

template <class Scalar>
void CpuBackend<Scalar>::time_stages(bool on) {
  stage_ticks_.assign(on ? pool_.size() : 0, StageTicks{});
}

template <class Scalar>
std::vector<uint64_t> CpuBackend<Scalar>::stage_ticks() const {
  std::vector<uint64_t> sum(stage_ticks_.empty() ? 0 : kStages);
  for (const StageTicks& stage_ticks : stage_ticks_)
    for (int s = 0; s < kStages; ++s) sum[s] += stage_ticks.ticks[s];
  return sum;
}

template class CpuBackend<float>;
template class CpuBackend<double>;
template std::vector<const CpuKernels<float>*> available_kernels<float>();
template std::vector<const CpuKernels<double>*> available_kernels<double>();

}  // namespace dualstep
