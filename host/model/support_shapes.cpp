// Which shapes collide where, and what a geom can touch.
#include "host/interruption.h"
#include "host/model/support.h"
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

void refuse_batch_shapes(const Model& m, std::vector<Problem>* problems) {
  const auto refuse = [&](const std::string& feature, int geom, const std::string& detail) {
    problems->push_back(
        {feature, element_name(m, "geom", geom), "a Batch does not simulate it; a Reference does", detail});
  };
  for (int g = 0; g < m.ngeom; ++g) {
    if (reference_collides(m.geom_type[g])) continue;
    const std::string touches = touched_by(m, g);
    if (!touches.empty()) refuse(geom_word(m.geom_type[g]) + " collision", g, touches);
  }
}

}  // namespace dualstep
