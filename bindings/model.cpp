// dualstep._core.Model and Options: a model from a dictionary of arrays, its arrays as read-only numpy views,
// its options as attributes.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "host/model/contact_law.h"
#include "host/model/model_fields.h"
#include "host/model/options_table.h"
#include "host/model/relations.h"
#include "host/model/unsupported.h"

namespace py = pybind11;

namespace dualstep {
namespace {

template <class T>
std::vector<T> to_vector(const py::handle& object, const std::string& name) {
  // booleans and single-precision numbers are converted, everything else is refused
  const auto array = py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(object);
  if (!array) {
    PyErr_Clear();
    throw InvalidModelError("'" + name + "' is no array of numbers");
  }
  return std::vector<T>(array.data(), array.data() + array.size());
}

std::string to_bytes(const py::dict& raw, const char* name) {
  return raw.contains(name) ? std::string(py::cast<py::bytes>(raw[name])) : std::string();
}

// {"sizes": {name: int}, "ints": {name: array}, "reals": {name: array}, "option": {name: array},
//  "names": bytes, "text": bytes}
Model model_from_dict(const py::dict& source) {
  RawModel raw;
  for (const auto& [key, value] : py::cast<py::dict>(source["sizes"])) {
    raw.sizes[py::cast<std::string>(key)] = py::cast<long>(value);
  }
  for (const auto& [key, value] : py::cast<py::dict>(source["ints"])) {
    const auto name = py::cast<std::string>(key);
    raw.ints[name] = to_vector<int>(value, name);
  }
  for (const auto& [key, value] : py::cast<py::dict>(source["reals"])) {
    const auto name = py::cast<std::string>(key);
    raw.reals[name] = to_vector<double>(value, name);
  }
  for (const auto& [key, value] : py::cast<py::dict>(source["option"])) {
    const auto name = py::cast<std::string>(key);
    raw.option[name] = to_vector<double>(value, name);
  }
  raw.names = to_bytes(source, "names");
  raw.text = to_bytes(source, "text");
  Model model;
  until_ctrl_c_with_lock([&] { model = load_model(raw); });
  return model;
}

// a read-only view of one array of the model, kept alive by it; None where there is no such array
py::object field(const py::object& self, const std::string& wanted) {
  const Model& model = py::cast<const Model&>(self);
  py::object found = py::none();
  for_each_field(model, [&](const char* name, const auto& values, int rows, int cols, double) {
    if (wanted != name) return;
    using T = typename std::decay_t<decltype(values)>::value_type;
    if (cols < 0) cols = rows > 0 ? static_cast<int>(values.size()) / rows : 0;
    std::vector<py::ssize_t> shape = {rows};
    if (cols != 1) shape.push_back(cols);
    py::array_t<T> array(shape, values.data(), self);
    array.attr("flags").attr("writeable") = false;
    found = array;
  });
  return found;
}

void bind_options(py::module_& module) {
  py::class_<Options> options(module, "Options",
                              "the options of a model, read when a Batch or Reference is made");
  const py::object property = py::module_::import("builtins").attr("property");
  for (const std::string& name : option_names()) {
    const py::cpp_function get(
        [name](const py::object& self) -> py::object {
          Options& o = py::cast<Options&>(self);
          int n = 0;
          // a live view, so that model.opt.gravity[2] = 0 does what it says
          if (double* data = option_array(o, name, &n)) return py::array_t<double>({n}, data, self);
          return std::visit([](const auto& v) { return py::cast(v); }, get_option(o, name));
        },
        py::is_method(options));
    const py::cpp_function set(
        [name](Options& o, const py::object& value) {
          OptionValue given;
          if (value.is_none()) {
            given = std::monostate{};
          } else if (py::isinstance<py::bool_>(value)) {
            given = py::cast<bool>(value);
          } else if (py::isinstance<py::str>(value)) {
            given = py::cast<std::string>(value);
          } else if (py::isinstance<py::int_>(value)) {
            given = py::cast<long>(value);
          } else if (py::isinstance<py::float_>(value)) {
            given = py::cast<double>(value);
          } else {
            const auto array = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(value);
            if (!array || array.ndim() > 1) {
              PyErr_Clear();
              throw py::value_error("option '" + name + "' is given " +
                                    py::cast<std::string>(py::repr(value)));
            }
            if (array.ndim() == 0) {
              given = *array.data();
            } else {
              given = std::vector<double>(array.data(), array.data() + array.size());
            }
          }
          if (const auto* word = std::get_if<std::string>(&given)) {
            const std::string instead = replacement_of(name, *word);
            const std::string message = name + " = '" + *word + "' is deprecated: use '" + instead + "'";
            if (!instead.empty() && PyErr_WarnEx(PyExc_DeprecationWarning, message.c_str(), 1) != 0)
              throw py::error_already_set();
          }
          set_option(o, name, given);
        },
        py::is_method(options));
    options.attr(name.c_str()) = property(get, set);
  }
  options.def("__repr__", [](const py::object& self) {
    std::string text = "Options(";
    for (const std::string& name : option_names()) {
      text += (text.back() == '(' ? "" : ", ") + name + "=" +
              py::cast<std::string>(py::repr(self.attr(name.c_str())));
    }
    return text + ")";
  });
}

}  // namespace

// word, names of its traits, words of integrators; none where all
using ContactModelRow = std::tuple<std::string, std::vector<std::string>, std::vector<std::string>>;
std::vector<ContactModelRow> contact_model_rows() {
  std::vector<ContactModelRow> rows;
  for (const ContactModelTraits& model : contact_models()) {
    std::vector<std::string> traits, integrators;
    for (const auto& [name, has] :
         {std::pair{"springs", model.springs}, std::pair{"anchors", model.anchors},
          std::pair{"impacts", model.impacts}, std::pair{"directions", model.directions}})
      if (has) traits.emplace_back(name);
    for (const int integrator : model.integrators) {
      Options options;
      options.integrator = static_cast<Integrator>(integrator);
      integrators.push_back(std::get<std::string>(get_option(options, "integrator")));
    }
    rows.emplace_back(model.word, traits, integrators);
  }
  return rows;
}

void bind_model(py::module_& module) {
  module.def(
      "contact_models", &contact_model_rows,
      "(word, traits, integrators) of the contact models that a Batch runs; traits are springs, anchors, "
      "impacts, directions; no integrators where it runs with all");
  bind_options(module);
  py::class_<Model> model(module, "Model", "a compiled model");
  model.def(py::init(&model_from_dict), py::arg("raw"));
  model.def(py::init<const Model&>(), py::arg("other"));
  model.def_readonly("deprecations", &Model::deprecations);
  model.def_readonly("opt", &Model::opt, py::return_value_policy::reference_internal);
  model.def("field", &field, "a read-only view of one of MuJoCo's model arrays, or None");
  model.def("name_of", &Model::name_of, py::arg("kind"), py::arg("id"));
  model.def("id_of", &Model::id_of, py::arg("kind"), py::arg("name"));
  model.def_property_readonly("nctrlhist", [](const Model& m) { return kept_controls(m).back(); });
  model.def(
      "check", [](const Model& m) { until_ctrl_c_with_lock([&] { check_model(m); }); },
      "raises where the model, under its present options, cannot be simulated");
  model.def("_set_restitution", [](Model& m, int geom1, int geom2, double e) {
    m.pair_restitution[{std::min(geom1, geom2), std::max(geom1, geom2)}] = e;
  });
  model.def("_restitutions", [](const Model& m) {
    py::list list;
    for (const auto& [pair, e] : m.pair_restitution) list.append(py::make_tuple(pair.first, pair.second, e));
    return list;
  });
  model.def("_prescribed", [](const Model& m) {
    py::list list;
    for (const Model::Prescribed& p : m.prescribed)
      list.append(py::make_tuple(p.joint, p.offset, p.amplitude, p.frequency, p.phase));
    return list;
  });
  model.def("_prescribe_velocity",
            [](Model& m, int joint, double offset, double amplitude, double frequency, double phase) {
              prescribe_velocity(&m, joint, offset, amplitude, frequency, phase);
            });
  for (const std::string& name : model_size_names()) {
    const py::cpp_function get(
        [name](const Model& m) {
          int found = 0;
          for_each_size(m, [&](const char* size, int value) {
            if (name == size) found = value;
          });
          return found;
        },
        py::is_method(model));
    model.attr(name.c_str()) = py::module_::import("builtins").attr("property")(get);
  }
  module.def("model_field_names", [](const std::string& kind) { return model_field_names(kind.at(0)); });
  module.def(
      "model_relations",
      [] {
        constexpr const char* kKinds[] = {"exact", "range", "free"};
        py::list list;
        for (const Relation& r : model_relations())
          list.append(py::make_tuple(r.field, kKinds[static_cast<int>(r.kind)], r.meaning));
        return list;
      },
      "(array, kind, meaning) of what each integer array must hold; kind: exact, range or free");
  module.def("model_size_names", &model_size_names);
  module.def("model_option_names", &model_option_names);
}

}  // namespace dualstep
