// How large everything is: sizes, options in the kernels' form, and where each workspace array lies.
#include <algorithm>
#include <climits>
#include <stdexcept>

#include "host/model/actuator_kinds.h"
#include "host/model/contact_law.h"
#include "host/tables/dof_sets.h"
#include "host/tables/rigid_bodies.h"
#include "host/tables/tables.h"
#include "kernels/collide/kinds.h"
#include "kernels/data/island_pack.h"
#include "kernels/data/single_dof_kinds.h"

namespace dualstep {
namespace {

int count(const std::vector<int>& list) { return static_cast<int>(list.size()); }

// contacts kept: what the user asked for; else all that the pairs can have at once, but no more than half as many again
// as a pile of the geoms would have where each touches on all its corners: in a tangle some touch several others
int choose_capacity(const Model& m, const TableStore& t) {
  if (m.opt.contact_capacity > 0) return m.opt.contact_capacity;
  long all = 0, touching = 0;
  for (int kind = 0; kind < kPairKinds; ++kind) {
    const PairKindRow& row = kPairKindRows[kind];
    const long pairs = t.pair_adr[kind + 1] - t.pair_adr[kind];
    all += row.capacity * pairs;
    // on rough ground a shape touches several faces and edges
    if (shape_is(row.type1, kShapeGrid)) touching += row.capacity / 4 * pairs;
  }
  for (int g : t.geom_id) touching += shape_row(m.geom_type[g]).touches;
  return static_cast<int>(std::min(all, std::max(16L, touching + touching / 2)));
}

template <class T>
bool any_nonzero(const std::vector<T>& values) {
  return std::any_of(values.begin(), values.end(), [](T v) { return v != 0; });
}

// whether the compensation of gravity at some joint is an actuator's; without actuation nobody hands it on
bool hands_gravity_on(const Model& m) { return actuates(m) && any_nonzero(m.jnt_actgravcomp); }

// the names of fields.inl's sizes are those of Sizes
struct Plan : Sizes {
  Widths widths() const {
    Widths w;
#define STATE(name, size, role, meaning) w.name = size;
#define OUTPUT(name, size, shape, meaning) w.name = size;
#include "kernels/data/fields.inl"
    return w;
  }
  Layout layout() const {
    Layout l;
    long next = 0;
    const auto take = [&](long size) {
      const long start = next;
      next += size;
      if (next > INT_MAX) {
        throw std::length_error("the workspace of one environment would have more than " +
                                std::to_string(INT_MAX) + " numbers: set option contact_capacity below " +
                                std::to_string(ncon));
      }
      return static_cast<int>(start);
    };
#define SCRATCH(name, size, stage, meaning) l.name = take(1L * size);
#include "kernels/data/fields.inl"
    l.total = static_cast<int>(next);
    return l;
  }
};

// An environment with this few rows is solved among them (kernels/solver/newton_rows.h): contacts of at most five rows for
// four dofs, single-dof rows of at most one for two. Friction losses are always in use, so all of them have a place
void build_dual_sizes(const Options& opt, Sizes* n) {
  if (opt.solver == Solver::kPgsNewtonDual) {
    n->nlocal = n->nsingle;
    n->ncone = n->ncon;
  } else {
    n->nlocal = std::min(n->nsingle, std::max(n->nloss, n->nv / 2));
    n->ncone = std::min(n->ncon, (5 * n->nv / 4 - n->ndense) / n->kdim);
    if (n->ncone <= 0 || opt.solver != Solver::kPgsNewton) n->ncone = n->nlocal = 0;
  }
  n->ndual = n->ncone > 0 ? n->ndense + n->kdim * n->ncone + n->nlocal : 0;
  n->npivot = std::max(n->nv, n->ndual);
  constexpr int kMost = 46340;  // whose square an int can count
  if (n->npivot > kMost) {
    throw std::length_error("a step would solve for " + std::to_string(n->npivot) +
                            " unknowns at once, and " + std::to_string(kMost) +
                            " is the most; the model has " + std::to_string(n->nv) +
                            " dofs, and contact_capacity is " + std::to_string(n->ncon));
  }
  n->nA = n->ndual * (n->ndual + 1) / 2;
  n->nH = n->npivot * (n->npivot + 1) / 2;
}

// how large the arena of the islands may have to be
void build_island_sizes(const Model& m, const TableStore& t, Sizes* n) {
  n->nslot = n->ncon;
  if (!solves_islands(m, t)) return;
  n->nisland = n->ntree;
  n->ntreepair = count(t.tree_pair_tree1);
  n->nslot = 0;
  n->npad = t.tree_pad.back();
  for (int k = 0; k < n->ntree; ++k) n->ntreepad = std::max(n->ntreepad, t.tree_pad[k + 1] - t.tree_pad[k]);
  const auto add_entry = [&](int tree) {
    ++n->nentry;
    n->nrow_z += t.tree_pad[tree + 1] - t.tree_pad[tree];
  };
  const auto tree_of = [&](int dof) { return t.body_tree[m.dof_bodyid[dof]]; };
  for (size_t u = 0; u < t.single_dof.size(); ++u) {
    int rows_of_dof = 0;
#define DS_ROW(kind, elements, rows, first) rows_of_dof += rows * (t.first[u + 1] - t.first[u]);
    DS_SINGLE_DOF_KINDS(DS_ROW)
#undef DS_ROW
    for (int row = 0; row < rows_of_dof; ++row) add_entry(tree_of(t.single_dof[u]));
  }
  for (int row = 0; row < n->ndense; ++row) {
    const int* support = &t.dense_support[row * words_of(m.nv)];
    int last = -1;
    for (int d = 0; d < m.nv; ++d) {
      if (!set_has(support, d)) continue;
      if (tree_of(d) != last) add_entry(tree_of(d));
      last = tree_of(d);
    }
  }
  // fill is linear in trees where each touches few others: heaps and walls have two to five blocks a tree
  constexpr int kFillOfTree = 16;
  n->nfill = std::min(n->ntree * (n->ntree - 1) / 2, kFillOfTree * n->ntree);
  n->nH_diagonal = t.tree_H.back();
  int most = 0;
  for (int k = 0; k < n->ntree; ++k) most = std::max(most, t.tree_dof[k + 1] - t.tree_dof[k]);
  const int fill = n->nfill * most * n->ntreepad;
  const int among_rows = most > kIslandEight ? row_space_numbers_of_many(m.nv, n->ntree) : 0;
  n->nH_blocks = n->nH_diagonal + std::max(fill, among_rows);
}

}  // namespace

// Whether contacts are solved island by island: by Newton, under a law that allows it, and many trees or a few large ones.
// Fewer are one problem, which packs of environments solve together: in less time where they touch little (bench/README.md)
bool solves_islands(const Model& m, const TableStore& t) {
  constexpr int kManyTrees = 8, kFewTrees = 4, kManyDofs = 48, kLargeTree = 8;
  const int trees = t.n.ntree;
  const bool large =
      trees >= kManyTrees || (trees >= kFewTrees && m.nv >= std::max(kManyDofs, kLargeTree * trees));
  // rows of the integrator discrete have weights of their own (kernels/rows/step_end.h)
  if (m.opt.integrator == Integrator::kDiscrete) return false;
  return large && m.opt.solver == Solver::kPgsNewton && law_has(m.opt, kLawIslands) && !has_coulomb(m.opt);
}

void build_sizes(const Model& m, TableStore* t) {
  Sizes& n = t->n;
  n.nq = m.nq;
  n.nv = m.nv;
  n.nu = m.nu;
  n.nactuator = m.nactuator;
  n.na = m.na;
  n.nbody = m.nbody;
  n.njnt = m.njnt;
  n.nmocap = m.nmocap;
  n.ntendon = m.ntendon;
  n.nten_J = count(t->ten_dof);
  n.nadhesion = any_acts_by_contacts(m) ? m.nactuator : 0;
  n.ntrn_J = count(t->trn_dof);
  n.ngeom = count(t->geom_id);
  n.npair = count(t->pair_dim);
  n.nallgeom = m.ngeom;
  n.nsite = m.nsite;
  n.nsensor = m.nsensor;
  n.nsensordata = m.nsensordata;
  n.ncon = choose_capacity(m, *t);
  n.nsurface = t->geom_surface.empty() ? 0 : n.ncon;
  n.kdim = std::all_of(t->pair_dim.begin(), t->pair_dim.end(), [](int dim) { return dim <= 3; }) ? 3 : 6;
  n.nedge = weighs_rows(m.opt) ? n.kdim : 2 * (n.kdim - 1);
  n.nlim = count(t->lim_jnt);
  n.nloss = count(t->loss_dof);
  n.nsingle = count(t->single_dof);
  n.nfree = count(t->free_jnt);
  n.nfluid = count(t->fluid_geom);
  build_island_sizes(m, *t, &n);
  n.nrow = n.ndense + n.kdim * n.nslot;
  n.nrow1 = rows_before(SingleDofKind::kEnd, n) + n.ndense;
  n.nM = count(t->M_col);
  if (n.nisland == 0) build_dual_sizes(m.opt, &n);
  n.nexplicit = law_has(m.opt, kLawVelocities) ? n.nv : 0;
  n.nanchor = model_has(m.opt, kModelAnchors) ? n.ncon : 0;
  n.nimpact = model_has(m.opt, kModelImpacts) ? n.ncon : 0;
  n.njump = model_has(m.opt, kModelImpacts) ? n.nv : 0;
  n.nhistory = m.opt.solver == Solver::kPgsAnderson ? n.nrow1 + n.nedge * n.ncon + n.nv : 0;
  n.nrk = m.opt.integrator == Integrator::kRk4 ? n.nq + 4 * n.nv + 2 * n.na : 0;
  n.nimplicit = m.opt.integrator == Integrator::kImplicit;
  n.ndiscrete = m.opt.integrator == Integrator::kDiscrete;
  n.nword = words_of(n.nv);
  n.nsingleword = words_of(n.nsingle);
  n.dual_begin = newton_words(n);
  n.single_begin = n.dual_begin + dual_words(n);
  n.arena_begin = with_island_room(set_words(n));
}

Layout make_layout(const Sizes& sizes) { return Plan{sizes}.layout(); }
Widths make_widths(const Sizes& sizes) { return Plan{sizes}.widths(); }

template <class Scalar>
StepOptions<Scalar> make_step_options(const Model& m) {
  const Options& opt = m.opt;
  StepOptions<Scalar> o{};
#define OPTION_I(name, source, meaning) o.name = source;
#define OPTION_R(name, source, meaning) o.name = static_cast<Scalar>(source);
#define OPTION_R3(name, source, meaning) \
  for (int i = 0; i < 3; ++i) o.name[i] = static_cast<Scalar>((source)[i]);
#define OPTION_D(name, source, meaning) o.name = source;
#include "kernels/data/options.inl"
  return o;
}

template StepOptions<float> make_step_options<float>(const Model& model);
template StepOptions<double> make_step_options<double>(const Model& model);

}  // namespace dualstep
