// Tables of dense scalar rows, kind by kind in the order of DenseKinds: what they belong to, which dofs they reach, how
// soft they are.
//
// Every limited ball has a row; every active connect, weld and coupling of joints or tendons 3, 6 or 1; every limit of a
// tendon two, every friction loss of a tendon one. Points and orientations are stored in the frames of the bodies, whether
// the model names bodies or sites. A connect or weld between two bodies that nothing can move is left out. Parameters:
// MuJoCo's documentation, "Solver parameters".
#include <algorithm>

#include "host/model/element_rows.h"
#include "host/tables/named_rows.h"
#include "host/tables/softness.h"
#include "host/tables/tables.h"
#include "kernels/rows/kinds/kinds.h"

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
  const auto data = row::eq_data(m, e);
  const int object = side == 0 ? m.eq_obj1id[e] : m.eq_obj2id[e];
  if (m.eq_objtype[e] == kObjSite) {
    return {m.site_bodyid[object], row::site_pos(m, object).data(), row::site_quat(m, object).data()};
  }
  // a weld stores the second body's anchor first, and the second's orientation in the first's frame
  const bool weld = m.eq_type[e] == kEqWeld, first = side == 0;
  return {object, &data[first == weld ? 3 : 0], weld && first ? &data[6] : kUpright};
}

// for every dof which objects it moves
void mark_body(const Model& m, int body, int bit, std::vector<int>* moves) {
  for (int b = body; b > 0; b = m.body_parentid[b]) {
    for (int k = 0; k < m.body_dofnum[b]; ++k) (*moves)[m.body_dofadr[b] + k] |= bit;
  }
}

// some more dense scalar rows: whitened they reach the ancestors of every dof in `reached`
void add_support(const Model& m, const std::vector<int>& reached, int rows, TableStore* t) {
  std::vector<int> support((m.nv + 31) / 32, 0);
  for (int i = 0; i < m.nv; ++i) {
    for (int d = reached[i] != 0 ? i : -1; d >= 0; d = m.dof_parentid[d])
      support[d / 32] |= static_cast<int>(1u << (d % 32));
  }
  for (int k = 0; k < rows; ++k)
    t->dense_support.insert(t->dense_support.end(), support.begin(), support.end());
  t->n.ndense += rows;
}

void mark_tendon(const TableStore& t, int ten, std::vector<int>* moves) {
  for (int e = t.ten_adr[ten]; e < t.ten_adr[ten + 1]; ++e) (*moves)[t.ten_dof[e]] = 1;
}

// one overload for each kind: fills its tables, and add_support for its rows
void append_rows(const BallLimits&, const Model& m, TableStore* t) {
  for (const int j : t->ball_jnt) {
    std::vector<int> reached(m.nv, 0);
    for (int k = 0; k < 3; ++k) reached[m.jnt_dofadr[j] + k] = 1;
    add_support(m, reached, 1, t);
  }
}

void add_tendon_support(const Model& m, int ten, int rows, TableStore* t) {
  std::vector<int> moves(m.nv, 0);
  mark_tendon(*t, ten, &moves);
  add_support(m, moves, rows, t);
}

void append_rows(const TendonLimits&, const Model& m, TableStore* t) {
  const bool none = m.opt.disabled(kDisableConstraint) || m.opt.disabled(kDisableLimit);
  for (int ten = 0; ten < m.ntendon && !none; ++ten) {
    if (!m.tendon_limited[ten]) continue;
    const Impedance imp = make_impedance(row::tendon_solimp_lim(m, ten));
    const Softness soft = make_softness(row::tendon_solref_lim(m, ten), imp.dmax, m.opt);
    t->tenlim_ten.push_back(ten);
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
  t->n.ntenlim = static_cast<int>(t->tenlim_ten.size());
}

// as of dofs: no position, the impedance that of distance zero
void append_rows(const TendonLosses&, const Model& m, TableStore* t) {
  const bool none = m.opt.disabled(kDisableConstraint) || m.opt.disabled(kDisableFrictionLoss);
  for (int ten = 0; ten < m.ntendon && !none; ++ten) {
    if (!(m.tendon_frictionloss[ten] > 0)) continue;
    const Impedance imp = make_impedance(row::tendon_solimp_fri(m, ten));
    const Softness soft = make_softness(row::tendon_solref_fri(m, ten), imp.dmax, m.opt);
    const double R = friction_loss_R(imp, m.tendon_invweight0[ten]);
    t->tenloss_ten.push_back(ten);
    append(
        tenloss_param_row{
            .tenloss_friction = m.tendon_frictionloss[ten], .tenloss_R = R, .tenloss_B = soft.B},
        &t->tenloss_param);
    add_tendon_support(m, ten, 1, t);
  }
  t->n.ntenloss = static_cast<int>(t->tenloss_ten.size());
}

void append_rows(const Equalities&, const Model& m, TableStore* t) {
  const int first = t->n.ndense;
  const bool none = m.opt.disabled(kDisableConstraint) || m.opt.disabled(kDisableEquality);
  for (int e = 0; e < m.neq && !none; ++e) {
    if (!m.eq_active0[e]) continue;
    const int type = m.eq_type[e];
    const auto data = row::eq_data(m, e);
    std::vector<int> moves(m.nv, 0);
    std::vector<double> poly(data.begin(), data.begin() + 5), points, quats;
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
        mark_body(m, s.body, side == 0 ? kFirstSide : kSecondSide, &moves);
        objects[side] = s.body;
        translation += translation_weight(m, s.body);
        rotation += rotation_weight(m, s.body);
        points.insert(points.end(), s.point, s.point + 3);
        quats.insert(quats.end(), s.quat, s.quat + 4);
      }
      poly = {type == kEqWeld ? data[10] : 0, 0, 0, 0, 0};
      if (std::all_of(moves.begin(), moves.end(), [](int x) { return x == 0; })) continue;
    }
    const Impedance imp = make_impedance(row::eq_solimp(m, e));
    const Softness soft = make_softness(row::eq_solref(m, e), imp.dmax, m.opt);
    const int rows = type == kEqWeld ? 6 : type == kEqConnect ? 3 : 1;
    t->eq_type.push_back(type);
    t->eq_row.push_back(t->n.ndense);
    t->eq_obj1.push_back(objects[0]);
    t->eq_obj2.push_back(objects[1]);
    t->eq_moves.insert(t->eq_moves.end(), moves.begin(), moves.end());
    t->eq_point.insert(t->eq_point.end(), points.begin(), points.end());
    t->eq_quat.insert(t->eq_quat.end(), quats.begin(), quats.end());
    t->eq_poly.insert(t->eq_poly.end(), poly.begin(), poly.end());
    append(
        eq_param_row{
            .eq_K = soft.K, .eq_B = soft.B, .eq_approx_A = {translation, rotation}, .eq_solimp = imp.table},
        &t->eq_param);
    add_support(m, moves, rows, t);
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
