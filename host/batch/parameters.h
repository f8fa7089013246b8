// Per-environment model parameters: which arrays of the model were replaced in which environments.
// A plain value: copied before a change, so that a change that fails leaves nothing behind.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/model/model.h"

namespace dualstep {

class Parameters {
 public:
  Parameters(const Model& base, int num_envs);

  // the shape of a parameter in one environment, as MuJoCo has it: (ngeom, 3). Throws std::invalid_argument
  // for a name that is no parameter, with the nearest names or the reason.
  std::vector<int> shape(const std::string& name) const;
  // the names that set takes
  static std::vector<std::string> names();

  // row-major values of one environment after the other
  std::vector<double> get(const std::string& name, const std::vector<int>& envs) const;
  void set(const std::string& name, const std::vector<double>& values, const std::vector<int>& envs);
  // back to the model's values
  void clear(int env);

  // names of what differs from the model in this environment
  std::set<std::string> changed(int env) const;
  // all overridden arrays, by name, for saving: values of one environment; empty where they are the model's
  const std::vector<double>& row(const std::string& name, int env) const;
  // makes `model`, a copy of the base model, that of an environment; constants are derived anew
  void apply(int env, Model* model) const;
  // whether an environment here has what another has there
  bool equal(int env, const Parameters& there, int other) const;
  // whether an environment's own parameters decide where it starts
  bool moves_start(int env) const;
  bool moves_any_start() const;

 private:
  std::vector<double> base_values(const std::string& name) const;

  const Model* base_;
  int num_envs_;
  // by name, one vector an environment, empty where it has the model's values
  std::map<std::string, std::vector<std::vector<double>>> own_;
};

}  // namespace dualstep
