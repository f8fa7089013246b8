// see cone_program.h: a primal-dual interior point with Nesterov-Todd scaling
//
// equation  with s = h + Gx in K and z in K:
//             Q dx - G'dz = -(Qx + c - G'z)
//             ds = G dx
//             W dz + W^-1 ds = d
//           eliminating ds and dz:
//             (Q + G'W^-2 G) dx = -(Qx + c - G'z) + G'W^-1 d
//           Mehrotra's predictor and corrector choose d
// deviation s = h + Gx holds from the first iterate on, since every cone here has a ready inner point

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "host/interruption.h"
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

// a program in units in which diagonals and the largest linear term are one, so that fixed tolerances mean
// something; and a point strictly inside of its cones
class ScaledProgram {
 public:
  explicit ScaledProgram(const ConeProgram& program)
      : n_(static_cast<int>(program.c.size())), unit_(Vector::Ones(n_)), x(Vector::Zero(n_)) {
    for (const ConeBlock& block : program.blocks) {
      const double mean = program.Q.diagonal().segment(block.start, block.size).mean();
      if (mean > 0) unit_.segment(block.start, block.size).setConstant(1 / std::sqrt(mean));
    }
    Q_ = unit_.asDiagonal() * program.Q * unit_.asDiagonal();
    c_ = unit_.cwiseProduct(program.c);
    size_ = c_.cwiseAbs().maxCoeff();
    if (size_ == 0) return;
    c_ /= size_;
    for (const ConeBlock& block : program.blocks) add_slacks(block);
    for (Slack& k : slacks_) {
      update_slack(k);
      k.z = identity(k.size);
    }
  }
  bool trivial() const { return size_ == 0; }
  Vector in_given_units(const Vector& scaled) const { return unit_.cwiseProduct(scaled) * size_; }

  // rx, mu and how far from optimal the present point is
  void measure() {
    double gap = 0;
    rx_ = Q_ * x + c_;
    for (const Slack& k : slacks_) {
      rx_.segment(k.column, k.size) -= k.sign * k.z;
      gap += k.s.dot(k.z);
    }
    mu_ = slacks_.empty() ? 0 : gap / static_cast<double>(slacks_.size());
    merit = std::max(mu_, rx_.cwiseAbs().maxCoeff());
  }

  // running away: is the direction one along which the objective falls for ever?
  bool unbounded() const {
    const double reach = x.cwiseAbs().maxCoeff();
    if (!(reach > 1e6)) return false;
    const Vector direction = x / reach;
    return (Q_ * direction).cwiseAbs().maxCoeff() < 1e-6 && c_.dot(direction) < -1e-9;
  }

  // a step of predictor and corrector. False where there is none worth taking
  bool advance() {
    H_ = Q_ + 1e-14 * Matrix::Identity(n_, n_);
    for (Slack& k : slacks_) {
      scale(k);
      H_.block(k.column, k.column, k.size, k.size) += k.Winv * k.Winv;
    }
    if (!H_.allFinite()) return false;
    const Eigen::LDLT<Matrix> factor(H_);
    Vector dx;
    for (Slack& k : slacks_) k.d = -k.lambda;
    const double reach_affine = std::min(1.0, direction(factor, dx));
    const double sigma = std::pow(1 - reach_affine, 3);
    for (Slack& k : slacks_) {
      const Vector second = product(Vector(k.Winv * k.ds), Vector(k.W * k.dz));
      k.d = divide(k.lambda, Vector(-product(k.lambda, k.lambda) - second + sigma * mu_ * identity(k.size)));
    }
    const double step = std::min(1.0, 0.99 * direction(factor, dx));
    if (!dx.allFinite() || !(step > 1e-10)) return false;
    x += step * dx;
    for (Slack& k : slacks_) {
      update_slack(k);
      k.z += step * k.dz;
    }
    return true;
  }

 private:
  void add_slacks(const ConeBlock& block) {
    if (block.kind == BlockKind::kFree) return;
    Slack k;
    k.column = block.start;
    k.size = block.size;
    k.sign = 1;
    k.offset = 0;
    if (block.kind == BlockKind::kInterval) {
      // an interval is two half lines about its middle
      k.offset = block.bound / (unit_(block.start) * size_);
      slacks_.push_back(k);
      k.sign = -1;
    } else {
      x(block.start) = 1;
    }
    slacks_.push_back(k);
  }
  void update_slack(Slack& k) const {
    k.s = k.sign * x.segment(k.column, k.size);
    k.s(0) += k.offset;
  }
  // dx, ds and dz for the right sides d of the complementarity rows; returns the longest step along them
  double direction(const Eigen::LDLT<Matrix>& factor, Vector& dx) {
    Vector rhs = -rx_;
    for (Slack& k : slacks_) rhs.segment(k.column, k.size) += k.sign * (k.Winv * k.d);
    dx = factor.solve(rhs);
    dx += factor.solve(Vector(rhs - H_ * dx));
    double step = 1e30;
    for (Slack& k : slacks_) {
      k.ds = k.sign * dx.segment(k.column, k.size);
      k.dz = k.Winv * (k.d - k.Winv * k.ds);
      step = std::min({step, longest(k.s, k.ds), longest(k.z, k.dz)});
    }
    return step;
  }

  int n_;
  Vector unit_;
  double size_ = 0, mu_ = 0;
  Matrix Q_, H_;
  Vector c_, rx_;
  std::vector<Slack> slacks_;

 public:
  Vector x;
  double merit = 1e300;
};

}  // namespace

bool interior_point(const ConeProgram& program, Vector& x, int& steps) {
  ScaledProgram scaled(program);
  x = scaled.x;
  if (scaled.trivial()) return true;
  Vector best = scaled.x;
  double best_merit = 1e300;
  for (int iteration = 0; iteration < 80; ++iteration) {
    stop_if_told();
    ++steps;
    scaled.measure();
    if (scaled.merit < best_merit) best_merit = scaled.merit, best = scaled.x;
    if (scaled.merit < 1e-15) break;
    if (scaled.unbounded()) return false;
    if (!scaled.advance()) break;
  }
  x = scaled.in_given_units(best);
  return true;
}

}  // namespace dualstep::formulations
