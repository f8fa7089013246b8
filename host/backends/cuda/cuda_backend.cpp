#include "host/backends/cuda/cuda_backend.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "cuda_variants.h"
#include "host/backends/cuda/cuda_memory.h"

namespace dualstep {
namespace {

std::string describe(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
}

class DeviceMemoryError final : public std::bad_alloc {
 public:
  explicit DeviceMemoryError(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// an error of the driver, by its name. One that a launch left behind is told by whatever call comes next.
void check(cudaError_t error, const std::string& doing) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  if (error == cudaErrorMemoryAllocation) throw DeviceMemoryError("CUDA, " + doing + ": " + describe(error));
  throw std::runtime_error("CUDA, " + doing + ": " + describe(error));
}

// the calling thread's device, for as long as this lives
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_), "asking for the present device");
    if (before_ != device) check(cudaSetDevice(device), "choosing device " + std::to_string(device));
    changed_ = before_ != device;
  }
  ~OnDevice() {
    if (changed_) (void)cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// throws where there is no such device
int choose_device(const std::string& given) {
  const size_t colon = given.find(':');
  const int index = colon == std::string::npos ? 0 : std::stoi(given.substr(colon + 1));
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    throw std::invalid_argument("device '" + given + "' is given, and no CUDA device was found (" +
                                describe(error == cudaSuccess ? cudaErrorNoDevice : error) +
                                "); use 'cpu' or 'auto'");
  }
  if (index >= count) {
    throw std::invalid_argument("device '" + given + "' is given, and this machine has " +
                                std::to_string(count) + (count == 1 ? " CUDA device" : " CUDA devices"));
  }
  return index;
}

template <class Scalar>
std::vector<const CudaKernels<Scalar>*> variants();
#define DS_VARIANT(scalar, lanes) cuda_variant<scalar, lanes>(),
template <>
std::vector<const CudaKernels<float>*> variants<float>() {
  return {DUALSTEP_CUDA_FLOAT(DS_VARIANT)};
}
template <>
std::vector<const CudaKernels<double>*> variants<double>() {
  return {DUALSTEP_CUDA_DOUBLE(DS_VARIANT)};
}

template <class Scalar>
const CudaKernels<Scalar>* choose_kernels(const std::vector<int>& given) {
  const std::string named = environment("DUALSTEP_CUDA_LANES");
  // a step in parts falls back on these: the workspaces of as many environments are interleaved
  const std::string wanted = given.size() > 1 ? "8" : given.size() == 1 ? std::to_string(given[0]) : named;
  const auto list = variants<Scalar>();
  if (list.empty()) {
    throw std::invalid_argument(
        "dtype 'float64' is given, and this build has no CUDA kernels for it: build with "
        "-DDUALSTEP_CUDA_FLOAT64=ON");
  }
  std::string names;
  for (const CudaKernels<Scalar>* kernels : list) {
    const std::string lanes = std::to_string(kernels->lanes);
    if (wanted.empty() ? kernels->lanes == 8 : lanes == wanted) return kernels;
    names += (names.empty() ? "" : ", ") + lanes;
  }
  if (wanted.empty()) return list.front();
  throw std::invalid_argument((!given.empty() ? "lanes " : "environment variable DUALSTEP_CUDA_LANES=") +
                              wanted + " is given, and this build has CUDA kernels of " + names + " lanes");
}

bool choose_sorted() {
  const std::string wanted = environment("DUALSTEP_CUDA_SORT");
  if (wanted.empty() || wanted == "1") return true;
  if (wanted == "0") return false;
  throw std::invalid_argument("environment variable DUALSTEP_CUDA_SORT=" + wanted +
                              " is given, and it must be 0 or 1");
}

ScratchPlace choose_place() {
  const std::string wanted = environment("DUALSTEP_CUDA_SCRATCH");
  if (wanted.empty()) return ScratchPlace::kBest;
  if (wanted == "shared") return ScratchPlace::kShared;
  if (wanted == "global") return ScratchPlace::kGlobal;
  throw std::invalid_argument("environment variable DUALSTEP_CUDA_SCRATCH=" + wanted +
                              " is given, and it must be shared or global");
}

bool captures(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  // the legacy stream cannot capture, and says so when another stream does
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) (void)cudaGetLastError();
  return status != cudaStreamCaptureStatusNone;
}

// a key is made of the bytes of what a launch is given; bytes that nobody set only cost a graph
template <class T>
void append(std::string* key, const T& value) {
  key->append(reinterpret_cast<const char*>(&value), sizeof value);
}
void append(std::string* key, const StepArgs& args) {
  for (const int word :
       {static_cast<int>(args.action), args.nsubsteps, args.freeze_diverged, args.sense_last_stage})
    append(key, word);
}

constexpr size_t kGraphs = 8;  // sequences of launches that are remembered

}  // namespace

bool cuda_device_present() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return true;
  (void)cudaGetLastError();
  return false;
}

template <class Scalar>
CudaBackend<Scalar>::CudaBackend(const DeviceOptions& options)
    : device_(choose_device(options.device)),
      choice_(choose_lanes(options.lanes)),
      sorted_(choose_sorted()),
      place_(choose_place()),
      kernels_(choose_kernels<Scalar>(options.lanes)) {
  if (!choice_.staged) choice_.lanes[0] = kernels_->lanes;
  const OnDevice here(device_);
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device_), "asking what " + device() + " is");
  name_ = properties.name;
  arch_ = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
  check(cudaStreamCreateWithFlags(&recorder_, cudaStreamNonBlocking), "making a stream");
}

template <class Scalar>
CudaBackend<Scalar>::~CudaBackend() {
  try {
    const OnDevice here(device_);
    forget_graphs();
    special_.disable("the batch is closed");
    if (recorder_) (void)cudaStreamDestroy(recorder_);
  } catch (const std::exception&) {
    // the device is lost, and all that it held
  }
}

template <class Scalar>
std::string CudaBackend<Scalar>::description() const {
  const std::string place = plan_.shared_bytes && !staged_.planned() ? "shared" : "device";
  LaneChoice used = choice_;
  if (choice_.staged && !staged_.planned()) used = choose_lanes({kernels_->lanes});
  const bool special = !special_.kernels().empty();
  return device() + ", " + name_ + ", " + describe_lanes(used, "thread") + " an environment, workspace in " +
         place + " memory, step made for " +
         (special ? "this model" : "all models (" + special_.why() + ")") +
         (choice_.staged && !special ? ", so not launched in parts" : "");
}

template <class Scalar>
void CudaBackend<Scalar>::set_stream(uintptr_t stream) {
  const cudaStream_t next = reinterpret_cast<cudaStream_t>(stream);
  if (next == stream_) return;
  const OnDevice here(device_);
  // what was queued before comes first; a stream that captures may not wait for what lies outside
  if (!captures(next)) cuda_wait(device_, stream, reinterpret_cast<uintptr_t>(stream_));
  stream_ = next;
}

// memory ---------------------------------------------------------------------------------------------------

template <class Scalar>
std::shared_ptr<void> CudaBackend<Scalar>::allocate(size_t bytes) {
  const OnDevice here(device_);
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<size_t>(bytes, 1)),
        "allocating " + std::to_string(bytes) + " bytes on " + device());
  return std::shared_ptr<void>(memory, [](void* p) { (void)cudaFree(p); });
}

template <class Scalar>
void* CudaBackend<Scalar>::grow(Buffer* buffer, size_t bytes) {
  if (buffer->bytes < bytes) {
    buffer->data = allocate(bytes);
    buffer->bytes = bytes;
    forget_graphs();
  }
  return buffer->data.get();
}

template <class Scalar>
void CudaBackend<Scalar>::write(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device_);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "writing to an array");
  check(cudaStreamSynchronize(stream_), "writing to an array");
}

template <class Scalar>
void CudaBackend<Scalar>::read(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device_);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "reading an array");
  check(cudaStreamSynchronize(stream_), "reading an array");
}

template <class Scalar>
void CudaBackend<Scalar>::copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device_);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "copying an array");
}

// the model ------------------------------------------------------------------------------------------------

template <class Scalar>
void CudaBackend<Scalar>::upload(const Tables<Scalar>& tables) {
  std::vector<char> packed;
  const auto pack = [&packed](const void* data, size_t bytes) {
    const size_t at = (packed.size() + 255) / 256 * 256;
    packed.resize(at + bytes);
    if (bytes > 0) std::memcpy(packed.data() + at, data, bytes);
    return at;
  };
  const Tables<Scalar> before = tables_;
  tables_ = tables;
  TableCounts at{};
#define TABLE_I(name, meaning) at.name = pack(tables.name, counts_.name * sizeof(int));
#define TABLE_R(name, meaning) \
  if (tables.name.env_stride == 0) at.name = pack(tables.name.p, counts_.name * sizeof(Scalar));
#include "kernels/data/fields.inl"
  char* const base = static_cast<char*>(grow(&arena_, packed.size()));
  if (packed != packed_) {
    write(base, packed.data(), packed.size());
    packed_ = std::move(packed);
  }
#define TABLE_I(name, meaning) tables_.name = reinterpret_cast<const int*>(base + at.name);
#define TABLE_R(name, meaning) \
  if (tables.name.env_stride == 0) tables_.name.p = reinterpret_cast<const Scalar*>(base + at.name);
#include "kernels/data/fields.inl"
  // graphs hold the tables by value
  if (std::memcmp(&before, &tables_, sizeof before) != 0) forget_graphs();
}

template <class Scalar>
void CudaBackend<Scalar>::set_sizes(const TableCounts& counts, int num_envs) {
  const OnDevice here(device_);
  counts_ = counts;
  num_envs_ = num_envs;
  check(batch_ops::temp_storage_bytes(num_envs, &batch_ops_.temp_storage_bytes),
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
               temp_storage = part(batch_ops_.temp_storage_bytes);
  batch_ops_.data = allocate(bytes);
  char* const base = static_cast<char*>(batch_ops_.data.get());
  const auto ints = [base](size_t at) { return reinterpret_cast<int*>(base + at); };
  const auto unsigneds = [base](size_t at) { return reinterpret_cast<uint32_t*>(base + at); };
  batch_ops_.workload = ints(workload);
  batch_ops_.list = ints(list);
  batch_ops_.count = ints(count);
  batch_ops_.sort = {unsigneds(kinds), unsigneds(sorted), ints(numbers), ints(order)};
  batch_ops_.flags = reinterpret_cast<uint8_t*>(base + flags);
  batch_ops_.summary = reinterpret_cast<BatchSummary*>(base + summary);
  batch_ops_.temp_storage = base + temp_storage;
  check(cudaMemsetAsync(batch_ops_.workload, 0, words, stream_), "clearing an array");
}

template <class Scalar>
void CudaBackend<Scalar>::set_tables(const Tables<Scalar>& tables) {
  const OnDevice here(device_);
  upload(tables);
  // sizes do not change, but what is constant in a step made for the model may
  const bool same_kernels = !special_.update(tables, choice_, arch_, [this] { forget_graphs(); });
  if (plan_.max_blocks > 0 && same_kernels) return;
  forget_graphs();
  const auto plan = [this] {
    const auto& special = special_.kernels();
    const cudaError_t error = staged_.plan(special, choice_.lanes, device_);
    if (error != cudaSuccess) return error;
    return kernels_->plan(special.size() == 1 ? special[0] : nullptr, tables_, num_envs_, device_, place_,
                          &plan_);
  };
  cudaError_t error = plan();
  if (error != cudaSuccess && error != cudaErrorInvalidConfiguration && !special_.kernels().empty()) {
    (void)cudaGetLastError();
    special_.disable("the runtime does not take it: " + describe(error));
    error = plan();
  }
  check(error, error == cudaErrorInvalidConfiguration
                   ? "the workspace of a model of " + std::to_string(4L * tables.l.total) +
                         " bytes an environment does not fit into shared memory"
                   : "preparing the kernels for " + name_);
  grow(&scratch_, staged_.planned() ? staged_.scratch_bytes(tables_, num_envs_) : plan_.scratch_bytes);
}

// running --------------------------------------------------------------------------------------------------

template <class Scalar>
void CudaBackend<Scalar>::forget_graphs() {
  for (Graph& graph : graphs_) {
    if (graph.exec) (void)cudaGraphExecDestroy(graph.exec);
  }
  graphs_.clear();
}

template <class Scalar>
template <class Enqueue>
void CudaBackend<Scalar>::launch(const std::string& key, Enqueue enqueue) {
  // a step whose parts are timed waits for the device: no graph can hold it
  if (captures(stream_) || !seconds_.empty()) {
    enqueue(stream_);
    return;
  }
  const auto found =
      std::find_if(graphs_.begin(), graphs_.end(), [&](const Graph& graph) { return graph.key == key; });
  if (found == graphs_.end()) {
    // the first time may be the only one
    enqueue(stream_);
    if (graphs_.size() == kGraphs) {
      if (graphs_.back().exec) (void)cudaGraphExecDestroy(graphs_.back().exec);
      graphs_.pop_back();
    }
    graphs_.push_front({key, nullptr});
    return;
  }
  if (!found->exec) {
    check(cudaStreamBeginCapture(recorder_, cudaStreamCaptureModeRelaxed), "recording a step");
    cudaGraph_t graph = nullptr;
    try {
      enqueue(recorder_);
    } catch (...) {
      (void)cudaStreamEndCapture(recorder_, &graph);
      if (graph) (void)cudaGraphDestroy(graph);
      throw;
    }
    check(cudaStreamEndCapture(recorder_, &graph), "recording a step");
    const cudaError_t error = cudaGraphInstantiate(&found->exec, graph, 0);
    (void)cudaGraphDestroy(graph);
    check(error, "making a graph of a step");
  }
  check(cudaGraphLaunch(found->exec, stream_), "launching a step");
}

template <class Scalar>
CudaList CudaBackend<Scalar>::collect(const uint8_t* flags, int num_envs, cudaStream_t stream) {
  check(batch_ops::compact(flags, num_envs, batch_ops_.list, batch_ops_.count, batch_ops_.temp_storage,
                           batch_ops_.temp_storage_bytes, stream),
        "collecting the environments that are marked");
  return {batch_ops_.list, batch_ops_.count};
}

template <class Scalar>
void CudaBackend<Scalar>::step(const BatchView<Scalar>& batch, const StepArgs& args, const CudaList& envs,
                               cudaStream_t stream) {
  StepArgs own = args;
  own.order = envs.list;
  own.count = envs.count;
  // a warp that has one environment has nobody to wait for
  if (sorted_ && !envs.list && args.action == Action::kStep && pack() > 1 && batch.num_envs > pack()) {
    check(batch_ops::sort(batch_ops_.workload, batch.num_envs, batch_ops_.sort, batch_ops_.temp_storage,
                          batch_ops_.temp_storage_bytes, stream),
          "sorting the environments");
    own.order = batch_ops_.sort.order;
    own.workload = batch_ops_.workload;
  }
  check(staged_.planned() ? staged_.run(tables_, batch, own, scratch_.data.get(), stream,
                                        seconds_.empty() ? nullptr : seconds_.data())
                          : kernels_->run(plan_, tables_, batch, own, scratch_.data.get(), stream),
        "launching a step");
}

template <class Scalar>
void CudaBackend<Scalar>::run(const BatchView<Scalar>& batch, const StepArgs& args, const int* blocks,
                              int num_blocks) {
  const OnDevice here(device_);
  if (blocks) {
    std::vector<int> list;
    for (int i = 0; i < num_blocks; ++i) {
      const int first = blocks[i] * pack(), last = std::min(first + pack(), batch.num_envs);
      for (int e = first; e < last; ++e) list.push_back(e);
    }
    const int count = static_cast<int>(list.size());
    write(batch_ops_.list, list.data(), list.size() * sizeof list[0]);
    write(batch_ops_.count, &count, sizeof count);
    step(batch, args, {batch_ops_.list, batch_ops_.count}, stream_);
    return;
  }
  std::string key = "run";
  append(&key, batch);
  append(&key, args);
  launch(key, [&](cudaStream_t stream) { step(batch, args, {}, stream); });
}

template <class Scalar>
BatchSummary CudaBackend<Scalar>::summarize(const BatchView<Scalar>& batch) {
  const OnDevice here(device_);
  check(batch_ops::summarize<Scalar>({batch.status, batch.iterations, batch.residual, batch.num_envs},
                                     batch_ops_.summary, batch_ops_.temp_storage,
                                     batch_ops_.temp_storage_bytes, stream_),
        "summing up the batch");
  BatchSummary summary;
  read(&summary, batch_ops_.summary, sizeof summary);
  return summary;
}

template <class Scalar>
void CudaBackend<Scalar>::time_stages(bool on) {
  seconds_.assign(on && staged_.planned() ? kParts : 0, 0.0);
}

template <class Scalar>
std::vector<uint64_t> CudaBackend<Scalar>::stage_ticks() const {
  // a part goes by the name of the stage that is most of it
  static constexpr Stage kStageOfPart[kParts] = {kStage_kinematics, kStage_collide, kStage_rows,
                                                 kStage_newton, kStage_integrate};
  std::vector<uint64_t> ticks(seconds_.empty() ? 0 : kStages);
  for (size_t part = 0; part < seconds_.size(); ++part)
    ticks[kStageOfPart[part]] = static_cast<uint64_t>(1e9 * seconds_[part]);
  return ticks;
}

// starting again -------------------------------------------------------------------------------------------

template <class Scalar>
CudaRows CudaBackend<Scalar>::place_words(const std::vector<PlacedRow>& rows, int num_envs) {
  if (rows.size() > kCudaRows) throw std::logic_error("more rows to place than a launch has room for");
  std::vector<uint32_t> words;
  for (const PlacedRow& row : rows) {
    const size_t at = words.size();
    words.resize(at + row.bytes / sizeof(uint32_t));
    std::memcpy(words.data() + at, row.row, row.bytes);
  }
  const auto* on_device = static_cast<const uint32_t*>(grow(&words_, words.size() * sizeof words[0]));
  CudaRows list{};
  list.num_envs = num_envs;
  size_t at = 0;
  for (const PlacedRow& row : rows) {
    const size_t n = row.bytes / sizeof(uint32_t);
    list.row[list.count++] = {static_cast<uint32_t*>(row.array), on_device + at, static_cast<int>(n), 0};
    at += n;
  }
  // the same start as last time, as a rule: then a step has nothing to send
  if (words != placed_) {
    write(words_.data.get(), words.data(), words.size() * sizeof words[0]);
    placed_ = std::move(words);
  }
  return list;
}

namespace {
CudaRows copied_words(const std::vector<CopiedRow>& rows, int num_envs) {
  if (rows.size() > kCudaRows) throw std::logic_error("more rows to copy than a launch has room for");
  CudaRows list{};
  list.num_envs = num_envs;
  for (const CopiedRow& row : rows) {
    const int n = static_cast<int>(row.bytes / sizeof(uint32_t));
    list.row[list.count++] = {static_cast<uint32_t*>(row.to), static_cast<const uint32_t*>(row.from), n, n};
  }
  return list;
}
}  // namespace

template <class Scalar>
void CudaBackend<Scalar>::replay_some(const Replay<Scalar>& replay, const CudaList& envs,
                                      cudaStream_t stream) {
  for (const CopiedRow& copy : replay.copies)
    check(cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyDeviceToDevice, stream),
          "copying an array");
  step(replay.view, {Action::kReplay, 1, 1}, envs, stream);
}

template <class Scalar>
void CudaBackend<Scalar>::copy_rows(const std::vector<CopiedRow>& rows, int num_envs, const uint8_t* mask) {
  const OnDevice here(device_);
  write(batch_ops_.flags, mask, static_cast<size_t>(num_envs));
  (void)copy_marked(rows, batch_ops_.flags, nullptr, num_envs);
}

template <class Scalar>
bool CudaBackend<Scalar>::copy_marked(const std::vector<CopiedRow>& rows, const uint8_t* flags,
                                      const Replay<Scalar>* replay, int num_envs) {
  const OnDevice here(device_);
  const CudaList envs = collect(flags, num_envs, stream_);
  check(batch_ops::scatter(copied_words(rows, num_envs), envs, stream_), "copying rows of environments");
  if (replay) replay_some(*replay, envs, stream_);
  return true;
}

template <class Scalar>
void CudaBackend<Scalar>::place(const std::vector<PlacedRow>& rows, int num_envs, const uint8_t* mask) {
  const OnDevice here(device_);
  const CudaRows list = place_words(rows, num_envs);
  CudaList envs;
  if (mask) {
    write(batch_ops_.flags, mask, static_cast<size_t>(num_envs));
    envs = collect(batch_ops_.flags, num_envs, stream_);
  }
  check(batch_ops::scatter(list, envs, stream_), "placing environments");
}

template <class Scalar>
bool CudaBackend<Scalar>::place_marked(const std::vector<PlacedRow>& rows, const uint8_t* flags,
                                       const Replay<Scalar>* replay, int num_envs) {
  const OnDevice here(device_);
  const CudaRows list = place_words(rows, num_envs);
  const CudaList envs = collect(flags, num_envs, stream_);
  check(batch_ops::scatter(list, envs, stream_), "placing environments");
  if (replay) replay_some(*replay, envs, stream_);
  return true;
}

template <class Scalar>
bool CudaBackend<Scalar>::step_and_restart(const BatchView<Scalar>& batch, const StepArgs& args,
                                           const std::vector<PlacedRow>& rows, uint32_t* counts,
                                           const Replay<Scalar>* replay) {
  const OnDevice here(device_);
  const CudaRows list = place_words(rows, batch.num_envs);
  std::string key = replay ? "step, restart, replay" : "step, restart";
  append(&key, batch);
  if (replay) append(&key, replay->view);
  append(&key, args);
  append(&key, list);
  launch(key, [&](cudaStream_t stream) {
    const int n = batch.num_envs;
    // the bit has told its story: those environments were placed anew after the last step
    check(batch_ops::clear_bits(batch.status, kDiverged, n, stream), "launching a step");
    step(batch, args, {}, stream);
    check(batch_ops::flag(batch.status, kDiverged, n, batch_ops_.flags, counts, stream),
          "marking environments");
    const CudaList envs = collect(batch_ops_.flags, n, stream);
    check(batch_ops::scatter(list, envs, stream), "placing environments");
    if (replay) replay_some(*replay, envs, stream);
  });
  return true;
}

// for holders of arrays ------------------------------------------------------------------------------------

namespace {
cudaStream_t as_stream(uintptr_t handle) { return reinterpret_cast<cudaStream_t>(handle); }
}  // namespace

void cuda_read(int device, uintptr_t stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, as_stream(stream)), "reading an array");
  check(cudaStreamSynchronize(as_stream(stream)), "reading an array");
}

void cuda_write(int device, uintptr_t stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, as_stream(stream)), "writing to an array");
  check(cudaStreamSynchronize(as_stream(stream)), "writing to an array");
}

void cuda_copy(int device, uintptr_t stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const OnDevice here(device);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, as_stream(stream)), "copying an array");
}

void cuda_wait(int device, uintptr_t stream, uintptr_t other) {
  if (stream == other) return;
  const OnDevice here(device);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  cudaError_t error = cudaEventRecord(event, as_stream(other));
  if (error == cudaSuccess) error = cudaStreamWaitEvent(as_stream(stream), event, 0);
  // the wait that was queued outlives the event
  (void)cudaEventDestroy(event);
  check(error, "letting one stream wait for another");
}

template <class Scalar>
std::unique_ptr<Backend<Scalar>> make_cuda_backend(const DeviceOptions& options) {
  return std::make_unique<CudaBackend<Scalar>>(options);
}

template class CudaBackend<float>;
template class CudaBackend<double>;
template std::unique_ptr<Backend<float>> make_cuda_backend<float>(const DeviceOptions&);
template std::unique_ptr<Backend<double>> make_cuda_backend<double>(const DeviceOptions&);

}  // namespace dualstep
