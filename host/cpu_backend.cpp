#include "host/cpu_backend.h"

#include <algorithm>
#include <cstdlib>
#include <new>
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
  if (bytes == scratch_bytes_ && !scratch_.empty()) return;
  scratch_bytes_ = bytes;
  scratch_.clear();
  for (int i = 0; i < pool_.size(); ++i) {
    scratch_.push_back(allocate_aligned(bytes));
    // all bits set: a NaN, and the integer -1. Zeros would look like an answer.
    std::memset(scratch_.back().get(), 0xff, bytes);
  }
}

template <class Scalar>
void CpuBackend<Scalar>::run_piece(void* context, int piece, int thread) {
  const Run& run = *static_cast<const Run*>(context);
  CpuBackend& self = *run.self;
  void* scratch = self.scratch_[thread].get();
  if (self.poison_) std::memset(scratch, 0xff, self.scratch_bytes_);
  const int block = run.blocks ? run.blocks[piece] : piece;
  if (self.laps_.empty()) return self.kernels_->run(*self.tables_, *run.batch, *run.args, block, scratch);
  StepArgs timed = *run.args;
  timed.laps = self.laps_[thread].ticks;
  self.kernels_->run(*self.tables_, *run.batch, timed, block, scratch);
}

// The order of kernels/effort.h, by a counting sort, stable; the hardest first also lets the threads end
// together. Each thread's environments are sorted among themselves, so that they stay in its cache from call
// to call, where they are enough for packs of equals. No memory is asked for but on the first call
template <class Scalar>
const int* CpuBackend<Scalar>::sort_by_effort(int num_envs) {
  constexpr int kPacksOfEquals = 16;
  if (static_cast<int>(effort_.size()) != num_envs) {
    effort_.assign(num_envs, 0);
    order_.resize(num_envs);
    place_.resize(kEffortKinds + 1);
  }
  const int packs = (num_envs - 1) / kernels_->pack + 1;
  const int parts = packs / pool_.size() < kPacksOfEquals ? 1 : pool_.size();
  for (int part = 0; part < parts; ++part) {
    const int begin = ThreadPool::run_begin(part, parts, packs) * kernels_->pack;
    const int end = ThreadPool::run_begin(part + 1, parts, packs) * kernels_->pack;
    sort_by_effort(begin, std::min(end, num_envs));
  }
  return order_.data();
}

template <class Scalar>
void CpuBackend<Scalar>::sort_by_effort(int begin, int end) {
  std::fill(place_.begin(), place_.end(), 0);
  for (int e = begin; e < end; ++e) ++place_[effort_kind(effort_[e]) + 1];
  place_[0] = begin;
  for (int k = 0; k < kEffortKinds; ++k) place_[k + 1] += place_[k];
  for (int e = begin; e < end; ++e) order_[place_[effort_kind(effort_[e])]++] = e;
}

template <class Scalar>
void CpuBackend<Scalar>::run(const BatchView<Scalar>& batch, const StepArgs& args, const int* blocks,
                             int num_blocks) {
  StepArgs sorted = args;
  if (args.action == Action::kStep && !blocks && shared_ && batch.num_envs > kernels_->pack) {
    sorted.order = sort_by_effort(batch.num_envs);
    sorted.effort = effort_.data();
  }
  Run run{this, &batch, &sorted, blocks};
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
