// What a failed launch says: which lanes are where, by call, file and line, and how to see it again.
#include <sstream>

#include "host/backends/fibers/fibers.h"

namespace dualstep::emulator {
namespace {

const char* name_of(Call call) {
  switch (call) {
    case Call::sync:
      return "sync()";
    case Call::accumulate:
      return "accumulate()";
    case Call::exclusive_scan:
      return "exclusive_scan()";
    case Call::any_lane:
      return "any_lane()";
    case Call::none:
      break;
  }
  return "its first barrier";
}

// what a lane did at the barrier where the lanes parted
std::string location_of(const Arrival& arrival) {
  if (arrival.state == LaneState::returned) return "returned";
  std::ostringstream text;
  text << "at " << name_of(arrival.call);
  if (arrival.call == Call::accumulate) text << " of " << arrival.argument << " terms";
  text << ", " << arrival.where.file_name() << ":" << arrival.where.line() << " in "
       << arrival.where.function_name();
  return text.str();
}

std::string schedule_of(const Schedule& schedule) {
  switch (schedule.order) {
    case Order::ordered:
      return "ordered";
    case Order::reversed:
      return "reversed";
    case Order::shuffled:
      return "shuffled, seed " + std::to_string(schedule.seed);
  }
  return "";
}

}  // namespace

Failure last_failure() { return last_record().failure; }

std::string describe_failure() {
  const LaunchRecord& record = last_record();
  std::ostringstream text;
  if (record.failure == Failure::foreign_lane) {
    text << "lane " << record.failed_rank << " called a barrier as lane " << record.failed_as
         << " of the emulated lanes: a FiberLanes was used outside its own lane";
    return text.str();
  }
  text << "the " << record.width << " lanes do not meet at barrier " << record.phase << " ("
       << schedule_of(record.schedule) << "):";
  bool told[kMaxLanes] = {};
  for (int first = 0; first < record.width; first++) {
    if (told[first]) continue;
    const std::string location = location_of(record.lane[first]);
    text << "\n  lanes";
    for (int rank = first; rank < record.width; rank++) {
      if (told[rank] || location_of(record.lane[rank]) != location) continue;
      told[rank] = true;
      text << ' ' << rank;
    }
    text << ": " << location;
  }
  return text.str();
}

}  // namespace dualstep::emulator
