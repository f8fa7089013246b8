// How a step is launched on lanes: all of it at once, with as many lanes an environment throughout ("fused"),
// or in parts, each with a number of its own ("staged", kernels/launch/staged.h). No choice changes a bit.
#pragma once

#include <string>
#include <vector>

#include "kernels/data/tables.h"

namespace dualstep {

struct LaneChoice {
  bool staged = false;
  int lanes[kParts] = {8, 8, 8, 8, 8};  // of each part; where not staged, the first is that of all
};

// of what a user gives: nothing, one number, or one a part. Throws std::invalid_argument
LaneChoice choose_lanes(const std::vector<int>& given);
// "8 lanes", "1 lane"; "1, 8, 8, 8 and 2 lanes by part"
std::string describe_lanes(const LaneChoice& choice, const std::string& one);

}  // namespace dualstep
