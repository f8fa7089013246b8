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
// the contacts that it looks at: of its site's body, between the subtree of that body and the rest, between the two
// things that it names
enum class SensorContacts { kNone, kOfBody, kOfSubtree, kOfBoth };
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
  SensorContacts contacts;

  // whether integer parameters say what it reads
  bool has_parameters() const { return simulated && readings == 0; }
};

// one without a word, and that is not simulated, where MuJoCo has no such type
const SensorTypeRow& sensor_type_row(int type);

}  // namespace dualstep
