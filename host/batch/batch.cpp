#include "host/batch/batch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>

#include "host/batch/checkpoint.h"
#include "host/model/element_rows.h"
#include "host/model/model_fields.h"
#include "host/model/options_table.h"
#include "host/model/unsupported.h"

namespace dualstep {
namespace {

std::unique_ptr<Engine> engine_for(const Model& model, const BatchOptions& options) {
  if (options.num_envs < 1) {
    throw std::invalid_argument("num_envs " + std::to_string(options.num_envs) +
                                " is given, and a batch has at least one environment");
  }
  check_model(model);
  return options.float64 ? make_engine<double>(model, options.num_envs, options.device)
                         : make_engine<float>(model, options.num_envs, options.device);
}

char* row_of(const BatchArray& array, int env) {
  return static_cast<char*>(array.data.get()) + array.row_bytes * static_cast<size_t>(env);
}

// calls f(first, count) for rows that environments envs[first] and the next ones have side by side, few enough at once
template <class F>
void for_each_run(const std::vector<int>& envs, size_t row_bytes, F f) {
  const size_t most = std::max<size_t>(1, kBytesOfTurn / std::max<size_t>(1, row_bytes));
  for (size_t first = 0, next = 0; first < envs.size(); first = next) {
    next = first + 1;
    while (next < envs.size() && next - first < most && envs[next] == envs[next - 1] + 1) ++next;
    f(first, next - first);
  }
}

}  // namespace

uint64_t model_hash(const Model& model) {
  uint64_t hash = 0;
  for_each_size(model, [&](const char*, int value) { hash = hash_bytes(&value, sizeof value, hash); });
  for_each_field(model, [&](const std::string& name, const auto& values, int, int, double) {
    // names, custom fields and looks have no part in the mechanics
    for (const char* prefix : {"name_", "text_", "numeric_", "geom_rgba", "geom_aabb", "geom_group"}) {
      if (name.rfind(prefix, 0) == 0) return;
    }
    hash = hash_bytes(values.data(), values.size() * sizeof values[0], hash);
  });
  // options are part of what a state goes on with, and so are restitutions of pairs
  std::vector<double> numbers = option_numbers(model.opt);
  for (const auto& [pair, value] : model.pair_restitution)
    numbers.insert(numbers.end(), {static_cast<double>(pair.first), static_cast<double>(pair.second), value});
  hash = hash_bytes(numbers.data(), numbers.size() * sizeof numbers[0], hash);
  return hash;
}

Batch::Batch(const Model& model, const BatchOptions& options)
    : model_(model),
      options_(options),
      model_hash_(model_hash(model_)),
      engine_(engine_for(model_, options_)),
      parameters_(model_, options_.num_envs),
      start_(make_start(model_, -1)) {
  for (const BatchField& field : batch_fields()) {
    arrays_.push_back(make_array(field));
    if (field.role == FieldRole::kOutput) continue;
    allocate(&arrays_.back());
    engine_->connect(field.name, false, arrays_.back().data.get());
    if (field.role != FieldRole::kState) continue;
    num_states_ = arrays_.size();
    last_.push_back(make_array(field));
    allocate(&last_.back());
    engine_->connect(field.name, true, last_.back().data.get());
  }
  const int n = options_.num_envs, pack = engine_->device().pack();
  marks_.resize(n);
  status_.resize(n);
  block_marks_.resize((n - 1) / pack + 1);
  blocks_.reserve(block_marks_.size());
  engine_->device().place(placed(start_), options_.num_envs, nullptr);
  // a first step or reset may be one that a graph captures
  if (options_.reset_diverged) engine_->device().prepare(placed_after_divergence());
  const std::vector<uint32_t> none(n, 0);
  engine_->device().write(record("reset_count").data.get(), none.data(), none.size() * sizeof none[0]);
}

BatchArray Batch::make_array(const BatchField& field) const {
  BatchArray array;
  array.field = &field;
  array.shape = field_shape(field, engine_->sizes());
  array.item_bytes = field.element == Element::kDouble ? sizeof(double)
                     : field.element == Element::kReal ? (options_.float64 ? sizeof(double) : sizeof(float))
                                                       : sizeof(int);
  array.row_bytes = array.item_bytes * static_cast<size_t>(field_width(field, engine_->sizes()));
  return array;
}

void Batch::allocate(BatchArray* array) {
  const size_t bytes = array->row_bytes * static_cast<size_t>(options_.num_envs);
  std::shared_ptr<void> data = engine_->device().allocate(bytes);
  // what nobody writes reads as NaN or -1: zeros would look like an answer
  in_turns(bytes, [&](size_t begin, size_t count) {
    engine_->device().fill(static_cast<char*>(data.get()) + begin, 0xff, count);
  });
  array->data = std::move(data);
}

BatchArray& Batch::record(const char* name) {
  for (BatchArray& array : arrays_) {
    if (array.field->name == name) return array;
  }
  throw std::logic_error("a batch has no array '" + std::string(name) + "'");
}

std::string Batch::to_real(const std::vector<double>& values) const {
  if (options_.float64) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }
  const std::vector<float> rounded(values.begin(), values.end());
  return std::string(reinterpret_cast<const char*>(rounded.data()), rounded.size() * sizeof(float));
}

Batch::Start Batch::make_start(const Model& m, int key) const {
  if (key >= m.nkey || key < -1) {
    throw std::invalid_argument("keyframe " + std::to_string(key) + " is given, and the model has " +
                                std::to_string(m.nkey));
  }
  std::map<std::string, std::vector<double>> values;
  Start start;
  if (key < 0) {
    values["qpos"] = m.qpos0;
    auto& pos = values["mocap_pos"];
    auto& quat = values["mocap_quat"];
    constexpr int kPosWidth = 3, kQuatWidth = 4;
    pos.resize(kPosWidth * m.nmocap);
    quat.resize(kQuatWidth * m.nmocap);
    for (int b = 0; b < m.nbody; ++b) {
      const int i = m.body_mocapid[b];
      if (i < 0) continue;
      std::ranges::copy(row::body_pos(m, b), row::of_array(pos, m.nmocap, kPosWidth, i).begin());
      std::ranges::copy(row::body_quat(m, b), row::of_array(quat, m.nmocap, kQuatWidth, i).begin());
    }
  } else {
    const auto set = [&](const char* name, std::span<const double> row) {
      values[name].assign(row.begin(), row.end());
    };
    start.time = m.key_time[key];
    set("qpos", row::key_qpos(m, key));
    set("qvel", row::key_qvel(m, key));
    set("act", row::key_act(m, key));
    set("ctrl", row::key_ctrl(m, key));
    set("mocap_pos", row::key_mpos(m, key));
    set("mocap_quat", row::key_mquat(m, key));
  }
  for (const BatchField& field : batch_fields()) {
    if (field.role != FieldRole::kState) break;
    std::vector<double>& row = values[field.name];
    row.resize(field_width(field, engine_->sizes()), 0.0);
    start.rows.push_back(to_real(row));
  }
  return start;
}

const std::vector<PlacedRow>& Batch::placed(const Start& start) {
  std::vector<PlacedRow>& rows = placed_;
  rows.clear();
  for (size_t i = 0; i < num_states_; ++i) {
    if (arrays_[i].row_bytes == 0) continue;
    for (const BatchArray* array : {&arrays_[i], &last_[i]})
      rows.push_back({array->data.get(), start.rows[i].data(), array->row_bytes});
  }
  const auto put = [&](const char* name, const void* row) {
    rows.push_back({record(name).data.get(), row, record(name).row_bytes});
  };
  put("time", &start.time);
  static constexpr char kZero[sizeof(double)] = {};
  for (const char* name : {"status", "iterations", "residual"}) put(name, kZero);
  return rows;
}

void Batch::place(int env, const Start& start) {
  for (const PlacedRow& row : placed(start))
    engine_->device().write(static_cast<char*>(row.array) + row.bytes * static_cast<size_t>(env), row.row,
                            row.bytes);
}

Batch::~Batch() {
  try {
    // who holds an array comes after what was queued
    if (device_index() >= 0) set_stream(0);
  } catch (const std::exception&) {
    // the device is lost, or this process was forked
  }
  stream_->store(0);
}

void Batch::set_stream(uintptr_t stream) {
  const std::lock_guard lock(mutex_);
  engine_->device().set_stream(stream);
  stream_->store(stream);
}

void Batch::request(const std::vector<std::string>& names) {
  std::vector<std::pair<BatchArray*, BatchArray>> made;
  bool contacts = false;
  for (const std::string& name : names) {
    BatchArray& array = record(name.c_str());
    contacts = contacts || name == "contact_count" || name == "contacts_needed";
    if (array.data) continue;
    made.emplace_back(&array, array);
    allocate(&made.back().second);
  }
  if (made.empty() && !outputs_stale_ && !(contacts && contacts_stale_)) return;
  try {
    for (auto& [array, filled] : made) {
      engine_->connect(array->field->name, false, filled.data.get());
      array->data = filled.data;
    }
    run(Action::kReplay, nullptr);
  } catch (...) {
    // an array that nothing was written to is none
    for (auto& [array, filled] : made) {
      engine_->connect(array->field->name, false, nullptr);
      array->data = nullptr;
    }
    throw;
  }
  any_output_ = any_output_ || !made.empty();
  renewed();
}

const BatchArray* Batch::last(const std::string& name) const {
  for (const BatchArray& array : last_) {
    if (array.field->name == name) return &array;
  }
  return nullptr;
}

const BatchArray* Batch::array(const std::string& name) {
  const std::lock_guard lock(mutex_);
  for (BatchArray& array : arrays_) {
    if (array.field->name != name) continue;
    request({name});
    return &array;
  }
  return nullptr;
}

void Batch::want(const std::vector<std::string>& names) {
  const std::lock_guard lock(mutex_);
  request(names);
}

Engine::Inspected Batch::inspect(const std::string& name, int env) {
  const std::lock_guard lock(mutex_);
  return engine_->inspect(name, env);
}

void Batch::read_status() {
  engine_->device().read(status_.data(), record("status").data.get(), status_.size() * sizeof status_[0]);
}

void Batch::write_status() {
  engine_->device().write(record("status").data.get(), status_.data(), status_.size() * sizeof status_[0]);
}

BatchSummary Batch::summarize() {
  const std::lock_guard lock(mutex_);
  return engine_->summarize();
}

const std::vector<PlacedRow>& Batch::placed_after_divergence() {
  (void)placed(start_);
  static constexpr uint32_t kWhy = kDiverged;
  const void* status = record("status").data.get();
  for (PlacedRow& row : placed_) {
    if (row.array == status) row.row = &kWhy;
  }
  return placed_;
}

void Batch::forward_marked(const uint8_t* marks) {
  const std::lock_guard lock(mutex_);
  if (!engine_->copy_marked(remembered(), marks, any_output_))
    throw std::logic_error("marks on a device, of a batch that lives on the host");
  contacts_stale_ = contacts_stale_ || !any_output_;
}

std::vector<CopiedRow> Batch::remembered() const {
  std::vector<CopiedRow> rows;
  for (size_t i = 0; i < num_states_; ++i)
    if (arrays_[i].row_bytes > 0)
      rows.push_back({last_[i].data.get(), arrays_[i].data.get(), arrays_[i].row_bytes});
  return rows;
}

void Batch::put_back(const uint8_t* mask, int keyframe) {
  Start other;
  const Start* start = &start_;
  if (keyframe != -1) {
    other = make_start(model_, keyframe);
    start = &other;
  }
  // of environments that start elsewhere; all of them before anything changes
  std::vector<std::pair<int, Start>> own;
  const bool any_own = parameters_.moves_any_start();
  for (int e = 0; any_own && e < options_.num_envs; ++e) {
    if ((mask && !mask[e]) || !parameters_.moves_start(e)) continue;
    stop_if_told();
    Model model;
    parameters_.apply(e, &model);
    own.emplace_back(e, make_start(model, keyframe));
  }
  const Uninterrupted whole;
  engine_->device().place(placed(*start), options_.num_envs, mask);
  for (const auto& [env, start_of_it] : own) place(env, start_of_it);
}

void Batch::reset(const uint8_t* mask, int keyframe) {
  const std::lock_guard lock(mutex_);
  put_back(mask, keyframe);
  refresh(mask);
}

void Batch::reset_marked(const uint8_t* marks, int keyframe) {
  const std::lock_guard lock(mutex_);
  const Start start = keyframe == -1 ? start_ : make_start(model_, keyframe);
  if (!parameters_.moves_any_start() && engine_->place_marked(placed(start), marks, any_output_)) {
    contacts_stale_ = contacts_stale_ || !any_output_;
    return;
  }
  // some start is an environment's own: the host must know which
  engine_->device().read(marks_.data(), marks, marks_.size());
  const std::vector<uint8_t> mask(marks_);
  put_back(mask.data(), keyframe);
  refresh(mask.data());
}

void Batch::clear_status(const uint8_t* mask) {
  const std::lock_guard lock(mutex_);
  read_status();
  for (size_t e = 0; e < status_.size(); ++e) {
    if (!mask || mask[e]) status_[e] = 0;
  }
  write_status();
}

void Batch::refresh(const uint8_t* mask) {
  if (!any_output_) {
    contacts_stale_ = true;
    return;
  }
  const int pack = engine_->device().pack();
  std::fill(block_marks_.begin(), block_marks_.end(), static_cast<uint8_t>(mask == nullptr));
  for (int e = 0; mask && e < options_.num_envs; ++e) {
    if (mask[e]) block_marks_[e / pack] = 1;
  }
  blocks_.clear();
  for (size_t b = 0; b < block_marks_.size(); ++b) {
    if (block_marks_[b]) blocks_.push_back(static_cast<int>(b));
  }
  if (!blocks_.empty()) run(Action::kReplay, &blocks_);
}

std::vector<double> Batch::get_parameter(const std::string& name, const std::vector<int>& envs) const {
  const std::lock_guard lock(mutex_);
  return parameters_.get(name, envs);
}

Model Batch::environment_model(int env) const {
  const std::lock_guard lock(mutex_);
  Model model;
  parameters_.apply(env, &model);
  return model;
}

Batch::Differences Batch::compare(const Parameters& next, const std::vector<int>& envs) const {
  Differences differences;
  Model model;
  for (size_t i = 0; i < envs.size(); ++i) {
    const int env = envs[i];
    stop_if_told();
    // one value for all is built once
    if (i > 0 && next.equal(env, next, envs[i - 1])) {
      differences.emplace_back(env, differences.back().second);
      continue;
    }
    next.apply(env, &model);
    try {
      check_model(model);
      differences.emplace_back(env, engine_->compare(model));
    } catch (const UnsupportedModelError& e) {
      throw UnsupportedModelError("environment " + std::to_string(env) + ": " + e.what(), e.problems);
    } catch (const InvalidModelError& e) {
      throw InvalidModelError("environment " + std::to_string(env) + ": " + e.what(), e.problems);
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument("environment " + std::to_string(env) + ": " + e.what());
    }
  }
  return differences;
}

void Batch::set_parameter(const std::string& name, const std::vector<double>& values,
                          const std::vector<int>& envs) {
  const std::lock_guard lock(mutex_);
  Parameters next = parameters_;
  next.set(name, values, envs);
  std::vector<uint8_t> mask(options_.num_envs, 0);
  for (const int env : envs) mask[env] = 1;
  engine_->adopt(compare(next, envs));
  parameters_ = std::move(next);
  refresh(mask.data());
}

std::vector<std::pair<std::string, BatchArray*>> Batch::saved() {
  std::vector<std::pair<std::string, BatchArray*>> list;
  for (size_t i = 0; i < num_states_; ++i) {
    list.emplace_back(arrays_[i].field->name, &arrays_[i]);
    list.emplace_back("last_" + last_[i].field->name, &last_[i]);
  }
  for (const char* name : {"time", "status", "iterations", "residual", "reset_count"}) {
    list.emplace_back(name, &record(name));
  }
  return list;
}

std::string Batch::save(const std::vector<int>& envs) {
  const std::lock_guard lock(mutex_);
  Checkpoint c;
  c.model = model_hash_;
  c.real_bytes = options_.float64 ? sizeof(double) : sizeof(float);
  c.num_envs = envs.size();
  for (const auto& [name, array] : saved()) {
    SavedArray rows{name, array->row_bytes, {}};
    rows.rows.reserve(envs.size() * array->row_bytes);
    // by name: clang before 16 does not capture what a structured binding declares
    for_each_run(envs, array->row_bytes, [&, array = array](size_t first, size_t count) {
      stop_if_told();
      rows.rows.resize((first + count) * array->row_bytes);
      engine_->device().read(&rows.rows[first * array->row_bytes], row_of(*array, envs[first]),
                             count * array->row_bytes);
    });
    c.arrays.push_back(std::move(rows));
  }
  std::set<std::string> names;
  for (const int env : envs) {
    stop_if_told();
    names.merge(parameters_.changed(env));
  }
  for (const std::string& name : names) {
    SavedParameter parameter{name, 0, {}};
    for (const int env : envs) {
      stop_if_told();
      parameter.rows.push_back(parameters_.row(name, env));
      parameter.width = std::max<uint64_t>(parameter.width, parameter.rows.back().size());
    }
    c.parameters.push_back(std::move(parameter));
  }
  return encode(c);
}

void Batch::load(std::string_view bytes, const std::vector<int>& envs) {
  const Checkpoint c = decode(bytes);
  const std::lock_guard lock(mutex_);
  if (c.model != model_hash_) {
    throw std::invalid_argument("this state is of another model than the batch's, or of other options");
  }
  if (c.real_bytes != (options_.float64 ? sizeof(double) : sizeof(float))) {
    throw std::invalid_argument(std::string("this state has dtype ") +
                                (c.real_bytes == sizeof(float) ? "float32" : "float64") +
                                ", and the batch has " + (options_.float64 ? "float64" : "float32"));
  }
  if (c.num_envs != envs.size()) {
    throw std::invalid_argument("this state has " + std::to_string(c.num_envs) + " environments, and " +
                                std::to_string(envs.size()) + " are to be loaded");
  }
  const auto arrays = saved();
  bool fits = c.arrays.size() == arrays.size();
  for (size_t i = 0; fits && i < arrays.size(); ++i) {
    fits = c.arrays[i].name == arrays[i].first && c.arrays[i].row_bytes == arrays[i].second->row_bytes;
  }
  if (!fits) throw std::invalid_argument("this state has other arrays than the batch's");

  // the parameters of the environments, and which of them change by it
  Parameters next = parameters_;
  for (const int env : envs) next.clear(env);
  for (const SavedParameter& parameter : c.parameters) {
    size_t width = 1;
    for (const int axis : next.shape(parameter.name)) width *= static_cast<size_t>(axis);
    for (size_t i = 0; i < envs.size(); ++i) {
      stop_if_told();
      const std::vector<double>& row = parameter.rows[i];
      if (row.empty()) continue;
      if (row.size() != width)
        throw std::invalid_argument("this state has another shape of " + parameter.name);
      next.set(parameter.name, row, {envs[i]});
    }
  }
  std::vector<int> changed;
  for (const int env : envs) {
    stop_if_told();
    if (!next.equal(env, parameters_, env)) changed.push_back(env);
  }
  std::vector<uint8_t> mask(options_.num_envs, 0);
  for (const int env : envs) mask[env] = 1;
  if (!changed.empty()) engine_->adopt(compare(next, changed));
  parameters_ = std::move(next);

  // from here on nothing asks until the state is there
  for (size_t k = 0; k < arrays.size(); ++k) {
    const size_t bytes_of_row = c.arrays[k].row_bytes;
    for_each_run(envs, bytes_of_row, [&](size_t first, size_t count) {
      engine_->device().write(row_of(*arrays[k].second, envs[first]),
                              c.arrays[k].rows.data() + first * bytes_of_row, count * bytes_of_row);
    });
  }
  refresh(mask.data());
}

}  // namespace dualstep
