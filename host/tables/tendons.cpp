// Tables of tendons: which joints or stretches a tendon is made of, and which dofs move each piece of it.
//
// A spatial tendon is a list of stretches from site to site, some around a geom; a pulley between two sites ends one
// branch and divides what follows. Of a piece between two bodies only the dofs that move one of them alone count: those
// that move both do not change its length.
#include <algorithm>
#include <map>

#include "host/model/element_rows.h"
#include "host/tables/named_rows.h"
#include "host/tables/tables.h"

namespace dualstep {
namespace {

struct Stretch {
  int site[2], geom, side;
  double scale;
};

std::vector<Stretch> stretches_of(const Model& m, int ten) {
  std::vector<Stretch> out;
  double divisor = 1;
  const int end = m.tendon_adr[ten] + m.tendon_num[ten];
  for (int w = m.tendon_adr[ten]; w + 1 < end;) {
    if (m.wrap_type[w] == kWrapPulley) divisor = m.wrap_prm[w];
    if (m.wrap_type[w] != kWrapSite || m.wrap_type[w + 1] == kWrapPulley) {
      ++w;
      continue;
    }
    const bool around = m.wrap_type[w + 1] != kWrapSite;
    const int last = w + (around ? 2 : 1);
    if (last >= end) break;
    Stretch s{{m.wrap_objid[w], m.wrap_objid[last]}, -1, -1, 1 / divisor};
    if (around) {
      s.geom = m.wrap_objid[w + 1];
      s.side = m.wrap_prm[w + 1] >= 0 ? static_cast<int>(m.wrap_prm[w + 1] + 0.5) : -1;
    }
    out.push_back(s);
    w = last;
  }
  return out;
}

// the dofs that move one of two bodies alone: 1 for the second, -1 for the first
std::map<int, int> movers(const Model& m, int body1, int body2) {
  std::map<int, int> sign;
  const auto add = [&](int body, int side) {
    for (int b = body; b > 0; b = m.body_parentid[b])
      for (int k = 0; k < m.body_dofnum[b]; ++k) sign[m.body_dofadr[b] + k] += side;
  };
  add(body1, -1);
  add(body2, 1);
  for (auto it = sign.begin(); it != sign.end();) it = it->second == 0 ? sign.erase(it) : std::next(it);
  return sign;
}

}  // namespace

void build_tendons(const Model& m, TableStore* t) {
  PairLists of_dof(m.nv);  // tendons, entries of their moment
  t->ten_adr = t->fixed_adr = t->path_adr = t->path_move_adr = {0};
  for (int ten = 0; ten < m.ntendon; ++ten) {
    const std::vector<Stretch> path = stretches_of(m, ten);
    // the StretchPieces of each stretch in their order, and all dofs that move the tendon
    std::vector<std::map<int, int>> pieces;
    std::map<int, int> entry;
    for (const Stretch& s : path) {
      const int first = m.site_bodyid[s.site[0]], last = m.site_bodyid[s.site[1]];
      pieces.push_back(movers(m, first, last));
      const bool around = s.geom >= 0;
      pieces.push_back(around ? movers(m, first, m.geom_bodyid[s.geom]) : std::map<int, int>());
      pieces.push_back(around ? movers(m, m.geom_bodyid[s.geom], last) : std::map<int, int>());
    }
    for (const auto& piece : pieces)
      for (const auto& [dof, sign] : piece) entry[dof] = 0;
    const int begin = m.tendon_adr[ten], end = begin + m.tendon_num[ten];
    for (int w = begin; w < end; ++w)
      if (m.wrap_type[w] == kWrapJoint) entry[m.jnt_dofadr[m.wrap_objid[w]]] = 0;
    for (auto& [dof, place] : entry) {
      place = static_cast<int>(t->ten_dof.size());
      t->ten_dof.push_back(dof);
      of_dof[dof].emplace_back(ten, place);
    }
    t->ten_adr.push_back(static_cast<int>(t->ten_dof.size()));
    for (int w = begin; w < end; ++w) {
      if (m.wrap_type[w] != kWrapJoint) continue;
      const int joint = m.wrap_objid[w];
      t->fixed_entry.push_back(entry[m.jnt_dofadr[joint]]);
      t->fixed_qposadr.push_back(m.jnt_qposadr[joint]);
      t->fixed_coef.push_back(m.wrap_prm[w]);
    }
    t->fixed_adr.push_back(static_cast<int>(t->fixed_coef.size()));
    for (const Stretch& s : path) {
      t->path_site1.push_back(s.site[0]);
      t->path_site2.push_back(s.site[1]);
      t->path_geom.push_back(s.geom);
      t->path_sidesite.push_back(s.side);
      t->path_scale.push_back(s.scale);
    }
    t->path_adr.push_back(static_cast<int>(t->path_scale.size()));
    for (const auto& piece : pieces) {
      for (const auto& [dof, sign] : piece) {
        t->path_move_entry.push_back(entry[dof]);
        t->path_move_sign.push_back(sign);
      }
      t->path_move_adr.push_back(static_cast<int>(t->path_move_entry.size()));
    }
    const Bounds spring = bounds(row::tendon_lengthspring(m, ten));
    append(ten_passive_row{.ten_stiffness = m.tendon_stiffness[ten],
                           .ten_spring_lower = spring.lower,
                           .ten_spring_upper = spring.upper,
                           .ten_damping = m.tendon_damping[ten],
                           .ten_armature = m.tendon_armature[ten],
                           .ten_length0 = m.tendon_length0[ten]},
           &t->ten_passive);
  }
  put_lists(of_dof, &t->dof_ten_adr, &t->dof_ten, &t->dof_ten_entry);
  t->ten_actfrclimited = m.tendon_actfrclimited;
  t->ten_actfrcrange = m.tendon_actfrcrange;
}

}  // namespace dualstep
