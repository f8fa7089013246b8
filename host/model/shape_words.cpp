// Which shapes collide where, and what a geom can touch.
#include "host/interruption.h"
#include "host/model/unsupported.h"
#include "kernels/data/shapes.h"

namespace dualstep {

bool reference_collides(int type) { return !shape_is(type, kShapeUntouched); }

std::string geom_word(int type) {
#define DS_WORD(shape, word, ...) \
  if (type == shape) return word;
  DS_SHAPES(DS_WORD)
#undef DS_WORD
  return "number " + std::to_string(type);
}

std::string touched_by(const Model& m, int geom) {
  std::vector<std::string> names;
  stop_if_told();
  for (int other = 0; other < m.ngeom; ++other)
    if (other != geom && may_collide(m, geom, other)) names.push_back(element_name(m, "geom", other));
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "it can touch " : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace dualstep
