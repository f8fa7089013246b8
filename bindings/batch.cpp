// dualstep._core: batches of environments.
#include "bindings/bindings.h"

namespace dualstep {

void bind_batch(pybind11::module_&) {}

}  // namespace dualstep
