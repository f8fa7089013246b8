// The parts of the extension module: each file of this folder binds one and holds no arithmetic.
#pragma once

#include <pybind11/pybind11.h>

namespace dualstep {

void bind_model(pybind11::module_& module);
void bind_reference(pybind11::module_& module);
void bind_batch(pybind11::module_& module);
void bind_tensor(pybind11::module_& module);
void bind_specialize(pybind11::module_& module);
void bind_draws(pybind11::module_& module);

}  // namespace dualstep
