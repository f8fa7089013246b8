// see cone_program.h: a primal-dual interior point with Nesterov-Todd scaling
//
// equation  Q dx - G'dz = -(Qx + c - G'z),  ds = G dx,  W dz + W^-1 ds = d, with s = h + Gx in K and z in K;
//           eliminating: (Q + G'W^-2 G) dx = -(Qx + c - G'z) + G'W^-1 d; Mehrotra's predictor and corrector
//           choose d
// deviation s = h + Gx holds from the first iterate on, since every cone here has a ready inner point

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "host/reference/formulations/cone_program.h"

namespace dualstep::formulations {
namespace {

// one cone of slacks: rows s = h + sign * x(columns); half lines are cones of size one
struct Slack {
  int column, size;
  double sign, offset;
  Vector s, z, lambda, ds, dz, d;
  Matrix W, Winv;
};

Vector product(const Vector& a, const Vector& b) {
  Vector out(a.size());
  out(0) = a.dot(b);
  if (a.size() > 1) out.tail(a.size() - 1) = a(0) * b.tail(a.size() - 1) + b(0) * a.tail(a.size() - 1);
  return out;
}

// x with product(a, x) = b
Vector divide(const Vector& a, const Vector& b) {
  const Eigen::Index n = a.size();
  if (n == 1) return b.cwiseQuotient(a);
  const auto a1 = a.tail(n - 1), b1 = b.tail(n - 1);
  const double det = a(0) * a(0) - a1.squaredNorm();
  Vector out(n);
  out(0) = (a(0) * b(0) - a1.dot(b1)) / det;
  out.tail(n - 1) = (b1 - out(0) * a1) / a(0);
  return out;
}

double determinant(const Vector& a) {
  const double size = a.tail(a.size() - 1).norm();
  return (a(0) - size) * (a(0) + size);
}

// the longest step that keeps a + t da in the cone
double longest(const Vector& a, const Vector& da) {
  const Eigen::Index n = a.size();
  if (n == 1) return da(0) < 0 ? -a(0) / da(0) : 1e30;
  // the smallest positive root of det(a + t da), and the apex for safety
  const double qa = da(0) * da(0) - da.tail(n - 1).squaredNorm();
  const double qb = a(0) * da(0) - a.tail(n - 1).dot(da.tail(n - 1));
  const double qc = determinant(a);
  double best = da(0) < 0 ? -a(0) / da(0) : 1e30;
  const double disc = qb * qb - qa * qc;
  if (disc >= 0) {
    const double root = -(qb + std::copysign(std::sqrt(disc), qb));
    for (double t : {qa != 0 ? root / qa : -1.0, root != 0 ? qc / root : -1.0})
      if (t > 0) best = std::min(best, t);
  }
  return best;
}

void scale(Slack& k) {
  const Eigen::Index n = k.s.size();
  if (n == 1) {
    k.W = Matrix::Constant(1, 1, std::sqrt(k.s(0) / k.z(0)));
    k.Winv = k.W.cwiseInverse();
    k.lambda = Vector::Constant(1, std::sqrt(k.s(0) * k.z(0)));
    return;
  }
  const double ds = std::sqrt(determinant(k.s)), dz = std::sqrt(determinant(k.z));
  Vector flipped = k.z / dz;
  flipped.tail(n - 1) *= -1;
  const double gamma = std::sqrt(0.5 * (1 + k.s.dot(k.z) / (ds * dz)));
  const Vector w = (k.s / ds + flipped) / (2 * gamma);
  const Matrix corner =
      Matrix::Identity(n - 1, n - 1) + w.tail(n - 1) * w.tail(n - 1).transpose() / (1 + w(0));
  k.W.resize(n, n);
  k.W << w(0), w.tail(n - 1).transpose(), w.tail(n - 1), corner;
  k.Winv = k.W;
  k.Winv.row(0).tail(n - 1) *= -1;
  k.Winv.col(0).tail(n - 1) *= -1;
  const double eta = std::sqrt(ds / dz);
  k.W *= eta;
  k.Winv /= eta;
  k.lambda = k.W * k.z;
}

Vector identity(int n) {
  Vector e = Vector::Zero(n);
  e(0) = 1;
  return e;
}

}  // namespace

bool interior_point(const ConeProgram& program, Vector& x, int& steps) {
  const int n = static_cast<int>(program.c.size());
  // unit diagonals and a unit linear term, so that fixed tolerances mean something
  Vector unit = Vector::Ones(n);
  for (const ConeBlock& block : program.blocks) {
    const double mean = program.Q.diagonal().segment(block.start, block.size).mean();
    if (mean > 0) unit.segment(block.start, block.size).setConstant(1 / std::sqrt(mean));
  }
  const Matrix Q = unit.asDiagonal() * program.Q * unit.asDiagonal();
  Vector c = unit.cwiseProduct(program.c);
  const double size = c.cwiseAbs().maxCoeff();
  x = Vector::Zero(n);
  if (size == 0) return true;
  c /= size;

  std::vector<Slack> slacks;
  for (const ConeBlock& block : program.blocks) {
    if (block.kind == BlockKind::kFree) continue;
    Slack k;
    k.column = block.start;
    k.size = block.size;
    k.sign = 1;
    k.offset = 0;
    if (block.kind == BlockKind::kInterval) {
      // an interval is two half lines about its middle
      k.offset = block.bound / (unit(block.start) * size);
      slacks.push_back(k);
      k.sign = -1;
    } else {
      x(block.start) = 1;
    }
    slacks.push_back(k);
  }
  int degree = 0;
  for (Slack& k : slacks) {
    k.s = k.sign * x.segment(k.column, k.size);
    k.s(0) += k.offset;
    k.z = identity(k.size);
    ++degree;
  }

  Vector best = x;
  double best_merit = 1e300;
  for (int iteration = 0; iteration < 80; ++iteration) {
    ++steps;
    double gap = 0;
    Vector rx = Q * x + c;
    for (const Slack& k : slacks) {
      rx.segment(k.column, k.size) -= k.sign * k.z;
      gap += k.s.dot(k.z);
    }
    const double mu = degree > 0 ? gap / degree : 0;
    const double merit = std::max(mu, rx.cwiseAbs().maxCoeff());
    if (merit < best_merit) best_merit = merit, best = x;
    if (merit < 1e-15) break;
    const double reach = x.cwiseAbs().maxCoeff();
    if (reach > 1e6) {
      // running away: is the direction one along which the objective falls for ever?
      const Vector direction = x / reach;
      if ((Q * direction).cwiseAbs().maxCoeff() < 1e-6 && c.dot(direction) < -1e-9) return false;
    }

    Matrix H = Q + 1e-14 * Matrix::Identity(n, n);
    for (Slack& k : slacks) {
      scale(k);
      H.block(k.column, k.column, k.size, k.size) += k.Winv * k.Winv;
    }
    if (!H.allFinite()) break;
    const Eigen::LDLT<Matrix> factor(H);
    // direction for a given right side of the complementarity rows
    auto direction = [&](Vector& dx) {
      Vector rhs = -rx;
      for (Slack& k : slacks) rhs.segment(k.column, k.size) += k.sign * (k.Winv * k.d);
      dx = factor.solve(rhs);
      dx += factor.solve(Vector(rhs - H * dx));
      double step = 1e30;
      for (Slack& k : slacks) {
        k.ds = k.sign * dx.segment(k.column, k.size);
        k.dz = k.Winv * (k.d - k.Winv * k.ds);
        step = std::min({step, longest(k.s, k.ds), longest(k.z, k.dz)});
      }
      return step;
    };
    Vector dx;
    for (Slack& k : slacks) k.d = -k.lambda;
    const double reach_affine = std::min(1.0, direction(dx));
    const double sigma = std::pow(1 - reach_affine, 3);
    for (Slack& k : slacks) {
      const Vector second = product(Vector(k.Winv * k.ds), Vector(k.W * k.dz));
      k.d = divide(k.lambda, Vector(-product(k.lambda, k.lambda) - second + sigma * mu * identity(k.size)));
    }
    const double step = std::min(1.0, 0.99 * direction(dx));
    if (!dx.allFinite() || !(step > 1e-10)) break;
    x += step * dx;
    for (Slack& k : slacks) {
      k.s = k.sign * x.segment(k.column, k.size);
      k.s(0) += k.offset;
      k.z += step * k.dz;
    }
  }
  x = unit.cwiseProduct(best) * size;
  return true;
}

}  // namespace dualstep::formulations
