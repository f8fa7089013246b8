// Islands: connected components of trees over the rows in use, and the order in which each is eliminated.
//
// Islands are numbered by their first tree; contacts and scalar rows stand by island, and within it in the order of their
// slots and sources. Trees are eliminated by least degree, the first of equals, in the graph whose edges are the rows that
// two trees share; what an elimination joins is noted as blocks of H. Islands of few rows have none (island_row_space.h).
//
// solves    which trees, contacts and rows an island has, the order of its trees, and the blocks of its H
// equation  two trees are of one island where a row in use reaches both
// source    Tarjan 1975 (union by linking to the smaller root, with path halving); Tinney & Walker 1967 for the order
// deviation degrees are those of trees, not of dofs
// reads     con_pair, ncon, lim_D, dense_D, dense_support, pair_tree1, pair_tree2, the tables of trees
// writes    the integers of the arena
// cost      O(rows + trees^2 / 32)
#pragma once

#include "kernels/data/island_pack.h"
#include "kernels/solver/islands/island_env.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// Which scalar rows are in use, in the order of their kinds, for all environments of a pack at once: a scene has many more
// that are not
template <class E>
DS_HD void find_rows_in_use(const IslandEnv<E, false>& base) {
  auto& env = base.env;
  const auto source = base.used_source(), by = base.used_by(), tree = base.used_tree();
  int used = 0;
  each_scalar_kind(env, [&](const auto& kind) {
    for (int i = 0; i < kind.count(); i++) {
      const unsigned environments = mask_word(kind.used(i));
      if (environments == 0) continue;
      int first = -1;
      bool one = true;
      kind.each_dof(i, [&](int d) {
        const int its = base.tree_of_dof(d);
        one = one && (first < 0 || first == its);
        first = its;
      });
      source[used] = kind.first() + i;
      tree[used] = one ? first : -1;
      by[used++] = static_cast<int>(environments);
    }
  });
  base.head()[kHeadSources] = used;
}

template <class E, bool kOneEight>
struct Partition : IslandEnv<E, kOneEight> {
  using Base = IslandEnv<E, kOneEight>;
  using Base::env, Base::dofs, Base::padded;
  using Ints = typename Base::Ints;
  DS_HD explicit Partition(const Base& base) : Base(base) {}

  DS_HD int root(int tree) const {
    const auto parent = this->tree_island();
    while (parent[tree] != tree) {
      parent[tree] = parent[parent[tree]];
      tree = parent[tree];
    }
    return tree;
  }
  DS_HD void join(int a, int b) const {
    a = root(a);
    b = root(b);
    this->tree_island()[a > b ? a : b] = a > b ? b : a;
  }

  DS_HD int find_own_rows() const {
    const int used = this->head()[kHeadSources];
    const auto by = this->used_by(), own = this->rows_in_use();
    int count = 0;
    for (int i = 0; i < used; i++) {
      own[count] = i;
      count += static_cast<int>((static_cast<unsigned>(by[i]) >> this->element) & 1u);
    }
    return count;
  }
  // calls f(that number) in the order of their kinds
  template <class F>
  DS_HD void each_row(F f) const {
    const int count = this->head()[kHeadRows];
    const auto own = this->rows_in_use();
    for (int i = 0; i < count; i++) f(own[i]);
  }
  // f(tree) for the trees that such a row reaches, in order
  template <class F>
  DS_HD void each_tree_of_row(int row, F f) const {
    const int only = this->used_tree()[row];
    if (only >= 0) return f(only);
    with_scalar_row(env, this->used_source()[row], [&](const auto& kind, int i) {
      int last = -1;
      kind.each_dof(i, [&](int d) {
        const int tree = this->tree_of_dof(d);
        if (tree != last) f(tree);
        last = tree;
      });
    });
  }

  // Roots, then numbers of islands in place of roots; trees that no row reaches have none. Those that go into packs
  // (island_pack.h) have the last numbers
  DS_HD void find_islands() const {
    const auto& n = env.t.n;
    const auto island = this->tree_island(), used = this->tree_place(), first = this->tree_adr();
    [[maybe_unused]] const auto contacts_of = this->tree_contacts(), rows_of = this->tree_rows(),
                                members = this->tree_members();
    for (int k = 0; k < n.ntree; k++) island[k] = k, used[k] = 0;
    if constexpr (Base::kIntoPacks)
      for (int k = 0; k < n.ntree; k++) contacts_of[k] = rows_of[k] = members[k] = 0;
    const int contacts = lane_of(env.ncon, this->element);
    this->head()[kHeadRows] = find_own_rows();
    int last = -1;
    for (int i = 0; i < contacts; i++) {
      const int pair = pair_of(env, i, this->element);
      int a = moved_by(env.t, pair, 0).tree, b = moved_by(env.t, pair, 1).tree;
      if (a < 0) a = b;
      if (b == a) b = -1;
      this->tree_of_slot(i, 0) = a;
      this->tree_of_slot(i, 1) = b;
      if constexpr (Base::kIntoPacks) contacts_of[a]++;
      // contacts of a pair follow each other
      if (pair == last) continue;
      last = pair;
      used[a] = 1;
      if (b >= 0) used[b] = 1, join(a, b);
    }
    each_row([&](int row) {
      int before = -1;
      each_tree_of_row(row, [&](int a) {
        used[a] = 1;
        if constexpr (Base::kIntoPacks) rows_of[a]++;
        if (before >= 0) join(before, a);
        before = a;
      });
    });
    int islands = 0;
    const auto number = [&](auto which) {
      for (int k = 0; k < n.ntree; k++)
        if (used[k] != 0 && root(k) == k && which(k)) first[k] = islands++;
    };
    if constexpr (Base::kIntoPacks) {
      for (int k = 0; k < n.ntree; k++) members[root(k)]++;
      const auto packed = [&](int k) {
        return members[k] == 1 && is_packed(n, dofs(k), contacts_of[k], rows_of[k]);
      };
      number([&](int k) { return !packed(k); });
      this->head()[kHeadOwn] = islands;
      number(packed);
    } else {
      number([](int) { return true; });
    }
    // a root stands before its members
    for (int k = 0; k < n.ntree; k++) {
      const int r = used[k] == 0 ? -1 : root(k);
      if (r != k) first[k] = r < 0 ? -1 : first[r];
    }
    for (int k = 0; k < n.ntree; k++) island[k] = first[k];
    this->head()[kHeadIslands] = islands;
    this->head()[kHeadContacts] = contacts;
  }

  // things by their islands, in the order in which each(f) calls f(thing, its island or less than 0): adr, and
  // put(place, thing, island) for each of them
  template <class Each, class Put>
  DS_HD void sort_by_island(Each each, const Ints& adr, Put put) const {
    const int islands = this->islands();
    for (int k = 0; k <= islands; k++) adr[k] = 0;
    each([&](int, int k) {
      if (k >= 0) adr[k + 1]++;
    });
    for (int k = 0; k < islands; k++) adr[k + 1] += adr[k];
    each([&](int thing, int k) {
      if (k >= 0) put(adr[k]++, thing, k);
    });
    for (int k = islands; k > 0; k--) adr[k] = adr[k - 1];
    adr[0] = 0;
  }

  DS_HD void list_trees() const {
    const auto island = this->tree_island(), list = this->tree_list(), place = this->tree_place();
    const auto each = [&](auto f) {
      for (int k = 0; k < env.t.n.ntree; k++) f(k, island[k]);
    };
    sort_by_island(each, this->tree_adr(), [&](int i, int tree, int) {
      list[i] = tree;
      place[tree] = i;
    });
  }

  DS_HD void list_contacts() const {
    const auto island = this->tree_island(), of = this->con_island(), slot = this->con_slot();
    if (this->islands() == 1) {
      for (int i = 0; i < this->contacts(); i++) slot[i] = i, of[i] = 0;
      this->con_adr()[0] = 0;
      this->con_adr()[1] = this->contacts();
    } else {
      const auto each = [&](auto f) {
        for (int s = 0; s < this->contacts(); s++) f(s, island[this->tree_of_slot(s, 0)]);
      };
      sort_by_island(each, this->con_adr(), [&](int i, int s, int k) {
        slot[i] = s;
        of[i] = k;
      });
    }
    for (int i = this->contacts(); i < with_island_room(this->contacts()); i++) of[i] = 0;
  }

  DS_HD void list_rows() const {
    const auto island = this->tree_island(), source = this->row_source(), of = this->row_island();
    const auto row_of = this->row_number();
    const auto each = [&](auto f) {
      each_row([&](int row) {
        int k = -1;  // that of any of its trees
        each_tree_of_row(row, [&](int tree) { k = island[tree]; });
        f(row, k);
      });
    };
    sort_by_island(each, this->row_adr(), [&](int i, int row, int k) {
      source[i] = this->used_source()[row];
      of[i] = k;
      row_of[i] = row;
    });
    const int count = this->head()[kHeadRows] = this->row_adr()[this->islands()];
    int entries = 0, next = 0;
    for (int i = 0; i < count; i++) {
      const int row = row_of[i];
      this->row_entry()[i] = entries;
      each_tree_of_row(row, [&](int tree) {
        this->entry_tree()[entries] = tree;
        this->entry_z()[entries++] = next;
        next += padded(tree);
      });
    }
    this->row_entry()[count] = entries;
    for (int i = count; i < with_island_room(count); i++) of[i] = 0;
  }

  // the graph of an island, as sets of places counted from its first
  DS_HD Ints neighbours(int place) const { return this->graph().from(place * ((env.t.n.ntree + 31) / 32)); }
  DS_HD void connect(int first, int a, int b) const {
    neighbours(a)[(b - first) >> 5] |= static_cast<int>(1u << ((b - first) & 31));
    neighbours(b)[(a - first) >> 5] |= static_cast<int>(1u << ((a - first) & 31));
  }
  // f(i, a, b, anew) of contacts and the trees that they reach; anew: others than the contact before it
  template <class F>
  DS_HD void each_contact_trees(int begin, int end, F f) const {
    int before[2] = {-1, -1};
    for (int i = begin; i < end; i++) {
      const int slot = this->con_slot()[i];
      const int a = this->tree_of_slot(slot, 0), b = this->tree_of_slot(slot, 1);
      f(i, a, b, a != before[0] || b != before[1]);
      before[0] = a, before[1] = b;
    }
  }
  DS_HD void build_graph(int island) const {
    const int first = this->tree_adr()[island], end = this->tree_adr()[island + 1];
    const int words = (end - first + 31) / 32;
    for (int k = first; k < end; k++)
      for (int w = 0; w < words; w++) neighbours(k)[w] = 0;
    const auto place = this->tree_place();
    each_contact_trees(this->con_adr()[island], this->con_adr()[island + 1],
                       [&](int, int a, int b, bool anew) {
                         if (anew && b >= 0) connect(first, place[a], place[b]);
                       });
    for (int i = this->row_adr()[island]; i < this->row_adr()[island + 1]; i++)
      for (int e = this->row_entry()[i]; e < this->row_entry()[i + 1]; e++)
        for (int f = this->row_entry()[i]; f < e; f++)
          connect(first, place[this->entry_tree()[f]], place[this->entry_tree()[e]]);
  }

  // the order of elimination of an island, and its blocks of H from number `H` on. Returns where they end; less than
  // 0 where they do not fit
  DS_HD int eliminate_trees(int island, int H, int* columns) const {
    const int first = this->tree_adr()[island], n = this->tree_adr()[island + 1] - first;
    const int words = (n + 31) / 32;
    const auto list = this->tree_list(), place = this->tree_place(), degree = this->tree_degree();
    const auto order = this->tree_order();
    build_graph(island);
    const auto degree_of = [&](int k) {
      int sum = 0;
      for (int w = 0; w < words; w++) sum += bit_count(static_cast<unsigned>(neighbours(first + k)[w]));
      return sum;
    };
    for (int k = 0; k < n; k++) degree[k] = degree_of(k);
    for (int step = 0; step < n; step++) {
      int best = -1;
      for (int k = 0; k < n; k++)
        if (degree[k] >= 0 && (best < 0 || degree[k] < degree[best])) best = k;
      order[step] = best;
      degree[best] = -1;
      const auto row = neighbours(first + best);
      const int tree = list[first + best];
      this->column_adr()[first + step] = *columns;
      each_member(row, words, [&](int k) {
        const int other = list[first + k];
        if (*columns < env.t.n.nfill) {
          this->column_tree()[*columns] = other;
          this->column_block()[*columns] = H;
        }
        (*columns)++;
        H += dofs(tree) * padded(other);
        const auto theirs = neighbours(first + k);
        for (int w = 0; w < words; w++) theirs[w] |= row[w];
        theirs[k >> 5] &= ~static_cast<int>(1u << (k & 31));
        theirs[best >> 5] &= ~static_cast<int>(1u << (best & 31));
        degree[k] = degree_of(k);
      });
      if (*columns > env.t.n.nfill || H > env.t.n.nH_blocks) return -1;
    }
    // trees in that order; `graph` is free again
    const auto copy = neighbours(first);
    for (int k = 0; k < n; k++) copy[k] = list[first + k];
    for (int k = 0; k < n; k++) list[first + k] = copy[order[k]];
    for (int k = 0; k < n; k++) place[list[first + k]] = first + k;
    return H;
  }

  // columns of a place by the places of their trees
  DS_HD void sort_columns(int from, int to) const {
    const auto tree = this->column_tree(), block = this->column_block(), place = this->tree_place();
    for (int i = from + 1; i < to; i++) {
      const int t = tree[i], b = block[i];
      int j = i;
      for (; j > from && place[tree[j - 1]] > place[t]; j--) {
        tree[j] = tree[j - 1];
        block[j] = block[j - 1];
      }
      tree[j] = t;
      block[j] = b;
    }
  }

  // where the block of H of two trees begins, the earlier one's rows
  DS_HD int block_of(int a, int b) const {
    const auto place = this->tree_place();
    const int early = place[a] < place[b] ? a : b, late = early == a ? b : a;
    for (int c = this->column_adr()[place[early]]; c < this->column_adr()[place[early] + 1]; c++)
      if (this->column_tree()[c] == late) return this->column_block()[c];
    return -1;
  }

  // Where the row space of an island begins: that of one tree in the place of its block of H, that of several from number H
  // on, where it has room. Returns where the latter ends, H where there is none
  DS_HD int find_row_space(int island, int H) const {
    const auto begin = this->row_space();
    begin[island] = -1;
    if constexpr (kOneEight) return H;
    const int first = this->tree_adr()[island], trees = this->tree_adr()[island + 1] - first;
    const int rows = this->rows_of(island);
    int n = 0;
    this->each_tree(island, [&](int tree) { n += dofs(tree); });
    if (!is_among_rows(trees, n, rows)) return H;
    if (trees == 1) {
      begin[island] = env.t.tree_H[this->tree_list()[first]];
      return H;
    }
    const int end = H + row_space_numbers(n, rows);
    if (end > env.t.n.nH_blocks) return H;
    begin[island] = H;
    return end;
  }

  // an island whose factor does not fit takes no step: its live is -1, and that is judged as not right
  DS_HD void order_islands() const {
    int H = env.t.n.nH_diagonal, columns = 0;
    for (int island = 0; island < this->islands(); island++) {
      this->live()[island] = 1;
      const int rows_end = find_row_space(island, H);
      if (rows_end > H) {
        H = rows_end;
        for (int k = this->tree_adr()[island]; k < this->tree_adr()[island + 1]; k++)
          this->column_adr()[k] = columns;
        continue;
      }
      const int before = columns, end = eliminate_trees(island, H, &columns);
      if (end < 0) {
        columns = before;
        for (int k = this->tree_adr()[island]; k < this->tree_adr()[island + 1]; k++)
          this->column_adr()[k] = columns;
        this->live()[island] = -1;
        continue;
      }
      H = end;
      for (int k = this->tree_adr()[island]; k < this->tree_adr()[island + 1]; k++)
        sort_columns(this->column_adr()[k],
                     k + 1 < this->tree_adr()[island + 1] ? this->column_adr()[k + 1] : columns);
    }
    this->column_adr()[this->tree_adr()[this->islands()]] = columns;
    this->head()[kHeadH] = H;
    int block = -1;
    each_contact_trees(0, this->contacts(), [&](int i, int a, int b, bool anew) {
      if (anew) block = b < 0 || this->live()[this->con_island()[i]] < 0 ? -1 : block_of(a, b);
      this->con_block()[i] = block;
    });
  }

  DS_HD void run() const {
    apart(*this, [=](const auto& self) { self.run_here(); });
  }
  DS_HD void run_here() const {
    find_islands();
    list_trees();
    list_contacts();
    list_rows();
    order_islands();
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
