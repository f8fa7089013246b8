// Tables of the tree, the joints and the scalar constraints, straight from the model's arrays.
#include "host/tables/tables.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "host/interruption.h"
#include "host/model/actuator_kinds.h"
#include "host/model/actuator_loads.h"
#include "host/model/element_rows.h"
#include "host/model/row_elements.h"
#include "host/model/unsupported.h"
#include "host/tables/dof_sets.h"
#include "host/tables/named_rows.h"
#include "host/tables/rigid_bodies.h"
#include "host/tables/softness.h"
#include "kernels/data/island_pack.h"

namespace dualstep {
namespace {

// lists, one an owner, flattened: adr has one entry more than there are lists
void flatten(const std::vector<std::vector<int>>& lists, std::vector<int>* adr, std::vector<int>* flat,
             int width = 1) {
  adr->assign(1, 0);
  flat->clear();
  for (const std::vector<int>& list : lists) {
    flat->insert(flat->end(), list.begin(), list.end());
    adr->push_back(static_cast<int>(flat->size()) / width);
  }
}

void build_levels(const Model& m, TableStore* t) {
  std::vector<int> depth(m.nbody, -1);
  std::vector<std::vector<int>> levels, children(m.nbody);
  for (int b = 1; b < m.nbody; ++b) {
    depth[b] = depth[m.body_parentid[b]] + 1;
    if (depth[b] >= static_cast<int>(levels.size())) levels.resize(depth[b] + 1);
    levels[depth[b]].push_back(b);
    children[m.body_parentid[b]].push_back(b);
  }
  flatten(levels, &t->level_adr, &t->level_body);
  flatten(children, &t->child_adr, &t->child_body);
  t->n.nlevel = static_cast<int>(levels.size());
}

// a tree holds every body of its root, also those before the first joint: its centre of mass is then the one
// about which MuJoCo gives cvel and cinert
void build_trees(const Model& m, TableStore* t) {
  std::vector<int> tree_of_root(m.nbody, -1);
  for (int d = 0; d < m.nv; ++d) tree_of_root[m.body_rootid[m.dof_bodyid[d]]] = 0;
  int ntree = 0;
  for (int& tree : tree_of_root) {
    if (tree == 0) tree = ntree++;
  }
  std::vector<std::vector<int>> members(ntree);
  std::vector<double> mass(ntree, 0.0);
  t->body_tree.assign(m.nbody, -1);
  for (int b = 1; b < m.nbody; ++b) {
    const int tree = tree_of_root[m.body_rootid[b]];
    if (tree < 0) continue;
    members[tree].push_back(b);
    mass[tree] += m.body_mass[b];
    if (m.body_dofnum[m.body_weldid[b]] > 0) t->body_tree[b] = tree;
  }
  flatten(members, &t->tree_adr, &t->tree_body);
  for (double total : mass) t->tree_invmass.push_back(total < kTiny ? 0 : 1 / total);
  t->tree_rigid = rigid_inertia_of_trees(m, t->body_tree, ntree);
  t->n.ntree = ntree;
}

// the dofs of each tree, which are consecutive, and where its blocks begin (kernels/solver/islands/)
void build_tree_dofs(const Model& m, TableStore* t) {
  t->body_dof.assign(m.nbody, -1);
  for (int b = 1; b < m.nbody; ++b)
    t->body_dof[b] =
        m.body_dofnum[b] > 0 ? m.body_dofadr[b] + m.body_dofnum[b] - 1 : t->body_dof[m.body_parentid[b]];
  std::vector<int> dofs(t->n.ntree, 0);
  for (int d = 0; d < m.nv; ++d) ++dofs[t->body_tree[m.dof_bodyid[d]]];
  t->tree_dof = t->tree_pad = t->tree_H = {0};
  for (const int n : dofs) {
    const int padded = (n + 7) / 8 * 8;
    t->tree_dof.push_back(t->tree_dof.back() + n);
    t->tree_pad.push_back(t->tree_pad.back() + padded);
    t->tree_H.push_back(t->tree_H.back() + std::max(n * padded, row_space_numbers(n)));
  }
}

}  // namespace

void build_tree(const Model& m, TableStore* t) {
  build_levels(m, t);
  build_trees(m, t);
  build_tree_dofs(m, t);
  t->body_parent = m.body_parentid;
  t->body_jntadr = m.body_jntadr;
  t->body_jntnum = m.body_jntnum;
  t->body_mocap = m.body_mocapid;
  t->body_pos = m.body_pos;
  t->body_quat = m.body_quat;
  t->body_ipos = m.body_ipos;
  t->body_iquat = m.body_iquat;
  t->body_mass = m.body_mass;
  t->body_inertia = m.body_inertia;
  t->body_gravcomp = m.body_gravcomp;
  t->gravity.assign(m.opt.gravity.begin(), m.opt.gravity.end());
  t->jnt_type = m.jnt_type;
  t->jnt_body = m.jnt_bodyid;
  t->jnt_qposadr = m.jnt_qposadr;
  t->jnt_dofadr = m.jnt_dofadr;
  t->jnt_actgravcomp = m.jnt_actgravcomp;
  t->jnt_actfrclimited = actuates(m) ? m.jnt_actfrclimited : std::vector<int>(m.njnt, 0);
  t->jnt_pos = m.jnt_pos;
  t->jnt_axis = m.jnt_axis;
  t->jnt_stiffness = m.jnt_stiffness;
  t->jnt_actfrcrange = m.jnt_actfrcrange;
  for (int j = 0; j < m.njnt; ++j) {
    if (m.jnt_type[j] != kFree) continue;
    stop_if_told();
    bool alone = m.body_jntnum[m.jnt_bodyid[j]] == 1;
    for (int b = 1; b < m.nbody; ++b) {
      if (b != m.jnt_bodyid[j] && m.body_rootid[b] == m.jnt_bodyid[j]) alone = alone && m.body_dofnum[b] == 0;
    }
    if (alone) t->free_jnt.push_back(j);
  }
  t->dof_body = m.dof_bodyid;
  t->dof_jnt = m.dof_jntid;
  t->dof_armature = m.dof_armature;
  t->dof_damping = m.dof_damping;
  t->qpos0 = m.qpos0;
  t->qpos_spring = m.qpos_spring;
  // a row of M: the dof, then its ancestors
  std::vector<std::vector<int>> rows(m.nv);
  for (int d = 0; d < m.nv; ++d) {
    stop_if_told();
    for (int up = d; up >= 0; up = m.dof_parentid[up]) rows[d].push_back(up);
  }
  flatten(rows, &t->M_rowadr, &t->M_col);
  std::vector<std::vector<int>> entries(m.nv), below(m.nv);
  for (int d = 0; d < m.nv; ++d) {
    stop_if_told();
    for (size_t a = 1; a < rows[d].size(); ++a) {
      entries[rows[d][a]].push_back(t->M_rowadr[d] + static_cast<int>(a));
      below[rows[d][a]].push_back(d);
    }
  }
  flatten(entries, &t->Mt_adr, &t->Mt_entry);
  flatten(below, &t->Mt_adr, &t->Mt_row);
  std::vector<std::vector<int>> depths;
  for (int d = 0; d < m.nv; ++d) {
    if (rows[d].size() > depths.size()) depths.resize(rows[d].size());
    depths[rows[d].size() - 1].push_back(d);
  }
  flatten(depths, &t->depth_adr, &t->depth_dof);
  t->n.ndepth = static_cast<int>(depths.size());
  t->allgeom_body = m.geom_bodyid;
  t->allgeom_type = m.geom_type;
  t->allgeom_size = m.geom_size;
  for (int g = 0; g < m.ngeom; ++g) t->allgeom_visible.push_back(is_visible(m, g));
  t->allgeom_pos = m.geom_pos;
  t->allgeom_quat = m.geom_quat;
  t->site_body = m.site_bodyid;
  t->site_pos = m.site_pos;
  t->site_quat = m.site_quat;
}

void build_limits(const Model& m, TableStore* t) {
  std::vector<bool> unit(m.nv, false);
  std::vector<int> limited;
  for (const int j : limited_joints(m)) {
    const auto [lower, upper] = bounds(row::jnt_range(m, j));
    const int dof = m.jnt_dofadr[j];
    const Impedance imp = make_impedance(row::jnt_solimp(m, j));
    const Softness soft = make_softness(row::jnt_solref(m, j), imp.dmax, m.opt);
    t->lim_jnt.push_back(j);
    t->lim_range.insert(t->lim_range.end(), {lower, upper});
    limited.push_back(dof);
    unit[dof] = true;
    append(lim_param_row{.lim_margin = m.jnt_margin[j],
                         .lim_K = soft.K,
                         .lim_B = soft.B,
                         .lim_approx_A = m.dof_invweight0[dof],
                         .lim_stiffest = soft.stiffest,
                         .lim_solimp = imp.table},
           &t->lim_param);
  }
  // friction loss has no position: the impedance is that of distance zero, and K is zero
  for (const int d : dofs_with_friction(m)) {
    const Impedance imp = make_impedance(row::dof_solimp(m, d));
    const Softness soft = make_softness(row::dof_solref(m, d), imp.dmax, m.opt);
    const double R = friction_loss_R(imp, m.dof_invweight0[d]);
    t->loss_dof.push_back(d);
    append(loss_param_row{.loss_friction = m.dof_frictionloss[d], .loss_R = R, .loss_B = soft.B},
           &t->loss_param);
    unit[d] = true;
  }
  const auto before = [](const std::vector<int>& dofs, int dof) {
    return static_cast<int>(std::lower_bound(dofs.begin(), dofs.end(), dof) - dofs.begin());
  };
  for (int d = 0; d < m.nv; ++d) {
    if (!unit[d]) continue;
    stop_if_told();
    t->single_dof.push_back(d);
    t->single_lim.push_back(before(limited, d));
    t->single_loss.push_back(before(t->loss_dof, d));
    std::vector<int> support(words_of(m.nv), 0);
    add_with_ancestors(m, d, &support);
    t->single_support.insert(t->single_support.end(), support.begin(), support.end());
  }
  t->single_lim.push_back(static_cast<int>(limited.size()));
  t->single_loss.push_back(static_cast<int>(t->loss_dof.size()));
}

TableStore build_tables(const Model& model) {
  TableStore store;
  build_tree(model, &store);
  build_fluid(model, &store);
  build_tendons(model, &store);
  build_actuation(model, &store);
  refuse_discrete(model, store);
  build_limits(model, &store);
  build_dense_rows(model, &store);
  build_pairs(model, &store);
  build_hulls(model, &store);
  build_sensors(model, &store);
  build_sizes(model, &store);
  return store;
}

template <class Scalar>
TableSet<Scalar>::TableSet(const Model& given) {
  check_kernels(given);
  loaded(given, [&](const Model& model) { fill(model); });
}

template <class Scalar>
void TableSet<Scalar>::fill(const Model& model) {
  TableStore store = build_tables(model);
  sizes_ = store.n;
  layout_ = make_layout(sizes_);
  options_ = make_step_options<Scalar>(model);
#define TABLE_I(name, meaning) ints_[#name] = std::move(store.name);
#define TABLE_R(name, meaning)                                 \
  stop_if_told();                                              \
  shared_[#name].assign(store.name.begin(), store.name.end()); \
  reals_[#name] = std::move(store.name);
#include "kernels/data/fields.inl"
}

template <class Scalar>
void TableSet<Scalar>::keep_surfaces(const TableSet& other) {
  if (sizes_.nsurface > 0 || other.sizes_.nsurface == 0) return;
  sizes_.nsurface = other.sizes_.nsurface;
  const size_t count = other.reals_.at("geom_surface").size();
  reals_["geom_surface"].assign(count, 0);
  shared_["geom_surface"].assign(count, 0);
  layout_ = make_layout(sizes_);
}

template <class Scalar>
Tables<Scalar> TableSet<Scalar>::view() const {
  Tables<Scalar> t;
  t.n = sizes_;
  t.o = options_;
  t.l = layout_;
  t.w = make_widths(t.n);
  const auto param = [&](const char* name) {
    const auto it = own_.find(name);
    return it != own_.end() ? it->second : Param<Scalar>{shared_.at(name).data(), 0};
  };
#define TABLE_I(name, meaning) t.name = ints_.at(#name).data();
#define TABLE_R(name, meaning) t.name = param(#name);
#include "kernels/data/fields.inl"
  return t;
}

template <class Scalar>
void TableSet<Scalar>::set_per_environment(const std::string& name, const Scalar* storage, int env_stride) {
  if (!shared_.count(name)) throw std::invalid_argument("there is no real table '" + name + "'");
  own_[name] = {storage, env_stride};
}

template <class Scalar>
void TableSet<Scalar>::set_shared(const std::string& name) {
  own_.erase(name);
}

template class TableSet<float>;
template class TableSet<double>;

}  // namespace dualstep
