// What a batch asks of the device that it lives on: memory, and an action on its environments.
// A device is one implementation of this and a line in devices.cpp.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#include "kernels/tables.h"

namespace dualstep {

// what a user may say about where and how a batch runs
struct DeviceOptions {
  std::string device = "auto";  // "cpu", "cuda", "cuda:1", "emulated", "auto"
  int num_threads = 0;          // of the CPU; 0: all that this process may use
  std::string isa;              // "portable", "avx2", "avx512"; "": the best that is here
  int lanes = 0;                // that share an emulated environment: 1, 2, 4, 8, 16, 32; 0: 8
  std::string order;            // of emulated lanes: "ordered", "reversed", "shuffled"; "": shuffled
  uint64_t seed = 0;            // of that shuffling
};

template <class Scalar>
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string device() const = 0;       // "cpu", "cuda:0"
  virtual std::string description() const = 0;  // "cpu, avx2, packs of 8, 2 threads"
  // environments that share a block of per-environment parameters: entry i of environment e lies at
  // p[(e / pack) env_stride + i pack + e % pack]
  virtual int pack() const = 0;

  // arrays of a batch, aligned to 64 bytes; bytes may be 0
  virtual std::shared_ptr<void> allocate(size_t bytes) = 0;
  // between arrays and memory of the host
  virtual void write(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  virtual void read(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

  // the model; called before the first run and whenever a table changed. The tables stay where they are.
  virtual void set_tables(const Tables<Scalar>& tables) = 0;
  // an action on the environments of the listed blocks, or on all where blocks is null. No allocation.
  virtual void run(const BatchView<Scalar>& batch, const StepArgs& args, const int* blocks,
                   int num_blocks) = 0;
};

// throws std::invalid_argument that says what was given and what there is
template <class Scalar>
std::unique_ptr<Backend<Scalar>> make_backend(const DeviceOptions& options);

}  // namespace dualstep
