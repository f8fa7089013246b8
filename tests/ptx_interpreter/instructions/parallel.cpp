// PTX ISA, "Parallel Synchronization and Communication Instructions", but for atomics (atomics.cpp). What threads
// do together only stops the thread here; machine.cpp does it when all have come.
#include "instructions/instruction.h"

namespace ptx_interpreter {
namespace {

// the threads that are meant are the last operand, where there is one
template <int kMask>
void wait_for_warp(Thread& t, const Op& o) {
  t.waits_mask = get<u32>(t, o.r[kMask]);
  t.waits_at = &o;
  t.state = State::kWaits;
  t.stopped = true;
  if (!(t.waits_mask >> t.lane() & 1))
    fault(t, "a thread waits with others of its warp, and is not among those that are named");
}
void wait_for_block(Thread& t, const Op& o) {
  t.waits_at = &o;
  t.state = State::kWaits;
  t.stopped = true;
}
void threads_here(Thread& t, const Op& o) {
  // a thread runs alone: those that happen to run with it are itself
  put<u32>(t, o.r[0], 1u << t.lane());
}

void nothing(Thread&, const Op&) {}

Decoded together(Together what, Execute run, uint8_t mode = 0) {
  Decoded d;
  d.run = run;
  d.together = what;
  d.mode = mode;
  return d;
}
// the first of the alternatives that the name has, or their number
uint8_t which(const Name& name, std::initializer_list<std::string_view> alternatives) {
  const auto found = std::find_if(alternatives.begin(), alternatives.end(),
                                  [&](std::string_view part) { return name.has(part); });
  return static_cast<uint8_t>(found - alternatives.begin());
}

Decoded decode_bar(const Name& name) {
  if (name.parts[0] == "bar" && name.has("warp")) return together(Together::kWarpBarrier, wait_for_warp<0>);
  if (name.has("sync")) return together(Together::kBlockBarrier, wait_for_block);
  // d, barrier, a
  if (name.has("red") && name.last() == "pred")
    return together(Together::kBlockBarrier, wait_for_block, name.has("and") ? 1 : 2);
  unknown(name.whole);
}
// d, p, a, b, c, threads
Decoded decode_shfl(const Name& name) {
  if (!name.has("sync")) unknown(name.whole);
  return together(Together::kShuffle, wait_for_warp<5>, which(name, {"up", "down", "bfly"}));
}
// d, p, threads
Decoded decode_vote(const Name& name) {
  if (!name.has("sync")) unknown(name.whole);
  return together(Together::kVote, wait_for_warp<2>, which(name, {"any", "all", "ballot"}));
}
// d, a, threads
Decoded decode_match(const Name& name) {
  if (!name.has("any")) unknown(name.whole);
  return together(Together::kMatch, wait_for_warp<2>, name.last() == "b64");
}

}  // namespace

const Chapter& parallel() {
  static const Chapter kChapter = {
      {"bar", decode_bar},         {"barrier", decode_bar},    {"shfl", decode_shfl},
      {"vote", decode_vote},       {"match", decode_match},    {"activemask", always<threads_here>},
      {"membar", always<nothing>}, {"fence", always<nothing>}, {"nanosleep", always<nothing>},
  };
  return kChapter;
}

}  // namespace ptx_interpreter
