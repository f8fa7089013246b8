// What a kind of sensors is: a struct with
//
//   serves(type)          whether it reads sensors of this SensorType
//   read(at, s, out)      writes the reading of sensor s to out, in front of its cutoff; one lane calls it
//
// and a name in the list of kinds.h. A kind reads what the stages of the evaluation left in the workspace, and
// writes nothing else.
//
// solves    nothing; what every kind of sensors shares
// equation, source, deviation   those of a kind stand in its file
// reads     what the kind reads
// writes    the reading of a sensor
// cost      that of the kind
#pragma once

#include "kernels/data/env_io.h"
#include "kernels/sensors/motion.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// whether these kernels measure distances and tell normals
template <class AnyTables>
constexpr bool kRareReadingsCompiled = kCompiledFor<AnyTables, &Sizes::nsensor>;

// what sensors are read with: the environment, its batch, and what all lanes have found together
template <class E>
struct SensorView {
  using Real = typename E::Real;
  const E& env;
  const EnvIO<E>& in;
  Real potential, kinetic;
};

template <class... Kinds>
struct SensorKinds {
  // kinds that serve a type of MuJoCo's, as bits by their place in the list; 0 where none does
  DS_HD static constexpr int bits(int type) {
    int bit = 1, found = 0;
    ((found |= Kinds::serves(type) ? bit : 0, bit <<= 1), ...);
    return found;
  }
  // calls f(kind) for the kind that serves the type, if it is among those of `present`
  template <class F>
  DS_HD static void with(int present, int type, F f) {
    int bit = 1;
    (((present & bit) != 0 && Kinds::serves(type) ? f(Kinds{}) : void(), bit <<= 1), ...);
  }
};

template <class F, class Real>
DS_HD void put_reading(const F& out, int at, const Vec3<Real>& v) {
  out[at] = v.x;
  out[at + 1] = v.y;
  out[at + 2] = v.z;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep
