// see events.h: steps of the flow, guards, and what happens at events
#include "host/reference/events.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "host/interruption.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

constexpr double kRelative = 1e-10, kAbsolute = 1e-12;
constexpr double kRoot = 1e-13;        // [s]
constexpr double kGuardSlack = 1e-12;  // [m], [m/s]: below, a crossing is rounding
constexpr int kMaxEvents = 100;        // of a step

// Dormand & Prince's tableau, and the difference of its two answers
constexpr double kNode[7] = {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
constexpr double kStage[7][6] = {{0, 0, 0, 0, 0, 0},
                                 {1. / 5, 0, 0, 0, 0, 0},
                                 {3. / 40, 9. / 40, 0, 0, 0, 0},
                                 {44. / 45, -56. / 15, 32. / 9, 0, 0, 0},
                                 {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729, 0, 0},
                                 {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656, 0},
                                 {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
constexpr double kError[7] = {71. / 57600,      0,         -71. / 16695, 71. / 1920,
                              -17253. / 339200, 22. / 525, -1. / 40};

struct Slope {
  VectorXd position, velocity, act;
};

}  // namespace

// where a step of length s leads, and how far its two orders differ
struct EventRun::Trial {
  Data end;
  double error = 0;
};

EventRun::Trial EventRun::trial(const Data& from, double s) const {
  std::array<Slope, 7> k;
  Trial out{from, 0};
  for (int i = 0; i < 7; ++i) {
    stop_if_told();
    VectorXd displacement = VectorXd::Zero(model_.nv), dv = displacement, da = VectorXd::Zero(model_.na);
    for (int j = 0; j < i; ++j) {
      displacement += s * kStage[i][j] * k[j].position;
      dv += s * kStage[i][j] * k[j].velocity;
      da += s * kStage[i][j] * k[j].act;
    }
    Data at = from;
    at.qpos = integrate_position(model_, from.qpos, displacement, 1);
    at.qvel = from.qvel + dv;
    at.act = from.act + da;
    at.time = from.time + kNode[i] * s;
    if (i == 6) out.end = at;
    FlowPoint p;
    flow_.evaluate(at, &p);
    flow_.accelerate(mode_, &p);
    k[i] = {displacement_rate(model_, displacement, at.qvel), p.data.qacc, p.data.act_dot};
  }
  VectorXd gap = VectorXd::Zero(2 * model_.nv);
  for (int i = 0; i < 7; ++i) {
    gap.head(model_.nv) += s * kError[i] * k[i].position;
    gap.tail(model_.nv) += s * kError[i] * k[i].velocity;
  }
  const double size = std::max(1.0, from.qvel.norm());
  out.error = gap.lpNorm<Eigen::Infinity>() / (kAbsolute + kRelative * size);
  if (!gap.allFinite()) out.error = 1e300;
  for (int i = 0; i < model_.nactuator && !model_.opt.disabled(kDisableActuation); ++i) {
    const int a = model_.actuator_actadr[i];
    if (a >= 0) out.end.act[a] = next_activation(model_, out.end, i, a, 0);
  }
  return out;
}

// sliding directions of the held contacts, world axes
std::vector<Vector3d> EventRun::directions(const FlowPoint& p) const {
  std::vector<Vector3d> out(mode_.held.size(), Vector3d::Zero());
  for (size_t i = 0; i < mode_.held.size(); ++i) {
    if (!mode_.held[i].sliding || p.contact_of[i] < 0) continue;
    const Vector3d u = flow_.contact_velocity(p, p.contact_of[i]);
    out[i] = u.tail<2>().norm() > EventFlow::kStill
                 ? Vector3d(p.data.contacts[p.contact_of[i]].frame.bottomRows<2>().transpose() *
                            u.tail<2>().normalized())
                 : mode_.held[i].direction;
  }
  return out;
}

// the least of all guards: negative where the mode is over. p has been accelerated
double EventRun::guard(const FlowPoint& p, const Mode& mode,
                       const std::vector<Vector3d>& start_direction) const {
  double least = 1;
  const auto take = [&](double value) { least = std::min(least, value); };
  std::vector<char> is_held(p.data.contacts.size(), 0), stop_held(p.limits.size(), 0);
  for (size_t i = 0; i < mode.held.size(); ++i) {
    const Held& held = mode.held[i];
    const double scale = 1e-9 * (1 + p.force[i].norm());
    if (held.limit >= 0) {
      stop_held[held.limit] = 1;
      take(p.force[i][0] + scale);
      continue;
    }
    const int index = p.contact_of[i];
    if (index < 0) {
      // the contact's point is no more: it has slid off an edge
      take(-1);
      continue;
    }
    is_held[index] = 1;
    take(p.force[i][0] + scale);
    const Contact& c = p.data.contacts[index];
    if (c.dim == 1 || c.friction[0] == 0) continue;
    if (held.sliding) {
      const Vector3d u = flow_.contact_velocity(p, index);
      take((c.frame.bottomRows<2>().transpose() * u.tail<2>()).dot(start_direction[i]) + kGuardSlack);
    } else if (c.friction[0] <= kInfiniteFriction) {
      take(c.friction[0] * p.force[i][0] - p.force[i].tail<2>().norm() + scale);
    }
  }
  for (size_t i = 0; i < p.data.contacts.size(); ++i) {
    if (is_held[i]) continue;
    if (contact_jacobian(model_, p.data, p.data.contacts[i]).row(0).isZero(0)) continue;
    const double rate = flow_.contact_velocity(p, static_cast<int>(i))[0];
    take(std::max(p.data.contacts[i].dist, rate) + kGuardSlack);
  }
  for (size_t i = 0; i < p.limits.size(); ++i) {
    if (!stop_held[i])
      take(std::max(p.limits[i].distance, p.limits[i].jacobian.dot(p.data.qvel)) + kGuardSlack);
  }
  return least;
}

// what closes at an instant, how fast, and the impact of it
struct EventRun::Blow {
  std::vector<int> closing;  // contacts
  std::vector<ClosedLimit> stops;
  std::vector<double> contact_speed, stop_speed;  // of approach
  bool approaches = false;
  Impact impact;
};

EventRun::Blow EventRun::blow(const FlowPoint& p, bool tired) const {
  Blow out;
  for (size_t i = 0; i < p.data.contacts.size(); ++i)
    if (flow_.closed(p.data.contacts[i].dist)) out.closing.push_back(static_cast<int>(i));
  std::vector<double> distance;
  out.stops = closed_limits(model_, p.data, EventFlow::kClosed, &distance);
  out.contact_speed.assign(out.closing.size(), 0);
  out.stop_speed.assign(out.stops.size(), 0);
  const auto restitution = [&](bool limit, int index, double speed) {
    (limit ? out.stop_speed : out.contact_speed)[index] = speed;
    if (speed > kGuardSlack) out.approaches = true;
    if (speed < EventFlow::kPersistent || tired) return 0.0;
    if (limit) return model_.opt.restitution;
    const Contact& c = p.data.contacts[out.closing[index]];
    return pair_restitution(model_, c.geom1, c.geom2);
  };
  out.impact = impact_rows(model_, p.data, out.closing, out.stops, restitution);
  return out;
}

void EventRun::report_impacts(const Blow& blow, const FlowPoint& p, const Data& d,
                              std::vector<Event>* events) const {
  Event e;
  e.time = d.time;
  e.qvel_before = d.qvel;
  e.qvel_after = d.qvel + blow.impact.jump;
  for (size_t i = 0; i < blow.closing.size(); ++i) {
    const double speed = blow.contact_speed[i];
    // a contact that was held and only passes the blow on is no event of its own
    if (speed <= EventFlow::kStill && !(speed > kGuardSlack && mode_.held.empty())) continue;
    const Contact& c = p.data.contacts[blow.closing[i]];
    e.kind = speed < EventFlow::kPersistent ? "persistent" : "impact";
    e.geom1 = c.geom1;
    e.geom2 = c.geom2;
    e.impulse = blow.impact.impulse[i];
    events->push_back(e);
  }
  e.geom1 = e.geom2 = -1;
  e.kind = "limit";
  for (size_t i = 0; i < blow.stops.size(); ++i) {
    if (blow.stop_speed[i] <= EventFlow::kStill) continue;
    e.joint = blow.stops[i].joint;
    e.impulse = Vector3d(blow.impact.limit_impulse[i], 0, 0);
    events->push_back(e);
  }
}

// a plastic end is one for all that is closed and slow: else corners pass the last blow to and fro for ever
void EventRun::end_plastically(const Blow& blow, FlowPoint* p, Data* d) const {
  const bool plastic = std::any_of(blow.contact_speed.begin(), blow.contact_speed.end(), [](double speed) {
    return speed > kGuardSlack && speed < EventFlow::kPersistent;
  });
  Mode slow;
  for (size_t i = 0; plastic && i < blow.closing.size(); ++i) {
    if (std::abs(flow_.contact_velocity(*p, blow.closing[i])[0]) >= EventFlow::kPersistent) continue;
    Held held;
    held.mark = mark_of(model_, p->data, p->data.contacts[blow.closing[i]]);
    held.sliding = true;
    slow.held.push_back(held);
  }
  if (slow.held.empty()) return;
  flow_.project(slow, d);
  flow_.evaluate(*d, p);
}

// contacts whose friction has just reached its bound are to slide; those whose force pulls may go
void EventRun::at_their_bound(const FlowPoint& p, std::vector<Held>* forced,
                              std::vector<Held>* pulling) const {
  for (size_t i = 0; i < mode_.held.size(); ++i) {
    const Held& held = mode_.held[i];
    if (p.force[i][0] <= 0) pulling->push_back(held);
    if (held.limit >= 0 || held.sliding || p.contact_of[i] < 0) continue;
    const Contact& c = p.data.contacts[p.contact_of[i]];
    const double size = p.force[i].tail<2>().norm();
    if (c.friction[0] == 0 || c.friction[0] > kInfiniteFriction) continue;
    if (size < c.friction[0] * p.force[i][0] || p.force[i][0] <= 0) continue;
    Held slip = held;
    slip.sliding = true;
    slip.direction = -(c.frame.bottomRows<2>().transpose() * p.force[i].tail<2>().normalized());
    forced->push_back(slip);
  }
}

// what changed from a mode to the present one, by contact
void EventRun::report_changes(const Mode& before, const FlowPoint& p, const Data& d,
                              std::vector<Event>* events) const {
  Event e;
  e.time = d.time;
  e.qvel_before = e.qvel_after = d.qvel;
  const std::vector<int> match = match_contacts(marks_of(before.held), marks_of(mode_.held));
  for (size_t i = 0; i < before.held.size(); ++i) {
    const Held& was = before.held[i];
    if (was.limit >= 0) {
      const bool still = std::any_of(mode_.held.begin(), mode_.held.end(),
                                     [&](const Held& now) { return now.limit == was.limit; });
      e.geom1 = e.geom2 = -1;
      e.joint = p.limits[was.limit].joint;
      e.kind = "release";
      if (!still) events->push_back(e);
      continue;
    }
    e.joint = -1;
    e.geom1 = was.mark.geom1;
    e.geom2 = was.mark.geom2;
    if (match[i] < 0) {
      e.kind = "release";
      events->push_back(e);
      continue;
    }
    const Held& now = mode_.held[match[i]];
    const bool reversed = was.sliding && now.sliding && was.direction.dot(now.direction) < 0;
    e.kind = was.sliding && !now.sliding ? "stick" : "slip";
    if (was.sliding != now.sliding || reversed) events->push_back(e);
  }
}

// impacts where something closes, then the mode that follows
void EventRun::handle(Data* d, std::vector<Event>* events) {
  FlowPoint p;
  flow_.evaluate(*d, &p);
  flow_.accelerate(mode_, &p);
  const Mode before = mode_;

  const Blow closing = blow(p, static_cast<int>(events->size()) > kMaxEvents);
  if (closing.impact.happened && closing.approaches) {
    report_impacts(closing, p, *d, events);
    if (!closing.impact.solved) d->status |= kStatusNotConverged;
    d->qvel += closing.impact.jump;
    flow_.evaluate(*d, &p);
    end_plastically(closing, &p, d);
    p.contact_of.assign(before.held.size(), -1);
  }

  std::vector<Held> forced, pulling;
  if (!closing.approaches && before.known) at_their_bound(p, &forced, &pulling);
  mode_ = flow_.resolve(p, forced, pulling);
  if (!pulling.empty() && mode_.held.size() == before.held.size())
    mode_ = flow_.resolve(p, forced, pulling, true);

  report_changes(before, p, *d, events);
  flow_.project(mode_, d);
}

double EventRun::guard_at(const Data& at, const std::vector<Vector3d>& direction) const {
  FlowPoint p;
  flow_.evaluate(at, &p);
  flow_.accelerate(mode_, &p);
  return guard(p, mode_, direction);
}

// the length below s at which the guard, which is `value` there, is crossed; t becomes the step that leads to
// it. By false position, halved wherever that is slow
double EventRun::crossing(const Data& from, double s, const std::vector<Vector3d>& direction, double value,
                          Trial* t) const {
  double high_value = value, low = 0, high = s, low_value = 1;
  for (int i = 0, slow = 0; high - low > kRoot && i < 200; ++i) {
    double middle = low + (high - low) * low_value / (low_value - high_value);
    const double width = high - low;
    if (slow || i == 0 || !(middle > low + 0.01 * width && middle < high - 0.01 * width))
      middle = low + 0.5 * width;
    const Trial between = trial(from, middle);
    const double between_value = guard_at(between.end, direction);
    if (between_value < 0) {
      high = middle;
      high_value = between_value;
      *t = between;
    } else {
      low = middle;
      low_value = between_value;
    }
    slow = high - low > 0.5 * width;
  }
  return high;
}

// the contact points of the present mode wander with the bodies
void EventRun::follow_contacts(const Data& d) {
  FlowPoint p;
  flow_.evaluate(d, &p);
  const std::vector<ContactMark> now = marks_of(model_, p.data);
  const std::vector<int> match = match_contacts(marks_of(mode_.held), now);
  for (size_t i = 0; i < mode_.held.size(); ++i)
    if (mode_.held[i].limit < 0 && match[i] >= 0) mode_.held[i].mark = now[match[i]];
}

void EventRun::advance(Data* d, double duration, std::vector<Event>* events) {
  const auto before = std::tuple(mode_, qpos_, qvel_, step_);
  try {
    follow(d, duration, events);
  } catch (...) {
    std::tie(mode_, qpos_, qvel_, step_) = before;
    throw;
  }
}

void EventRun::follow(Data* d, double duration, std::vector<Event>* events) {
  const double end = d->time + duration;
  const bool moved = !mode_.known || qpos_.size() != d->qpos.size() || qpos_ != d->qpos || qvel_ != d->qvel;
  std::vector<Event> found;
  if (moved) {
    mode_ = Mode();
    flow_.project_out(d);
    handle(d, &found);
    step_ = 0;
  }
  double length = step_ > 0 ? step_ : std::min(duration, 1e-3);
  int handled = 0;
  while (end - d->time > kRoot) {
    // modes that change without end are passed over at a pace of their own
    const bool hurry = handled > kMaxEvents;
    if (hurry) length = std::max(length, model_.opt.timestep / 20);
    const double s = std::min({length, end - d->time, model_.opt.timestep});
    FlowPoint start;
    flow_.evaluate(*d, &start);
    flow_.accelerate(mode_, &start);
    const std::vector<Vector3d> direction = directions(start);
    for (size_t i = 0; i < mode_.held.size(); ++i) mode_.held[i].direction = direction[i];

    Trial t = trial(*d, s);
    const double grow = std::clamp(0.9 * std::pow(std::max(t.error, 1e-10), -0.2), 0.2, 5.0);
    if (t.error > 1 && s > 1e-12 && !hurry) {
      length = s * grow;
      continue;
    }
    const double value = guard_at(t.end, direction);
    const bool event = value < 0;
    const double taken = event && !hurry ? crossing(*d, s, direction, value, &t) : s;
    const double reached = d->time + taken;
    *d = t.end;
    d->time = std::abs(reached - end) <= kRoot ? end : reached;
    if (event) {
      ++handled;
      if (hurry) flow_.project_out(d);
      handle(d, &found);
      length = std::max(1e-6, std::min(length, taken));
    } else {
      flow_.project(mode_, d);
      follow_contacts(*d);
      length = s * grow;
    }
    if (!d->qpos.allFinite() || !d->qvel.allFinite()) break;
  }
  if (handled > kMaxEvents) d->status |= kStatusNotConverged;
  step_ = length;
  qpos_ = d->qpos;
  qvel_ = d->qvel;
  if (events) events->insert(events->end(), found.begin(), found.end());
}

void EventRun::forward(Data* d) {
  FlowPoint p;
  flow_.evaluate(*d, &p);
  const Mode mode = flow_.resolve(p, {});
  flow_.accelerate(mode, &p);
  d->qacc = p.data.qacc;
  d->qfrc_constraint = p.data.qfrc_constraint;
  const std::vector<int> match = match_contacts(marks_of(model_, *d), marks_of(mode.held));
  for (size_t i = 0; i < d->contacts.size(); ++i) {
    d->contacts[i].force.setZero();
    if (match[i] < 0 || mode.held[match[i]].limit >= 0) continue;
    d->contacts[i].force.head<3>() = p.force[match[i]];
  }
}

}  // namespace dualstep::reference
