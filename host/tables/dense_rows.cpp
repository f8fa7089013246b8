// Tables of equality constraints: what they tie together, which dofs they reach, how soft they are.
//
// Every active connect, weld and coupling of joints or tendons becomes 3, 6 or 1 dense scalar rows, after those of limited
// balls; then those of tendons follow: two for each limit, one for each friction loss.
// Points and orientations are stored in the frames of the bodies, whether the model names bodies or sites. A
// connect or weld between two bodies that nothing can move is left out. Parameters: MuJoCo's documentation,
// "Solver parameters".
#include <algorithm>

#include "host/tables/softness.h"
#include "host/tables/tables.h"

namespace dualstep {
namespace {

// what ties two bodies, in their frames
struct Side {
  int body;
  const double* point;
  const double* quat;
};
constexpr double kOrigin[3] = {0, 0, 0}, kUpright[4] = {1, 0, 0, 0};

Side side_of(const Model& m, int e, int side) {
  const double* data = &m.eq_data[e * (m.eq_data.size() / m.neq)];
  const int object = side == 0 ? m.eq_obj1id[e] : m.eq_obj2id[e];
  if (m.eq_objtype[e] == kObjSite) {
    return {m.site_bodyid[object], &m.site_pos[3 * object], &m.site_quat[4 * object]};
  }
  // a weld stores the second body's anchor first, and the second's orientation in the first's frame
  const bool weld = m.eq_type[e] == kEqWeld, first = side == 0;
  return {object, data + (first == weld ? 3 : 0), weld && first ? data + 6 : kUpright};
}

// for every dof: 1 where it moves the first object, plus 2 where it moves the second
void mark_body(const Model& m, int body, int bit, std::vector<int>* moves) {
  for (int b = body; b > 0; b = m.body_parentid[b]) {
    for (int k = 0; k < m.body_dofnum[b]; ++k) (*moves)[m.body_dofadr[b] + k] |= bit;
  }
}

// the whitened rows reach the ancestors of every dof in `reached`
void add_support(const Model& m, const std::vector<int>& reached, int rows, TableStore* t) {
  std::vector<int> support((m.nv + 31) / 32, 0);
  for (int i = 0; i < m.nv; ++i) {
    for (int d = reached[i] != 0 ? i : -1; d >= 0; d = m.dof_parentid[d])
      support[d / 32] |= static_cast<int>(1u << (d % 32));
  }
  for (int k = 0; k < rows; ++k)
    t->dense_support.insert(t->dense_support.end(), support.begin(), support.end());
}

void mark_tendon(const TableStore& t, int ten, std::vector<int>* moves) {
  for (int e = t.ten_adr[ten]; e < t.ten_adr[ten + 1]; ++e) (*moves)[t.ten_dof[e]] = 1;
}

// rows of limits and friction losses of tendons
int add_tendon_rows(const Model& m, TableStore* t) {
  const bool none = m.opt.disabled(kDisableConstraint);
  const auto add = [&](int ten, int rows) {
    std::vector<int> moves(m.nv, 0);
    mark_tendon(*t, ten, &moves);
    add_support(m, moves, rows, t);
  };
  for (int ten = 0; ten < m.ntendon && !none && !m.opt.disabled(kDisableLimit); ++ten) {
    if (!m.tendon_limited[ten]) continue;
    const Impedance imp = make_impedance(&m.tendon_solimp_lim[5 * ten]);
    const Softness soft = make_softness(&m.tendon_solref_lim[2 * ten], imp.dmax, m.opt);
    t->tenlim_ten.push_back(ten);
    t->tenlim_param.insert(t->tenlim_param.end(),
                           {m.tendon_range[2 * ten], m.tendon_range[2 * ten + 1], m.tendon_margin[ten],
                            soft.K, soft.B, m.tendon_invweight0[ten], soft.stiffest});
    t->tenlim_param.insert(t->tenlim_param.end(), imp.table.begin(), imp.table.end());
    add(ten, 2);
  }
  // as of dofs: no position, the impedance that of distance zero
  for (int ten = 0; ten < m.ntendon && !none && !m.opt.disabled(kDisableFrictionLoss); ++ten) {
    if (!(m.tendon_frictionloss[ten] > 0)) continue;
    const Impedance imp = make_impedance(&m.tendon_solimp_fri[5 * ten]);
    const Softness soft = make_softness(&m.tendon_solref_fri[2 * ten], imp.dmax, m.opt);
    const double R = std::max(kTiny, (1 - imp.at_zero) * m.tendon_invweight0[ten] / imp.at_zero);
    t->tenloss_ten.push_back(ten);
    t->tenloss_param.insert(t->tenloss_param.end(), {m.tendon_frictionloss[ten], R, soft.B});
    add(ten, 1);
  }
  t->n.ntenlim = static_cast<int>(t->tenlim_ten.size());
  t->n.ntenloss = static_cast<int>(t->tenloss_ten.size());
  return 2 * t->n.ntenlim + t->n.ntenloss;
}

}  // namespace

void build_equalities(const Model& m, TableStore* t) {
  for (const int j : t->ball_jnt) {
    std::vector<int> reached(m.nv, 0);
    for (int k = 0; k < 3; ++k) reached[m.jnt_dofadr[j] + k] = 1;
    add_support(m, reached, 1, t);
  }
  int row = static_cast<int>(t->ball_jnt.size());
  const bool none = m.opt.disabled(kDisableConstraint) || m.opt.disabled(kDisableEquality);
  for (int e = 0; e < m.neq && !none; ++e) {
    if (!m.eq_active0[e]) continue;
    const int type = m.eq_type[e];
    const double* data = &m.eq_data[e * (m.eq_data.size() / m.neq)];
    std::vector<int> moves(m.nv, 0);
    std::vector<double> poly(data, data + 5), points, quats;
    std::vector<int> objects = {m.eq_obj1id[e], m.eq_obj2id[e]};
    double translation = 0, rotation = 0;
    const auto add_nothing = [&] {
      for (int side = 0; side < 2; ++side) {
        points.insert(points.end(), kOrigin, kOrigin + 3);
        quats.insert(quats.end(), kUpright, kUpright + 4);
      }
    };
    if (type == kEqJoint) {
      for (const int j : objects) {
        if (j < 0) continue;
        moves[m.jnt_dofadr[j]] = 1;
        translation += m.dof_invweight0[m.jnt_dofadr[j]];
      }
      add_nothing();
    } else if (type == kEqTendon) {
      for (const int ten : objects) {
        if (ten < 0) continue;
        mark_tendon(*t, ten, &moves);
        translation += m.tendon_invweight0[ten];
      }
      add_nothing();
    } else {
      for (int side = 0; side < 2; ++side) {
        const Side s = side_of(m, e, side);
        mark_body(m, s.body, 1 + side, &moves);
        objects[side] = s.body;
        translation += m.body_invweight0[2 * s.body];
        rotation += m.body_invweight0[2 * s.body + 1];
        points.insert(points.end(), s.point, s.point + 3);
        quats.insert(quats.end(), s.quat, s.quat + 4);
      }
      poly = {type == kEqWeld ? data[10] : 0, 0, 0, 0, 0};
      if (std::all_of(moves.begin(), moves.end(), [](int x) { return x == 0; })) continue;
    }
    const Impedance imp = make_impedance(&m.eq_solimp[5 * e]);
    const Softness soft = make_softness(&m.eq_solref[2 * e], imp.dmax, m.opt);
    const int rows = type == kEqWeld ? 6 : type == kEqConnect ? 3 : 1;
    t->eq_type.push_back(type);
    t->eq_row.push_back(row);
    t->eq_obj.insert(t->eq_obj.end(), objects.begin(), objects.end());
    t->eq_moves.insert(t->eq_moves.end(), moves.begin(), moves.end());
    t->eq_point.insert(t->eq_point.end(), points.begin(), points.end());
    t->eq_quat.insert(t->eq_quat.end(), quats.begin(), quats.end());
    t->eq_poly.insert(t->eq_poly.end(), poly.begin(), poly.end());
    t->eq_param.insert(t->eq_param.end(), {soft.K, soft.B, translation, rotation});
    t->eq_param.insert(t->eq_param.end(), imp.table.begin(), imp.table.end());
    add_support(m, moves, rows, t);
    row += rows;
  }
  t->n.neq = static_cast<int>(t->eq_type.size());
  t->n.neqrow = row - static_cast<int>(t->ball_jnt.size());
  t->n.ndense = row + add_tendon_rows(m, t);
}

}  // namespace dualstep
