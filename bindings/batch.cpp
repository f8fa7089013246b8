// dualstep._core.Batch: a batch, its arrays as live numpy views. What a user gives is checked and named in
// dualstep/batch.py.
#include "host/batch/batch.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <limits>

#include "bindings/bindings.h"
#include "bindings/tensor.h"
#include "host/backends/cuda/cuda_memory.h"

namespace py = pybind11;

namespace dualstep {
namespace {

using Released = py::call_guard<py::gil_scoped_release>;

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
  const BatchArray* array;
  {
    const py::gil_scoped_release released;
    array = batch.array(name);
  }
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

py::list fields() {
  static const char* const kRoles[] = {"state", "record", "output"};
  py::list list;
  for (const BatchField& f : batch_fields()) {
    list.append(py::make_tuple(f.name, kRoles[static_cast<int>(f.role)], f.axes, f.meaning));
  }
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

// a step that Ctrl-C ends, between substeps
void step(Batch& batch, int nsubsteps) {
  bool whole;
  {
    const py::gil_scoped_release released;
    // whoever waits for the batch meanwhile has let go of the GIL: the calls above and below see to it
    whole = batch.step(nsubsteps, [] {
      const py::gil_scoped_acquire held;
      return PyErr_CheckSignals() != 0;
    });
  }
  if (!whole) throw py::error_already_set();
}

}  // namespace

void bind_batch(py::module_& module) {
  module.def("batch_fields", &fields, "(name, role, axes, meaning) of every array of a batch");
  module.def("parameter_names", &Parameters::names, "what Batch.set_parameter takes");
  module.attr("STATUS_BITS") = py::dict(py::arg("DIVERGED") = static_cast<int>(kDiverged),
                                        py::arg("CONTACT_OVERFLOW") = static_cast<int>(kContactOverflow),
                                        py::arg("NOT_CONVERGED") = static_cast<int>(kNotConverged));

  py::class_<Batch>(module, "Batch")
      .def(py::init([](const Model& model, int num_envs, const std::string& device, bool float64,
                       int num_threads, const std::string& isa, bool reset_diverged,
                       const std::vector<int>& lanes, const std::string& order, uint64_t seed,
                       bool last_stage_outputs) {
             BatchOptions options;
             options.num_envs = num_envs;
             options.device = {device, num_threads, isa, lanes, order, seed};
             options.float64 = float64;
             options.reset_diverged = reset_diverged;
             options.last_stage_outputs = last_stage_outputs;
             return std::make_unique<Batch>(model, options);
           }),
           py::arg("model"), py::arg("num_envs"), py::arg("device"), py::arg("float64"),
           py::arg("num_threads"), py::arg("isa"), py::arg("reset_diverged"), py::arg("lanes"),
           py::arg("order"), py::arg("seed"), py::arg("last_stage_outputs"), Released())
      .def_property_readonly("num_envs", &Batch::num_envs)
      .def_property_readonly("device", &Batch::device)
      .def_property_readonly("description", &Batch::description)
      .def_property_readonly("device_index", &Batch::device_index)
      .def_property(
          "stream", [](const Batch& batch) { return batch.stream()->load(); }, &Batch::set_stream)
      .def(
          "wait",
          [](Batch& batch) {
            if (batch.device_index() < 0) return;
            uint32_t word = 0;
            const void* const status = batch.array("status")->data.get();
            cuda_read(batch.device_index(), batch.stream()->load(), &word, status, sizeof word);
          },
          Released())
      .def("view", &view, py::arg("name"))
      .def(
          "tensor",
          [](Batch& batch, const std::string& name) -> py::object {
            const BatchArray* array;
            {
              const py::gil_scoped_release released;
              array = batch.array(name);
            }
            return array ? py::cast(tensor_of(batch, *array)) : py::none();
          },
          py::arg("name"), "the same memory as an Array, on every device")
      .def(
          "last",
          [](const Batch& batch, const std::string& name) { return view_of(batch, batch.last(name)); },
          py::arg("name"), "a state array as the last evaluation found it")
      .def("time_stages", &Batch::time_stages, py::arg("on"))
      .def(
          "stage_ticks",
          [](const Batch& batch) {
            constexpr const char* kNames[] = {
#define DS_STAGE_NAME(name) #name,
                DS_STAGES(DS_STAGE_NAME)
#undef DS_STAGE_NAME
            };
            const std::vector<uint64_t> ticks = batch.stage_ticks();
            py::dict found;
            for (size_t s = 0; s < ticks.size(); ++s) found[kNames[s]] = ticks[s];
            return found;
          },
          "ticks of the processor by stage, since time_stages(True); empty where the device does not count")
      .def(
          "summary",
          [](Batch& batch) {
            BatchSummary s;
            {
              const py::gil_scoped_release released;
              s = batch.summarize();
            }
            const bool known = s.largest_residual >= 0;
            return py::make_tuple(s.diverged, s.overflowed, s.unconverged, s.iterations, s.most_iterations,
                                  known ? s.largest_residual : std::numeric_limits<double>::quiet_NaN(),
                                  known ? s.largest_residual_at : -1);
          },
          "counts and maxima over the batch, taken together where it lives")
      .def("want", &Batch::want, py::arg("names"), Released())
      .def("step", &step, py::arg("nsubsteps"))
      .def(
          "forward",
          [](Batch& batch, const std::optional<py::array_t<bool>>& mask) {
            const uint8_t* marks = mask_data(batch, mask);
            const py::gil_scoped_release released;
            batch.forward(marks);
          },
          py::arg("mask"))
      .def(
          "reset",
          [](Batch& batch, const std::optional<py::array_t<bool>>& mask, int keyframe) {
            const uint8_t* marks = mask_data(batch, mask);
            const py::gil_scoped_release released;
            batch.reset(marks, keyframe);
          },
          py::arg("mask"), py::arg("keyframe"))
      .def(
          "reset_marked",
          [](Batch& batch, uintptr_t marks, uintptr_t stream, int keyframe) {
            with_marks(batch, stream,
                       [&] { batch.reset_marked(reinterpret_cast<const uint8_t*>(marks), keyframe); });
          },
          py::arg("marks"), py::arg("stream"), py::arg("keyframe"), Released(),
          "reset by a mask of booleans on the batch's own device, which `stream` still writes")
      .def(
          "forward_marked",
          [](Batch& batch, uintptr_t marks, uintptr_t stream) {
            with_marks(batch, stream, [&] { batch.forward_marked(reinterpret_cast<const uint8_t*>(marks)); });
          },
          py::arg("marks"), py::arg("stream"), Released(), "forward, likewise")
      .def(
          "clear_status",
          [](Batch& batch, const std::optional<py::array_t<bool>>& mask) {
            const uint8_t* marks = mask_data(batch, mask);
            const py::gil_scoped_release released;
            batch.clear_status(marks);
          },
          py::arg("mask"))
      .def(
          "save",
          [](Batch& batch, const std::vector<int>& envs) {
            check_envs(batch, envs);
            std::string bytes;
            {
              const py::gil_scoped_release released;
              bytes = batch.save(envs);
            }
            return py::bytes(bytes);
          },
          py::arg("envs"))
      .def(
          "load",
          [](Batch& batch, const py::bytes& state, const std::vector<int>& envs) {
            check_envs(batch, envs);
            const std::string bytes(state);
            const py::gil_scoped_release released;
            batch.load(bytes, envs);
          },
          py::arg("state"), py::arg("envs"))
      .def("parameter_shape", &Batch::parameter_shape, py::arg("name"))
      .def(
          "get_parameter",
          [](const Batch& batch, const std::string& name, const std::vector<int>& envs) {
            check_envs(batch, envs);
            std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(envs.size())};
            for (const int axis : batch.parameter_shape(name)) shape.push_back(axis);
            std::vector<double> values;
            {
              const py::gil_scoped_release released;
              values = batch.get_parameter(name, envs);
            }
            return py::array_t<double>(shape, values.data());
          },
          py::arg("name"), py::arg("envs"))
      .def(
          "set_parameter",
          [](Batch& batch, const std::string& name, const py::array_t<double, py::array::c_style>& values,
             const std::vector<int>& envs) {
            check_envs(batch, envs);
            const std::vector<double> rows(values.data(), values.data() + values.size());
            const py::gil_scoped_release released;
            batch.set_parameter(name, rows, envs);
          },
          py::arg("name"), py::arg("values"), py::arg("envs"))
      .def(
          "environment_model",
          [](const Batch& batch, int env) {
            check_envs(batch, {env});
            const py::gil_scoped_release released;
            return batch.environment_model(env);
          },
          py::arg("env"), "the model as one environment has it")
      .def("own_tables", &Batch::own_tables, "the kernels' tables that are kept per environment")
      .def(
          "integers",
          [](const Batch& batch, const std::string& table) {
            const std::vector<int>& values = batch.integers(table);
            return py::array_t<int>(static_cast<py::ssize_t>(values.size()), values.data());
          },
          py::arg("table"));
}

}  // namespace dualstep
