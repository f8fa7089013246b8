// Contact sensors: which contacts lie between two things, and what they are like.
#pragma once

#include "host/reference/data.h"

namespace dualstep::reference {

// what a contact sensor reads: its slots one after another
VectorXd contact_sensor(const Model& m, const Data& d, int sensor);
// whether a point is inside the volume of a site
bool inside_site(const Model& m, const Data& d, int site, const Vector3d& point);

}  // namespace dualstep::reference
