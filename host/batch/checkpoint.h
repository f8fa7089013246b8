// The bytes of a saved batch: a header, rows of named arrays, per-environment parameters, a checksum.
//
//   header          "dualstep" | version | byte order | size of a real | hash of the model |
//                   environments | arrays | parameters
//   each array      name (32 bytes) | bytes of a row | rows
//   each parameter  name (32 bytes) | numbers of a row | 0 or 1 for each environment | rows of those with 1
//   checksum        of all before it
//
// Reading checks everything before anything is used: lengths, names, sizes, checksum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dualstep {

struct SavedArray {
  std::string name;
  uint64_t row_bytes = 0;
  std::string rows;
};
struct SavedParameter {
  std::string name;
  uint64_t width = 0;
  std::vector<std::vector<double>> rows;  // one an environment; empty: the model's values
};
struct Checkpoint {
  uint64_t model = 0, real_bytes = 0, num_envs = 0;
  std::vector<SavedArray> arrays;
  std::vector<SavedParameter> parameters;
};

std::string encode(const Checkpoint& checkpoint);
// throws std::invalid_argument that says what is wrong with the bytes
Checkpoint decode(std::string_view bytes);

// a hash of bytes in which no single change goes unseen
uint64_t hash_bytes(const void* data, size_t size, uint64_t seed);

}  // namespace dualstep
