// A task in C++: four functions over one environment, compiled for the host or, by nvcc, for the GPU that
// the batch is on.
//
//   struct Hover : dualstep::Task {
//     double height = 1.0;                            // options: doubles, nothing else
//     static constexpr int observations = 3, normals = 1, uniforms = 0;
//     DUALSTEP_DEVICE void reset(const Env& s, const Start& start) const { start.qpos[2] += s.normal[0]; }
//     DUALSTEP_DEVICE void observe(const Env& s, Real* out) const { ... }
//     DUALSTEP_DEVICE Real reward(const Env& s) const { ... }
//     DUALSTEP_DEVICE bool terminated(const Env& s) const { ... }
//   };
//   DUALSTEP_TASK(Hover, height)                      // the options once more, in their order
//
// Reads: the batch's arrays (task_arrays.inl), row-major, an environment after the other. Writes: what a function is
// for, and nothing else. Cost: one pass over the environments for each function; on a GPU a kernel each, queued
// behind the step, for which nothing waits. Python has the other side of this: compiled.py.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#ifndef DUALSTEP_REAL
#define DUALSTEP_REAL float
#endif

#ifdef __CUDACC__
#define DUALSTEP_DEVICE __host__ __device__
#else
#define DUALSTEP_DEVICE
#endif

namespace dualstep {

using Real = DUALSTEP_REAL;

// as it comes from Python: of all environments, each array with the numbers that one environment has in it
struct Call {
  long long rows = 0;              // how many are asked for
  const long long* row = nullptr;  // which; null: all of them, in order
#define TASK_ARRAY(name, type, meaning) \
  const type* name = nullptr;           \
  long long name##_width = 0;
#include "task_arrays.inl"
  const double* normal = nullptr;   // (rows, normals), of mean 0 and variance 1
  const double* uniform = nullptr;  // (rows, uniforms), in [0, 1)
  const double* options = nullptr;
  void* stream = nullptr;
  long long device = 0;  // of CUDA, where the arrays and the stream are
};

// one environment; arrays that the source does not name are null, and draws are NaN but at resets
struct Env {
#define TASK_ARRAY(name, type, meaning) const type* name;
#include "task_arrays.inl"
  const double *normal, *uniform;
};

// what an episode begins with: the model's own state, to be changed
struct Start {
  Real *qpos, *qvel;
};

struct Task {
  using Env = dualstep::Env;
  using Start = dualstep::Start;
  using Real = dualstep::Real;
};

template <class T>
DUALSTEP_DEVICE Env environment(const Call& call, long long i, const double* none) {
  const long long e = call.row ? call.row[i] : i;
  Env s;
#define TASK_ARRAY(name, type, meaning) s.name = call.name ? call.name + e * call.name##_width : nullptr;
#include "task_arrays.inl"
  s.normal = call.normal ? call.normal + i * T::normals : none;
  s.uniform = call.uniform ? call.uniform + i * T::uniforms : none;
  return s;
}

enum class Function { reset, observe, reward, terminated };

// one function for one of the rows that are asked for; `out` and `more` are (rows, ...)
template <class T>
DUALSTEP_DEVICE void apply(Function function, const T& task, const Call& call, long long i, void* out,
                           void* more) {
  // there are draws for resets alone
  double none[T::normals + T::uniforms + 1];
  for (double& x : none) x = NAN;
  const Env s = environment<T>(call, i, none);
  switch (function) {
    case Function::reset:
      task.reset(
          s, {static_cast<Real*>(out) + i * call.qpos_width, static_cast<Real*>(more) + i * call.qvel_width});
      break;
    case Function::observe:
      task.observe(s, static_cast<Real*>(out) + i * T::observations);
      break;
    case Function::reward:
      static_cast<Real*>(out)[i] = task.reward(s);
      break;
    case Function::terminated:
      static_cast<unsigned char*>(out)[i] = task.terminated(s);
      break;
  }
}

#ifdef __CUDACC__
template <class T>
__global__ void apply_each(Function function, T task, Call call, void* out, void* more) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i < call.rows) apply(function, task, call, i, out, more);
}
#endif

// 0, or the device's error
template <class T>
int apply_all(Function function, const Call& call, void* out, void* more) {
  T task;
  if (call.options) std::memcpy(static_cast<void*>(&task), call.options, sizeof(T));
#ifdef __CUDACC__
  if (call.rows == 0) return 0;
  const auto blocks = static_cast<unsigned>((call.rows + 127) / 128);
  int before = 0;
  const int device = static_cast<int>(call.device);
  cudaError_t error = cudaGetDevice(&before);
  if (error == cudaSuccess && before != device) error = cudaSetDevice(device);
  if (error != cudaSuccess) return static_cast<int>(error);
  apply_each<<<blocks, 128, 0, static_cast<cudaStream_t>(call.stream)>>>(function, task, call, out, more);
  error = cudaGetLastError();
  if (before != device) (void)cudaSetDevice(before);
  return static_cast<int>(error);
#else
  for (long long i = 0; i < call.rows; ++i) apply(function, task, call, i, out, more);
  return 0;
#endif
}

constexpr unsigned count_names(const char* names) {
  unsigned count = *names != 0;
  for (; *names; ++names) count += *names == ',';
  return count;
}

}  // namespace dualstep

// clang-format off
#define DUALSTEP_TASK(T, ...) \
  static_assert(std::is_trivially_copyable<T>::value, "a task is copied to the device: it holds doubles"); \
  static_assert(dualstep::count_names(#__VA_ARGS__) == 0 ? std::is_empty<T>::value : \
                    sizeof(T) == dualstep::count_names(#__VA_ARGS__) * sizeof(double), \
                "the options of a task are doubles, and DUALSTEP_TASK names all of them in their order"); \
  extern "C" const char* dualstep_task_options() { return #__VA_ARGS__; } \
  extern "C" void dualstep_task_defaults(double* out) { \
    const T task; \
    if (!std::is_empty<T>::value) std::memcpy(out, &task, sizeof(T)); \
  } \
  extern "C" int dualstep_task_size(int what) { \
    return what == 0 ? T::observations : what == 1 ? T::normals : T::uniforms; \
  } \
  extern "C" int dualstep_task_apply(int function, const dualstep::Call* call, void* out, void* more) { \
    return dualstep::apply_all<T>(static_cast<dualstep::Function>(function), *call, out, more); \
  }
// clang-format on
