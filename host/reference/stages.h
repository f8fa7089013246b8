// The stages of a step of the reference, in the order of the pipeline. Each reads what the ones before it
// wrote into Data; what it writes is listed here.
#pragma once

#include <span>

#include "host/reference/data.h"

namespace dualstep::reference {

// position: xpos ... subtree_com, cinert, cdof, actuator_length, actuator_moment
void kinematics(const Model& m, Data* d);
void center_of_mass(const Model& m, Data* d);
void transmission(const Model& m, Data* d);
// actuator_moment of actuators on bodies, once contacts are known; false where there is none
bool body_transmission(const Model& m, Data* d);
// ten_length, ten_J; before transmission and mass_matrix
void tendons(const Model& m, Data* d);
// dJ/dt v of a tendon, and how far it is beyond the range in which its spring is relaxed
double tendon_bias_acceleration(const Model& m, const Data& d, int ten);
// the force of a tendon on its length, after constraints are solved; and what spatial tendons do to bodies
double tendon_force(const Model& m, const Data& d, int ten);
void add_tendon_wrenches(const Model& m, Data* d);
double tendon_stretch(const Model& m, const Data& d, int ten);
// what armature of tendons adds to the mass matrix and to the bias
bool tendons_have_inertia(const Model& m);
void add_tendon_inertia(const Model& m, const Data& d, BlockMatrix* M);
VectorXd tendon_bias(const Model& m, const Data& d);
// adds scale J'J, without its entries between dofs of different branches
void add_on_branches(const Model& m, double scale, const VectorXd& J, BlockMatrix* to);
// M, M_llt by composite rigid bodies
void mass_matrix(const Model& m, Data* d);

// velocity: cvel, cdof_dot, actuator_velocity
void velocities(const Model& m, Data* d);
// inverse dynamics: M qacc + C qvel - gravity; qacc = nullptr leaves M qacc out (the bias)
VectorXd rnea(const Model& m, const Data& d, const VectorXd* qacc);
// forward dynamics without constraints: M^-1 (tau - bias)
VectorXd aba(const Model& m, const Data& d, const VectorXd& tau);
// C with C qvel + gravity = bias and dM/dt - 2 C skew
MatrixXd coriolis_matrix(const Model& m, const Data& d);
// qfrc_spring, qfrc_damper, qfrc_gravcomp, qfrc_fluid, qfrc_passive
void passive_forces(const Model& m, Data* d);
// act_dot, actuator_force, qfrc_actuator
void actuation(const Model& m, Data* d);
// qfrc_smooth, qacc_smooth
void smooth_acceleration(const Model& m, Data* d);

// the force and torque (world axes) on a point of a body, in joint space
VectorXd project_wrench(const Model& m, const Data& d, int body, const Vector3d& point, const Vector3d& force,
                        const Vector3d& torque);
// d (qfrc_actuator + qfrc_passive) / d qvel
BlockMatrix velocity_derivative(const Model& m, const Data& d);
// of the integrator discrete: minus the derivatives of actuators and passive forces by velocity and by position; and what
// tendons and actuators of these add to the inertia of the step at each dof
struct StepSlopes {
  MatrixXd damping, stiffness;
  VectorXd pulled;
};
StepSlopes step_slopes(const Model& m, const Data& d);
// a free joint whose body is alone in its tree, and d bias / d qvel of that body
bool lone_free_body(const Model& m, int jnt);
Matrix6d free_body_bias_slope(const Model& m, const Data& d, int jnt);
// dF / d qvel of the integrators implicit and implicitfast; of the former F has also the bias
BlockMatrix implicit_derivative(const Model& m, const Data& d);
// the box of the same mass and inertia as a body: its edges
Vector3d inertia_box(const Model& m, int body);
// velocity of a body's inertial frame against the wind, in its own axes: (angular; linear)
Vector6d flow_velocity(const Model& m, const Data& d, int body);
bool fluid_acts(const Model& m, int body);
// whether a medium sees ellipsoids about a body's geoms in place of its inertia box
bool has_fluid_ellipsoids(const Model& m, int body);
// the force of the medium on a body, added to qfrc_fluid, and its derivative by qvel, symmetric where the integrator has it so
void add_ellipsoid_fluid(const Model& m, int body, Data* d);
MatrixXd ellipsoid_fluid_slope(const Model& m, const Data& d, int body, bool symmetric);
// the controls that act now, those with a delay from what was given before; and ctrl_history one step on
VectorXd acting_controls(const Model& m, const Data& d);
void keep_controls(const Model& m, Data* d);
// those within their ranges
VectorXd clamped_controls(const Model& m, const Data& d);
// muscles: d act/dt; gain, its slope by velocity, and bias of an actuator; derivatives of gain and bias by length
double muscle_activation_rate(std::span<const double> dynprm, double ctrl, double act);
double muscle_gain(const Model& m, int actuator, double length, double velocity);
double muscle_gain_slope(const Model& m, int actuator, double length, double velocity);
double muscle_bias(const Model& m, int actuator, double length);
double muscle_gain_stiffness(const Model& m, int actuator, double length, double velocity);
double muscle_bias_stiffness(const Model& m, int actuator, double length);
// the sum over the actuators of a tendon
double tendon_actuator_force(const Model& m, const Data& d, int tendon);
bool actuator_disabled(const Model& m, int actuator);
double next_activation(const Model& m, const Data& d, int actuator, int address, double act_dot);
// setpoints on a circle: the period of the actuator's length, 0 where it has none; and the equivalent of u
// nearest x
double setpoint_period(const Model& m, int actuator);
double nearest_setpoint(double u, double x, double period);

// energy, sensordata
double potential_energy(const Model& m, const Data& d);
double kinetic_energy(const Data& d);
void subtree_velocities(const Model& m, Data* d);
void body_accelerations(const Model& m, Data* d);
void sensors(const Model& m, Data* d);

// qpos moved along qvel for a time h, on the manifold of rotations
VectorXd integrate_position(const Model& m, const VectorXd& qpos, const VectorXd& qvel, double h);
// d/dt of the displacement from a fixed configuration, at velocity qvel
VectorXd displacement_rate(const Model& m, const VectorXd& displacement, const VectorXd& qvel);
// state and time advanced by one of the integrators; forward() has been called
void euler(const Model& m, Data* d);
void implicit(const Model& m, Data* d);
void variational(const Model& m, Data* d);
void runge_kutta4(const Model& m, Data* d);

// everything that depends on the state, no integration
void forward(const Model& m, Data* d);
// the position and velocity stages alone, without collision and forces
void state_stages(const Model& m, Data* d);
// finite, and within kHuge
bool sane_state(const Data& d);
bool sane_inputs(const Data& d);
// one time step; a state or input that is not finite or beyond kHuge freezes the environment and sets its
// status
void step(const Model& m, Data* d);

}  // namespace dualstep::reference
