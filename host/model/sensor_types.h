// THE list of MuJoCo's types of sensors: what each is called, of what it is, from what it is seen, how much it reads, and
// how its readings are cut off. Validation, refusals and the kernels' tables read it.
//
// A further type is a row here, in the order of mjtSensor; what the step computes of it is in kernels/sensors.
#pragma once

#include "kernels/data/tables.h"

namespace dualstep {

// what a sensor is of
enum class SensorObject {
  kNothing,
  kSite,
  kScalarJoint,
  kBall,
  kLimitOfJoint,
  kTendon,
  kLimitOfTendon,
  kActuator,
  kBody,
  kFramed,    // a body, geom or site
  kMeasured,  // a body or geom
  kRays,      // of a site; a camera's are not simulated
  kContacts   // of a body, geom or site, or any
};
// from what it is seen: what it always is not, may be, or must be
enum class SensorReference { kNothing, kFrameOrNothing, kSite, kMeasured, kContacts };

struct SensorTypeRow {
  int type;
  const char* word;
  bool simulated;  // false: the rest says nothing
  int readings;    // 0 where its parameters say
  SensorObject object;
  SensorReference reference;
  SensorCut cut;
  bool sees_contacts;
};

// one without a word, and that is not simulated, where MuJoCo has no such type
const SensorTypeRow& sensor_type_row(int type);

}  // namespace dualstep
