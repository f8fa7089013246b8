// Random numbers of environments, as envs/draws.py says what they are, for arrays of the host.
#include <pybind11/numpy.h>

#include "bindings/bindings.h"
#include "host/random/philox.h"

namespace py = pybind11;

namespace dualstep {
namespace {

using Words = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;

py::array_t<double> draw_fractions(const Words& seeds, const Words& episodes, const Words& draws,
                                   uint32_t attempt, py::ssize_t size) {
  const py::ssize_t rows = seeds.size();
  if (episodes.size() != rows || draws.size() != rows || size < 0)
    throw py::value_error("seeds, episodes and draws of " + std::to_string(rows) + ", " +
                          std::to_string(episodes.size()) + " and " + std::to_string(draws.size()) +
                          " environments are given, and one each is wanted");
  py::array_t<double> out({rows, size});
  double* to = out.mutable_data();
  for (py::ssize_t row = 0; row < rows; ++row) {
    const auto seed = static_cast<uint64_t>(seeds.data()[row]);
    const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    for (py::ssize_t at = 0; at < size; at += 2) {
      const auto words = philox({static_cast<uint32_t>(at / 2), static_cast<uint32_t>(episodes.data()[row]),
                                 static_cast<uint32_t>(draws.data()[row]), attempt},
                                key);
      *to++ = fraction_of(words[0], words[1]);
      if (at + 1 < size) *to++ = fraction_of(words[2], words[3]);
    }
  }
  return out;
}

}  // namespace

void bind_draws(py::module_& module) {
  module.def("draw_fractions", &draw_fractions, py::arg("seeds"), py::arg("episodes"), py::arg("draws"),
             py::arg("attempt"), py::arg("size"),
             "(rows, size) numbers in [0, 1) by Philox4x32-10: the key of a row is its seed, the counter its "
             "(block, "
             "episode, draw, attempt)");
}

}  // namespace dualstep
