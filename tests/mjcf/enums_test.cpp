// The codes of mujoco_enums.h and of actuators.h are MuJoCo's: nothing to run, this file compiles or not.
#include <mujoco/mujoco.h>

#include "kernels/base/mujoco_enums.h"
#include "kernels/data/actuators.h"

namespace dualstep {

#define SAME(mine, theirs) static_assert(static_cast<int>(mine) == static_cast<int>(theirs))
SAME(kFree, mjJNT_FREE);
SAME(kBall, mjJNT_BALL);
SAME(kSlide, mjJNT_SLIDE);
SAME(kHinge, mjJNT_HINGE);
SAME(kPlane, mjGEOM_PLANE);
SAME(kHfield, mjGEOM_HFIELD);
SAME(kSphere, mjGEOM_SPHERE);
SAME(kCapsule, mjGEOM_CAPSULE);
SAME(kEllipsoid, mjGEOM_ELLIPSOID);
SAME(kCylinder, mjGEOM_CYLINDER);
SAME(kBox, mjGEOM_BOX);
SAME(kMesh, mjGEOM_MESH);
SAME(kSdf, mjGEOM_SDF);
SAME(kTrnJoint, mjTRN_JOINT);
SAME(kTrnJointInParent, mjTRN_JOINTINPARENT);
SAME(kTrnSliderCrank, mjTRN_SLIDERCRANK);
SAME(kTrnTendon, mjTRN_TENDON);
SAME(kTrnSite, mjTRN_SITE);
SAME(kTrnBody, mjTRN_BODY);
SAME(kTrnSO3, mjTRN_SO3);
SAME(kDynNone, mjDYN_NONE);
SAME(kDynIntegrator, mjDYN_INTEGRATOR);
SAME(kDynFilter, mjDYN_FILTER);
SAME(kDynFilterExact, mjDYN_FILTEREXACT);
SAME(kDynMuscle, mjDYN_MUSCLE);
SAME(kDynDCMotor, mjDYN_DCMOTOR);
SAME(kDynPid, mjDYN_PID);
SAME(kDynUser, mjDYN_USER);
SAME(kGainFixed, mjGAIN_FIXED);
SAME(kGainAffine, mjGAIN_AFFINE);
SAME(kGainMuscle, mjGAIN_MUSCLE);
SAME(kGainDCMotor, mjGAIN_DCMOTOR);
SAME(kGainSO3, mjGAIN_SO3);
SAME(kGainPid, mjGAIN_PID);
SAME(kGainUser, mjGAIN_USER);
SAME(kBiasNone, mjBIAS_NONE);
SAME(kBiasAffine, mjBIAS_AFFINE);
SAME(kBiasMuscle, mjBIAS_MUSCLE);
SAME(kBiasDCMotor, mjBIAS_DCMOTOR);
SAME(kBiasSO3, mjBIAS_SO3);
SAME(kBiasUser, mjBIAS_USER);
SAME(kEqConnect, mjEQ_CONNECT);
SAME(kEqWeld, mjEQ_WELD);
SAME(kEqJoint, mjEQ_JOINT);
SAME(kEqTendon, mjEQ_TENDON);
SAME(kObjBody, mjOBJ_BODY);
SAME(kObjXBody, mjOBJ_XBODY);
SAME(kObjGeom, mjOBJ_GEOM);
SAME(kObjSite, mjOBJ_SITE);
SAME(kObjCamera, mjOBJ_CAMERA);
SAME(kWrapJoint, mjWRAP_JOINT);
SAME(kEuler, mjINT_EULER);
SAME(kRk4, mjINT_RK4);
SAME(kImplicit, mjINT_IMPLICIT);
SAME(kImplicitFast, mjINT_IMPLICITFAST);
SAME(kDiscrete, mjINT_DISCRETE);
SAME(kDisableConstraint, mjDSBL_CONSTRAINT);
SAME(kDisableEquality, mjDSBL_EQUALITY);
SAME(kDisableFrictionLoss, mjDSBL_FRICTIONLOSS);
SAME(kDisableLimit, mjDSBL_LIMIT);
SAME(kDisableContact, mjDSBL_CONTACT);
SAME(kDisableSpring, mjDSBL_SPRING);
SAME(kDisableDamper, mjDSBL_DAMPER);
SAME(kDisableGravity, mjDSBL_GRAVITY);
SAME(kDisableClampCtrl, mjDSBL_CLAMPCTRL);
SAME(kDisableWarmstart, mjDSBL_WARMSTART);
SAME(kDisableFilterParent, mjDSBL_FILTERPARENT);
SAME(kDisableActuation, mjDSBL_ACTUATION);
SAME(kDisableRefSafe, mjDSBL_REFSAFE);
SAME(kDisableSensor, mjDSBL_SENSOR);
SAME(kDisableEulerDamp, mjDSBL_EULERDAMP);
SAME(kEnableOverride, mjENBL_OVERRIDE);
SAME(kEnableEnergy, mjENBL_ENERGY);
SAME(kEnableSleep, mjENBL_SLEEP);
SAME(kEnableDiagExact, mjENBL_DIAGEXACT);
SAME(kEnableSpeculative, mjENBL_SPECULATIVE);
SAME(kEnableAll, (1 << mjNENABLE) - 1);
SAME(kDisableAll, (1 << mjNDISABLE) - 1);
SAME(kTouch, mjSENS_TOUCH);
SAME(kMagnetometer, mjSENS_MAGNETOMETER);
SAME(kRangefinder, mjSENS_RANGEFINDER);
SAME(kJointPos, mjSENS_JOINTPOS);
SAME(kJointVel, mjSENS_JOINTVEL);
SAME(kActuatorPos, mjSENS_ACTUATORPOS);
SAME(kJointActFrc, mjSENS_JOINTACTFRC);
SAME(kTendonPos, mjSENS_TENDONPOS);
SAME(kTendonVel, mjSENS_TENDONVEL);
SAME(kTendonActFrc, mjSENS_TENDONACTFRC);
SAME(kBallQuat, mjSENS_BALLQUAT);
SAME(kJointLimitFrc, mjSENS_JOINTLIMITFRC);
SAME(kTendonLimitFrc, mjSENS_TENDONLIMITFRC);
SAME(kWrapPulley, mjWRAP_PULLEY);
SAME(kWrapSite, mjWRAP_SITE);
SAME(kWrapSphere, mjWRAP_SPHERE);
SAME(kWrapCylinder, mjWRAP_CYLINDER);
SAME(kFramePos, mjSENS_FRAMEPOS);
SAME(kSubtreeAngMom, mjSENS_SUBTREEANGMOM);
SAME(kInsideSite, mjSENS_INSIDESITE);
SAME(kGeomDist, mjSENS_GEOMDIST);
SAME(kGeomNormal, mjSENS_GEOMNORMAL);
SAME(kGeomFromTo, mjSENS_GEOMFROMTO);
SAME(kPotential, mjSENS_E_POTENTIAL);
SAME(kContactSensor, mjSENS_CONTACT);
SAME(kClock, mjSENS_CLOCK);
SAME(kContactFound, 1 << mjCONDATA_FOUND);
SAME(kContactForce, 1 << mjCONDATA_FORCE);
SAME(kContactTorque, 1 << mjCONDATA_TORQUE);
SAME(kContactDist, 1 << mjCONDATA_DIST);
SAME(kContactPos, 1 << mjCONDATA_POS);
SAME(kContactNormal, 1 << mjCONDATA_NORMAL);
SAME(kContactTangent, 1 << mjCONDATA_TANGENT);
SAME(kRayDist, 1 << mjRAYDATA_DIST);
SAME(kRayDir, 1 << mjRAYDATA_DIR);
SAME(kRayOrigin, 1 << mjRAYDATA_ORIGIN);
SAME(kRayPoint, 1 << mjRAYDATA_POINT);
SAME(kRayNormal, 1 << mjRAYDATA_NORMAL);
SAME(kRayDepth, 1 << mjRAYDATA_DEPTH);
#undef SAME

}  // namespace dualstep
