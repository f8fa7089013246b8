#include "host/batch/lane_choice.h"

#include <stdexcept>

namespace dualstep {

LaneChoice choose_lanes(const std::vector<int>& given) {
  if (given.size() > 1 && given.size() != kParts) {
    std::string parts;
#define DS_PART_NAME(name) parts += (parts.empty() ? "" : ", ") + std::string(#name);
    DS_PARTS(DS_PART_NAME)
#undef DS_PART_NAME
    throw std::invalid_argument("lanes has " + std::to_string(given.size()) +
                                " numbers, and it is one number, or one for each part of a step: " + parts);
  }
  LaneChoice choice;
  choice.staged = given.size() > 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const int lanes = given[i];
    if (lanes < 1 || lanes > 32 || (lanes & (lanes - 1)) != 0) {
      throw std::invalid_argument("lanes " + std::to_string(lanes) +
                                  " is given, and it must be 1, 2, 4, 8, 16 or 32");
    }
    choice.lanes[i] = lanes;
  }
  return choice;
}

std::string describe_lanes(const LaneChoice& choice, const std::string& one) {
  if (!choice.staged) return std::to_string(choice.lanes[0]) + " " + one + (choice.lanes[0] == 1 ? "" : "s");
  std::string out = std::to_string(choice.lanes[0]);
  for (int part = 1; part < kParts; ++part)
    out += (part + 1 < kParts ? ", " : " and ") + std::to_string(choice.lanes[part]);
  return out + " " + one + "s by part";
}

}  // namespace dualstep
