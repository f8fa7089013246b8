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
#define RECORD(array, role, element, extent, axes, meaning) \
  if (name == #array) return extent;
    DUALSTEP_BATCH_RECORDS(RECORD)
#undef RECORD
    if (name == "reset_count") return 1;
    throw std::logic_error("no array '" + name + "' in the field table");
  }
};

int axis_length(const Sizes& n, const std::string& axis) {
  if (axis == "ngeom") return n.nallgeom;  // the user's geoms: all of them, not those that can collide
#define AXIS(name) \
  if (axis == #name) return n.name;
  AXIS(nq)
  AXIS(nv)
  AXIS(nu)
  AXIS(na)
  AXIS(nbody)
  AXIS(nmocap)
  AXIS(nsite)
  AXIS(nsensordata)
  AXIS(nM)
  AXIS(ncon)
  AXIS(nanchor)
#undef AXIS
  size_t used = 0;
  const int length = std::stoi(axis, &used);
  if (used != axis.size()) throw std::logic_error("no size '" + axis + "' in the field table");
  return length;
}

}  // namespace

const std::vector<BatchField>& batch_fields() {
  static const std::vector<BatchField> fields = {
#define STATE(name, width, role, meaning) \
  {#name, meaning, FieldRole::kState, Element::kReal, axes_of_width(#width)},
#include "kernels/data/fields.inl"
#define RECORD(name, role, element, width, axes, meaning) \
  {#name, meaning, FieldRole::role, Element::element, axes},
      DUALSTEP_BATCH_RECORDS(RECORD)
#undef RECORD
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

std::vector<int> field_shape(const BatchField& field, const Sizes& sizes) {
  std::vector<int> shape;
  std::istringstream axes(field.axes);
  for (std::string axis; axes >> axis;) shape.push_back(axis_length(sizes, axis));
  return shape;
}

}  // namespace dualstep
