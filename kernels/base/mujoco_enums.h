// MuJoCo's codes by name, with the values of mjmodel.h: what a compiled model stores, what the kernels' tables
// hold, what host code compares with. Plain enumerations, so every compiler here reads the same ones. Those of
// actuators' kinds stand in kernels/data/actuators.h.
#pragma once

namespace dualstep {

// mjtJoint; free and ball joints, whose positions end with a quaternion, come before the scalar ones
enum JointType : int { kFree = 0, kBall = 1, kSlide = 2, kHinge = 3 };

// mjtGeom
enum GeomType : int {
  kPlane = 0,
  kHfield = 1,
  kSphere = 2,
  kCapsule = 3,
  kEllipsoid = 4,
  kCylinder = 5,
  kBox = 6,
  kMesh = 7,
  kSdf = 8
};

// where the parameters of a dcmotor stand in the rows of gainprm, dynprm and biasprm
enum MotorGainNumber : int {
  kMotorGainResistance = 0,
  kMotorGainConstant = 1,
  kMotorGainTemperatureSlope = 2,
  kMotorGainReference = 3,
  kMotorGainKp = 4,
  kMotorGainKi = 5,
  kMotorGainKd = 6,
  kMotorGainVoltage = 7
};
enum MotorDynNumber : int {
  kMotorDynTimeConstant = 0,
  kMotorDynCurrentRate = 1,
  kMotorDynHeatResistance = 2,
  kMotorDynHeatCapacity = 3,
  kMotorDynAmbient = 4,
  kMotorDynBristle = 5,
  kMotorDynBristleDamping = 6,
  kMotorDynSlew = 7,
  kMotorDynIntegralBound = 8
};
enum MotorBiasNumber : int {
  kMotorBiasCogging = 0,
  kMotorBiasCoggingPoles = 1,
  kMotorBiasCoggingPhase = 2,
  kMotorBiasCoulomb = 3,
  kMotorBiasStatic = 4,
  kMotorBiasStribeck = 5
};
// and those of a pid
enum PidGainNumber : int { kPidGainKi = 0 };
enum PidDynNumber : int { kPidDynIntegralBound = 0, kPidDynSlew = 1 };
// those of a muscle in gainprm, and in biasprm
enum MuscleNumber : int {
  kMuscleRange = 0,  // lower and upper
  kMuscleForce = 2,
  kMuscleScale = 3,
  kMuscleLmin = 4,
  kMuscleLmax = 5,
  kMuscleVmax = 6,
  kMuscleFpmax = 7,
  kMuscleFvmax = 8
};
// and in dynprm
enum MuscleDynNumber : int { kMuscleDynRise = 0, kMuscleDynFall = 1, kMuscleDynSmooth = 2 };
// mjtCtrlInput: which set points the controls of an actuator are, in this order
enum ControlInput : int { kInputPos = 1, kInputVel = 2, kInputForce = 4, kInputVoltage = 8, kInputNone = 16 };

// mjtEq
enum EqType : int { kEqConnect = 0, kEqWeld = 1, kEqJoint = 2, kEqTendon = 3 };
// mjtObj, as far as anything refers to it
enum ObjectType : int {
  kObjUnknown = 0,
  kObjBody = 1,
  kObjXBody = 2,
  kObjGeom = 5,
  kObjSite = 6,
  kObjCamera = 7
};
// mjtWrap
enum WrapType : int {
  kWrapNone = 0,
  kWrapJoint = 1,
  kWrapPulley = 2,
  kWrapSite = 3,
  kWrapSphere = 4,
  kWrapCylinder = 5
};

// mjtIntegrator; the last one is this library's own
enum Integrator : int {
  kEuler = 0,
  kRk4 = 1,
  kImplicit = 2,
  kImplicitFast = 3,
  kDiscrete = 4,
  kVariational = 100
};

// mjtDisableBit: those that change what is computed here
enum DisableBit : int {
  kDisableConstraint = 1 << 0,
  kDisableEquality = 1 << 1,
  kDisableFrictionLoss = 1 << 2,
  kDisableLimit = 1 << 3,
  kDisableContact = 1 << 4,
  kDisableSpring = 1 << 5,
  kDisableDamper = 1 << 6,
  kDisableGravity = 1 << 7,
  kDisableClampCtrl = 1 << 8,
  kDisableWarmstart = 1 << 9,
  kDisableFilterParent = 1 << 10,
  kDisableActuation = 1 << 11,
  kDisableRefSafe = 1 << 12,
  kDisableSensor = 1 << 13,
  kDisableEulerDamp = 1 << 15,
  kDisableMultiCcd = 1 << 19,
  kDisableAll = (1 << 20) - 1
};
// mjtEnableBit
enum EnableBit : int {
  kEnableOverride = 1 << 0,
  kEnableEnergy = 1 << 1,
  kEnableSleep = 1 << 4,
  kEnableDiagExact = 1 << 5,
  kEnableSpeculative = 1 << 7,
  kEnableAll = (1 << 8) - 1
};

// mjtSensor
enum SensorType : int {
  kTouch = 0,
  kAccelerometer,
  kVelocimeter,
  kGyro,
  kForce,
  kTorque,
  kMagnetometer,
  kRangefinder,
  kCamProjection,
  kJointPos = 9,
  kJointVel,
  kTendonPos,
  kTendonVel,
  kActuatorPos = 13,
  kActuatorVel,
  kActuatorFrc,
  kJointActFrc,
  kTendonActFrc,
  kBallQuat = 18,
  kBallAngVel,
  kJointLimitPos,
  kJointLimitVel,
  kJointLimitFrc,
  kTendonLimitPos,
  kTendonLimitVel,
  kTendonLimitFrc,
  kFramePos = 26,
  kFrameQuat,
  kFrameXAxis,
  kFrameYAxis,
  kFrameZAxis,
  kFrameLinVel,
  kFrameAngVel,
  kFrameLinAcc,
  kFrameAngAcc,
  kSubtreeCom,
  kSubtreeLinVel,
  kSubtreeAngMom,
  kInsideSite,
  kGeomDist,
  kGeomNormal,
  kGeomFromTo,
  kContactSensor,
  kPotential,
  kKinetic,
  kClock,
  kTactile,
  kPluginSensor,
  kUserSensor
};
// mjtConDataField, as bits: what a contact sensor tells of each contact
enum ContactData : int {
  kContactFound = 1 << 0,
  kContactForce = 1 << 1,
  kContactTorque = 1 << 2,
  kContactDist = 1 << 3,
  kContactPos = 1 << 4,
  kContactNormal = 1 << 5,
  kContactTangent = 1 << 6,
  kContactLinVel = 1 << 7,
  kContactAngVel = 1 << 8
};
// mjtRayDataField, likewise of a rangefinder
enum RayData : int {
  kRayDist = 1 << 0,
  kRayDir = 1 << 1,
  kRayOrigin = 1 << 2,
  kRayPoint = 1 << 3,
  kRayNormal = 1 << 4,
  kRayDepth = 1 << 5
};
// numbers that the bits ask for: of each contact, and of a rangefinder
inline constexpr int contact_numbers(int data) {
  int count = 0;
  for (int bit = kContactFound; bit <= kContactAngVel; bit <<= 1)
    if (data & bit) count += bit == kContactFound || bit == kContactDist ? 1 : 3;
  return count;
}
inline constexpr int ray_numbers(int data) {
  int count = 0;
  for (int bit = kRayDist; bit <= kRayDepth; bit <<= 1)
    if (data & bit) count += bit == kRayDist || bit == kRayDepth ? 1 : 3;
  return count;
}
// attribute `reduce` of a contact sensor
enum ContactReduction : int { kReduceNone = 0, kReduceMinDist = 1, kReduceMaxForce = 2, kReduceNetForce = 3 };
// where the parameters of a contact sensor stand in its row of intprm; a rangefinder has the first
enum SensorNumber : int { kSensorData = 0, kSensorReduction = 1, kSensorSlots = 2, kSensorNumbers = 3 };

}  // namespace dualstep
