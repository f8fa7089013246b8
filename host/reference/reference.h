// The reference as users meet it: one environment of a model, stepped in double precision, with named arrays
// at fixed addresses. Writing the state or input arrays sets them; forward(), step() and reset() refresh the
// rest. Quantities derived from the state stay those of the last step's start until forward() is called.
//
// Every call may be told to stop (host/interruption.h): it throws Interrupted, and changed nothing but by the steps that it
// had done.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/reference/data.h"
#include "host/reference/events.h"

namespace dualstep::reference {

// a named array at a fixed address, row-major
struct Array {
  std::vector<double> values;
  std::vector<int> shape;
};
// by name; found by literals, too, without a string of their own
using ArrayMap = std::map<std::string, Array, std::less<>>;

class Reference {
 public:
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  // copies the model with its options; throws UnsupportedModelError where an option is not simulated
  explicit Reference(const Model& model);

  // n time steps; stops at a divergence, with the state the last good one
  void step(int n = 1);
  // event_driven: a length of time, with every event on the way
  std::vector<Event> advance(double duration);
  // derived quantities at the current state
  void forward();
  // the state of a keyframe, or of qpos0 where key is -1, and its derived quantities
  void reset(int key = -1);

  // at the current state, whether or not forward() was called
  MatrixXd mass_matrix() const;
  VectorXd bias() const;
  VectorXd inverse_dynamics(const VectorXd& qacc) const;
  VectorXd forward_dynamics(const VectorXd& tau) const;
  MatrixXd coriolis_matrix() const;
  VectorXd momentum() const;
  double kinetic_energy() const;
  double potential_energy() const;

  const Model& model() const { return model_; }
  // the workspace as the last forward() or step() left it
  const Data& data() const { return data_; }
  ArrayMap& arrays() { return arrays_; }
  bool writable(const std::string& name) const;

  // the springs of soft_anchor, which are part of the state
  const std::vector<Anchor>& anchors() const { return data_.anchors; }
  void set_anchors(const std::vector<Anchor>& anchors) { data_.anchors = anchors; }

  double time = 0;

 private:
  // the users' arrays into a workspace, and a workspace into the users' arrays
  void take_state(Data* d) const;
  void publish();
  void keep_or_restore_state(Data* d);
  Data at_state() const;
  // calls f with a copy of the workspace at the users' state, which then is the workspace
  template <class F>
  void change(F f);
  template <class More, class F>
  void repeat(More more, F f);
  void adopt(Data d);
  // what follows from the state, or that it is none
  void evaluate(Data* d) const;

  // one step of an event-driven run; its outputs are those of its start
  void hybrid_step(double duration, Data* d, std::vector<Event>* events);

  // throws std::runtime_error while another lives: what a signal's handler changes amid a call would be lost
  class Amid {
   public:
    explicit Amid(bool* amid) : amid_(amid) {
      if (*amid_)
        throw std::runtime_error(
            "this reference is amid a call: what a signal's handler asks of it would be lost. Note the "
            "signal "
            "there, and ask between calls");
      *amid_ = true;
    }
    ~Amid() { *amid_ = false; }
    Amid(const Amid&) = delete;
    Amid& operator=(const Amid&) = delete;

   private:
    bool* amid_;
  };

  Model model_;
  Data data_;
  bool amid_ = false;  // a call that changes it
  EventRun events_;
  struct State {
    VectorXd qpos, qvel, act;
    double time = 0;
  } good_;  // the last state that was finite
  ArrayMap arrays_;
};

}  // namespace dualstep::reference
