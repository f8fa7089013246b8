// Parameters of constraint rows, and what equality constraints tie together. Internal to the files
// of constraint rows.
#pragma once

#include "host/model/model.h"
#include "host/reference/data.h"

namespace dualstep::reference {

// two anchors of a connect or weld constraint, world axes; the orientations that a weld makes equal
struct EqualityFrames {
  int body1 = 0, body2 = 0;
  Vector3d point1 = Vector3d::Zero(), point2 = Vector3d::Zero();
  Quaterniond quat1 = Quaterniond::Identity(), quat2 = Quaterniond::Identity();
  double torquescale = 0;
};
EqualityFrames equality_frames(const Model& m, const Data& d, int equality);

// efc_diagApprox, efc_R, efc_D, efc_vel, efc_aref of the rows in efc_type, efc_id, efc_J, efc_pos, efc_margin
void set_impedance(const Model& m, Data* d);
// velocity of the second geom's surface less the first's, as a contact sees it: along t1 and t2, and about n
Vector3d surface_velocity_at(const Model& m, const Data& d, const Contact& c);
// the same for rows that are not MuJoCo's: see contact_model.h; the last part of set_impedance
void set_formulation(const Model& m, Data* d);
// (dJ/dt) v of the rows of an equality constraint
VectorXd bias_of_equality(const Model& m, const Data& d, int equality);
// the alpha of equalities under the options [1/s], within what the step can bear
double equality_rate(const Options& opt);

}  // namespace dualstep::reference
