// The kinds of actuators, as MuJoCo divides them: what the stages, the tables of a model and the host agree on. No
// functions of a stage, so host code reads it too.
//
// A kind is a row here, in the order of MuJoCo's codes, and the struct that the row names, whose hooks
// smooth/actuators/kinds.h lists. X(...) rows are simulated; OTHER(code, word) rows are words of refusals. Code that
// does something for some kinds asks for what a row says (acts_on.h, host/model/actuator_kinds.h) and names no code.
#pragma once

namespace dualstep {

// what the ids of a transmission refer to; its moment is on the dofs of the joint, those that move the tendon, or those
// that move its sites
enum MovedObject : int { kOnNothing, kOnJoint, kOnTendon, kOnSite, kOnBody };
// whether it has another object of this type, beside the first
enum SecondObject : int { kNoSecond, kMayHaveSecond, kNeedsSecond };
enum TransmissionTrait : unsigned {
  // contacts, which are known after the forces, make its moment (rows/adhesion.h): it has no length and no velocity
  kActsByContacts = 1 << 0,
  // seen from the second object its length is a place and a turn, and of the turn alone an angle
  kActsAsTurn = 1 << 1,
  // dofs that move both of its objects do nothing
  kActsBetween = 1 << 2,
};
// mjtTrn: X(code, MuJoCo's word, hooks, object, second object, traits)
#define DS_TRANSMISSIONS(X, OTHER)                                                           \
  X(kTrnJoint, "joint", JointTransmission, kOnJoint, kNoSecond, 0)                           \
  X(kTrnJointInParent, "jointinparent", JointTransmission, kOnJoint, kNoSecond, 0)           \
  X(kTrnSliderCrank, "slidercrank", SiteTransmission, kOnSite, kNeedsSecond, 0)              \
  X(kTrnTendon, "tendon", TendonTransmission, kOnTendon, kNoSecond, 0)                       \
  X(kTrnSite, "site", SiteTransmission, kOnSite, kMayHaveSecond, kActsAsTurn | kActsBetween) \
  X(kTrnBody, "body", BodyTransmission, kOnBody, kNoSecond, kActsByContacts)                 \
  OTHER(kTrnSO3, "so3")

enum DynamicsTrait : unsigned {
  kDrivesAngles = 1 << 0,  // its activation may be the setpoint of a servo on a circle
  kMayBePlain = 1 << 1,    // of a motor: without dynamics it is one too, without activations
};
// mjtDyn: X(code, word, hooks, activations, traits)
#define DS_DYNAMICS(X, OTHER)                                              \
  X(kDynNone, "none", NoDynamics, 0, kDrivesAngles)                        \
  X(kDynIntegrator, "integrator", IntegratorDynamics, 1, kDrivesAngles)    \
  X(kDynFilter, "filter", FilterDynamics, 1, kDrivesAngles)                \
  X(kDynFilterExact, "filterexact", ExactFilterDynamics, 1, kDrivesAngles) \
  X(kDynMuscle, "muscle", MuscleDynamics, 1, 0)                            \
  OTHER(kDynDCMotor, "dcmotor")                                            \
  OTHER(kDynPid, "pid")                                                    \
  OTHER(kDynUser, "user")

// what a gain or a bias depends on beside its first parameter
enum ForceTrait : unsigned {
  kForceAffine = 1 << 0,    // on length and velocity, as much as its second and third parameters say
  kForceByMotion = 1 << 1,  // on both, whatever its parameters are
  kForceOfMuscle = 1 << 2,  // its parameters are those of a muscle, and the row act_muscle is made of them
};
// mjtGain: X(code, word, hooks, traits)
#define DS_GAINS(X, OTHER)                                              \
  X(kGainFixed, "fixed", FixedGain, 0)                                  \
  X(kGainAffine, "affine", AffineGain, kForceAffine)                    \
  X(kGainMuscle, "muscle", MuscleGain, kForceByMotion | kForceOfMuscle) \
  OTHER(kGainDCMotor, "dcmotor")                                        \
  OTHER(kGainSO3, "so3")                                                \
  OTHER(kGainPid, "pid")                                                \
  OTHER(kGainUser, "user")
// mjtBias, likewise
#define DS_BIASES(X, OTHER)                                             \
  X(kBiasNone, "none", NoBias, 0)                                       \
  X(kBiasAffine, "affine", AffineBias, kForceAffine)                    \
  X(kBiasMuscle, "muscle", MuscleBias, kForceByMotion | kForceOfMuscle) \
  OTHER(kBiasDCMotor, "dcmotor")                                        \
  OTHER(kBiasSO3, "so3")                                                \
  OTHER(kBiasUser, "user")

// dynamics, gain and bias in one, with activations and controls of its own, known by its gain:
// X(dynamics, gain, bias, word, traits, hooks); the traits are those of dynamics
#define DS_MOTORS(X)                                                \
  X(kDynDCMotor, kGainDCMotor, kBiasDCMotor, "dcmotor", 0, DCMotor) \
  X(kDynPid, kGainPid, kBiasAffine, "pid", kDrivesAngles | kMayBePlain, PidServo)

#define DS_CODE(code, ...) code,
enum TrnType : int { DS_TRANSMISSIONS(DS_CODE, DS_CODE) };
enum DynType : int { DS_DYNAMICS(DS_CODE, DS_CODE) };
enum GainType : int { DS_GAINS(DS_CODE, DS_CODE) };
enum BiasType : int { DS_BIASES(DS_CODE, DS_CODE) };
#undef DS_CODE

}  // namespace dualstep
