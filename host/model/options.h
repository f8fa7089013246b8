// The options of a model: everything a user may change between loading it and making a Batch or a Reference. Each is a
// row of options.inl.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "kernels/base/mujoco_enums.h"
#include "kernels/data/contact_laws.h"

namespace dualstep {

enum class Cone { kPyramidal = 0, kElliptic = 1 };
enum class Solver { kPgsNewton = 0, kPgs = 1, kPgsAnderson = 2, kPgsNewtonPrimal = 3, kPgsNewtonDual = 4 };
inline bool ends_with_newton(Solver s) { return s != Solver::kPgs && s != Solver::kPgsAnderson; }
enum class ContactModel {
#define DS_NAME(name, word, law, traits) name,
  DS_CONTACT_MODELS(DS_NAME)
#undef DS_NAME
};
enum class ContactParameters { kMujoco = 0, kSpringDamper = 1 };
enum class Scheme { kTimeStepping = 0, kEventDriven = 1 };
enum class CompliantLaw { kLinear = 0, kHuntCrossley = 1 };
enum class FrictionLaw { kStribeck = 0, kPiecewise = 1 };

template <size_t count>
using Numbers = std::array<double, count>;
template <class... T>
constexpr Numbers<sizeof...(T)> numbers(T... values) {
  return {static_cast<double>(values)...};
}

struct Options {
#define USER_OPTION(type, name, fallback, ...) type name = fallback;
#include "host/model/options.inl"

  bool disabled(int bit) const { return (disableflags & bit) != 0; }
  bool enabled(int bit) const { return (enableflags & bit) != 0; }
};

}  // namespace dualstep
