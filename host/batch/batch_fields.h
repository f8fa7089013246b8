// The arrays of a batch as data: one entry a row of the field table (STATE, OUTPUT) and of the short list of
// records below it. Allocation, reset, save and load, and the Python names, shapes and docs all walk this
// list.
#pragma once

#include <string>
#include <vector>

#include "kernels/data/tables.h"

namespace dualstep {

enum class FieldRole {
  kState,   // kept between steps, written by the user too
  kRecord,  // kept by the batch about each environment: time, status, the last solve
  kOutput,  // derived by an evaluation; exists once somebody asked for it
};
enum class Element { kReal, kDouble, kInt, kWord };  // kReal: the precision of the batch; kWord: uint32

struct BatchField {
  std::string name, meaning;
  FieldRole role;
  Element element;
  std::string axes;  // "nbody 3": the shape of one environment, in sizes of the model; "" for one number
};

// state, records, outputs, in the order of the tables
const std::vector<BatchField>& batch_fields();
// entries an environment, from the width column of the table
int field_width(const BatchField& field, const Sizes& sizes);
// the shape of one environment, from the axes; its product is the width
std::vector<int> field_shape(const BatchField& field, const Sizes& sizes);

// an array of the workspace of a step: a SCRATCH row of the field table, or what STATE and SLOT rows have there
struct ScratchField {
  std::string name, size, stage, meaning;  // size: an expression in the sizes of the model
};
const std::vector<ScratchField>& scratch_fields();
// throws std::invalid_argument that names what was asked for
const ScratchField& scratch_field(const std::string& name);

// where it lies in the workspace of an environment, in numbers; the shape is that of its size where that is a
// product of two sizes, else one axis
struct ScratchExtent {
  int begin, size;
  std::vector<int> shape;
};
ScratchExtent scratch_extent(const ScratchField& field, const Sizes& sizes);

// an array of what islands are worked out in: a row of kernels/data/island_arena.inl
struct IslandField {
  std::string name, size, meaning;
  bool integers;
};
const std::vector<IslandField>& island_fields();
// throws std::invalid_argument that names what was asked for
const IslandField& island_field(const std::string& name);
// where it lies behind the arena's first integer, or its first real number
struct IslandExtent {
  int begin, size;
};
IslandExtent island_extent(const IslandField& field, const Sizes& sizes);

}  // namespace dualstep
