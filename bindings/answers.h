// Answers as objects of Python's: a copy of memory, or MemoryError. pybind11's own raise RuntimeError or TypeError
// where there is no memory.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <string>
#include <vector>

namespace dualstep {

template <class T>
pybind11::array_t<T> copied(const std::vector<T>& values, const std::vector<pybind11::ssize_t>& shape) {
  pybind11::array_t<T> answer(shape);
  std::copy(values.begin(), values.end(), answer.mutable_data());
  return answer;
}
template <class T>
pybind11::array_t<T> copied(const std::vector<T>& values) {
  return copied(values, {static_cast<pybind11::ssize_t>(values.size())});
}

inline pybind11::bytes copied(const std::string& text) {
  PyObject* answer = PyBytes_FromStringAndSize(text.data(), static_cast<pybind11::ssize_t>(text.size()));
  if (!answer) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::bytes>(answer);
}

}  // namespace dualstep
