// Event-driven hybrid simulation: smooth flow with the present contacts as equalities, and what ends it.
//
// solves    M a = tau + F'l with every closed contact and stop at zero distance, and those that stick at zero
//           sliding, until a guard is crossed:
//             touch-down      phi < 0
//             lift-off        l_n < 0
//             slip            |f_t| > mu_s l_n
//             stick, reversal v_t . d < 0
//           and joint stops; impacts jump the velocity (impulse.cpp)
// equation  R a + dR/dt v = 0 for the rows R held; forces act along F = R, but a sliding contact's normal
//           force brings friction with it:
//             F_n = n - mu_d d'J_t,  d = v_t / |v_t|
//           After every event the modes are found anew (event_modes.cpp):
//             0 <= n a + dn/dt v  _|_  l_n >= 0, with Coulomb's law on accelerations for contacts at rest
// source    Pfeiffer & Glocker 1996 (modes and their complementarity); Tedrake, Underactuated Robotics,
//           multi-body appendix (guards); Dormand & Prince 1980 (the flow)
// deviation release is told by the force, and confirmed by the acceleration after it: at that instant the
//           velocity of the gap is still zero. The step before a guard is taken again and again with another
//           length until the crossing is known to 1e-13 s, so that no interpolant limits it. dR/dt v by a
//           five-point difference along the motion, since contact points of curved bodies wander. What is held
//           is projected back after every step. Approaches below 1e-4 m/s end plastically, which ends the sequences of Zeno
// reads     the state and inputs
// writes    the state, events
// cost      about 50 evaluations of the flow an event
#pragma once

#include <string>
#include <vector>

#include "host/reference/contact_matching.h"
#include "host/reference/contact_model.h"

namespace dualstep::reference {

struct Event {
  double time = 0;
  std::string kind;  // impact, release, slip, stick, limit, persistent
  int geom1 = -1, geom2 = -1, joint = -1;
  VectorXd qvel_before, qvel_after;
  Vector3d impulse = Vector3d::Zero();  // n, t1, t2 [N s]
};

// one closed contact or joint stop, and how it moves
struct Held {
  ContactMark mark;  // of a contact
  int limit = -1;    // or the index of a joint stop among limit_rows
  bool sliding = false;
  Vector3d direction = Vector3d::Zero();  // of sliding, world axes, where the velocity is too small to tell
};

std::vector<ContactMark> marks_of(const std::vector<Held>& held);

// what holds at an instant
struct Mode {
  std::vector<Held> held;
  bool known = false;
};

// a state of the flow, with everything that depends on it
struct FlowPoint {
  Data data;
  std::vector<LimitRow> limits;
  std::vector<int> contact_of;  // per held: index into data.contacts, -1 where it has vanished or is a stop
  std::vector<Vector3d> force;  // per held: n, t1, t2 [N]
};

// mu_s; 0 of a contact without friction
double static_friction(const Contact& c);

class EventFlow {
 public:
  explicit EventFlow(const Model& m);

  // poses, velocities, forces without constraints, contacts in reach
  void evaluate(const Data& at, FlowPoint* p) const;
  // qacc and forces under a mode
  void accelerate(const Mode& mode, FlowPoint* p) const;
  // the mode of a state after its impacts: what of the closed contacts and stops stays closed, sticks,
  // slides. `forced` are held entries that are to slide whatever the statics say; `pulling` those that were
  // about to pull: they go where their force is nothing, and at once where `insist`
  Mode resolve(const FlowPoint& p, const std::vector<Held>& forced, const std::vector<Held>& pulling = {},
               bool insist = false) const;
  // the state moved back to where the mode's rows hold
  void project(const Mode& mode, Data* d) const;
  // positions out of penetration
  void project_out(Data* d) const;

  // relative velocity of a contact's point in its frame
  Vector3d contact_velocity(const FlowPoint& p, int contact) const;
  bool closed(double distance) const { return distance <= kClosed; }

  static constexpr double kClosed = 1e-9;      // [m], [rad]
  static constexpr double kStill = 1e-8;       // [m/s]
  static constexpr double kPersistent = 1e-4;  // [m/s]

 private:
  // the rows that a mode holds, and along which forces act
  struct Rows {
    MatrixXd R, F;
    VectorXd demand;         // R a = demand
    std::vector<int> first;  // row of each held entry's normal
    int equalities = 0;
  };
  Data equality_rows(const Data& d) const;
  Rows rows_of(const Mode& mode, const FlowPoint& p) const;
  VectorXd drift(const FlowPoint& p, const MatrixXd& J, const std::vector<int>& contacts,
                 const std::vector<int>& limits) const;

  MatrixXd held_rows(const Mode& mode, const FlowPoint& p, bool velocity, VectorXd* error) const;

  // the steps of resolve
  struct Candidates;
  struct RestProblem;
  struct RestForces;
  Candidates candidates(const FlowPoint& p, const std::vector<Held>& forced) const;
  RestProblem rest_problem(const Candidates& among, const FlowPoint& p) const;
  VectorXd sliding_friction(const Candidates& among, const FlowPoint& p, const std::vector<int>& at,
                            const VectorXd& l) const;
  RestForces rest_forces(const Candidates& among, const FlowPoint& p, const RestProblem& problem) const;
  bool release_slipping(const FlowPoint& p, const RestProblem& problem, const RestForces& rest,
                        Candidates* among) const;
  std::vector<Held> remaining(const Candidates& among, const FlowPoint& p, const RestProblem& problem,
                              const RestForces& rest, const std::vector<Held>& pulling, bool insist) const;

  Model model_;  // with wide margins and hard equalities
};

// one environment's hybrid run; keeps the mode from one call to the next as long as nobody else moves the
// state
class EventRun {
 public:
  explicit EventRun(const Model& m) : model_(m), flow_(m) {}
  // where it throws, what it keeps from one call to the next is as it was
  void advance(Data* d, double duration, std::vector<Event>* events);
  // qacc and contact forces of a state, without moving it
  void forward(Data* d);

 private:
  struct Trial;
  struct Blow;
  void follow(Data* d, double duration, std::vector<Event>* events);
  void handle(Data* d, std::vector<Event>* events);
  Blow blow(const FlowPoint& p, bool tired) const;
  void report_impacts(const Blow& blow, const FlowPoint& p, const Data& d, std::vector<Event>* events) const;
  void end_plastically(const Blow& blow, FlowPoint* p, Data* d) const;
  void at_their_bound(const FlowPoint& p, std::vector<Held>* forced, std::vector<Held>* pulling) const;
  void report_changes(const Mode& before, const FlowPoint& p, const Data& d,
                      std::vector<Event>* events) const;
  double crossing(const Data& from, double s, const std::vector<Vector3d>& direction, double value,
                  Trial* t) const;
  void follow_contacts(const Data& d);
  Trial trial(const Data& from, double s) const;
  double guard_at(const Data& at, const std::vector<Vector3d>& direction) const;
  double guard(const FlowPoint& p, const Mode& mode, const std::vector<Vector3d>& start_direction) const;
  std::vector<Vector3d> directions(const FlowPoint& p) const;

  const Model& model_;
  EventFlow flow_;
  Mode mode_;
  VectorXd qpos_, qvel_;  // where the mode was found
  double step_ = 0;       // the last accepted length
};

}  // namespace dualstep::reference
