#include "host/cpu_backend.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>
#include <stdexcept>

#include "host/options_table.h"
#include "kernels/effort.h"

namespace dualstep {
namespace {

bool processor_has(const std::string& isa) {
  if (isa == "portable") return true;
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == "avx512") {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("fma");
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

// packs of a group whose environments change places (kernels/repack.h): fewer are too few to find others
// alike; more find no more of them, and records of so many bytes no longer fit into a cache
constexpr int kFewestPacks = 8, kMostPacks = 32;
constexpr size_t kMostBytes = size_t{8} << 20;

// A counting sort, stable: the rows that row(i) gives for i < count, by kind(row) < kEffortKinds. No memory
// is asked for but on the first call
template <class Row, class Kind>
void sort_by(int count, Row row, Kind kind, std::vector<int>* place, int* to) {
  place->assign(kEffortKinds + 1, 0);
  int* at = place->data();
  for (int i = 0; i < count; ++i) ++at[kind(row(i)) + 1];
  for (int k = 0; k < kEffortKinds; ++k) at[k + 1] += at[k];
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
  const size_t rounded = (std::max<size_t>(bytes, 1) + 63) / 64 * 64;
  void* memory = rounded < bytes ? nullptr : std::aligned_alloc(64, rounded);
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
      poison_(environment("DUALSTEP_POISON") == "1") {}

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
#include "kernels/fields.inl"
  const size_t bytes = static_cast<size_t>(kernels_->scratch_bytes(tables));
  if (bytes != scratch_bytes_ || scratch_.empty()) {
    scratch_bytes_ = bytes;
    scratch_.clear();
    for (int i = 0; i < pool_.size(); ++i) {
      scratch_.push_back(allocate_aligned(bytes));
      // all bits set: a NaN, and the integer -1. Zeros would look like an answer.
      std::memset(scratch_.back().get(), 0xff, bytes);
    }
  }
  record_.resize(kernels_->record(tables, scratch_[0].get(), nullptr));
  if (!record_.empty()) kernels_->record(tables, scratch_[0].get(), record_.data());
}

// a thread's workspace, ready for the next block, and the arguments with the thread's own laps
template <class Scalar>
void* CpuBackend<Scalar>::prepare(int thread, StepArgs* args) {
  void* scratch = scratch_[thread].get();
  if (poison_) std::memset(scratch, 0xff, scratch_bytes_);
  if (!laps_.empty()) args->laps = laps_[thread].ticks;
  return scratch;
}

template <class Scalar>
void CpuBackend<Scalar>::run_piece(void* context, int piece, int thread) {
  const Run& run = *static_cast<const Run*>(context);
  StepArgs args = *run.args;
  void* scratch = run.self->prepare(thread, &args);
  run.self->kernels_->run(*run.self->tables_, *run.batch, args, run.blocks ? run.blocks[piece] : piece,
                          scratch);
}

// The order of kernels/effort.h; the hardest first also lets the threads end together. Each thread's
// environments are sorted among themselves, so that they stay in its cache from call to call, where they are
// enough for packs of equals
template <class Scalar>
const int* CpuBackend<Scalar>::sort_by_effort(int num_envs) {
  constexpr int kPacksOfEquals = 16;
  if (static_cast<int>(effort_.size()) != num_envs) {
    effort_.assign(num_envs, 0);
    order_.resize(num_envs);
  }
  const int packs = (num_envs - 1) / kernels_->pack + 1;
  const int parts = packs / pool_.size() < kPacksOfEquals ? 1 : pool_.size();
  for (int part = 0; part < parts; ++part) {
    const int begin = ThreadPool::run_begin(part, parts, packs) * kernels_->pack;
    const int end = std::min(ThreadPool::run_begin(part + 1, parts, packs) * kernels_->pack, num_envs);
    sort_by(
        end - begin, [&](int i) { return begin + i; }, [&](int e) { return effort_kind(effort_[e]); },
        &place_, order_.data() + begin);
  }
  return order_.data();
}

// Groups of packs that are made anew among themselves (kernels/repack.h); 0 where that does not pay
template <class Scalar>
int CpuBackend<Scalar>::choose_groups(const BatchView<Scalar>& batch, const StepArgs& args) const {
  const int packs = (batch.num_envs - 1) / kernels_->pack + 1, share = packs / pool_.size();
  // a single step whose outputs are wanted is never left
  const int left = args.nsubsteps - outputs_wanted(batch);
  if (record_.empty() || share < kFewestPacks || left < 1) return 0;
  const size_t fit = kMostBytes / (kernels_->pack * record_.size() * sizeof(Scalar));
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
  const int packs = (num_envs - 1) / kernels_->pack + 1;
  const size_t most = static_cast<size_t>((packs - 1) / groups + 1) * kernels_->pack;
  groups_.resize(pool_.size());
  for (Group& group : groups_) {
    if (group.size == most * record_.size()) continue;
    group.size = most * record_.size();
    group.numbers = allocate_aligned(group.size * sizeof(Scalar));
    group.keys.resize(most);
    group.rows.resize(most);
  }
}

// all legs of the environments of a group
template <class Scalar>
void CpuBackend<Scalar>::run_group(void* context, int piece, int thread) {
  const Run& run = *static_cast<const Run*>(context);
  CpuBackend& self = *run.self;
  Group& group = self.groups_[thread];
  const int pack = self.kernels_->pack, num_envs = run.batch->num_envs, packs = (num_envs - 1) / pack + 1;
  const int first = ThreadPool::run_begin(piece, run.groups, packs);
  const int last = ThreadPool::run_begin(piece + 1, run.groups, packs);
  const int begin = first * pack, end = std::min(last * pack, num_envs);
  const Records<Scalar> records{self.record_.data(), static_cast<Scalar*>(group.numbers.get()),
                                static_cast<long>(self.record_.size()), group.keys.data(), begin};
  int* const rows = self.standing_.data() + begin;
  const auto half_of_key = [&](int shift) {
    return [&, shift](int row) { return (group.keys[row - begin] >> shift) % kEffortKinds; };
  };
  StepArgs args = *run.args;
  Moment moment;
  for (bool is_first = true, more = true; more; is_first = false) {
    if (!is_first) {
      sort_by(
          end - begin, [&](int i) { return rows[i]; }, half_of_key(0), &group.place, group.rows.data());
      sort_by(
          end - begin, [&](int i) { return group.rows[i]; }, half_of_key(kEffortBits), &group.place, rows);
    }
    const Moment left = moment;
    for (int block = first; block < last; ++block) {
      moment = left;
      void* scratch = self.prepare(thread, &args);
      more =
          self.kernels_->run_leg(*self.tables_, *run.batch, args, block, scratch, records, is_first, &moment);
    }
  }
}

template <class Scalar>
void CpuBackend<Scalar>::run(const BatchView<Scalar>& batch, const StepArgs& args, const int* blocks,
                             int num_blocks) {
  StepArgs sorted = args;
  Run run{this, &batch, &sorted, blocks, 0};
  if (args.action == Action::kStep && !blocks && shared_ && batch.num_envs > kernels_->pack) {
    run.groups = choose_groups(batch, args);
    if (run.groups > 0) {
      make_groups(batch.num_envs, run.groups);
      sorted.order = standing_.data();
      return pool_.run(run.groups, &run_group, &run);
    }
    sorted.order = sort_by_effort(batch.num_envs);
    sorted.effort = effort_.data();
  }
  pool_.run(blocks ? num_blocks : (batch.num_envs - 1) / kernels_->pack + 1, &run_piece, &run);
}

template <class Scalar>
void CpuBackend<Scalar>::time_stages(bool on) {
  laps_.assign(on ? pool_.size() : 0, Laps{});
}

template <class Scalar>
std::vector<uint64_t> CpuBackend<Scalar>::stage_ticks() const {
  std::vector<uint64_t> sum(laps_.empty() ? 0 : kStages);
  for (const Laps& laps : laps_)
    for (int s = 0; s < kStages; ++s) sum[s] += laps.ticks[s];
  return sum;
}

template class CpuBackend<float>;
template class CpuBackend<double>;
template std::vector<const CpuKernels<float>*> available_kernels<float>();
template std::vector<const CpuKernels<double>*> available_kernels<double>();

}  // namespace dualstep
