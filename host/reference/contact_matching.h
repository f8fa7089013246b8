// Which contact of now was which contact of before.
//
// Two contacts of the same pair of geoms are one and the same where each is the other's nearest, told by
// where they are in the axes of geom2's body, and no farther apart than a quarter of the smaller geom's
// bounding radius. No order of slots: the same from every collision routine.
#pragma once

#include <vector>

#include "host/model/model.h"
#include "host/reference/data.h"

namespace dualstep::reference {

struct ContactMark {
  int geom1 = -1, geom2 = -1;
  Vector3d local = Vector3d::Zero();
  double reach = 0;
};
ContactMark mark_of(const Model& m, const Data& d, const Contact& c);
// of all contacts of a state
std::vector<ContactMark> marks_of(const Model& m, const Data& d);
// for each of `now` its index in `before`, or -1
std::vector<int> match_contacts(const std::vector<ContactMark>& now, const std::vector<ContactMark>& before);

}  // namespace dualstep::reference
