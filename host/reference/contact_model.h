// The contact models beside MuJoCo's own problem, and what they share.
//
// solves    the acceleration of a step, qacc = (v' - v)/h, under the chosen law of contact. Everything stands on
//             M^ = M + h D (euler: D the joint damping; implicit, implicitfast: M - h dF/dv; rk4: M)
//             MuJoCo's contacts: M^ = M, under the integrator discrete M + h D + h^2 K (step_slopes)
//             qacc = dv/h + M^-1 (tau + J_f'f + J'l),   tau = qfrc_smooth
//           with dv a jump of the velocity (impulsive), f explicit contact forces (compliant, soft_anchor),
//           and l the forces of the rows: velocity and position equalities, friction loss, joint limits, contacts
// equation  the rows' dual: y = (A + R) l + b, A = J M^-1 J', b = J M^-1 (tau + J_f'f) - aref,
//             aref = -B J (v + dv) - K r. Contacts (rows n, t1, t2, spin, roll1, roll2; r = phi on n, else 0):
//               todorov, spring_damper  B = 2/k, K = 1/k^2, R_n = eps A_nn, R_t = R_n / impratio, k = max(kappa, 2h)
//               anitescu       B = 1/h, K = 1/h^2, R = 0, r = max(phi, -2 m/s h)
//               stewart_trinkle  the same rows under Coulomb's law with Signorini's condition
//               compliant, soft_anchor  no rows: explicit_contacts.cpp
//               impulsive      impulse.cpp, then the rows of todorov in either parameterization
//           joint limits and friction loss: MuJoCo's softness where contact_parameters = mujoco, else B, K, R
//           as of the spring-damper contacts (r = phi on limits, 0 on friction loss)
// source    Todorov 2014; Anitescu 2006; Stewart & Trinkle 1996; de Saxce & Feng 1998; Tedrake, Underactuated
//           Robotics, multi-body appendix
// deviation dJ/dt v is neglected on contacts and limits, as in all of these; a gap deeper than 2 m/s h is corrected
//           at that speed; where facing contacts leave the hard convex dual without a solution, R = 1e-6 A_ii
//           steps in and the status says so
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/reference/constraint.h"

namespace dualstep::reference {

// the fastest correction of a penetration by hard rows [m/s]
constexpr double kCorrectionSpeed = 2;
// contacts approaching more slowly than this do not bounce in time stepping [m/s]
constexpr double kBounceSpeed = 0.05;
// friction above this holds without bound
constexpr double kInfiniteFriction = 1e6;

// what each contact model is made of: the one place of the reference that tells them apart
struct ContactForm {
  bool hard = false;        // rows without softness
  bool forces = false;      // explicit forces in place of rows
  bool anchored = false;    // the friction of those forces is an anchored spring
  bool impacts = false;     // jumps of the velocity before the step
  bool coulomb = false;     // Signorini's condition and maximum dissipation instead of the convex cone
  bool whole_step = false;  // a law of a whole time step, which the stages of a Runge-Kutta step are not
};
ContactForm contact_form(const Options& opt);

// contacts as MuJoCo has them: its margins, floors of friction, softness
bool mujoco_contacts(const Options& opt);
// contacts as rows n, t1, t2, ... whatever the cone, since the law is not a sum over edges
bool frame_rows(const Options& opt);
// margin in which contacts have rows, under the options
double contact_margin(const Options& opt, double geoms_margin);

// what a combination of options asks for and nothing here simulates, as (option, reason)
std::vector<std::pair<std::string, std::string>> unsupported_formulation(const Model& m);

// M_hat, M_hat_llt of the integrator in use
void implicit_inertia(const Model& m, Data* d);

// everything between the smooth forces and qacc; reads contacts
void constrained_acceleration(const Model& m, Data* d);
// the same for the variational integrator: a whole step of it, not yet taken; also writes midpoint_velocity
void variational_acceleration(const Model& m, Data* d);
// the rows alone, as they stand in efc_*, on M_hat
void solve_rows(const Model& m, Data* d, const VectorXd& free);

// how the dual of solve_rows is to be read
struct RowLaw {
  bool coulomb = false;  // Signorini's condition and maximum dissipation instead of the convex cone
  int directions = 0;    // edges of the cone of three rows; 0: round
};
RowLaw row_law(const Options& opt);

// a dual on any rows: forces of `blocks` with y = (A + diag R) l + b, given the whitened rows W (A = W'W)
struct RowSolution {
  VectorXd force;
  double residual = 0;  // relative natural residual, and the part of a hard demand that no force meets
  int iterations = 0;
  bool softened = false;  // the hard problem had no solution
};
// `hard` rows are free rows with R = 0, which may be redundant: their forces are the least ones
RowSolution solve_dual(const MatrixXd& W, const VectorXd& R, const VectorXd& b,
                       const std::vector<RowBlock>& blocks, const std::vector<char>& hard, const RowLaw& law);

// the velocity after the impacts of a state, and the rows' impulses; nothing where nothing approaches
struct Impact {
  VectorXd jump;                      // v+ - v-
  std::vector<Vector3d> impulse;      // of each contact, n, t1, t2 [N s]
  std::vector<double> limit_impulse;  // of each closed joint limit
  bool happened = false;
  bool solved = true;  // whether the impulses are those of the law, to rounding
};
struct ClosedLimit {
  int joint = -1;
  VectorXd row;  // J of the distance to the stop
};
// contacts `closed` and joint stops `limits` close together. restitution(i) of closed contact i (then limit
// i) given its approach speed; rows of equality constraints keep their velocity
Impact impact_rows(const Model& m, const Data& d, const std::vector<int>& closed,
                   const std::vector<ClosedLimit>& limits,
                   const std::function<double(bool limit, int index, double speed)>& restitution);
// the coefficient of a pair of geoms
double pair_restitution(const Model& m, int geom1, int geom2);
// rows (6, nv) of a contact: relative velocity of its point, then relative angular velocity, in its frame
MatrixXd contact_jacobian(const Model& m, const Data& d, const Contact& c);
// joint stops with distance <= margin
std::vector<ClosedLimit> closed_limits(const Model& m, const Data& d, double margin,
                                       std::vector<double>* distance);

// forces of compliant and soft_anchor as a function of the state, stored in Contact::force; their sum in
// joint space. soft_anchor reads d->anchors and writes the next ones to d->next_anchors
VectorXd explicit_contacts(const Model& m, Data* d);

}  // namespace dualstep::reference
