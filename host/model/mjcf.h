// Models from C++: MuJoCo compiles, dualstep takes the compiled arrays. Built where libmujoco is.
#pragma once

#include <mujoco/mujoco.h>

#include <string>

#include "host/model/model.h"

namespace dualstep {

// takes over a compiled model, copying; throws UnsupportedModelError, InvalidModelError
Model load_mjmodel(const mjModel& source);

// compiles a file of MJCF or URDF; throws InvalidModelError with MuJoCo's message and line, and as above
Model load_mjcf(const std::string& path);

}  // namespace dualstep
