// The laws of one contact, in each of their shapes: edges, round and square rows.
//
// Without any reference: forces are minus the gradient of the cost and curvatures minus theirs (differences),
// the force lies in its cone and is optimal there, blocks of the sweeps end where the block's own problem is
// solved.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>

#include "kernels/solver/pgs.h"

namespace dualstep {
namespace {

enum class Shape { kEdges, kRound, kSquare };
const std::array<Shape, 3> kShapes = {Shape::kEdges, Shape::kRound, Shape::kSquare};

template <int kDim>
using Vector = std::array<double, kDim>;

template <int kDim>
ConeParams<double, kDim> draw_params(std::mt19937& rng, Shape shape, int dim) {
  std::uniform_real_distribution<double> unit(0, 1);
  ConeParams<double, kDim> p{};
  p.D = std::exp(3 * unit(rng) - 1);
  p.dim = dim;
  for (int i = 0; i < kDim - 1; i++) p.mu[i] = i + 1 < dim ? 0.1 + unit(rng) : 0;
  p.cone_mu = dim > 1 ? p.mu[0] / (0.5 + unit(rng)) : 0;
  p.l1_cone = shape == Shape::kSquare;
  return p;
}

template <int kDim>
ConeLaw<double, kDim> law_at(Shape shape, const ConeParams<double, kDim>& p, const Vector<kDim>& y) {
  ConeLaw<double, kDim> out{};
  if (shape == Shape::kEdges)
    cone_law<false, true>(p, y.data(), &out);
  else
    cone_law<true, true>(p, y.data(), &out);
  return out;
}

template <int kDim>
Vector<kDim> draw_y(std::mt19937& rng) {
  std::normal_distribution<double> normal;
  Vector<kDim> y;
  for (double& v : y) v = normal(rng);
  return y;
}

// the weight of row r
template <int kDim>
double row_weight(const ConeParams<double, kDim>& p, int r) {
  return r == 0 ? p.D : p.D * std::pow(p.mu[r - 1] / p.cone_mu, 2);
}

// |.|_2 or |.|_1 of f_i / mu_i; and the dual norm of mu_i z_i
template <int kDim>
double section(const ConeParams<double, kDim>& p, const Vector<kDim>& f) {
  double one = 0, two = 0;
  for (int i = 1; i < p.dim; i++) {
    one += std::abs(f[i] / p.mu[i - 1]);
    two = std::hypot(two, f[i] / p.mu[i - 1]);
  }
  return p.l1_cone ? one : two;
}
template <int kDim>
double dual_section(const ConeParams<double, kDim>& p, const Vector<kDim>& z) {
  double most = 0, two = 0;
  for (int i = 1; i < p.dim; i++) {
    most = std::max(most, std::abs(z[i] * p.mu[i - 1]));
    two = std::hypot(two, z[i] * p.mu[i - 1]);
  }
  return p.l1_cone ? most : two;
}

template <int kDim>
void check_laws(Shape shape) {
  std::mt19937 rng(kDim + static_cast<int>(shape));
  int open = 0, pushing = 0;
  for (int trial = 0; trial < 4000; trial++) {
    const int dim = 1 + static_cast<int>(rng() % kDim);
    const auto p = draw_params<kDim>(rng, shape, dim);
    const Vector<kDim> y = draw_y<kDim>(rng);
    const auto at = law_at<kDim>(shape, p, y);
    (at.force[0] > 0 ? pushing : open)++;
    constexpr double kStep = 1e-6;
    for (int r = 0; r < kDim; r++) {
      Vector<kDim> up = y, down = y;
      up[r] += kStep, down[r] -= kStep;
      const auto above = law_at<kDim>(shape, p, up), below = law_at<kDim>(shape, p, down);
      ASSERT_NEAR(-(above.cost - below.cost) / (2 * kStep), at.force[r], 1e-4 * (1 + p.D)) << trial;
      // away from the kinks of the force
      const auto curvature = [&](const auto& law, int c) {
        return law.curvature[r > c ? triangle(r) + c : triangle(c) + r];
      };
      for (int c = 0; c < kDim; c++) {
        const double jump = std::abs(curvature(above, c) - curvature(below, c));
        if (jump > 1e-3) continue;
        ASSERT_NEAR(-(above.force[c] - below.force[c]) / (2 * kStep), curvature(at, c), 1e-3 * (1 + 10 * p.D))
            << trial << " row " << r << " " << c;
      }
    }
    if (shape == Shape::kEdges) continue;
    const Vector<kDim> d = draw_y<kDim>(rng);
    double slope = 0, bend = 0, force_d = 0, curvature_d = 0;
    cone_along(p, y.data(), d.data(), &slope, &bend);
    for (int r = 0; r < kDim; r++) {
      force_d -= at.force[r] * d[r];
      for (int c = 0; c < kDim; c++)
        curvature_d += at.curvature[r > c ? triangle(r) + c : triangle(c) + r] * d[r] * d[c];
    }
    ASSERT_NEAR(slope, force_d, 1e-10 * (1 + p.D)) << trial;
    ASSERT_NEAR(bend, curvature_d, 1e-10 * (1 + p.D)) << trial;
    // in the cone, and optimal there: y + R f in the dual cone, no work done
    Vector<kDim> f, z;
    double work = 0, size = 0;
    for (int r = 0; r < kDim; r++) {
      f[r] = at.force[r];
      if (r >= dim) {
        ASSERT_EQ(f[r], 0) << trial;
        z[r] = 0;
        continue;
      }
      z[r] = y[r] + f[r] / row_weight(p, r);
      work += z[r] * f[r];
      size += std::abs(z[r] * f[r]);
    }
    ASSERT_LE(section<kDim>(p, f), f[0] * (1 + 1e-12) + 1e-12) << trial;
    ASSERT_LE(dual_section<kDim>(p, z), z[0] + 1e-10) << trial;
    ASSERT_NEAR(work, 0, 1e-10 * (1 + size)) << trial;
  }
  EXPECT_GT(open, 500);
  EXPECT_GT(pushing, 1000);
}

// a block of the sweeps, again and again, against the optimality of its problem: A of rank kDim
template <int kDim>
void check_blocks(Shape shape) {
  std::mt19937 rng(7 * kDim + static_cast<int>(shape));
  std::normal_distribution<double> normal;
  int pushing = 0;
  for (int trial = 0; trial < 300; trial++) {
    const int dim = 2 + static_cast<int>(rng() % (kDim - 1));
    const auto p = draw_params<kDim>(rng, shape, dim);
    std::array<Vector<kDim>, kDim> Z;
    for (auto& row : Z) row = draw_y<kDim>(rng);
    std::array<double, kTriangle<kDim>> A;
    for (int r = 0; r < kDim; r++)
      for (int c = 0; c <= r; c++) {
        double& a = A[triangle(r) + c];
        a = 0;
        for (int d = 0; d < kDim; d++) a += Z[r][d] * Z[c][d];
      }
    const auto entry = [&](int r, int c) { return A[r > c ? triangle(r) + c : triangle(c) + r]; };
    Vector<kDim> y0 = draw_y<kDim>(rng);
    y0[0] -= 1;
    Vector<kDim> f{};
    std::array<double, 2 * kDim> lambda{};
    for (int sweep = 0; sweep < 20000; sweep++) {
      Vector<kDim> y = y0, df;
      for (int r = 0; r < kDim; r++)
        for (int c = 0; c < kDim; c++) y[r] += entry(r, c) * f[c];
      if (shape == Shape::kEdges)
        block_by_edges(p, A.data(), y.data(), lambda.data(), df.data());
      else
        block_by_rows(p, A.data(), y.data(), lambda.data(), df.data());
      double moved = 0;
      for (int r = 0; r < kDim; r++) f[r] += df[r], moved += std::abs(df[r]);
      if (moved < 1e-15) break;
    }
    // the force that the law gives at the y that it makes
    Vector<kDim> y = y0;
    for (int r = 0; r < kDim; r++)
      for (int c = 0; c < kDim; c++) y[r] += entry(r, c) * f[c];
    const auto law = law_at<kDim>(shape, p, y);
    double size = 1;
    for (double v : f) size += std::abs(v);
    for (int r = 0; r < kDim; r++) ASSERT_NEAR(law.force[r], f[r], 1e-6 * size * (1 + p.D)) << trial;
    pushing += f[0] > 0;
  }
  EXPECT_GT(pushing, 100);
}

class Cones : public testing::TestWithParam<Shape> {};

TEST_P(Cones, ForcesAndCurvaturesAreThoseOfTheCost) {
  check_laws<3>(GetParam());
  check_laws<6>(GetParam());
}

TEST_P(Cones, BlocksSolveTheirOwnProblem) {
  check_blocks<3>(GetParam());
  check_blocks<6>(GetParam());
}

std::string name_of(const testing::TestParamInfo<Shape>& info) {
  const std::array<std::string, 3> names = {"Edges", "Round", "Square"};
  return names[static_cast<size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(All, Cones, testing::ValuesIn(kShapes), name_of);

// where no tangent gives, a square contact is as soft as a round one
TEST(SquareCone, SticksAsARoundOneDoes) {
  std::mt19937 rng(3);
  for (int trial = 0; trial < 500; trial++) {
    auto p = draw_params<6>(rng, Shape::kSquare, 6);
    Vector<6> y = draw_y<6>(rng);
    for (int r = 1; r < 6; r++) y[r] *= 1e-3;
    y[0] = -1;
    const auto square = law_at<6>(Shape::kSquare, p, y);
    p.l1_cone = false;
    const auto round = law_at<6>(Shape::kRound, p, y);
    for (int r = 0; r < 6; r++) ASSERT_NEAR(square.force[r], round.force[r], 1e-12 * p.D * 10) << trial;
  }
}

}  // namespace
}  // namespace dualstep
