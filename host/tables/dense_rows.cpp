// Tables of dense scalar rows, kind by kind in the order of DenseKinds: what they belong to, which dofs they reach, how
// soft they are.
//
// Every limited ball has a row; every active connect, weld and coupling of joints or tendons 3, 6 or 1; every limit of a
// tendon two, every friction loss of a tendon one. Points and orientations are stored in the frames of the bodies, whether
// the model names bodies or sites. A connect or weld between two bodies that nothing can move is left out. Parameters:
// MuJoCo's documentation, "Solver parameters".
#include <algorithm>
#include <array>

#include "host/model/element_rows.h"
#include "host/model/row_elements.h"
#include "host/tables/dof_sets.h"
#include "host/tables/named_rows.h"
#include "host/tables/softness.h"
#include "host/tables/tables.h"
#include "kernels/rows/kinds/kinds.h"

namespace dualstep {
namespace {

// some more dense scalar rows, whose entries in J are those of the dofs with a number that is not 0
void add_support(const Model& m, const std::vector<int>& entries, int rows, TableStore* t) {
  const std::vector<int> support = support_of(m, entries);
  for (int k = 0; k < rows; ++k)
    t->dense_support.insert(t->dense_support.end(), support.begin(), support.end());
  t->n.ndense += rows;
}

void mark_tendon(const TableStore& t, int ten, std::vector<int>* moves) {
  for (int e = t.ten_adr[ten]; e < t.ten_adr[ten + 1]; ++e) (*moves)[t.ten_dof[e]] = 1;
}
void add_tendon_support(const Model& m, int ten, int rows, TableStore* t) {
  std::vector<int> moves(m.nv, 0);
  mark_tendon(*t, ten, &moves);
  add_support(m, moves, rows, t);
}

// one overload for each kind: fills its tables, says how many there are, and calls add_support for its rows
void append_rows(const BallLimits&, const Model& m, TableStore* t) {
  t->ball_jnt = limited_balls(m);
  t->n.nball = static_cast<int>(t->ball_jnt.size());
  for (const int j : t->ball_jnt) {
    const auto [lower, upper] = bounds(row::jnt_range(m, j));
    const int dof = m.jnt_dofadr[j];
    const Impedance imp = make_impedance(row::jnt_solimp(m, j));
    const Softness soft = make_softness(row::jnt_solref(m, j), imp.dmax, m.opt);
    append(ball_param_row{.ball_range = std::max(lower, upper),
                          .ball_margin = m.jnt_margin[j],
                          .ball_K = soft.K,
                          .ball_B = soft.B,
                          .ball_approx_A = m.dof_invweight0[dof],
                          .ball_stiffest = soft.stiffest,
                          .ball_solimp = imp.table},
           &t->ball_param);
    std::vector<int> entries(m.nv, 0);
    std::fill_n(entries.begin() + dof, 3, 1);
    add_support(m, entries, 1, t);
  }
}

void append_rows(const TendonLimits&, const Model& m, TableStore* t) {
  t->tenlim_ten = limited_tendons(m);
  t->n.ntenlim = static_cast<int>(t->tenlim_ten.size());
  for (const int ten : t->tenlim_ten) {
    const Impedance imp = make_impedance(row::tendon_solimp_lim(m, ten));
    const Softness soft = make_softness(row::tendon_solref_lim(m, ten), imp.dmax, m.opt);
    const Bounds range = bounds(row::tendon_range(m, ten));
    append(tenlim_param_row{.tenlim_lower = range.lower,
                            .tenlim_upper = range.upper,
                            .tenlim_margin = m.tendon_margin[ten],
                            .tenlim_K = soft.K,
                            .tenlim_B = soft.B,
                            .tenlim_approx_A = m.tendon_invweight0[ten],
                            .tenlim_stiffest = soft.stiffest,
                            .tenlim_solimp = imp.table},
           &t->tenlim_param);
    add_tendon_support(m, ten, 2, t);
  }
}

// as of dofs: no position, the impedance that of distance zero
void append_rows(const TendonLosses&, const Model& m, TableStore* t) {
  t->tenloss_ten = tendons_with_friction(m);
  t->n.ntenloss = static_cast<int>(t->tenloss_ten.size());
  for (const int ten : t->tenloss_ten) {
    const Impedance imp = make_impedance(row::tendon_solimp_fri(m, ten));
    const Softness soft = make_softness(row::tendon_solref_fri(m, ten), imp.dmax, m.opt);
    const double R = friction_loss_R(imp, m.tendon_invweight0[ten]);
    append(
        tenloss_param_row{
            .tenloss_friction = m.tendon_frictionloss[ten], .tenloss_R = R, .tenloss_B = soft.B},
        &t->tenloss_param);
    add_tendon_support(m, ten, 1, t);
  }
}

// An equality as the tables have it; at first of objects that have no points or orientations
struct Equality {
  int rows = 1, object1, object2;
  std::vector<int> moves;  // of each dof, as eq_moves
  std::array<double, 6> points{};
  std::array<double, 8> quats{1, 0, 0, 0, 1, 0, 0, 0};
  std::array<double, 5> poly{};
  double translation = 0, rotation = 0;  // inverse weights
  bool still = false;                    // between bodies that nothing can move: it is left out
};

// what ties two bodies, in their frames
struct Side {
  int body;
  const double* point;
  const double* quat;
};
constexpr double kUpright[4] = {1, 0, 0, 0};

Side side_of(const Model& m, int e, int side) {
  const auto data = row::eq_data(m, e);
  const int object = side == 0 ? m.eq_obj1id[e] : m.eq_obj2id[e];
  if (m.eq_objtype[e] == kObjSite) {
    return {m.site_bodyid[object], row::site_pos(m, object).data(), row::site_quat(m, object).data()};
  }
  // a weld stores the second body's anchor first, and the second's orientation in the first's frame
  const bool weld = m.eq_type[e] == kEqWeld, first = side == 0;
  return {object, &data[first == weld ? 3 : 0], weld && first ? &data[6] : kUpright};
}

void mark_body(const Model& m, int body, int bit, std::vector<int>* moves) {
  for (int b = body; b > 0; b = m.body_parentid[b]) {
    for (int k = 0; k < m.body_dofnum[b]; ++k) (*moves)[m.body_dofadr[b] + k] |= bit;
  }
}

void tie_bodies(const Model& m, int e, Equality* tie) {
  for (int side = 0; side < 2; ++side) {
    const Side s = side_of(m, e, side);
    mark_body(m, s.body, side == 0 ? kFirstSide : kSecondSide, &tie->moves);
    (side == 0 ? tie->object1 : tie->object2) = s.body;
    tie->translation += translation_weight(m, s.body);
    tie->rotation += rotation_weight(m, s.body);
    std::copy_n(s.point, 3, &tie->points[3 * side]);
    std::copy_n(s.quat, 4, &tie->quats[4 * side]);
  }
  tie->still = std::all_of(tie->moves.begin(), tie->moves.end(), [](int x) { return x == 0; });
}
void connect(const Model& m, int e, Equality* tie) {
  tie->rows = 3;
  tie_bodies(m, e, tie);
}
void weld(const Model& m, int e, Equality* tie) {
  tie->rows = 6;
  tie->poly[0] = row::eq_data(m, e)[10];
  tie_bodies(m, e, tie);
}
void couple_joints(const Model& m, int e, Equality* coupling) {
  std::copy_n(row::eq_data(m, e).begin(), 5, coupling->poly.begin());
  for (const int j : {coupling->object1, coupling->object2}) {
    if (j < 0) continue;
    coupling->moves[m.jnt_dofadr[j]] = 1;
    coupling->translation += m.dof_invweight0[m.jnt_dofadr[j]];
  }
}
void couple_tendons(const Model& m, const TableStore& t, int e, Equality* coupling) {
  std::copy_n(row::eq_data(m, e).begin(), 5, coupling->poly.begin());
  for (const int ten : {coupling->object1, coupling->object2}) {
    if (ten < 0) continue;
    mark_tendon(t, ten, &coupling->moves);
    coupling->translation += m.tendon_invweight0[ten];
  }
}

Equality make_equality(const Model& m, const TableStore& t, int e) {
  Equality made{.object1 = m.eq_obj1id[e], .object2 = m.eq_obj2id[e], .moves = std::vector<int>(m.nv, 0)};
  switch (m.eq_type[e]) {
    case kEqConnect:
      connect(m, e, &made);
      break;
    case kEqWeld:
      weld(m, e, &made);
      break;
    case kEqJoint:
      couple_joints(m, e, &made);
      break;
    case kEqTendon:
      couple_tendons(m, t, e, &made);
      break;
  }
  return made;
}

void append_rows(const Equalities&, const Model& m, TableStore* t) {
  const int first = t->n.ndense;
  for (const int e : active_equalities(m)) {
    const Equality made = make_equality(m, *t, e);
    if (made.still) continue;
    const Impedance imp = make_impedance(row::eq_solimp(m, e));
    const Softness soft = make_softness(row::eq_solref(m, e), imp.dmax, m.opt);
    t->eq_type.push_back(m.eq_type[e]);
    t->eq_row.push_back(t->n.ndense);
    t->eq_obj1.push_back(made.object1);
    t->eq_obj2.push_back(made.object2);
    t->eq_moves.insert(t->eq_moves.end(), made.moves.begin(), made.moves.end());
    t->eq_point.insert(t->eq_point.end(), made.points.begin(), made.points.end());
    t->eq_quat.insert(t->eq_quat.end(), made.quats.begin(), made.quats.end());
    t->eq_poly.insert(t->eq_poly.end(), made.poly.begin(), made.poly.end());
    append(eq_param_row{.eq_K = soft.K,
                        .eq_B = soft.B,
                        .eq_approx_A = {made.translation, made.rotation},
                        .eq_solimp = imp.table},
           &t->eq_param);
    add_support(m, made.moves, made.rows, t);
  }
  t->n.neq = static_cast<int>(t->eq_type.size());
  t->n.neqrow = t->n.ndense - first;
}

}  // namespace

void build_dense_rows(const Model& m, TableStore* t) {
  t->n.ndense = 0;
  DenseKinds::each_type([&](const auto& kind) { append_rows(kind, m, t); });
}

}  // namespace dualstep
