#include "host/batch/engine.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>

#include "host/batch/batch_fields.h"
#include "host/tables/tables.h"

namespace dualstep {
namespace {

template <class Scalar>
struct OwnTables final : Engine::Difference {
  std::map<std::string, std::vector<double>> tables;
  StepOptions<Scalar> options;
};

template <class Scalar>
class EngineOf final : public Engine {
 public:
  EngineOf(const Model& model, int num_envs, const DeviceOptions& options)
      : backend_(make_backend<Scalar>(options)),
        shared_(model),
        sensor_kinds_(sensors_in_step(model) ? sensor_kinds(model) : 0),
        tables_(shared_.view()) {
    view_.num_envs = num_envs;
    TableCounts counts;
#define TABLE_I(name, meaning) counts.name = shared_.ints().at(#name).size();
#define TABLE_R(name, meaning) counts.name = shared_.reals().at(#name).size();
#include "kernels/data/fields.inl"
    backend_->set_sizes(counts, view_.num_envs);
    backend_->set_tables(tables_);
  }

  const Sizes& sizes() const override { return tables_.n; }
  Device& device() const override { return *backend_; }
  BatchSummary summarize() override { return backend_->summarize(view_); }
  bool place_marked(const std::vector<PlacedRow>& rows, const uint8_t* marks, bool replay) override {
    if (backend_->device_index() < 0) return false;
    return backend_->place_marked(rows, marks, replay ? &this->replay() : nullptr, view_.num_envs);
  }
  bool copy_marked(const std::vector<CopiedRow>& rows, const uint8_t* marks, bool replay) override {
    if (backend_->device_index() < 0) return false;
    return backend_->copy_marked(rows, marks, replay ? &this->replay() : nullptr, view_.num_envs);
  }
  bool step_and_restart(const StepArgs& args, const std::vector<PlacedRow>& rows, uint32_t* counts,
                        bool replay) override {
    if (backend_->device_index() < 0) return false;
    return backend_->step_and_restart(view_, args, rows, counts, replay ? &this->replay() : nullptr);
  }

  void connect(const std::string& name, bool last, void* data) override {
#define STATE(field, width, role, meaning) \
  if (name == #field) (last ? view_.last_##field : view_.field) = static_cast<Scalar*>(data);
#include "kernels/data/fields.inl"
    if (last) return;
    if (name == "sensordata" && data) sense();
#define OUTPUT(field, width, shape, meaning) \
  if (name == #field) view_.field = static_cast<Scalar*>(data);
#include "kernels/data/fields.inl"
#define RECORD(field, type, ...) \
  if (name == #field) view_.field = static_cast<type*>(data);
#include "kernels/data/records.inl"
  }

  void run(const StepArgs& args, const int* blocks, int num_blocks) override {
    if (args.action == Action::kReplay) {
      for (const CopiedRow& copy : replay().copies) backend_->copy(copy.to, copy.from, copy.bytes);
      backend_->run(replay_.view, args, blocks, num_blocks);
    } else {
      backend_->run(view_, args, blocks, num_blocks);
    }
  }

  Inspected inspect(const std::string& array, int env) override {
    if (backend_->workspace() == nullptr)
      throw std::invalid_argument("a batch on device '" + backend_->device() +
                                  "' keeps no workspace to look at: make one on device 'emulated'");
    constexpr std::string_view kOfIslands = "islands.";
    if (array.starts_with(kOfIslands)) return inspect_islands(array.substr(kOfIslands.size()), env);
    const ScratchField& field = scratch_field(array);
    evaluate_again(env);
    const ScratchExtent extent = scratch_extent(field, tables_.n);
    const Scalar* const begin = backend_->workspace() + extent.begin;
    return {{begin, begin + extent.size}, extent.shape};
  }

  std::shared_ptr<const Difference> compare(const Model& model) override {
    TableSet<Scalar> theirs(model);
    theirs.keep_surfaces(shared_);
    if (std::memcmp(&theirs.sizes(), &shared_.sizes(), sizeof(Sizes)) != 0) refuse("the number of rows");
    for (const auto& [name, values] : shared_.ints()) {
      if (theirs.ints().at(name) != values) refuse("table " + name);
    }
    auto difference = std::make_shared<OwnTables<Scalar>>();
    difference->options = theirs.options();
    for (const auto& [name, values] : theirs.reals()) {
      const auto& shared = shared_.reals().at(name);
      if (values.size() != shared.size()) refuse("the size of table " + name);
      if (values != shared) difference->tables[name] = values;
    }
    return difference;
  }

  void adopt(const std::vector<std::pair<int, std::shared_ptr<const Difference>>>& environments) override {
    const StepOptions<Scalar> options = shared_.options();
    std::map<std::string, std::vector<Scalar>> before;
    for (const auto& [name, own] : own_) before[name] = own.values;
    try {
      write_own(environments);
      send_own();
    } catch (...) {
      shared_.options() = options;
      take_back(std::move(before));
      throw;
    }
  }

  std::vector<std::string> own_tables() const override {
    std::vector<std::string> names;
    for (const auto& [name, unused] : own_) names.push_back(name);
    return names;
  }

  const std::vector<int>& integers(const std::string& table) const override {
    return shared_.ints().at(table);
  }

 private:
  struct Own {
    std::vector<Scalar> values;  // blocks of pack environments
    std::shared_ptr<void> data;  // the same, where the kernels read it
  };
  using Differences = std::vector<std::pair<int, std::shared_ptr<const Difference>>>;

  // leaves an environment's last evaluation in the workspace
  void evaluate_again(int env) { run(StepArgs{Action::kReplay, 1, /*freeze_diverged=*/1}, &env, 1); }

  Inspected inspect_islands(const std::string& array, int env) {
    const Sizes& n = tables_.n;
    const IslandField& field = island_field(array);
    if (n.nisland == 0)
      throw std::invalid_argument("array 'islands." + array +
                                  "' is asked for, and this model is solved as a whole: many kinematic "
                                  "trees, MuJoCo's contact law and solver 'pgs_newton' make islands");
    evaluate_again(env);
    const IslandExtent extent = island_extent(field, n);
    const int* const integers =
        reinterpret_cast<const int*>(backend_->workspace() + tables_.l.total) + n.arena_begin;
    const auto taken = [&](const auto* begin) {
      return Inspected{
          {begin + extent.begin, begin + extent.begin + extent.size}, {extent.size}, field.integers};
    };
    if (field.integers) return taken(integers);
    return taken(reinterpret_cast<const Scalar*>(integers + island_layout(n).ints));
  }

  // the differences into the tables that environments have of their own, on the host
  void write_own(const Differences& environments) {
    for (const auto& [env, difference] : environments) {
      stop_if_told();
      for (const auto& table : static_cast<const OwnTables<Scalar>&>(*difference).tables)
        if (own_.count(table.first) == 0) make_own(table.first);
    }
    for (const auto& [env, any] : environments) {
      stop_if_told();
      const auto& difference = static_cast<const OwnTables<Scalar>&>(*any);
      for (auto& [name, own] : own_) {
        const auto found = difference.tables.find(name);
        place(&own, env, found == difference.tables.end() ? shared_.reals().at(name) : found->second);
      }
      // a feature may be on where one environment needs it
#define FEATURE(name, source, meaning) shared_.options().name |= difference.options.name;
#include "kernels/data/options.inl"
    }
  }

  // from the host to where the kernels read them
  void send_own() {
    for (const auto& [name, own] : own_)
      shared_.set_per_environment(name, static_cast<const Scalar*>(own.data.get()),
                                  static_cast<int>(shared_.reals().at(name).size()) * backend_->pack());
    tables_ = shared_.view();
    for (const auto& [name, own] : own_)
      backend_->write(own.data.get(), own.values.data(), own.values.size() * sizeof(Scalar));
    backend_->set_tables(tables_);
  }

  // the tables that environments had of their own, and no others
  void take_back(std::map<std::string, std::vector<Scalar>> before) {
    for (auto own = own_.begin(); own != own_.end();) {
      const auto found = before.find(own->first);
      if (found != before.end()) {
        own->second.values = std::move(found->second);
        ++own;
      } else {
        shared_.set_shared(own->first);
        own = own_.erase(own);
      }
    }
    try {
      send_own();
    } catch (const std::exception&) {
      // a device that takes nothing now took nothing before; or it is lost, and says so to whoever asks next
    }
  }

  [[noreturn]] static void refuse(const std::string& what) {
    throw std::invalid_argument(
        "these values would change " + what +
        ", which all environments share: a property that is off in the model (a friction "
        "loss of 0, say) cannot be switched on in some environments, nor one that is on be "
        "switched off");
  }

  void make_own(const std::string& name) {
    const std::vector<double>& shared = shared_.reals().at(name);
    const int pack = backend_->pack();
    const size_t blocks = (static_cast<size_t>(view_.num_envs) - 1) / pack + 1;
    Own own;
    own.values.resize(blocks * pack * shared.size());
    own.data = backend_->allocate(own.values.size() * sizeof(Scalar));
    // the places beyond the last environment get the shared values too: no kernel ever sees a stray number
    size_t at = 0;
    for (size_t block = 0; block < blocks; ++block) {
      stop_if_told();
      for (const double value : shared) {
        for (int lane = 0; lane < pack; ++lane) own.values[at++] = static_cast<Scalar>(value);
      }
    }
    own_.emplace(name, std::move(own));
  }

  void place(Own* own, int env, const std::vector<double>& values) {
    const int pack = backend_->pack();
    Scalar* block = own->values.data() + static_cast<size_t>(env / pack) * values.size() * pack;
    for (size_t i = 0; i < values.size(); ++i) block[i * pack + env % pack] = static_cast<Scalar>(values[i]);
  }

  const Replay<Scalar>& replay() {
    replay_.view = view_;
    size_t i = 0;
    const auto divert = [&](auto*& pointer, std::shared_ptr<void>* copy) {
      const size_t bytes = static_cast<size_t>(view_.num_envs) * sizeof *pointer;
      if (!*copy) *copy = backend_->allocate(bytes);
      replay_.copies[i++] = {copy->get(), pointer, bytes};
      pointer = static_cast<std::decay_t<decltype(pointer)>>(copy->get());
    };
    divert(replay_.view.status, &replay_status_);
    divert(replay_.view.iterations, &replay_iterations_);
    divert(replay_.view.residual, &replay_residual_);
    return replay_;
  }

  // from now on steps compute the sensors: kernels compiled for the model are compiled anew, with them
  void sense() {
    const auto set = [this](int kinds) {
      shared_.options().sensors = kinds;
      tables_ = shared_.view();
      backend_->set_tables(tables_);
    };
    const int before = shared_.options().sensors;
    try {
      set(sensor_kinds_);
    } catch (...) {
      set(before);
      throw;
    }
  }

  std::unique_ptr<Backend<Scalar>> backend_;
  TableSet<Scalar> shared_;
  const int sensor_kinds_;
  Tables<Scalar> tables_;
  BatchView<Scalar> view_{};
  Replay<Scalar> replay_{};
  std::map<std::string, Own> own_;  // by name of the table
  std::shared_ptr<void> replay_status_, replay_iterations_, replay_residual_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<Engine> make_engine(const Model& model, int num_envs, const DeviceOptions& options) {
  return std::make_unique<EngineOf<Scalar>>(model, num_envs, options);
}

template std::unique_ptr<Engine> make_engine<float>(const Model&, int, const DeviceOptions&);
template std::unique_ptr<Engine> make_engine<double>(const Model&, int, const DeviceOptions&);

}  // namespace dualstep
