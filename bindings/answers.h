// Answers as objects of Python's: a copy of memory, or MemoryError. pybind11's own raise RuntimeError or TypeError
// where there is no memory.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstring>
#include <string>
#include <vector>

#include "host/interruption.h"

namespace dualstep {

template <class T>
pybind11::array_t<T> copied(const std::vector<T>& values, const std::vector<pybind11::ssize_t>& shape) {
  pybind11::array_t<T> answer(shape);
  char* const to = reinterpret_cast<char*>(answer.mutable_data());
  in_turns(values.size() * sizeof(T), [&](size_t begin, size_t count) {
    std::memcpy(to + begin, reinterpret_cast<const char*>(values.data()) + begin, count);
  });
  return answer;
}
template <class T>
pybind11::array_t<T> copied(const std::vector<T>& values) {
  return copied(values, {static_cast<pybind11::ssize_t>(values.size())});
}

inline pybind11::bytes copied(const std::string& text) {
  PyObject* made = PyBytes_FromStringAndSize(nullptr, static_cast<pybind11::ssize_t>(text.size()));
  if (!made) throw pybind11::error_already_set();
  const auto answer = pybind11::reinterpret_steal<pybind11::bytes>(made);
  in_turns(text.size(), [&](size_t begin, size_t count) {
    std::memcpy(PyBytes_AS_STRING(made) + begin, text.data() + begin, count);
  });
  return answer;
}

}  // namespace dualstep
