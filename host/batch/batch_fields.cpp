#include "host/batch/batch_fields.h"

#include <sstream>
#include <stdexcept>

#include "host/tables/tables.h"

namespace dualstep {
namespace {

// "6 * nbody" is a matrix of nbody rows and 6 columns
std::string axes_of_width(const std::string& width) {
  const size_t star = width.find(" * ");
  return star == std::string::npos ? width : width.substr(star + 3) + " " + width.substr(0, star);
}

// the width column of the records is an expression in the sizes: a class that has them as members can evaluate it
struct RecordWidths : Sizes {
  int width(const std::string& name) const {
#define RECORD(array, type, role, element, extent, axes, meaning) \
  if (name == #array) return extent;
#include "kernels/data/records.inl"
    if (name == "reset_count") return 1;
    throw std::logic_error("no array '" + name + "' in the field table");
  }
};

int axis_length(const Sizes& n, const std::string& axis) {
#define SIZE(name, meaning) \
  if (axis == #name) return n.name;
#include "kernels/data/sizes.inl"
  size_t used = 0;
  const int length = std::stoi(axis, &used);
  if (used != axis.size()) throw std::logic_error("no size '" + axis + "' in the field table");
  return length;
}

template <class Field>
const Field& named(const std::vector<Field>& fields, const std::string& name, const char* whose) {
  for (const Field& field : fields)
    if (field.name == name) return field;
  throw std::invalid_argument(std::string("no array of ") + whose + " is called '" + name + "'");
}

}  // namespace

const std::vector<BatchField>& batch_fields() {
  static const std::vector<BatchField> fields = {
#define STATE(name, width, role, meaning) \
  {#name, meaning, FieldRole::kState, Element::kReal, axes_of_width(#width)},
#include "kernels/data/fields.inl"
#define RECORD(name, type, role, element, width, axes, meaning) \
  {#name, meaning, FieldRole::role, Element::element, axes},
#include "kernels/data/records.inl"
      // counted by the host; the kernels do not see it
      {"reset_count", "times that each environment was reset because it had diverged", FieldRole::kRecord,
       Element::kWord, ""},
#define OUTPUT(name, width, shape, meaning) {#name, meaning, FieldRole::kOutput, Element::kReal, shape},
#include "kernels/data/fields.inl"
  };
  return fields;
}

int field_width(const BatchField& field, const Sizes& sizes) {
  const Widths widths = make_widths(sizes);
#define STATE(array, extent, role, meaning) \
  if (field.name == #array) return widths.array;
#define OUTPUT(array, extent, shape, meaning) \
  if (field.name == #array) return widths.array;
#include "kernels/data/fields.inl"
  return RecordWidths{sizes}.width(field.name);
}

const std::vector<ScratchField>& scratch_fields() {
  static const std::vector<ScratchField> fields = {
#define SCRATCH(name, size, stage, meaning) {#name, #size, #stage, meaning},
#include "kernels/data/fields.inl"
  };
  return fields;
}

const ScratchField& scratch_field(const std::string& name) {
  return named(scratch_fields(), name, "the workspace");
}

ScratchExtent scratch_extent(const ScratchField& field, const Sizes& sizes) {
  const Layout layout = make_layout(sizes);
  const std::vector<int> begins = {
#define SCRATCH(name, size, stage, meaning) layout.name,
#include "kernels/data/fields.inl"
      layout.total};
  const size_t at = static_cast<size_t>(&field - scratch_fields().data());
  const int size = begins[at + 1] - begins[at];
  ScratchExtent extent{begins[at], size, {size}};
  // "3 * nbody": a row of three for each body
  std::istringstream words(field.size);
  std::string width, star, count, rest;
  if (words >> width >> star >> count && star == "*" && !(words >> rest) && width[0] != '(')
    extent.shape = {axis_length(sizes, count)};
  if (extent.shape[0] != size) extent.shape.push_back(axis_length(sizes, width));
  return extent;
}

const std::vector<IslandField>& island_fields() {
  static const std::vector<IslandField> fields = {
#define ISLAND_I(name, size, meaning) {#name, #size, meaning, true},
#define ISLAND_R(name, size, meaning) {#name, #size, meaning, false},
#include "kernels/data/island_arena.inl"
  };
  return fields;
}

const IslandField& island_field(const std::string& name) { return named(island_fields(), name, "islands"); }

IslandExtent island_extent(const IslandField& field, const Sizes& n) {
  const IslandLayout layout = island_layout(n);
  const int slots = with_island_room(n.ncon), scalars = with_island_room(n.nrow1);
#define ISLAND_I(array, extent, meaning) \
  if (field.name == #array) return {layout.array, extent};
#define ISLAND_R ISLAND_I
#include "kernels/data/island_arena.inl"
  throw std::logic_error("no array '" + field.name + "' in the table of islands");
}

std::vector<int> field_shape(const BatchField& field, const Sizes& sizes) {
  std::vector<int> shape;
  std::istringstream axes(field.axes);
  for (std::string axis; axes >> axis;) {
    // the user's geoms: all of them, not those that can collide
    shape.push_back(axis_length(sizes, axis == "ngeom" ? "nallgeom" : axis));
  }
  return shape;
}

}  // namespace dualstep
