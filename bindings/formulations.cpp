// the extension module dualstep._formulations: batched entry points of host/reference/formulations, no arithmetic of
// its own. shapes are checked and broadcast by the Python side; every array has one leading batch dimension
// here

#include "bindings/formulations_arrays.h"

PYBIND11_MODULE(_formulations, m) {
  namespace bindings = dualstep::bindings;
  m.doc() = "the formulations, a batch of problems a call; use dualstep.formulations";
  bindings::problem_error =
      PyErr_NewException("dualstep._formulations.ProblemError", PyExc_RuntimeError, nullptr);
  m.attr("ProblemError") = pybind11::handle(bindings::problem_error);
  bindings::bind_smooth(m);
  bindings::bind_laws(m);
  bindings::bind_contacts(m);
}
