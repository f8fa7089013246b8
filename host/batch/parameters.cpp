#include "host/batch/parameters.h"

#include <algorithm>
#include <stdexcept>

#include "host/batch/derive.h"
#include "host/model/model_fields.h"
#include "host/model/options_table.h"

namespace dualstep {
namespace {

const std::string kGravity = "opt_gravity";

// real arrays of the model that are no parameters, and why
const std::map<std::string, std::string>& refused() {
  static const std::string visual = "it has no part in the physics";
  static const std::string derived = "it is derived from other parameters: set those";
  static const std::string sites = "the shape of sites is shared by all environments";
  static const std::string file = "it belongs to the model file";
  static const std::string mesh = "the shape of meshes is shared by all environments";
  static const std::string hfield = "the shape of height fields is shared by all environments";
  static const std::string absent = "models that use it are not simulated";
  static const std::map<std::string, std::string> list = {
      {"geom_aabb", visual},
      {"geom_rgba", visual},
      {"site_size", sites},
      {"numeric_data", file},
      {"mesh_vert", mesh},
      {"mesh_polynormal", mesh},
      {"hfield_size", hfield},
      {"hfield_data", hfield},
      {"body_subtreemass", derived},
      {"body_invweight0", derived},
      {"dof_invweight0", derived},
      {"geom_rbound", derived},
      {"tendon_length0", derived},
      {"tendon_invweight0", derived},
      {"actuator_length0", derived},
      {"actuator_acc0", derived},
      {"dof_dampingpoly", absent},
      {"jnt_stiffnesspoly", absent},
      {"jnt_springyield", absent},
      {"tendon_dampingpoly", absent},
      {"tendon_stiffnesspoly", absent},
      {"tendon_springyield", absent},
      {"geom_adhesion", absent},
      {"pair_adhesion", absent},
      {"actuator_dampingpoly", absent},
      {"sensor_delay", absent},
      {"sensor_interval", absent},
  };
  return list;
}

// where an environment starts
const std::set<std::string> kStart = {"qpos0",    "body_pos", "body_quat", "key_time", "key_qpos",
                                      "key_qvel", "key_act",  "key_ctrl",  "key_mpos", "key_mquat"};

double* values_of(Model* m, const std::string& name, size_t* count) {
  if (name == kGravity) {
    *count = 3;
    return m->opt.gravity.data();
  }
  double* found = nullptr;
  for_each_field(*m, [&](const char* field, auto& values, int, int, double) {
    if constexpr (std::is_same_v<std::decay_t<decltype(values)>, std::vector<double>>) {
      if (name == field) found = values.data(), *count = values.size();
    }
  });
  return found;
}

}  // namespace

Parameters::Parameters(const Model& base, int num_envs) : base_(&base), num_envs_(num_envs) {}

std::vector<std::string> Parameters::names() {
  std::vector<std::string> list = {kGravity};
  for (const std::string& name : model_field_names('R')) {
    if (!refused().count(name)) list.push_back(name);
  }
  return list;
}

std::vector<int> Parameters::shape(const std::string& name) const {
  if (name == kGravity) return {3};
  const auto reason = refused().find(name);
  if (reason != refused().end()) {
    throw std::invalid_argument("'" + name + "' is no parameter of an environment: " + reason->second);
  }
  std::vector<int> shape;
  bool found = false, whole = false;
  for_each_field(*base_, [&](const char* field, const auto& values, int rows, int cols, double) {
    if (name != field) return;
    found = true;
    using T = typename std::decay_t<decltype(values)>::value_type;
    whole = std::is_same_v<T, int>;
    if (cols < 0) cols = rows > 0 ? static_cast<int>(values.size()) / rows : 0;
    shape = {rows};
    if (cols != 1) shape.push_back(cols);
  });
  if (whole) {
    throw std::invalid_argument(
        "'" + name + "' is no parameter of an environment: whole numbers of a model are shared by all");
  }
  if (!found) {
    const auto options = option_names();
    if (name.rfind("opt_", 0) == 0 &&
        std::find(options.begin(), options.end(), name.substr(4)) != options.end()) {
      throw std::invalid_argument("'" + name + "' is shared by all environments; of the options, only '" +
                                  kGravity + "' can be given per environment");
    }
    const std::string near = nearest_name(name, names());
    throw std::invalid_argument("there is no parameter '" + name + "'" +
                                (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  return shape;
}

std::vector<double> Parameters::base_values(const std::string& name) const {
  size_t count = 0;
  const double* values = values_of(const_cast<Model*>(base_), name, &count);
  return std::vector<double>(values, values + count);
}

std::vector<double> Parameters::get(const std::string& name, const std::vector<int>& envs) const {
  shape(name);
  const std::vector<double> base = base_values(name);
  std::vector<double> all;
  all.reserve(base.size() * envs.size());
  for (const int env : envs) {
    const auto& own = row(name, env);
    const auto& values = own.empty() ? base : own;
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

void Parameters::set(const std::string& name, const std::vector<double>& values,
                     const std::vector<int>& envs) {
  shape(name);
  const std::vector<double> base = base_values(name);
  if (values.size() != base.size() * envs.size()) {
    throw std::logic_error("set: " + std::to_string(values.size()) + " values of " + name);
  }
  if (base.empty()) return;
  auto& own = own_[name];
  own.resize(num_envs_);
  for (size_t i = 0; i < envs.size(); ++i) {
    const auto first = values.begin() + static_cast<long>(i * base.size());
    std::vector<double> given(first, first + static_cast<long>(base.size()));
    if (given == base) given.clear();
    own[envs[i]] = std::move(given);
  }
}

void Parameters::clear(int env) {
  for (auto& [name, rows] : own_) rows[env].clear();
}

std::set<std::string> Parameters::changed(int env) const {
  std::set<std::string> names;
  for (const auto& [name, rows] : own_) {
    if (!rows[env].empty()) names.insert(name);
  }
  return names;
}

const std::vector<double>& Parameters::row(const std::string& name, int env) const {
  static const std::vector<double> none;
  const auto found = own_.find(name);
  return found == own_.end() ? none : found->second[env];
}

void Parameters::apply(int env, Model* model) const {
  *model = *base_;
  const std::set<std::string> names = changed(env);
  for (const std::string& name : names) {
    size_t count = 0;
    double* values = values_of(model, name, &count);
    std::copy(row(name, env).begin(), row(name, env).end(), values);
  }
  derive_constants(model, names);
}

bool Parameters::equal(int env, const Parameters& there, int other) const {
  const std::set<std::string> names = changed(env);
  if (names != there.changed(other)) return false;
  for (const std::string& name : names) {
    if (row(name, env) != there.row(name, other)) return false;
  }
  return true;
}

bool Parameters::moves_start(int env) const {
  for (const std::string& name : kStart) {
    if (!row(name, env).empty()) return true;
  }
  return false;
}

bool Parameters::moves_any_start() const {
  for (const std::string& name : kStart) {
    const auto own = own_.find(name);
    if (own == own_.end()) continue;
    for (const auto& values : own->second) {
      if (!values.empty()) return true;
    }
  }
  return false;
}

}  // namespace dualstep
