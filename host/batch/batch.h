// A batch: N environments of one model on one device. It owns the arrays, one allocation each, named by the
// field table; an engine runs the kernels on them.
//
// The state is live: what stands in the arrays when a step begins is what is stepped. Outputs are those of
// the last evaluation: of a step's start (the last substep's), of forward(), or of a reset. An output that
// nobody asked for does not exist; on the first request it is allocated and the last evaluation is replayed
// into it, which gives the same bits as if it had been there all along. A batch may be used by one thread at
// a time; others wait. In a child that was forked amid a call of another thread every call throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/batch/batch_fields.h"
#include "host/batch/engine.h"
#include "host/batch/parameters.h"
#include "host/batch/process_mutex.h"
#include "host/batch/rays.h"
#include "host/interruption.h"

namespace dualstep {

struct BatchOptions {
  int num_envs = 1;
  DeviceOptions device;
  bool float64 = false;
  bool last_stage_outputs = false;  // outputs of a step with RK4: of its last stage, not of its start
  bool reset_diverged = false;      // a diverged environment is reset after the step, instead of frozen
};

// one array: (num_envs, shape...), row-major, aligned to 64 bytes
struct BatchArray {
  const BatchField* field = nullptr;
  std::vector<int> shape;  // of one environment
  size_t item_bytes = 0, row_bytes = 0;
  std::shared_ptr<void> data;  // null while it is not wanted
};

class Batch {
 public:
  // throws what check_model throws, std::invalid_argument, std::bad_alloc, Interrupted
  Batch(const Model& model, const BatchOptions& options);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  const Model& model() const { return model_; }
  int num_envs() const { return options_.num_envs; }
  bool float64() const { return options_.float64; }
  std::string device() const { return engine_->device().device(); }
  std::string description() const { return engine_->device().description(); }
  void time_stages(bool on) { engine_->device().time_stages(on); }
  std::vector<uint64_t> stage_ticks() const { return engine_->device().stage_ticks(); }
  // counts and maxima over all environments, taken together where the batch lives
  BatchSummary summarize();
  // an array of the workspace (scratch_fields) as the last evaluation of an environment leaves it, on a device that
  // has one (the emulator). Throws std::invalid_argument
  Engine::Inspected inspect(const std::string& name, int env);
  // of a device that the host only queues work for: its number (else -1), and the queue
  int device_index() const { return engine_->device().device_index(); }
  const std::shared_ptr<std::atomic<uintptr_t>>& stream() const { return stream_; }
  void set_stream(uintptr_t stream);
  const Sizes& sizes() const { return engine_->sizes(); }
  const std::vector<int>& integers(const std::string& table) const { return engine_->integers(table); }
  std::vector<std::string> own_tables() const { return engine_->own_tables(); }

  // Calls from here on ask whether they are to stop, on devices that the host works for, and throw Interrupted then: what
  // they were to make is not there, what they were to change is as it was, or has changed and outputs that they had begun
  // to renew come with the next request

  // the array of this name, or null; an output is made, and filled, on the first request
  const BatchArray* array(const std::string& name);
  // a state array as the last evaluation found it; null where there is none of that name
  const BatchArray* last(const std::string& name) const;
  // several at once, with a single replay
  void want(const std::vector<std::string>& names);

  // one that is told to stop has done as many substeps as it had, the same of all environments. Whether and when it asks
  // changes no bit
  void step(int nsubsteps);
  // of all environments, or of those where mask is not 0
  void forward(const uint8_t* mask = nullptr);
  // the same by marks on the batch's own device
  void forward_marked(const uint8_t* marks);
  // environments where mask is not 0, or all where it is null; to a keyframe, or to qpos0 where it is -1
  void reset(const uint8_t* mask, int keyframe);
  // the same with marks that lie on the device; nothing waits for it
  void reset_marked(const uint8_t* marks, int keyframe);
  void clear_status(const uint8_t* mask);
  // values are those of one environment after the other, row-major, in the order of envs; a change takes
  // effect at once, also in the outputs. Throws std::invalid_argument, InvalidModelError
  std::vector<int> parameter_shape(const std::string& name) const { return parameters_.shape(name); }
  std::vector<double> get_parameter(const std::string& name, const std::vector<int>& envs) const;
  void set_parameter(const std::string& name, const std::vector<double>& values,
                     const std::vector<int>& envs);

  // num_envs rows of `count` rays (rays.h), in the precision of the batch and memory of the host.
  // Throws std::invalid_argument
  void ray(const RayFilter& filter, const void* origin, const void* direction, int count, void* distance,
           int* geom);

  // the model as one environment has it
  Model environment_model(int env) const;

  // everything that the future of the listed environments depends on, their own parameters included
  std::string save(const std::vector<int>& envs);
  // puts saved environment i in place envs[i]. Throws std::invalid_argument
  void load(std::string_view bytes, const std::vector<int>& envs);

 private:
  // where environments start: the bytes of each state array, and the time
  struct Start {
    std::vector<std::string> rows;  // in the order of states_
    double time = 0;
  };

  using Differences = std::vector<std::pair<int, std::shared_ptr<const Engine::Difference>>>;

  BatchArray make_array(const BatchField& field) const;
  void allocate(BatchArray* array);
  BatchArray& record(const char* name);
  template <class Scalar>
  void cast_in_all(const RayFilter& filter, const Scalar* origin, const Scalar* direction, int count,
                   Scalar* distance, int* geom);
  Start make_start(const Model& model, int keyframe) const;
  std::string to_real(const std::vector<double>& values) const;
  // what a start puts into every array; it stands until the next call
  const std::vector<PlacedRow>& placed(const Start& start);
  // the start, with a status that says why
  const std::vector<PlacedRow>& placed_after_divergence();
  void place(int env, const Start& start);
  // all that a reset does but for outputs
  void put_back(const uint8_t* mask, int keyframe);
  void reset_diverged();
  // a diverged environment always stands still within a call; what becomes of it then is the batch's choice
  static StepArgs call(Action action, int nsubsteps, bool last_stage = false);
  // substeps in parts that take a tenth of a second each; false where it was told to stop between them
  bool run_substeps(int nsubsteps);
  // one substep, of which some environments may be stopped: then none has done it, and it returns false
  bool run_watched(const StepArgs& args);
  // a step and what follows it, where the device does it all; false where the host must
  bool restart_on_device(int nsubsteps);
  void read_status();
  void write_status();
  void request(const std::vector<std::string>& names);
  // outputs again for the marked environments (null: all), which changed by other means than an evaluation
  void refresh(const uint8_t* mask);
  // an action that may be stopped
  void run(Action action, const std::vector<int>* blocks);
  // outputs and contacts are those of the last evaluation
  void renewed() { outputs_stale_ = contacts_stale_ = false; }
  // from the state to what the last evaluation saw of it
  std::vector<CopiedRow> remembered() const;
  Differences compare(const Parameters& next, const std::vector<int>& envs) const;
  // every array that save keeps, with its name there
  std::vector<std::pair<std::string, BatchArray*>> saved();

  const Model model_;
  const BatchOptions options_;
  const uint64_t model_hash_;
  std::unique_ptr<Engine> engine_;
  Parameters parameters_;
  Start start_;                     // of the model, at qpos0
  std::vector<BatchArray> arrays_;  // in the order of batch_fields()
  std::vector<BatchArray> last_;    // the state arrays as the last evaluation found them
  size_t num_states_ = 0;           // arrays_ begins with the state
  bool any_output_ = false;         // some output exists
  bool outputs_stale_ = false;      // some are of an evaluation before, since the last one was stopped
  bool contacts_stale_ = true;      // contact_count and contacts_needed are not of the last evaluation
  // the engine's, for those who hold an array longer than the batch: 0 then, since its owner may destroy the stream
  const std::shared_ptr<std::atomic<uintptr_t>> stream_ = std::make_shared<std::atomic<uintptr_t>>(0);
  mutable ProcessMutex mutex_;
  double substep_seconds_ = 0;  // what a substep took lately; 0 where none was measured
  // scratch, so that a step allocates nothing
  std::vector<uint32_t> status_;
  std::vector<PlacedRow> placed_;  // kept, so that a reset asks for no memory
  std::vector<uint8_t> marks_, block_marks_;
  std::vector<std::vector<char>> before_substep_;  // what a substep that may be stopped changes
  std::vector<int> blocks_;
};

// a hash of the model's arrays, without what is visual: the same for the same mechanics
uint64_t model_hash(const Model& model);

}  // namespace dualstep
