// THE list of the kinds of sensors that the step computes.
//
//   kind                 sensors                                                    file
//   JointSensors         jointpos, -vel, -actuatorfrc, ballquat, ballangvel         joint.h
//   JointLimitSensors    jointlimitpos, -vel, -frc                                  joint.h
//   ActuatorSensors      actuatorpos, -vel, -frc                                    actuator.h
//   TendonSensors        tendonpos, -vel, -actuatorfrc                                tendon.h
//   TendonLimitSensors   tendonlimitpos, -vel, -frc                                 tendon.h
//   FramePoses           framepos, -quat, -xaxis, -yaxis, -zaxis                    frame.h
//   FrameVelocities      framelinvel, -angvel                                       frame.h
//   FrameAccelerations   framelinacc, -angacc                                       frame.h
//   InertialSensors      gyro, velocimeter, accelerometer, magnetometer             inertial.h
//   SubtreeSensors       subtreecom, -linvel, -angmom                               subtree.h
//   WrenchSensors        force, torque                                              wrench.h
//   TouchSensors         touch                                                      touch.h
//   ContactSensors       contact                                                    contact.h
//   RangefinderSensors   rangefinder                                                range.h
//   InsideSensors        insidesite                                                 inside.h
//   DistanceSensors      distance, normal, fromto                                   distance.h
//   GlobalSensors        e_potential, e_kinetic, clock                              global.h
//
// A further kind is a file here with a struct as sensor.h says, and its name in this list.
#pragma once

#include "kernels/sensors/actuator.h"
#include "kernels/sensors/contact.h"
#include "kernels/sensors/distance.h"
#include "kernels/sensors/frame.h"
#include "kernels/sensors/global.h"
#include "kernels/sensors/inertial.h"
#include "kernels/sensors/inside.h"
#include "kernels/sensors/joint.h"
#include "kernels/sensors/limit.h"
#include "kernels/sensors/range.h"
#include "kernels/sensors/tendon.h"
#include "kernels/sensors/touch.h"
#include "kernels/sensors/wrench.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

using AllSensors = SensorKinds<JointSensors, JointLimitSensors, ActuatorSensors, FramePoses, FrameVelocities,
                               FrameAccelerations, InertialSensors, SubtreeSensors, WrenchSensors,
                               TouchSensors, ContactSensors, RangefinderSensors, InsideSensors, GlobalSensors,
                               TendonSensors, TendonLimitSensors, DistanceSensors>;

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
