// dualstep._core: the extension module. Errors of the library become the classes of dualstep/errors.py.
#include "bindings/bindings.h"
#include "host/model/model.h"

namespace py = pybind11;

namespace dualstep {
namespace {

// raises errors.<name>(message) with the list of (feature, element, reason)
void raise(const char* name, const char* message, const std::vector<Problem>& problems) {
  const py::object type = py::module_::import("dualstep.errors").attr(name);
  const py::object error = type(message);
  py::list entries;
  for (const Problem& p : problems) {
    const std::string reason = p.detail.empty() ? p.reason : p.detail + "; " + p.reason;
    entries.append(py::make_tuple(p.feature, p.element, reason));
  }
  error.attr("problems") = entries;
  PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const UnsupportedModelError& e) {
    raise("UnsupportedModelError", e.what(), e.problems);
  } catch (const InvalidModelError& e) {
    raise("InvalidModelError", e.what(), e.problems);
  }
}

}  // namespace
}  // namespace dualstep

PYBIND11_MODULE(_core, module) {
  module.doc() = "the compiled part of dualstep";
  py::register_exception_translator(dualstep::translate);
  dualstep::bind_model(module);
#if DUALSTEP_HAS_REFERENCE
  dualstep::bind_reference(module);
#endif
  dualstep::bind_tensor(module);
  dualstep::bind_batch(module);
  dualstep::bind_specialize(module);
  dualstep::bind_draws(module);
}
