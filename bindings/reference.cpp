// dualstep._core: the double-precision reference.
#include "bindings/bindings.h"

namespace dualstep {

void bind_reference(pybind11::module_&) {}

}  // namespace dualstep
