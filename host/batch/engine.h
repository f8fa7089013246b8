// What runs a batch in one precision: the tables of the model, shared and per environment, the pointers that
// the kernels see, and the device. Batch owns the arrays and knows their names; an engine knows their type.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/backends/backend.h"
#include "host/model/model.h"

namespace dualstep {

class Engine {
 public:
  // the tables of one environment where they differ from the shared ones: made by compare, taken by adopt
  struct Difference {
    virtual ~Difference() = default;
  };

  struct Inspected {
    std::vector<double> values;
    std::vector<int> shape;
    bool integers = false;
  };

  virtual ~Engine() = default;
  virtual const Sizes& sizes() const = 0;
  // memory and queues
  virtual Device& device() const = 0;
  virtual BatchSummary summarize() = 0;
  // what the backend says of these (host/backends/backend.h); false where the host can do it as well
  virtual bool place_marked(const std::vector<PlacedRow>& rows, const uint8_t* marks, bool replay) = 0;
  virtual bool copy_marked(const std::vector<CopiedRow>& rows, const uint8_t* marks, bool replay) = 0;
  virtual bool step_and_restart(const StepArgs& args, const std::vector<PlacedRow>& rows, uint32_t* counts,
                                bool replay) = 0;

  // tells the kernels where an array lies; null where it is not wanted. last: what the last evaluation saw
  virtual void connect(const std::string& name, bool last, void* data) = 0;
  // an action on the listed blocks, or on all where blocks is null. A replay writes outputs and contacts
  // only.
  virtual void run(const StepArgs& args, const int* blocks, int num_blocks) = 0;

  // an array of the workspace as the last evaluation of an environment leaves it; "islands.NAME" is one of those that
  // islands are solved in. Throws std::invalid_argument where the device keeps none, or where there is none of that name
  virtual Inspected inspect(const std::string& array, int env) = 0;

  // the tables of a model against the shared ones. Throws std::invalid_argument where they differ in more
  // than real numbers: all environments have the same rows, pairs and sizes.
  virtual std::shared_ptr<const Difference> compare(const Model& model) = 0;
  // makes them those of the listed environments
  virtual void adopt(const std::vector<std::pair<int, std::shared_ptr<const Difference>>>& environments) = 0;
  // names of the tables that are kept per environment
  virtual std::vector<std::string> own_tables() const = 0;
  // the integers of a table that all environments share
  virtual const std::vector<int>& integers(const std::string& table) const = 0;
};

template <class Scalar>
std::unique_ptr<Engine> make_engine(const Model& model, int num_envs, const DeviceOptions& options);

}  // namespace dualstep
