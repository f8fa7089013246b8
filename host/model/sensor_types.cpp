#include "host/model/sensor_types.h"

#include <array>
#include <cstddef>

namespace dualstep {
namespace {

using Of = SensorObject;
using From = SensorReference;
using See = SensorContacts;

// one that is not simulated
constexpr SensorTypeRow other(int type, const char* word) {
  return {.type = type,
          .word = word,
          .simulated = false,
          .readings = 0,
          .object = Of::kNothing,
          .reference = From::kNothing,
          .cut = kCutBothSides,
          .contacts = See::kNone};
}
// one that looks at no contacts
constexpr SensorTypeRow plain(int type, const char* word, int readings, Of object,
                              From reference = From::kNothing) {
  return {.type = type,
          .word = word,
          .simulated = true,
          .readings = readings,
          .object = object,
          .reference = reference,
          .cut = kCutBothSides,
          .contacts = See::kNone};
}
constexpr SensorTypeRow uncut(SensorTypeRow row) {
  row.cut = kCutNever;
  return row;
}
constexpr SensorTypeRow cut_above(SensorTypeRow row) {
  row.cut = kCutAbove;
  return row;
}
constexpr SensorTypeRow sees(See contacts, SensorTypeRow row) {
  row.contacts = contacts;
  return row;
}

// type, word, readings, of what, seen from what
constexpr std::array kRows = {
    sees(See::kOfBody, cut_above(plain(kTouch, "touch", 1, Of::kSite))),
    plain(kAccelerometer, "accelerometer", 3, Of::kSite),
    plain(kVelocimeter, "velocimeter", 3, Of::kSite),
    plain(kGyro, "gyro", 3, Of::kSite),
    sees(See::kOfSubtree, plain(kForce, "force", 3, Of::kSite)),
    sees(See::kOfSubtree, plain(kTorque, "torque", 3, Of::kSite)),
    plain(kMagnetometer, "magnetometer", 3, Of::kSite),
    plain(kRangefinder, "rangefinder", 0, Of::kRays),
    other(kCamProjection, "camprojection"),
    plain(kJointPos, "jointpos", 1, Of::kScalarJoint),
    plain(kJointVel, "jointvel", 1, Of::kScalarJoint),
    plain(kTendonPos, "tendonpos", 1, Of::kTendon),
    plain(kTendonVel, "tendonvel", 1, Of::kTendon),
    plain(kActuatorPos, "actuatorpos", 1, Of::kActuator),
    plain(kActuatorVel, "actuatorvel", 1, Of::kActuator),
    plain(kActuatorFrc, "actuatorfrc", 1, Of::kActuator),
    plain(kJointActFrc, "jointactuatorfrc", 1, Of::kScalarJoint),
    plain(kTendonActFrc, "tendonactuatorfrc", 1, Of::kTendon),
    uncut(plain(kBallQuat, "ballquat", 4, Of::kBall)),
    plain(kBallAngVel, "ballangvel", 3, Of::kBall),
    plain(kJointLimitPos, "jointlimitpos", 1, Of::kLimitOfJoint),
    plain(kJointLimitVel, "jointlimitvel", 1, Of::kLimitOfJoint),
    plain(kJointLimitFrc, "jointlimitfrc", 1, Of::kLimitOfJoint),
    plain(kTendonLimitPos, "tendonlimitpos", 1, Of::kLimitOfTendon),
    plain(kTendonLimitVel, "tendonlimitvel", 1, Of::kLimitOfTendon),
    plain(kTendonLimitFrc, "tendonlimitfrc", 1, Of::kLimitOfTendon),
    plain(kFramePos, "framepos", 3, Of::kFramed, From::kFrameOrNothing),
    uncut(plain(kFrameQuat, "framequat", 4, Of::kFramed, From::kFrameOrNothing)),
    uncut(plain(kFrameXAxis, "framexaxis", 3, Of::kFramed, From::kFrameOrNothing)),
    uncut(plain(kFrameYAxis, "frameyaxis", 3, Of::kFramed, From::kFrameOrNothing)),
    uncut(plain(kFrameZAxis, "framezaxis", 3, Of::kFramed, From::kFrameOrNothing)),
    plain(kFrameLinVel, "framelinvel", 3, Of::kFramed, From::kFrameOrNothing),
    plain(kFrameAngVel, "frameangvel", 3, Of::kFramed, From::kFrameOrNothing),
    plain(kFrameLinAcc, "framelinacc", 3, Of::kFramed, From::kFrameOrNothing),
    plain(kFrameAngAcc, "frameangacc", 3, Of::kFramed, From::kFrameOrNothing),
    plain(kSubtreeCom, "subtreecom", 3, Of::kBody),
    plain(kSubtreeLinVel, "subtreelinvel", 3, Of::kBody),
    plain(kSubtreeAngMom, "subtreeangmom", 3, Of::kBody),
    cut_above(plain(kInsideSite, "insidesite", 1, Of::kFramed, From::kSite)),
    plain(kGeomDist, "distance", 1, Of::kMeasured, From::kMeasured),
    uncut(plain(kGeomNormal, "normal", 3, Of::kMeasured, From::kMeasured)),
    uncut(plain(kGeomFromTo, "fromto", 6, Of::kMeasured, From::kMeasured)),
    sees(See::kOfBoth, uncut(plain(kContactSensor, "contact", 0, Of::kContacts, From::kContacts))),
    plain(kPotential, "e_potential", 1, Of::kNothing),
    plain(kKinetic, "e_kinetic", 1, Of::kNothing),
    plain(kClock, "clock", 1, Of::kNothing),
    other(kTactile, "tactile"),
    other(kPluginSensor, "plugin"),
    other(kUserSensor, "user"),
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].type != static_cast<int>(i)) return false;
  return true;
}
static_assert(in_order());

}  // namespace

const SensorTypeRow& sensor_type_row(int type) {
  static constexpr SensorTypeRow kUnknown = other(-1, nullptr);
  return type >= 0 && type < static_cast<int>(kRows.size()) ? kRows[type] : kUnknown;
}

}  // namespace dualstep
