// A triple x belongs to a cell of directions where  n.x >= n.y - slack  for all other triples y and some n of the cell. Along
// the cube's side, n = (1, u, v), such a condition is a half-plane of (u, v): what all of them leave of the cell's square is
// a polygon, and x belongs where it is not empty. Most triples are passed over before: another one is farther at all four corners
// of the square, and so in all of it.
#include "host/tables/direction_cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "host/interruption.h"
#include "kernels/data/hull_table.h"

namespace dualstep {
namespace {

// of the largest triple: more than single precision rounds a product by
constexpr double kSlack = 1e-5;
// of a side of the cube: more than rounding moves a direction by
constexpr double kBorder = 1e-4;
// of more than so many in a cell all stay: of a disc's rim hardly any would go, and asking costs the square of their number
constexpr size_t kMostClipped = 128;

// a square of directions on a side of the cube
struct Square {
  int face;
  double u0, v0, u1, v1;

  double along(const double* x, double u, double v) const {
    const int axis = face / 2;
    return (face % 2 == 0 ? x[axis] : -x[axis]) + u * x[(axis + 1) % 3] + v * x[(axis + 2) % 3];
  }
  // how far a triple is along its four corners: (u0, v0), (u1, v0), (u0, v1), (u1, v1)
  std::array<double, 4> corners(const double* x) const {
    return {along(x, u0, v0), along(x, u1, v0), along(x, u0, v1), along(x, u1, v1)};
  }
};
Square square_of(int face, int i, int j, int side) {
  const double width = 2.0 / side, u = -1 + i * width, v = -1 + j * width;
  return {face, u - kBorder, v - kBorder, u + width + kBorder, v + width + kBorder};
}

using Triples = std::vector<const double*>;

// those of `among` that no single one of them is farther than everywhere in a square
std::vector<int> undominated(const Triples& triples, const std::vector<int>& among, const Square& q,
                             double slack) {
  std::vector<std::array<double, 4>> rivals;
  for (const double a : {0.0, 0.5, 1.0}) {
    for (const double b : {0.0, 0.5, 1.0}) {
      const double u = q.u0 + a * (q.u1 - q.u0), v = q.v0 + b * (q.v1 - q.v0);
      const auto farther = [&](int x, int y) {
        return q.along(triples[x], u, v) < q.along(triples[y], u, v);
      };
      rivals.push_back(q.corners(triples[*std::max_element(among.begin(), among.end(), farther)]));
    }
  }
  std::vector<int> left;
  for (const int i : among) {
    const std::array<double, 4> own = q.corners(triples[i]);
    const bool beaten = std::any_of(rivals.begin(), rivals.end(), [&](const std::array<double, 4>& rival) {
      return rival[0] - own[0] > slack && rival[1] - own[1] > slack && rival[2] - own[2] > slack &&
             rival[3] - own[3] > slack;
    });
    if (!beaten) left.push_back(i);
  }
  return left;
}

// what a half-plane  f(a, b) >= 0  leaves of a convex polygon, f given by its values at (0, 0), (1, 0), (0, 1)
using Polygon = std::vector<std::array<double, 2>>;
Polygon clipped(const Polygon& polygon, double f00, double f10, double f01) {
  const auto f = [&](const std::array<double, 2>& p) {
    return f00 + p[0] * (f10 - f00) + p[1] * (f01 - f00);
  };
  Polygon left;
  for (size_t k = 0; k < polygon.size(); ++k) {
    const auto &p = polygon[k], &q = polygon[(k + 1) % polygon.size()];
    const double fp = f(p), fq = f(q);
    if (fp >= 0) left.push_back(p);
    if ((fp >= 0) == (fq >= 0)) continue;
    const double s = fp / (fp - fq);
    left.push_back({p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])});
  }
  return left;
}

// those of `among` that are farthest somewhere in a square, and maybe more where they are many
std::vector<int> farthest(const Triples& triples, const std::vector<int>& among, const Square& q,
                          double slack) {
  const std::vector<int> some = undominated(triples, among, q, slack);
  if (some.size() > kMostClipped) return some;
  std::vector<std::array<double, 4>> corners;
  for (const int i : some) corners.push_back(q.corners(triples[i]));
  std::vector<int> left;
  for (size_t i = 0; i < some.size(); ++i) {
    Polygon where{{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    for (size_t k = 0; k < some.size() && !where.empty(); ++k)
      if (k != i)
        where = clipped(where, corners[i][0] - corners[k][0] + slack, corners[i][1] - corners[k][1] + slack,
                        corners[i][2] - corners[k][2] + slack);
    if (!where.empty()) left.push_back(some[i]);
  }
  return left;
}

void add_cell(const Triples& triples, const std::vector<int>& numbers, TableStore* t) {
  const int first = static_cast<int>(t->cell_number.size()), count = static_cast<int>(numbers.size());
  t->cell_adr.push_back(first);
  t->cell_num.push_back(count);
  t->cell_number.insert(t->cell_number.end(), numbers.begin(), numbers.end());
  if (count > 0) t->cell_number.resize(first + whole_runs(count, kCellRun), numbers.back());
  Triples own;
  for (const int i : numbers) own.push_back(triples[i]);
  put_triples(own, kCellRun, &t->cell_triple);
}

}  // namespace

void put_triples(const std::vector<const double*>& triples, int run, std::vector<double>* table) {
  const int count = static_cast<int>(triples.size());
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < whole_runs(count, run); ++i) table->push_back(triples[std::min(i, count - 1)][k]);
}

int add_direction_cells(const std::vector<const double*>& triples, TableStore* t) {
  const int first = static_cast<int>(t->cell_adr.size()), count = static_cast<int>(triples.size());
  const int side = cells_a_side(count);
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  if (side == 1) {  // one run that all sides of the cube share
    add_cell(triples, all, t);
    t->cell_adr.resize(first + 6, t->cell_adr[first]);
    t->cell_num.resize(first + 6, t->cell_num[first]);
    return first;
  }
  double largest = 0;
  for (const double* x : triples) largest = std::max(largest, std::hypot(x[0], x[1], x[2]));
  const double slack = kSlack * largest;
  for (int face = 0; face < 6; ++face) {
    const std::vector<int> seen = undominated(triples, all, square_of(face, 0, 0, 1), slack);
    for (int i = 0; i < side; ++i) {
      for (int j = 0; j < side; ++j) {
        stop_if_told();
        add_cell(triples, farthest(triples, seen, square_of(face, i, j, side), slack), t);
      }
    }
  }
  return first;
}

}  // namespace dualstep
