// see cuda_backend.h; graphs, memory, and what goes on around a step have files of their own
#include "host/backends/cuda/cuda_backend.h"

#include <algorithm>
#include <stdexcept>

#include "host/backends/cuda/cuda_choices.h"
#include "host/backends/cuda/cuda_errors.h"
#include "host/backends/cuda/cuda_memory.h"
#include "host/backends/cuda/specialize/program.h"
#include "kernels/collide/kinds.h"
#include "kernels/sensors/distance.h"
#include "kernels/sensors/range.h"

namespace dualstep {
namespace {

void append_args(std::string* key, const StepArgs& args) {
  for (const int word :
       {static_cast<int>(args.action), args.nsubsteps, args.freeze_diverged, args.sense_last_stage})
    append_key(key, word);
}

}  // namespace

template <class Scalar>
CudaBackend<Scalar>::CudaBackend(const DeviceOptions& options)
    : device_(choose_device(options.device)),
      choice_(choose_lanes(options.lanes)),
      sorted_(choose_sorted()),
      fused_choice_(choose_fused()) {
  lanes_ = choose_lane_count<Scalar>(options.lanes);
  generic_ = find_generic_kernels<Scalar>(lanes_);
  if (!choice_.staged) choice_.lanes[0] = lanes_;
  const OnDevice here(device_);
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device_), "asking what " + device() + " is");
  name_ = properties.name;
  arch_ = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
  graphs_.open();
  placed_rows_.open(device_);
}

template <class Scalar>
CudaBackend<Scalar>::~CudaBackend() {
  try {
    const OnDevice here(device_);
    graphs_.close();
    let_go(std::move(special_));
  } catch (const std::exception&) {
    // the device is lost, and all that it held
  }
}

template <class Scalar>
std::string CudaBackend<Scalar>::description() const {
  const std::string memory = plan_.fused.shared() && !plan_.staged.planned() ? "shared" : "device";
  LaneChoice used = choice_;
  if (choice_.staged && !plan_.staged.planned()) used = choose_lanes({lanes_});
  const bool special = !special_->kernels().empty();
  return device() + ", " + name_ + ", " + describe_lanes(used, "thread") + " an environment, workspace in " +
         memory + " memory, " +
         (special ? "kernels specialised for this model" : "generic kernels (" + special_->why() + ")") +
         (choice_.staged && !special ? ", so not launched in parts" : "");
}

template <class Scalar>
void CudaBackend<Scalar>::set_stream(uintptr_t stream) {
  const cudaStream_t next = reinterpret_cast<cudaStream_t>(stream);
  if (next == stream_) return;
  const OnDevice here(device_);
  // what was queued before comes first. Where one of both is captured, who replays the graph orders them
  if (!cuda_order(device_, stream, reinterpret_cast<uintptr_t>(stream_))) {
    captured_ = true;
    placed_rows_.keep();
  }
  stream_ = next;
}

// memory ---------------------------------------------------------------------------------------------------

template <class Scalar>
std::shared_ptr<void> CudaBackend<Scalar>::allocate(size_t bytes) {
  return cuda_allocate(device_, bytes);
}

template <class Scalar>
void* CudaBackend<Scalar>::grow(Buffer* buffer, size_t bytes) {
  if (buffer->bytes < bytes) {
    if (captured_ && buffer->data) retired_.push_back(buffer->data);
    buffer->data = allocate(bytes);
    buffer->bytes = bytes;
    graphs_.forget();
  }
  return buffer->data.get();
}

template <class Scalar>
bool CudaBackend<Scalar>::capturing() {
  const bool now = captures(stream_);
  captured_ = captured_ || now;
  return now;
}

template <class Scalar>
void CudaBackend<Scalar>::fill(void* to, unsigned char byte, size_t bytes) {
  cuda_fill(device_, stream(), to, byte, bytes);
}

template <class Scalar>
void CudaBackend<Scalar>::write(void* to, const void* from, size_t bytes) {
  cuda_write(device_, stream(), to, from, bytes);
}

template <class Scalar>
void CudaBackend<Scalar>::read(void* to, const void* from, size_t bytes) {
  cuda_read(device_, stream(), to, from, bytes);
}

template <class Scalar>
void CudaBackend<Scalar>::copy(void* to, const void* from, size_t bytes) {
  cuda_copy(device_, stream(), to, from, bytes);
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
  TableCounts at{};
#define TABLE_I(name, meaning) at.name = pack(tables.name, counts_.name * sizeof(int));
#define TABLE_R(name, meaning) \
  if (tables.name.env_stride == 0) at.name = pack(tables.name.p, counts_.name * sizeof(Scalar));
#include "kernels/data/fields.inl"
  const bool other = packed != packed_;
  // a captured graph goes on with the tables that it was captured with
  Buffer arena = captured_ && other ? Buffer{} : arena_;
  char* const base = static_cast<char*>(grow(&arena, packed.size()));
  Tables<Scalar> placed = tables;
#define TABLE_I(name, meaning) placed.name = reinterpret_cast<const int*>(base + at.name);
#define TABLE_R(name, meaning) \
  if (tables.name.env_stride == 0) placed.name.p = reinterpret_cast<const Scalar*>(base + at.name);
#include "kernels/data/fields.inl"
  if (captured_ && arena.data != arena_.data) retired_.push_back(arena_.data);
  if (other) write(base, packed.data(), packed.size());
  // from here on nothing fails. Graphs hold the tables by value
  if (std::memcmp(&placed, &tables_, sizeof placed) != 0) graphs_.forget();
  arena_ = std::move(arena);
  packed_ = std::move(packed);
  tables_ = placed;
}

template <class Scalar>
void CudaBackend<Scalar>::set_sizes(const TableCounts& counts, int num_envs) {
  const OnDevice here(device_);
  counts_ = counts;
  num_envs_ = num_envs;
  batch_ops_.open(device_, num_envs, stream_);
}

// whether the model has pairs that generic kernels leave out (kernels/collide/collide.h)
template <class Scalar>
bool searches_contacts(const Tables<Scalar>& tables) {
  for (int kind = 0; tables.n.npair > 0 && kind < kPairKinds; ++kind) {
    if (is_searched_kind(kind) && tables.pair_adr[kind] < tables.pair_adr[kind + 1]) return true;
  }
  return false;
}

// likewise whether a step computes sensors that they leave out (kernels/sensors/distance.h, range.h)
template <class Scalar, class F>
bool computes_any(const Tables<Scalar>& tables, F is_one) {
  for (int s = 0; tables.o.sensors != 0 && s < tables.n.nsensor; ++s) {
    if (is_one(s)) return true;
  }
  return false;
}
template <class Scalar>
bool measures_distances(const Tables<Scalar>& tables) {
  return computes_any(tables, [&](int s) { return DistanceSensors::serves(tables.sensor_type[s]); });
}
template <class Scalar>
bool tells_normals(const Tables<Scalar>& tables) {
  return computes_any(tables, [&](int s) {
    return RangefinderSensors::serves(tables.sensor_type[s]) && (tables.sensor_data[s] & kRayNormal) != 0;
  });
}

template <class Scalar>
cudaError_t CudaBackend<Scalar>::try_plan(const Tables<Scalar>& tables, const SpecializedKernels& special,
                                          Plan* plan) const {
  const std::vector<const void*>& kernels = special.kernels();
  const cudaError_t error = plan->staged.plan(kernels, choice_.lanes, num_envs_, device_);
  if (error != cudaSuccess || plan->staged.planned()) return error;
  if (kernels.empty() && !generic_)
    throw std::invalid_argument("lanes " + std::to_string(lanes_) + " is given, and " +
                                describe_generic_kernels<Scalar>() +
                                "; none is specialised for this model: " + special.why());
  return plan->fused.plan(kernels.size() == 1 ? kernels[0] : generic_->of(tables.n.kdim), lanes_, tables,
                          num_envs_, device_, fused_choice_);
}

// generic kernels leave out what few models need and every model would pay for
template <class Scalar>
void refuse_generic(const Tables<Scalar>& tables, const std::string& why) {
  std::string what;
  if (searches_contacts(tables))
    what =
        "meshes, ellipsoids or height fields touch other shapes here, which on a GPU specialised kernels "
        "alone can find";
  else if (measures_distances(tables))
    what = "sensors measure distances between geoms here, which on a GPU specialised kernels alone do";
  else if (tells_normals(tables))
    what = "rangefinders tell normals here, which on a GPU specialised kernels alone do";
  else if (tables.n.nfluid > 0)
    what = "a medium sees ellipsoids here, which on a GPU specialised kernels alone do";
  else if (tables.n.nsurface > 0)
    what = "surfaces move here, which on a GPU specialised kernels alone simulate";
  else if (tables.n.nisland > 0)
    what = "the contacts of " + std::to_string(tables.n.nisland) +
           " trees are solved by islands here, which on a GPU specialised kernels alone do";
  if (!what.empty()) throw std::runtime_error(what + ", and there are none: " + why);
}

template <class Scalar>
auto CudaBackend<Scalar>::plan_step(const Tables<Scalar>& tables, SpecializedKernels* special) const -> Plan {
  Plan plan;
  cudaError_t error = try_plan(tables, *special, &plan);
  if (error != cudaSuccess && error != cudaErrorInvalidConfiguration && !special->kernels().empty()) {
    (void)cudaGetLastError();
    special->disable("the runtime does not take it: " + describe(error));
    error = try_plan(tables, *special, &plan);
  }
  check(error, error == cudaErrorInvalidConfiguration
                   ? "the workspace of a model of " + std::to_string(4L * tables.l.total) +
                         " bytes an environment does not fit into shared memory"
                   : "preparing the kernels for " + name_);
  return plan;
}

template <class Scalar>
void CudaBackend<Scalar>::let_go(std::shared_ptr<SpecializedKernels> kernels) {
  if (!kernels || kernels->kernels().empty()) return;
  // a graph of the user's may be launched in any queue, and who waits for one that is captured ends the capture
  if (captured_ || !may_wait(stream_))
    SpecializedKernels::keep_loaded(std::move(kernels));
  else if (cudaStreamSynchronize(stream_) != cudaSuccess)
    (void)cudaGetLastError();
}

template <class Scalar>
void CudaBackend<Scalar>::set_tables(const Tables<Scalar>& tables) {
  const OnDevice here(device_);
  // what may fail comes first: then tables and kernels from before serve on
  std::string text = program_text(tables, choice_);
  auto special = special_;
  if (!special || special->text() != text)
    special = std::make_shared<SpecializedKernels>(std::move(text), choice_, arch_);
  const bool others =
      !special_ || (special != special_ && !(special->kernels().empty() && special_->kernels().empty()));
  Plan plan = others ? plan_step(tables, special.get()) : plan_;
  // whatever is planned anew: somebody may ask for sensors later
  if (special->kernels().empty()) refuse_generic(tables, special->why());
  grow(&scratch_,
       plan.staged.planned() ? plan.staged.scratch_bytes(tables, num_envs_) : plan.fused.scratch_bytes());
  upload(tables);
  // sizes do not change, but what a specialised kernel takes as constant may
  if (others) graphs_.forget();
  plan_ = plan;
  std::swap(special, special_);
  if (special != special_) let_go(std::move(special));
}

// running --------------------------------------------------------------------------------------------------

template <class Scalar>
void CudaBackend<Scalar>::launch(const std::string& key, const CudaGraphs::Enqueue& enqueue) {
  // a step whose parts are timed waits for the device: no graph can hold it
  if (capturing() || !seconds_.empty())
    enqueue(stream_);
  else
    graphs_.launch(key, stream_, enqueue);
}

template <class Scalar>
void CudaBackend<Scalar>::step(const BatchView<Scalar>& batch, const StepArgs& args, const CudaList& envs,
                               cudaStream_t stream) {
  StepArgs own = args;
  own.order = envs.list;
  own.count = envs.count;
  // a warp that has one environment has nobody to wait for
  if (sorted_ && !envs.list && args.action == Action::kStep && pack() > 1 && batch.num_envs > pack()) {
    own.order = batch_ops_.order_by_workload(batch.num_envs, stream);
    own.workload = batch_ops_.workload();
  }
  check(plan_.staged.planned() ? plan_.staged.run(tables_, batch, own, scratch_.data.get(), stream,
                                                  seconds_.empty() ? nullptr : seconds_.data())
                               : plan_.fused.run(tables_, batch, own, scratch_.data.get(), stream),
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
    step(batch, args, batch_ops_.send_list(list, stream_), stream_);
    return;
  }
  std::string key = "run";
  append_key(&key, batch);
  append_args(&key, args);
  launch(key, [&](cudaStream_t stream) { step(batch, args, {}, stream); });
}

template <class Scalar>
BatchSummary CudaBackend<Scalar>::summarize(const BatchView<Scalar>& batch) {
  const OnDevice here(device_);
  return batch_ops_.summarize(batch, stream_);
}

template <class Scalar>
void CudaBackend<Scalar>::time_stages(bool on) {
  seconds_.assign(on && plan_.staged.planned() ? kParts : 0, 0.0);
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
void CudaBackend<Scalar>::prepare(const std::vector<PlacedRow>& rows) {
  const OnDevice here(device_);
  (void)rows_to_place(rows, num_envs_);
}

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
  (void)copy_marked(rows, batch_ops_.send_flags(mask, num_envs, stream_), nullptr, num_envs);
}

template <class Scalar>
bool CudaBackend<Scalar>::copy_marked(const std::vector<CopiedRow>& rows, const uint8_t* flags,
                                      const Replay<Scalar>* replay, int num_envs) {
  const OnDevice here(device_);
  (void)capturing();
  const CudaList envs = batch_ops_.compact(flags, num_envs, stream_);
  check(batch_ops::scatter(rows_to_copy(rows, num_envs), envs, stream_), "copying rows of environments");
  if (replay) replay_some(*replay, envs, stream_);
  return true;
}

template <class Scalar>
void CudaBackend<Scalar>::place(const std::vector<PlacedRow>& rows, int num_envs, const uint8_t* mask) {
  const OnDevice here(device_);
  const CudaRows list = rows_to_place(rows, num_envs);
  CudaList envs;
  if (mask) envs = batch_ops_.compact(batch_ops_.send_flags(mask, num_envs, stream_), num_envs, stream_);
  check(batch_ops::scatter(list, envs, stream_), "placing environments");
}

template <class Scalar>
bool CudaBackend<Scalar>::place_marked(const std::vector<PlacedRow>& rows, const uint8_t* flags,
                                       const Replay<Scalar>* replay, int num_envs) {
  const OnDevice here(device_);
  const CudaRows list = rows_to_place(rows, num_envs);
  const CudaList envs = batch_ops_.compact(flags, num_envs, stream_);
  check(batch_ops::scatter(list, envs, stream_), "placing environments");
  if (replay) replay_some(*replay, envs, stream_);
  return true;
}

template <class Scalar>
bool CudaBackend<Scalar>::step_and_restart(const BatchView<Scalar>& batch, const StepArgs& args,
                                           const std::vector<PlacedRow>& rows, uint32_t* counts,
                                           const Replay<Scalar>* replay) {
  const OnDevice here(device_);
  const CudaRows list = rows_to_place(rows, batch.num_envs);
  std::string key = replay ? "step, restart, replay" : "step, restart";
  append_key(&key, batch);
  if (replay) append_key(&key, replay->view);
  append_args(&key, args);
  append_key(&key, list);
  launch(key, [&](cudaStream_t stream) {
    const int n = batch.num_envs;
    // clear the diverged bit: those environments were reset after the last step
    check(batch_ops::clear_bits(batch.status, kDiverged, n, stream), "launching a step");
    step(batch, args, {}, stream);
    const CudaList envs = batch_ops_.with_status(batch.status, kDiverged, n, counts, stream);
    check(batch_ops::scatter(list, envs, stream), "placing environments");
    if (replay) replay_some(*replay, envs, stream);
  });
  return true;
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
