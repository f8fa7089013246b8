// dualstep._core: specialised kernels, compiled without a GPU (host/backends/cuda/specialize).
#include "host/backends/cuda/specialize/specialize.h"

#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "host/backends/cuda/specialize/cache.h"
#include "host/backends/cuda/specialize/nvrtc.h"
#include "host/tables/tables.h"

namespace py = pybind11;

namespace dualstep {
namespace {

template <class Scalar>
std::string text_of(const Model& model, const std::vector<int>& lanes) {
  const TableSet<Scalar> tables(model);
  return program_text(tables.view(), choose_lanes(lanes));
}

}  // namespace

void bind_specialize(py::module_& module) {
  module.def("search_nvrtc_in", &search_nvrtc_in, py::arg("folders"), "where Python's packages lie");
  module.def("describe_specialization", &describe_specialization);
  module.def("specialization_cache", &cache_folder);
  module.def(
      "specialized_program",
      [](const Model& model, const std::vector<int>& lanes, bool float64) {
        return float64 ? text_of<double>(model, lanes) : text_of<float>(model, lanes);
      },
      py::arg("model"), py::arg("lanes") = std::vector<int>{8}, py::arg("float64") = false,
      "the text of a model's step");
  module.def(
      "specialize",
      [](const std::string& program, const std::string& arch, bool lines) {
        Special special;
        {
          const ReleasedGil released;
          special = specialize(program, arch, lines);
        }
        return py::dict(py::arg("code") = py::bytes(special.code), py::arg("why") = special.why,
                        py::arg("log") = special.log, py::arg("cached") = special.cached,
                        py::arg("seconds") = special.seconds);
      },
      py::arg("program"), py::arg("arch"), py::arg("lines") = false,
      "its machine code: from the cache, or compiled and put there; with the line of each instruction where "
      "that is wanted, "
      "compiled and not kept");
  module.def("distrust", &distrust, py::arg("path"),
             "'', or why code is not loaded from there: others can write it");
  module.def(
      "kernel_sources",
      [] {
        py::dict files;
        for (const SourceFile& file : kernel_sources()) files[file.name] = file.text;
        return files;
      },
      "the sources that programs include, as the library holds them");
}

}  // namespace dualstep
