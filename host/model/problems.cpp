// What is wrong with a model, as one message: grouped by what it is, with a count and up to three examples each,
// so that a model with hundreds of refusals says so on a page. `problems` of the error holds all of them.
#include <algorithm>
#include <map>

#include "host/model/unsupported.h"

namespace dualstep {
namespace {

constexpr size_t kExamples = 3, kLines = 36, kLineLength = 300;

std::string count(size_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

struct Group {
  std::string title;
  std::vector<const Problem*> members;
};

// by feature and reason, in the order of their first members
std::vector<Group> grouped(const std::vector<Problem>& problems) {
  std::vector<Group> groups;
  for (const Problem& p : problems) {
    const std::string title = p.feature + ": " + p.reason;
    const auto same = [&](const Group& g) { return g.title == title; };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) group = groups.insert(groups.end(), Group{title, {}});
    group->members.push_back(&p);
  }
  return groups;
}

std::string example(const Problem& p) {
  std::string text = p.element + (p.detail.empty() ? "" : ": " + p.detail);
  if (text.size() > kLineLength) text = text.substr(0, text.rfind(',', kLineLength)) + ", ...";
  return text;
}

// a line a group where it has one element, else a line for the group and one an example
std::string list(const std::vector<Problem>& problems, size_t most) {
  const std::vector<Group> groups = grouped(problems);
  size_t examples = kExamples;
  const auto lines = [&] {
    size_t sum = 0;
    for (const Group& g : groups)
      sum += g.members.size() == 1 ? 1
                                   : 1 + std::min(g.members.size(), examples) + (g.members.size() > examples);
    return sum;
  };
  while (examples > 0 && lines() > most) --examples;
  std::string text;
  size_t shown = 0, hidden = 0;
  for (const Group& g : groups) {
    if (++shown > most) {
      hidden += g.members.size();
      continue;
    }
    const Problem& first = *g.members[0];
    if (g.members.size() == 1) {
      text += "\n  - " + first.feature + ": " + example(first) + ": " + first.reason;
      continue;
    }
    text += "\n  - " + first.feature + ", " + std::to_string(g.members.size()) + " times: " + first.reason;
    for (size_t i = 0; i < std::min(g.members.size(), examples); ++i)
      text += "\n      " + example(*g.members[i]);
    if (examples > 0 && g.members.size() > examples)
      text += "\n      and " + std::to_string(g.members.size() - examples) + " more";
  }
  if (hidden > 0) text += "\n  and " + count(hidden, "other");
  return text;
}

}  // namespace

void throw_problems(const std::vector<Problem>& unsupported, const std::vector<Problem>& invalid) {
  const std::string bad_values =
      "the model holds " + count(invalid.size(), "value") + " that cannot be simulated:";
  if (!unsupported.empty()) {
    std::string message = "the model holds " + count(unsupported.size(), "thing") +
                          " that dualstep does not simulate:" +
                          list(unsupported, invalid.empty() ? kLines : kLines - kLines / 3);
    if (!invalid.empty()) message += "\nand " + bad_values + list(invalid, kLines / 3);
    throw UnsupportedModelError(message, unsupported);
  }
  if (!invalid.empty()) throw InvalidModelError(bad_values + list(invalid, kLines), invalid);
}

}  // namespace dualstep
