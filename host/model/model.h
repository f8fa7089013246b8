// A compiled model: the arrays taken from an mjModel, the options, and the names. Immutable after loading
// but for `opt` and the restitution of pairs; kernels and the reference each derive their own tables from it.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/model/options.h"

namespace dualstep {

// one thing that is wrong with a model: "mesh collision", "geom 'foot'", what all such elements have in common, and
// what is particular to this one: "it can touch geom 'floor' and geom 'wall'"
struct Problem {
  std::string feature, element, reason, detail = "";
};
// a model holds something that changes the physics and is not simulated: every such element is named at once
struct UnsupportedModelError : std::runtime_error {
  using std::runtime_error::runtime_error;
  UnsupportedModelError(const std::string& what, std::vector<Problem> all)
      : std::runtime_error(what), problems(std::move(all)) {}
  std::vector<Problem> problems;
};
// a value that makes no sense (not finite, negative friction, ...): every such value is named at once
struct InvalidModelError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
  InvalidModelError(const std::string& what, std::vector<Problem> all)
      : std::invalid_argument(what), problems(std::move(all)) {}
  std::vector<Problem> problems;
};

// arrays by MuJoCo name, as a reader found them; what a model is loaded from
struct RawModel {
  std::map<std::string, long> sizes;                  // nq, nv, ..., nmocap, nsensordata, nflex, nhfield, ...
  std::map<std::string, std::vector<int>> ints;       // row-major
  std::map<std::string, std::vector<double>> reals;   // row-major
  std::map<std::string, std::vector<double>> option;  // mjOption, scalars as one entry
  std::string names;                                  // mjModel.names, zero-separated
  std::string text;                                   // mjModel.text_data
};

struct Model {
  // sizes, as in mjModel
  int nq = 0, nv = 0, nu = 0, na = 0, nbody = 0, njnt = 0, ngeom = 0, nsite = 0, npair = 0, nexclude = 0,
      neq = 0, ntendon = 0, nwrap = 0, nactuator = 0, nsensor = 0, nsensordata = 0, nkey = 0, nmocap = 0,
      nmesh = 0, nmeshvert = 0, nmeshface = 0, nmeshgraph = 0, nmeshpoly = 0, nmeshpolyvert = 0,
      nmeshpolymap = 0, nhfield = 0, nhfielddata = 0, nnumeric = 0, nnumericdata = 0, ntext = 0;

  using I = int;
  using R = double;
#define FIELD(kind, name, rows, cols, fallback) std::vector<kind> name;
#include "host/model/mjmodel_fields.inl"
#undef FIELD

  Options opt;
  std::string names, text;
  // restitution of single pairs of geoms, smaller id first; opt.restitution holds for all others
  std::map<std::pair<int, int>, double> pair_restitution;
  // hinges and slides whose velocity is a given function of time: offset + amplitude cos(frequency t + phase)
  struct Prescribed {
    int joint = -1;
    double offset = 0, amplitude = 0, frequency = 0, phase = 0;
  };
  std::vector<Prescribed> prescribed;
  // warnings for the user: for each deprecated word in the model's file a sentence that says what to write instead
  std::vector<std::string> deprecations;

  // the name of element `id` of a kind ("body", "jnt", "geom", ...), or "kind id" where it has none
  std::string name_of(const std::string& kind, int id) const;
  // the id of the element with this name; -1 where there is none
  int id_of(const std::string& kind, const std::string& name) const;
};

// checks, refusals and options: throws UnsupportedModelError, InvalidModelError
Model load_model(const RawModel& raw);
// the refusals and value checks again, for options that the user changed since: called when a Batch or a
// Reference is made
void check_model(const Model& model);
// the velocity of a hinge or slide as a function of time, instead of any former one; throws
// std::invalid_argument
void prescribe_velocity(Model* model, int joint, double offset, double amplitude, double frequency,
                        double phase);
// the names of raw arrays that a reader should supply where the mjModel has them
std::vector<std::string> model_field_names(char kind);
std::vector<std::string> model_size_names();
std::vector<std::string> model_option_names();

}  // namespace dualstep
