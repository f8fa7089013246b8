// The arrays of a Reference, by the names of its Data: those that users write, and those that they read.
//
//   INPUT(name)                as in kernels/data/fields.inl, and so is
//   OUTPUT(name)               shape and meaning of this
//   OWN(name, axes, meaning)   an output that a batch has not, or not so; axes are sizes of the model
#ifndef INPUT
#define INPUT(name)
#endif
#ifndef OUTPUT
#define OUTPUT(name)
#endif
#ifndef OWN
#define OWN(name, axes, meaning) OUTPUT(name)
#endif
INPUT(qpos)
INPUT(qvel)
INPUT(act)
INPUT(ctrl)
INPUT(ctrl_history)
INPUT(qfrc_applied)
INPUT(xfrc_applied)
INPUT(mocap_pos)
INPUT(mocap_quat)
OUTPUT(qacc)
OUTPUT(qacc_smooth)
OUTPUT(qfrc_bias)
OUTPUT(qfrc_passive)
OWN(qfrc_spring, "nv", "springs of joints and tendons [N, N m]")
OWN(qfrc_damper, "nv", "dampers of joints and tendons [N, N m]")
OWN(qfrc_gravcomp, "nv", "gravity compensation [N, N m]")
OWN(qfrc_fluid, "nv", "forces of a medium: drag, lift, added mass [N, N m]")
OUTPUT(qfrc_actuator)
OUTPUT(qfrc_smooth)
OUTPUT(qfrc_constraint)
OWN(act_dot, "na", "rates of the activations [1/s]")
OUTPUT(ten_length)
OUTPUT(ten_velocity)
OUTPUT(ten_J)
OWN(actuator_moment, "nactuator nv", "moments of the actuators: d length / d q")
OWN(actuator_length, "nactuator", "lengths of the actuators [m, rad]")
OWN(actuator_velocity, "nactuator", "velocities of the actuators [m/s, rad/s]")
OUTPUT(actuator_force)
OUTPUT(sensordata)
OUTPUT(xpos)
OUTPUT(xquat)
OWN(xmat, "nbody 9", "orientations of body frames, row-major")
OUTPUT(xipos)
OWN(ximat, "nbody 9", "orientations of the principal axes of inertia, row-major")
OUTPUT(subtree_com)
OWN(subtree_linvel, "nbody 3", "velocities of the centres of mass of subtrees [m/s]")
OWN(subtree_angmom, "nbody 3", "angular momenta of subtrees about their centres of mass [kg m^2/s]")
OUTPUT(cvel)
OWN(cacc, "nbody 6", "body accelerations (angular, linear) about the tree's centre of mass [rad/s^2, m/s^2]")
OWN(cfrc_int, "nbody 6", "moment and force on each body from its parent, about the tree's centre of mass [N m, N]")
OWN(cfrc_ext, "nbody 6", "moment and force on each body from outside, about the tree's centre of mass [N m, N]")
OWN(xanchor, "njnt 3", "joint anchors [m]")
OWN(xaxis, "njnt 3", "joint axes")
OUTPUT(geom_xpos)
OUTPUT(geom_xmat)
OUTPUT(site_xpos)
OUTPUT(site_xmat)
#undef INPUT
#undef OUTPUT
#undef OWN
