// The rollout of golden hashes (tests/python/support/answers.py) for machines without Python.
//
//   golden_rollout STEPS ENVIRONMENTS MODEL.raw...
//
// For each model a line with its file, then one for each environment: qpos and qvel at the end, in hexadecimal digits.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "host/batch/batch.h"
#include "tests/support/read_raw.h"

namespace {

// number `index` of a row of them, between -1 and 1: splitmix64 of a counter
double uniform(uint64_t key, uint64_t index) {
  uint64_t z = (index + 1 + (key << 32)) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<double>(z >> 40) / (1 << 23) - 1;
}

void put_uniform(dualstep::Batch* batch, const char* name, uint64_t key, int width) {
  auto* numbers = static_cast<float*>(batch->array(name)->data.get());
  for (int i = 0; i < batch->num_envs() * width; ++i)
    numbers[i] = static_cast<float>(uniform(key, static_cast<uint64_t>(i)));
}

void print_row(dualstep::Batch* batch, const char* name, int env) {
  const dualstep::BatchArray& array = *batch->array(name);
  const auto* row =
      static_cast<const unsigned char*>(array.data.get()) + array.row_bytes * static_cast<size_t>(env);
  for (size_t i = 0; i < array.row_bytes; ++i) std::printf("%02x", row[i]);
}

void roll(const char* file, int steps, int environments) {
  const dualstep::Model model = dualstep::load_model(dualstep::read_raw(file));
  dualstep::BatchOptions options;
  options.num_envs = environments;
  options.device.device = "cpu";
  options.device.num_threads = 1;
  dualstep::Batch batch(model, options);
  put_uniform(&batch, "qvel", 0, model.nv);
  for (int step = 1; step <= steps; ++step) {
    put_uniform(&batch, "ctrl", static_cast<uint64_t>(step), model.nu);
    batch.step(1);
  }
  std::printf("%s\n", file);
  for (int env = 0; env < environments; ++env) {
    print_row(&batch, "qpos", env);
    print_row(&batch, "qvel", env);
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) {
    std::fprintf(stderr, "usage: golden_rollout STEPS ENVIRONMENTS MODEL.raw...\n");
    return 2;
  }
  try {
    for (int i = 3; i < count; ++i) roll(words[i], std::atoi(words[1]), std::atoi(words[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
