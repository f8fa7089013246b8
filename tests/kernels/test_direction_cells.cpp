// The cells of directions: whatever the hull, what a cell has is what all of its triples together would give.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "host/tables/direction_cells.h"
#include "kernels/collide/convex/each_hull.h"

namespace dualstep {
namespace {

using Points = std::vector<std::array<double, 3>>;

struct Form {
  const char* name;
  int count;
  Points (*make)(int count, std::mt19937& random);
};
Points ball(int count, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Points points;
  for (int i = 0; i < count; ++i) {
    const std::array<double, 3> x{normal(random), normal(random), normal(random)};
    const double length = std::hypot(x[0], x[1], x[2]);
    points.push_back({x[0] / length, x[1] / length, x[2] / length});
  }
  return points;
}
Points scaled(Points points, std::array<double, 3> by, double shift) {
  for (auto& x : points)
    for (int k = 0; k < 3; ++k) x[k] = x[k] * by[k] + shift;
  return points;
}
// two rings, all points of one in a plane
Points prism(int count, std::mt19937&) {
  Points points;
  for (int i = 0; i < count; ++i) {
    const double angle = 2 * M_PI * (i / 2) / (count / 2);
    points.push_back({std::cos(angle), std::sin(angle), i % 2 == 0 ? 0.1 : -0.1});
  }
  return points;
}
// every point twice: of equals the first counts
Points twice(int count, std::mt19937& random) {
  Points points = ball(count / 2, random);
  points.insert(points.end(), points.begin(), points.begin() + count / 2);
  return points;
}
const Form kForms[] = {
    {"few", 12, ball},
    {"ball", 60, ball},
    {"large", 900, ball},
    {"flat", 200,
     [](int n, std::mt19937& r) {
       return scaled(ball(n, r), {1, 1, 1e-4}, 0);
     }},
    {"needle", 200,
     [](int n, std::mt19937& r) {
       return scaled(ball(n, r), {1e-3, 1e-3, 1}, 0);
     }},
    {"tiny", 100,
     [](int n, std::mt19937& r) {
       return scaled(ball(n, r), {1e-3, 1e-3, 1e-3}, 0);
     }},
    {"far", 100,
     [](int n, std::mt19937& r) {
       return scaled(ball(n, r), {0.1, 0.1, 0.1}, 10);
     }},
    {"prism", 64, prism},
    {"round prism", 700, prism},
    {"rim of thousands", 6000, prism},
    {"twice", 120, twice},
};

template <class Real>
struct CellTables {
  std::vector<Real> point, triple;
  TableStore store;
  Hulls<Real> hull;

  explicit CellTables(const Points& points) {
    std::vector<const double*> triples;
    for (const auto& x : points) triples.push_back(x.data());
    EXPECT_EQ(add_direction_cells(triples, &store), 0);
    triple.assign(store.cell_triple.begin(), store.cell_triple.end());
    std::vector<double> table;
    put_triples(triples, kHullRun, &table);
    point.assign(table.begin(), table.end());
    const int count = static_cast<int>(points.size());
    hull.point = point.data();
    hull.npoint = count;
    hull.point_cells = {store.cell_adr.data(), store.cell_num.data(), triple.data(), store.cell_number.data(),
                        cells_a_side(count)};
  }
  double mean_count() const {
    const std::vector<int>& num = store.cell_num;
    return std::accumulate(num.begin(), num.end(), 0.0) / static_cast<double>(num.size());
  }
};

// along the normal of three points, at one of them, on a border of cells, at a corner of the cube, and anywhere
std::array<double, 3> direction(const Points& points, int kind, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<size_t> any(0, points.size() - 1);
  const auto &a = points[any(random)], &b = points[any(random)], &c = points[any(random)];
  if (kind == 0) {
    const double e[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]},
                 f[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
    return {e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]};
  }
  if (kind == 1) return a;
  std::array<double, 3> n{normal(random), normal(random), normal(random)};
  if (kind == 2)
    for (double& x : n) x = std::round(4 * x) / 4;
  if (kind == 3)
    for (double& x : n) x = x < 0 ? -1 : 1;
  return n;
}

template <class Real>
void check_form(const Form& form) {
  std::mt19937 random(7);
  const Points points = form.make(form.count, random);
  const CellTables<Real> tables(points);
  for (int trial = 0; trial < 4000; ++trial) {
    const std::array<double, 3> d = direction(points, trial % 5, random);
    const double length = std::hypot(d[0], d[1], d[2]);
    if (length == 0) continue;
    const Vec3<Real> n{Real(d[0] / length), Real(d[1] / length), Real(d[2] / length)};
    int number = -1;
    const Vec3<Real> found = farthest_of_each<kPoints>(tables.hull, n, 1u, &number);
    const int expected = farthest_triple<Real>(tables.hull.points(), n);
    ASSERT_EQ(number, expected) << form.name << ", trial " << trial;
    const Vec3<Real> x = broadcast_triple<Real>(tables.hull.points(), expected);
    ASSERT_TRUE(found.x == x.x && found.y == x.y && found.z == x.z);
  }
}

TEST(DirectionCells, GiveWhatAllTriplesGive) {
  for (const Form& form : kForms) {
    check_form<float>(form);
    check_form<double>(form);
  }
}

TEST(DirectionCells, HaveFewOfABall) {
  std::mt19937 random(7);
  for (const int count : {60, 200, 800}) {
    const CellTables<double> tables(ball(count, random));
    EXPECT_LT(tables.mean_count(), kCellRun) << count;
  }
}

TEST(DirectionCells, AreEmptyWithoutTriples) {
  TableStore store;
  EXPECT_EQ(add_direction_cells({}, &store), 0);
  EXPECT_EQ(store.cell_adr, std::vector<int>(6, 0));
  EXPECT_EQ(store.cell_num, std::vector<int>(6, 0));
  EXPECT_TRUE(store.cell_triple.empty());
}

}  // namespace
}  // namespace dualstep
