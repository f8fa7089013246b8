// What a batch asks of the device that it lives on: memory, and an action on its environments.
// A device is one implementation of this and a line in devices.cpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "host/interruption.h"
#include "kernels/data/summary.h"
#include "kernels/data/tables.h"

namespace dualstep {

// what a user may say about where and how a batch runs
struct DeviceOptions {
  std::string device = "auto";  // "cpu", "cuda", "cuda:1", "emulated", "auto"
  int num_threads = 0;          // of the CPU; 0: all that this process may use
  std::string isa;              // "portable", "avx2", "avx512"; "": the best that is here
  std::vector<int> lanes;  // that share an environment on "cuda" and "emulated" (host/batch/lane_choice.h)
  std::string order;       // of emulated lanes: "ordered", "reversed", "shuffled"; "": shuffled
  uint64_t seed = 0;       // of that shuffling
};

// entries of each table of a model: the tables themselves are pointers
struct TableCounts {
#define TABLE_I(name, meaning) size_t name;
#define TABLE_R(name, meaning) size_t name;
#include "kernels/data/fields.inl"
};

// the same bytes for an array of many environments
struct PlacedRow {
  void* array;
  const void* row;  // of the host
  size_t bytes;     // of an environment; a multiple of 4
};

// a row of each marked environment from one array to another
struct CopiedRow {
  void* to;
  const void* from;
  size_t bytes;  // of an environment; a multiple of 4
};

// the last evaluation once more, of some environments. It is no solve: what it would say about one goes to
// copies, which are made before it
template <class Scalar>
struct Replay {
  BatchView<Scalar> view;
  CopiedRow copies[3];  // of all environments: bytes of the whole array
};

// what a device does whatever the precision: memory, and queues
class Device {
 public:
  virtual ~Device() = default;
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
  virtual void fill(void* to, unsigned char byte, size_t bytes) { std::memset(to, byte, bytes); }
  // between arrays
  virtual void copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  // each row to its array, in the environments where mask is not 0, or in all where it is null; may be stopped amid it
  virtual void place(const std::vector<PlacedRow>& rows, int num_envs, const uint8_t* mask) {
    for (const PlacedRow& row : rows) {
      stop_if_told();
      for (int e = 0; e < num_envs; ++e) {
        if (mask && !mask[e]) continue;
        std::memcpy(static_cast<char*>(row.array) + row.bytes * static_cast<size_t>(e), row.row, row.bytes);
      }
    }
  }

  // says that these rows will be placed: a device that keeps them has them from now on
  virtual void prepare(const std::vector<PlacedRow>&) {}

  // the same from one array to another
  virtual void copy_rows(const std::vector<CopiedRow>& rows, int num_envs, const uint8_t* mask) {
    for (const CopiedRow& row : rows) {
      for (int e = 0; e < num_envs; ++e) {
        const size_t at = row.bytes * static_cast<size_t>(e);
        if (mask[e])
          std::memcpy(static_cast<char*>(row.to) + at, static_cast<const char*>(row.from) + at, row.bytes);
      }
    }
  }

  // the rest is of devices whose arrays the host cannot touch, and which run behind its back
  // number of the device; -1 where the arrays are memory of the host
  virtual int device_index() const { return -1; }
  // the queue in which everything is done, as the device's own handle
  virtual uintptr_t stream() const { return 0; }
  virtual void set_stream(uintptr_t) {}

  // On a device that the host works for, a run that is watched asks many times whether to stop. Where it is told to, it
  // ends with some environments as they were before it, and stopped() is true
  virtual void watch(bool /*on*/) {}
  virtual bool stopped() const { return false; }

  // clock ticks spent in each stage (Stage) since time_stages(true), over all threads; empty where
  // the device does not count them
  virtual void time_stages(bool) {}
  virtual std::vector<uint64_t> stage_ticks() const { return {}; }
};

// and in one precision: an action on environments
template <class Scalar>
class Backend : public Device {
 public:
  // place, or copy_rows, with marks that lie on the device, and a replay of those environments; false where
  // not supported
  virtual bool place_marked(const std::vector<PlacedRow>&, const uint8_t* /*marks*/, const Replay<Scalar>*,
                            int /*num_envs*/) {
    return false;
  }
  virtual bool copy_marked(const std::vector<CopiedRow>&, const uint8_t* /*marks*/, const Replay<Scalar>*,
                           int /*num_envs*/) {
    return false;
  }
  // a step after which the environments that diverged are placed anew, counted, and replayed where `replay`
  // is not null, all without the host: false where not supported
  virtual bool step_and_restart(const BatchView<Scalar>& /*batch*/, const StepArgs& /*args*/,
                                const std::vector<PlacedRow>& /*rows*/, uint32_t* /*counts*/,
                                const Replay<Scalar>*) {
    return false;
  }

  // how long the tables are, and how many environments there are; called once, before set_tables
  virtual void set_sizes(const TableCounts&, int /*num_envs*/) {}
  // the model; called before the first run and whenever a table changed. The tables stay where they are. Where it
  // throws, those from before are in use
  virtual void set_tables(const Tables<Scalar>& tables) = 0;
  // the workspace as the last environment of a run left it, number after number (Layout); null where it is shared
  // by environments, or not memory of the host
  virtual const Scalar* workspace() const { return nullptr; }
  // numbers about the whole batch
  virtual BatchSummary summarize(const BatchView<Scalar>& batch) {
    BatchSummary sum = empty_summary(batch.num_envs);
    const SummaryView<Scalar> view{batch.status, batch.iterations, batch.residual, batch.num_envs};
    for (int e = 0; e < batch.num_envs; ++e) sum = both(sum, summary_of(view, e));
    return sum;
  }
  // an action on the environments of the listed blocks, or on all where blocks is null. No allocation.
  virtual void run(const BatchView<Scalar>& batch, const StepArgs& args, const int* blocks,
                   int num_blocks) = 0;
};

// throws std::invalid_argument that says what was given and what there is
template <class Scalar>
std::unique_ptr<Backend<Scalar>> make_backend(const DeviceOptions& options);

}  // namespace dualstep
