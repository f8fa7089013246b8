// A number that knows when it is read and written: with it as Real, the kernels tell which stage touches which array
// of the workspace. A number outside the workspace that is watched is a float like any other.
#pragma once

#include <array>
#include <type_traits>
#include <vector>

#include "kernels/base/real.h"
#include "kernels/data/tables.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct Recorded;

// accesses since the last call of end_stage, by number of the workspace; then by stage and array
class AccessRecorder {
 public:
  using Stages = std::array<bool, kStages>;
  struct Access {
    Stages reads{}, writes{};
  };

  // owners: which array each number of the workspace belongs to
  void watch(const Recorded* workspace, const std::vector<int>& owners, int arrays);
  void read(const Recorded* x) { note(x, &Pending::read); }
  void write(const Recorded* x) { note(x, &Pending::written); }
  // what was touched since the last call was touched by this stage
  void end_stage(Stage stage) {
    for (size_t a = 0; a < pending_.size(); a++) {
      access_[a].reads[stage] |= pending_[a].read;
      access_[a].writes[stage] |= pending_[a].written;
      pending_[a] = {};
    }
  }
  const std::vector<Access>& access() const { return access_; }

 private:
  struct Pending {
    bool read = false, written = false;
  };
  void note(const Recorded* x, bool Pending::*what);

  const Recorded* workspace_ = nullptr;
  std::vector<int> owners_;
  std::vector<Pending> pending_;
  std::vector<Access> access_;
};
inline AccessRecorder recorder;

struct Recorded {
  float v;
  Recorded() = default;
  Recorded(float x) : v(x) {}
  template <class U>
  requires(std::is_arithmetic_v<U>) explicit Recorded(U x) : v(static_cast<float>(x)) {}
  Recorded(const Recorded& x) : v(x.get()) {}
  Recorded& operator=(const Recorded& x) {
    v = x.get();
    recorder.write(this);
    return *this;
  }
  float get() const {
    recorder.read(this);
    return v;
  }

  friend Recorded operator+(const Recorded& a, const Recorded& b) { return a.get() + b.get(); }
  friend Recorded operator-(const Recorded& a, const Recorded& b) { return a.get() - b.get(); }
  friend Recorded operator*(const Recorded& a, const Recorded& b) { return a.get() * b.get(); }
  friend Recorded operator/(const Recorded& a, const Recorded& b) { return a.get() / b.get(); }
  friend Recorded operator-(const Recorded& a) { return -a.get(); }
  Recorded& operator+=(const Recorded& x) { return *this = *this + x; }
  Recorded& operator-=(const Recorded& x) { return *this = *this - x; }
  Recorded& operator*=(const Recorded& x) { return *this = *this * x; }
  friend bool operator<(const Recorded& a, const Recorded& b) { return a.get() < b.get(); }
  friend bool operator<=(const Recorded& a, const Recorded& b) { return a.get() <= b.get(); }
  friend bool operator>(const Recorded& a, const Recorded& b) { return a.get() > b.get(); }
  friend bool operator>=(const Recorded& a, const Recorded& b) { return a.get() >= b.get(); }
  friend bool operator==(const Recorded& a, const Recorded& b) { return a.get() == b.get(); }
  friend bool operator!=(const Recorded& a, const Recorded& b) { return a.get() != b.get(); }
};

template <>
struct RealTraits<Recorded> {
  using Scalar = float;
  using Mask = bool;
  using Int = int;
  static constexpr int kSize = 1;
};

inline Recorded select(bool m, const Recorded& a, const Recorded& b) {
  const float x = a.get(), y = b.get();
  return m ? x : y;
}
inline Recorded fma(const Recorded& a, const Recorded& b, const Recorded& c) {
  return fma(a.get(), b.get(), c.get());
}
inline Recorded sqrt(const Recorded& a) { return sqrt(a.get()); }
inline Recorded abs(const Recorded& a) { return abs(a.get()); }
inline float lane_of(const Recorded& x, int) { return x.get(); }
inline void set_lane(Recorded& x, int, float v) { x = Recorded(v); }

inline void AccessRecorder::watch(const Recorded* workspace, const std::vector<int>& owners, int arrays) {
  workspace_ = workspace;
  owners_ = owners;
  pending_.assign(static_cast<size_t>(arrays), {});
  access_.resize(static_cast<size_t>(arrays));
}
inline void AccessRecorder::note(const Recorded* x, bool Pending::*what) {
  if (x < workspace_ || x >= workspace_ + owners_.size()) return;
  pending_[static_cast<size_t>(owners_[static_cast<size_t>(x - workspace_)])].*what = true;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
