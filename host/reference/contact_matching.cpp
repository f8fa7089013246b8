// see contact_matching.h
#include "host/reference/contact_matching.h"

#include <algorithm>

namespace dualstep::reference {

ContactMark mark_of(const Model& m, const Data& d, const Contact& c) {
  const int body = m.geom_bodyid[c.geom2];
  double reach = 0;
  for (int g : {c.geom1, c.geom2}) {
    const double radius = m.geom_rbound[g];
    if (radius > 0 && (reach == 0 || radius < reach)) reach = radius;
  }
  return {c.geom1, c.geom2, d.xmat[body].transpose() * (c.pos - d.xpos[body]), 0.25 * reach};
}

std::vector<ContactMark> marks_of(const Model& m, const Data& d) {
  std::vector<ContactMark> marks;
  for (const Contact& c : d.contacts) marks.push_back(mark_of(m, d, c));
  return marks;
}

std::vector<int> match_contacts(const std::vector<ContactMark>& now, const std::vector<ContactMark>& before) {
  const auto nearest = [](const ContactMark& mark, const std::vector<ContactMark>& others) {
    int found = -1;
    double least = 0;
    for (size_t i = 0; i < others.size(); ++i) {
      if (others[i].geom1 != mark.geom1 || others[i].geom2 != mark.geom2) continue;
      const double distance = (others[i].local - mark.local).squaredNorm();
      const double reach = std::max(mark.reach, others[i].reach);
      if (distance > reach * reach) continue;
      if (found < 0 || distance < least) least = distance, found = static_cast<int>(i);
    }
    return found;
  };
  std::vector<int> match(now.size(), -1);
  for (size_t i = 0; i < now.size(); ++i) {
    const int other = nearest(now[i], before);
    if (other >= 0 && nearest(before[other], now) == static_cast<int>(i)) match[i] = other;
  }
  return match;
}

}  // namespace dualstep::reference
