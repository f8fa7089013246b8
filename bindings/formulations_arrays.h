// batches of small problems as contiguous numpy arrays, and the loop over them.
//
// solves    nothing: In reads problem i of an array (B, ...), Out holds the results, each() runs a problem after another
// deviation a failure does not stop the batch: all are collected, then raised as ProblemError([(index, kind,
//           message), ...])
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "host/interruption.h"
#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::bindings {

namespace py = pybind11;
using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;
using formulations::Matrix;
using formulations::Vector;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// a batch of numbers (B), vectors (B, n) or matrices (B, n, m)
class In {
 public:
  explicit In(const Array& array)
      : array_(array),
        batch_(array.shape(0)),
        rows_(array.ndim() > 1 ? array.shape(1) : 1),
        cols_(array.ndim() > 2 ? array.shape(2) : 1) {}

  py::ssize_t batch() const { return batch_; }
  py::ssize_t rows() const { return rows_; }
  double number(py::ssize_t i) const { return at(i)[0]; }
  Vector vector(py::ssize_t i) const { return Eigen::Map<const Vector>(at(i), rows_); }
  Matrix matrix(py::ssize_t i) const { return Eigen::Map<const RowMajor>(at(i), rows_, cols_); }

 private:
  const double* at(py::ssize_t i) const { return array_.data() + i * rows_ * cols_; }

  Array array_;
  py::ssize_t batch_, rows_, cols_;
};

// results of the same kinds, NaN until written
class Out {
 public:
  explicit Out(py::ssize_t batch) : Out(std::vector<py::ssize_t>{batch}) {}
  Out(py::ssize_t batch, py::ssize_t n) : Out(std::vector<py::ssize_t>{batch, n}) {}
  Out(py::ssize_t batch, py::ssize_t n, py::ssize_t m) : Out(std::vector<py::ssize_t>{batch, n, m}) {}

  void set(py::ssize_t i, double value) { array_.mutable_data()[i] = value; }
  template <class Derived>
  void set(py::ssize_t i, const Eigen::MatrixBase<Derived>& value) {
    double* to = array_.mutable_data() + i * value.size();
    Eigen::Map<RowMajor>(to, value.rows(), value.cols()) = value;
  }
  Array take() { return std::move(array_); }

 private:
  explicit Out(const std::vector<py::ssize_t>& shape) : array_(shape) {
    std::fill_n(array_.mutable_data(), array_.size(), std::numeric_limits<double>::quiet_NaN());
  }

  Array array_;
};

// set once, when the module is made
inline PyObject* problem_error = nullptr;

template <class Solve>
void each(py::ssize_t batch, const Solve& solve) {
  const Interruptible interruptible([] { return PyErr_CheckSignals() != 0; });
  py::list failures;
  for (py::ssize_t i = 0; i < batch; ++i) {
    try {
      solve(i);
      stop_if_told();
    } catch (const Interrupted&) {
      throw py::error_already_set();
    } catch (const formulations::Infeasible& error) {
      failures.append(py::make_tuple(i, "infeasible", error.what()));
    } catch (const formulations::InvalidArgument& error) {
      failures.append(py::make_tuple(i, "invalid", error.what()));
    }
  }
  if (failures.empty()) return;
  // wrapped, so that the list arrives as the exception's one argument
  const py::tuple arguments = py::make_tuple(failures);
  PyErr_SetObject(problem_error, arguments.ptr());
  throw py::error_already_set();
}

void bind_smooth(py::module_& m);
void bind_laws(py::module_& m);
void bind_contacts(py::module_& m);

}  // namespace dualstep::bindings
