// Copies between the users' arrays and the workspace, and the functions of section "on models": each
// evaluates the textbook's recursion at the current state.
#include "host/reference/reference.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "host/interruption.h"
#include "host/model/actuator_loads.h"
#include "host/reference/contact_model.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

constexpr const char* kWritable[] = {
#define INPUT(name) #name,
#include "host/reference/arrays.inl"
};

// calls f(name, entry of Data) for what users write ...
template <class D, class F>
void for_each_input(D& d, F f) {
#define INPUT(name) f(#name, d.name);
#include "host/reference/arrays.inl"
}
// ... and for what they read
template <class D, class F>
void for_each_output(D& d, F f) {
#define OUTPUT(name) f(#name, d.name);
#include "host/reference/arrays.inl"
}

std::vector<int> shape_of(const VectorXd& x) { return {static_cast<int>(x.size())}; }
std::vector<int> shape_of(const RowMatrixXd& x) {
  return {static_cast<int>(x.rows()), static_cast<int>(x.cols())};
}
std::vector<int> shape_of(const std::vector<Quaterniond>& x) { return {static_cast<int>(x.size()), 4}; }
template <class V>
std::vector<int> shape_of(const std::vector<V>& x) {
  return {static_cast<int>(x.size()), V::SizeAtCompileTime};
}

void write(const RowMatrixXd& x, double* to) { std::copy(x.data(), x.data() + x.size(), to); }
void write(const VectorXd& x, double* to) { std::copy(x.data(), x.data() + x.size(), to); }
void write(const std::vector<Quaterniond>& x, double* to) {
  for (const Quaterniond& q : x) {
    for (double c : {q.w(), q.x(), q.y(), q.z()}) *to++ = c;
  }
}
template <class V>
void write(const std::vector<V>& x, double* to) {
  // matrices row by row
  for (const V& v : x) {
    for (int r = 0; r < v.rows(); ++r) {
      for (int c = 0; c < v.cols(); ++c) *to++ = v(r, c);
    }
  }
}

void refuse_unsupported(const Model& model) {
  std::string what;
  for (const auto& [option, reason] : unsupported_formulation(model))
    what += "\n  - " + option + ": " + reason;
  if (!what.empty()) throw UnsupportedModelError("the reference does not simulate these options:" + what);
}

}  // namespace

Reference::Reference(const Model& model)
    : model_(loaded(model, [](const Model& with) { return with; })), events_(model_) {
  refuse_unsupported(model_);
  data_ = make_data(model_);
  good_ = {data_.qpos, data_.qvel, data_.act, data_.time};
  const auto allocate = [&](const char* name, const auto& x) {
    Array& a = arrays_[name];
    a.shape = shape_of(x);
    size_t size = 1;
    for (int n : a.shape) size *= n;
    a.values.assign(size, 0.0);
  };
  for_each_input(data_, allocate);
  for_each_output(data_, allocate);
  arrays_["energy"] = {{0, 0}, {2}};
  reset();
}

bool Reference::writable(const std::string& name) const {
  return std::find(std::begin(kWritable), std::end(kWritable), name) != std::end(kWritable);
}

void Reference::take_state(Data* d) const {
  for_each_input(*d, [&](const char* name, auto& x) {
    const std::vector<double>& values = arrays_.find(name)->second.values;
    std::copy(values.begin(), values.end(), x.data());
  });
  d->time = time;
}

// asks for no memory, so that a reference whose step was denied some is as it was
void Reference::publish() {
  const auto values = [&](const char* name) { return arrays_.find(name)->second.values.data(); };
  for_each_input(data_, [&](const char* name, const auto& x) {
    std::copy(x.data(), x.data() + x.size(), values(name));
  });
  for_each_output(data_, [&](const char* name, const auto& x) { write(x, values(name)); });
  std::copy(data_.energy, data_.energy + 2, values("energy"));
  time = data_.time;
}

void Reference::adopt(Data d) {
  keep_or_restore_state(&d);
  data_ = std::move(d);
  publish();
}

template <class F>
void Reference::change(F f) {
  const Amid amid(&amid_);
  Data d = data_;
  take_state(&d);
  f(&d);
  adopt(std::move(d));
}

// turns of f for as long as `more` says. Those before Ctrl-C stand; any other failure changes nothing
template <class More, class F>
void Reference::repeat(More more, F f) {
  const Amid amid(&amid_);
  Data done = data_, next;
  take_state(&done);
  try {
    while (more(done)) {
      stop_if_told();
      next = done;
      f(&next);
      std::swap(done, next);
    }
  } catch (const Interrupted&) {
    adopt(std::move(done));
    throw;
  }
  adopt(std::move(done));
}

void Reference::step(int n) {
  int left = n;
  repeat([&](const Data& d) { return left > 0 && !(d.status & kStatusDiverged); },
         [&](Data* d) {
           if (model_.opt.scheme == Scheme::kEventDriven)
             hybrid_step(model_.opt.timestep, d, nullptr);
           else
             reference::step(model_, d);
           --left;
         });
}

void Reference::evaluate(Data* d) const {
  if (sane_state(*d) && sane_inputs(*d))
    reference::forward(model_, d);
  else
    d->status |= kStatusDiverged;
}

void Reference::hybrid_step(double duration, Data* d, std::vector<Event>* events) {
  evaluate(d);
  if (d->status & kStatusDiverged) return;
  Data end = *d;
  std::vector<Event> found;
  events_.advance(&end, duration, &found);
  if (!sane_state(end)) {
    d->status |= kStatusDiverged;
    return;
  }
  d->qpos = end.qpos;
  d->qvel = end.qvel;
  d->act = end.act;
  d->time = end.time;
  d->status |= end.status;
  if (events) events->insert(events->end(), found.begin(), found.end());
}

std::vector<Event> Reference::advance(double duration) {
  if (model_.opt.scheme != Scheme::kEventDriven)
    throw std::invalid_argument("advance is for scheme = 'event_driven'; step() advances by time steps");
  std::vector<Event> events;
  const double end = time + duration;
  repeat([&](const Data& d) { return end - d.time > 1e-13 && !(d.status & kStatusDiverged); },
         [&](Data* d) { hybrid_step(std::min(model_.opt.timestep, end - d->time), d, &events); });
  return events;
}

void Reference::forward() {
  change([&](Data* d) { evaluate(d); });
}

// a state that users wrote and that is not sane gives way to the last good one
void Reference::keep_or_restore_state(Data* d) {
  if (sane_state(*d)) {
    good_ = {d->qpos, d->qvel, d->act, d->time};
    return;
  }
  d->qpos = good_.qpos;
  d->qvel = good_.qvel;
  d->act = good_.act;
  d->time = good_.time;
}

void Reference::reset(int key) {
  change([&](Data* d) {
    reset_state(model_, key, d);
    evaluate(d);
  });
}

Data Reference::at_state() const {
  Data d = data_;
  take_state(&d);
  state_stages(model_, &d);
  return d;
}

MatrixXd Reference::mass_matrix() const { return at_state().M.dense(); }
VectorXd Reference::bias() const { return at_state().qfrc_bias; }
VectorXd Reference::inverse_dynamics(const VectorXd& qacc) const {
  const Data d = at_state();
  VectorXd tau = rnea(model_, d, &qacc);
  // recursions over bodies know nothing of tendons
  if (tendons_have_inertia(model_)) {
    BlockMatrix of_tendons(d.M.bounds());
    add_tendon_inertia(model_, d, &of_tendons);
    tau += of_tendons * qacc + tendon_bias(model_, d);
  }
  return tau;
}
VectorXd Reference::forward_dynamics(const VectorXd& tau) const {
  const Data d = at_state();
  return tendons_have_inertia(model_) ? d.M_llt.solve(tau - d.qfrc_bias) : aba(model_, d, tau);
}
MatrixXd Reference::coriolis_matrix() const { return reference::coriolis_matrix(model_, at_state()); }
VectorXd Reference::momentum() const {
  const Data d = at_state();
  return d.M * d.qvel;
}
double Reference::kinetic_energy() const { return at_state().energy[1]; }
double Reference::potential_energy() const { return at_state().energy[0]; }

}  // namespace dualstep::reference
