// dualstep._core.Batch: a batch, its arrays as live numpy views. What a user gives is checked and named in
// dualstep/batch.py.
#include "host/batch/batch.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "bindings/answers.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "bindings/tensor.h"
#include "host/backends/cuda/cuda_memory.h"
#include "host/tables/tables.h"

namespace py = pybind11;

namespace dualstep {
namespace {

using Released = py::call_guard<ReleasedGil>;

py::dtype dtype_of(const BatchArray& array, bool float64) {
  switch (array.field->element) {
    case Element::kReal:
      return float64 ? py::dtype::of<double>() : py::dtype::of<float>();
    case Element::kDouble:
      return py::dtype::of<double>();
    case Element::kInt:
      return py::dtype::of<int>();
    default:
      return py::dtype::of<uint32_t>();
  }
}

// for other array libraries
Tensor tensor_of(const Batch& batch, const BatchArray& array) {
  Tensor t;
  t.data = array.data;
  t.shape.push_back(batch.num_envs());
  t.shape.insert(t.shape.end(), array.shape.begin(), array.shape.end());
  const Element element = array.field->element;
  t.kind = element == Element::kInt ? 'i' : element == Element::kWord ? 'u' : 'f';
  t.item_bytes = static_cast<int>(array.item_bytes);
  t.device = batch.device_index();
  t.stream = batch.stream();
  return t;
}

// a view that shares the ownership of the memory: it stays valid after the batch is gone. numpy's where the
// memory is the host's
py::object view_of(const Batch& batch, const BatchArray* array) {
  if (!array) return py::none();
  if (batch.device_index() >= 0) return py::cast(tensor_of(batch, *array));
  std::vector<py::ssize_t> shape = {batch.num_envs()};
  shape.insert(shape.end(), array->shape.begin(), array->shape.end());
  auto* owner = new std::shared_ptr<void>(array->data);
  const py::capsule base(owner, [](void* p) { delete static_cast<std::shared_ptr<void>*>(p); });
  return py::array(dtype_of(*array, batch.float64()), shape, array->data.get(), base);
}

py::object view(Batch& batch, const std::string& name) {
  const BatchArray* array = nullptr;
  until_ctrl_c([&] { array = batch.array(name); });
  return view_of(batch, array);
}

const uint8_t* mask_data(const Batch& batch, const std::optional<py::array_t<bool>>& mask) {
  if (!mask) return nullptr;
  if (mask->ndim() != 1 || mask->shape(0) != batch.num_envs()) throw py::value_error("mask: wrong shape");
  return reinterpret_cast<const uint8_t*>(mask->data());
}

void check_envs(const Batch& batch, const std::vector<int>& envs) {
  for (const int env : envs) {
    if (env < 0 || env >= batch.num_envs()) {
      throw py::value_error("environment " + std::to_string(env) + " is given, and the batch has " +
                            std::to_string(batch.num_envs()));
    }
  }
}

using FieldEntry = std::tuple<std::string, std::string, std::string, std::string>;

std::vector<FieldEntry> fields() {
  static const char* const kRoles[] = {"state", "record", "output"};
  std::vector<FieldEntry> list;
  for (const BatchField& f : batch_fields()) {
    list.emplace_back(f.name, kRoles[static_cast<int>(f.role)], f.axes, f.meaning);
  }
  return list;
}

py::list workspace_fields() {
  py::list list;
  for (const ScratchField& f : scratch_fields())
    list.append(py::make_tuple(f.name, f.size, f.stage, f.meaning));
  return list;
}

py::list arrays_of_islands() {
  py::list list;
  for (const IslandField& f : island_fields()) list.append(py::make_tuple(f.name, f.size, f.meaning));
  return list;
}

// what reads marks of the batch's own device, which `stream` still writes; whoever writes them next through that
// stream comes after it
template <class F>
void with_marks(Batch& batch, uintptr_t stream, F f) {
  if (batch.device_index() < 0) throw py::value_error("this batch is not on a CUDA device");
  cuda_wait(batch.device_index(), batch.stream()->load(), stream);
  f();
  cuda_wait(batch.device_index(), stream, batch.stream()->load());
}

using BatchClass = py::class_<Batch>;
using Mask = std::optional<py::array_t<bool>>;

void bind_names(py::module_& module) {
  module.def("batch_fields", &fields, "(name, role, axes, meaning) of every array of a batch");
  module.def("scratch_fields", &workspace_fields,
             "(name, size, stage, meaning) of every array of the workspace of a step");
  module.def("island_fields", &arrays_of_islands,
             "(name, size, meaning) of every array that islands are solved in; slots and scalars are ncon "
             "and nrow1, rounded up to 16");
  module.def("parameter_names", &Parameters::names, "what Batch.set_parameter takes");
  module.attr("STATUS_BITS") = py::dict(py::arg("DIVERGED") = static_cast<int>(kDiverged),
                                        py::arg("CONTACT_OVERFLOW") = static_cast<int>(kContactOverflow),
                                        py::arg("NOT_CONVERGED") = static_cast<int>(kNotConverged));
}

// an option of the device is an attribute as those of the batch are
template <class T>
void bind_device_option(py::class_<BatchOptions>& options, const char* name, T DeviceOptions::*member) {
  options.def_property(
      name, [member](const BatchOptions& o) { return o.device.*member; },
      [member](BatchOptions& o, const T& value) { o.device.*member = value; });
}

void bind_batch_options(py::module_& module) {
  py::class_<BatchOptions> options(module, "BatchOptions", "what a Batch is made with");
  options.def(py::init<>());
  options.def_readwrite("num_envs", &BatchOptions::num_envs);
  options.def_readwrite("float64", &BatchOptions::float64);
  options.def_readwrite("reset_diverged", &BatchOptions::reset_diverged);
  options.def_readwrite("last_stage_outputs", &BatchOptions::last_stage_outputs);
  bind_device_option(options, "device", &DeviceOptions::device);
  bind_device_option(options, "num_threads", &DeviceOptions::num_threads);
  bind_device_option(options, "isa", &DeviceOptions::isa);
  bind_device_option(options, "lanes", &DeviceOptions::lanes);
  bind_device_option(options, "order", &DeviceOptions::order);
  bind_device_option(options, "seed", &DeviceOptions::seed);
}

void bind_description(BatchClass& batch) {
  batch.def_property_readonly("num_envs", &Batch::num_envs)
      .def_property_readonly("device", &Batch::device)
      .def_property_readonly("description", &Batch::description)
      .def_property_readonly("device_index", &Batch::device_index)
      .def("own_tables", &Batch::own_tables, "the kernels' tables that are kept per environment")
      .def_property_readonly(
          "sensors_in_step", [](const Batch& self) { return sensors_in_step(self.model()); },
          "whether the step computes all sensors of the model")
      .def(
          "integers",
          [](const Batch& self, const std::string& table) { return copied(self.integers(table)); },
          py::arg("table"));
}

void bind_arrays(BatchClass& batch) {
  batch.def("view", &view, py::arg("name"))
      .def(
          "tensor",
          [](Batch& self, const std::string& name) -> std::optional<Tensor> {
            const BatchArray* array = nullptr;
            until_ctrl_c([&] { array = self.array(name); });
            return array ? std::optional(tensor_of(self, *array)) : std::nullopt;
          },
          py::arg("name"), "the same memory as an Array, on every device")
      .def(
          "last", [](const Batch& self, const std::string& name) { return view_of(self, self.last(name)); },
          py::arg("name"), "a state array as the last evaluation found it")
      .def(
          "want",
          [](Batch& self, const std::vector<std::string>& names) { until_ctrl_c([&] { self.want(names); }); },
          py::arg("names"));
}

void bind_stream(BatchClass& batch) {
  batch
      .def_property(
          "stream", [](const Batch& self) { return self.stream()->load(); }, &Batch::set_stream)
      .def(
          "wait",
          [](Batch& self) {
            if (self.device_index() < 0) return;
            uint32_t word = 0;
            const void* const status = self.array("status")->data.get();
            cuda_read(self.device_index(), self.stream()->load(), &word, status, sizeof word);
          },
          Released());
}

void bind_measures(BatchClass& batch) {
  batch.def("time_stages", &Batch::time_stages, py::arg("on"))
      .def(
          "stage_ticks",
          [](const Batch& self) {
            constexpr const char* kNames[] = {
#define DS_STAGE_NAME(name) #name,
                DS_STAGES(DS_STAGE_NAME)
#undef DS_STAGE_NAME
            };
            const std::vector<uint64_t> ticks = self.stage_ticks();
            std::map<std::string, uint64_t> found;
            for (size_t s = 0; s < ticks.size(); ++s) found[kNames[s]] = ticks[s];
            return found;
          },
          "clock ticks by stage, since time_stages(True); empty where the device does not count")
      .def(
          "summary",
          [](Batch& self) {
            BatchSummary s;
            until_ctrl_c([&] { s = self.summarize(); });
            const bool known = s.largest_residual >= 0;
            return std::make_tuple(s.diverged, s.overflowed, s.unconverged, s.iterations, s.most_iterations,
                                   known ? s.largest_residual : std::numeric_limits<double>::quiet_NaN(),
                                   known ? s.largest_residual_at : -1);
          },
          "counts and maxima over the batch, taken together where it lives")
      .def(
          "inspect",
          [](Batch& self, const std::string& name, int env) {
            check_envs(self, {env});
            const Engine::Inspected found = self.inspect(name, env);
            return std::make_tuple(copied(found.values, {found.shape.begin(), found.shape.end()}),
                                   found.integers);
          },
          py::arg("name"), py::arg("env"),
          "an array of the workspace, on the emulator; whether it holds integers");
}

void bind_rays(BatchClass& batch) {
  batch.def(
      "ray",
      [](Batch& self, const py::array& origin, const py::array& direction, int groups, int exclude_body,
         bool fixed) {
        const py::ssize_t envs = self.num_envs(), rays = origin.shape(1);
        py::array distance(origin.dtype(), std::vector<py::ssize_t>{envs, rays});
        py::array_t<int> geom({envs, rays});
        const void *from = origin.data(), *to = direction.data();
        void* const found = distance.mutable_data();
        int* const met = geom.mutable_data();
        until_ctrl_c([&] {
          self.ray({groups, exclude_body, fixed}, from, to, static_cast<int>(rays), found, met);
        });
        return std::make_tuple(distance, geom);
      },
      py::arg("origin"), py::arg("direction"), py::arg("groups"), py::arg("exclude_body"), py::arg("fixed"),
      "distances and geoms of (num_envs, rays, 3) rays, contiguous and of the batch's precision");
}

void bind_stepping(BatchClass& batch) {
  // whoever waits for the batch meanwhile has let go of the GIL: these calls see to it
  batch
      .def(
          "step", [](Batch& self, int nsubsteps) { until_ctrl_c([&] { self.step(nsubsteps); }); },
          py::arg("nsubsteps"))
      .def(
          "forward",
          [](Batch& self, const Mask& mask) {
            const uint8_t* marks = mask_data(self, mask);
            until_ctrl_c([&] { self.forward(marks); });
          },
          py::arg("mask"))
      .def(
          "reset",
          [](Batch& self, const Mask& mask, int keyframe) {
            const uint8_t* marks = mask_data(self, mask);
            until_ctrl_c([&] { self.reset(marks, keyframe); });
          },
          py::arg("mask"), py::arg("keyframe"))
      .def(
          "clear_status",
          [](Batch& self, const Mask& mask) {
            const uint8_t* marks = mask_data(self, mask);
            const ReleasedGil released;
            self.clear_status(marks);
          },
          py::arg("mask"));
}

// the same by masks that lie on the batch's own device
void bind_stepping_on_device(BatchClass& batch) {
  batch
      .def(
          "reset_marked",
          [](Batch& self, uintptr_t marks, uintptr_t stream, int keyframe) {
            with_marks(self, stream,
                       [&] { self.reset_marked(reinterpret_cast<const uint8_t*>(marks), keyframe); });
          },
          py::arg("marks"), py::arg("stream"), py::arg("keyframe"), Released(),
          "reset by a mask of booleans on the batch's own device, which `stream` still writes")
      .def(
          "forward_marked",
          [](Batch& self, uintptr_t marks, uintptr_t stream) {
            with_marks(self, stream, [&] { self.forward_marked(reinterpret_cast<const uint8_t*>(marks)); });
          },
          py::arg("marks"), py::arg("stream"), Released(), "forward, likewise");
}

void bind_saving(BatchClass& batch) {
  batch
      .def(
          "save",
          [](Batch& self, const std::vector<int>& envs) {
            check_envs(self, envs);
            std::string bytes;
            py::bytes answer;
            until_ctrl_c([&] { bytes = self.save(envs); });
            until_ctrl_c_with_lock([&] { answer = copied(bytes); });
            return answer;
          },
          py::arg("envs"))
      .def(
          "load",
          [](Batch& self, const py::bytes& state, const std::vector<int>& envs) {
            check_envs(self, envs);
            const std::string_view bytes(state);
            until_ctrl_c([&] { self.load(bytes, envs); });
          },
          py::arg("state"), py::arg("envs"));
}

void bind_parameters(BatchClass& batch) {
  batch.def("parameter_shape", &Batch::parameter_shape, py::arg("name"))
      .def(
          "get_parameter",
          [](const Batch& self, const std::string& name, const std::vector<int>& envs) {
            check_envs(self, envs);
            std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(envs.size())};
            for (const int axis : self.parameter_shape(name)) shape.push_back(axis);
            std::vector<double> values;
            until_ctrl_c([&] { values = self.get_parameter(name, envs); });
            return copied(values, shape);
          },
          py::arg("name"), py::arg("envs"))
      .def(
          "set_parameter",
          [](Batch& self, const std::string& name, const py::array_t<double, py::array::c_style>& values,
             const std::vector<int>& envs) {
            check_envs(self, envs);
            const std::vector<double> rows(values.data(), values.data() + values.size());
            until_ctrl_c([&] { self.set_parameter(name, rows, envs); });
          },
          py::arg("name"), py::arg("values"), py::arg("envs"))
      .def(
          "environment_model",
          [](const Batch& self, int env) {
            check_envs(self, {env});
            Model model;
            until_ctrl_c([&] { model = self.environment_model(env); });
            return model;
          },
          py::arg("env"), "the model as one environment has it");
}

}  // namespace

void bind_batch(py::module_& module) {
  bind_names(module);
  bind_batch_options(module);
  BatchClass batch(module, "Batch", "a batch: N environments of one model on one device");
  batch.def(py::init([](const Model& model, const BatchOptions& options) {
              std::unique_ptr<Batch> made;
              until_ctrl_c([&] { made = std::make_unique<Batch>(model, options); });
              return made;
            }),
            py::arg("model"), py::arg("options"));
  bind_description(batch);
  bind_arrays(batch);
  bind_stream(batch);
  bind_measures(batch);
  bind_rays(batch);
  bind_stepping(batch);
  bind_stepping_on_device(batch);
  bind_saving(batch);
  bind_parameters(batch);
}

}  // namespace dualstep
