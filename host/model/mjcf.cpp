// Reads an mjModel by the lists that MuJoCo's own headers bring (mjxmacro.h), so that sizes and shapes are
// those of the version at hand. What dualstep takes of it is told by host/model/mjmodel_fields.inl; Python reads
// the same list by name.
#include "host/model/mjcf.h"

#include <mujoco/mjxmacro.h>

#include <memory>
#include <type_traits>

namespace dualstep {
namespace {

template <class T>
void take_array(const char* name, const T* data, long count, RawModel* raw) {
  if constexpr (std::is_floating_point_v<T>)
    raw->reals[name].assign(data, data + count);
  else
    raw->ints[name].assign(data, data + count);
}

template <class T>
void take_option(const char* name, const T* data, long count, RawModel* raw) {
  raw->option[name].assign(data, data + count);
}

}  // namespace

Model load_mjmodel(const mjModel& source) {
  const mjModel* m = &source;
  RawModel raw;
#define X(name) raw.sizes[#name] = static_cast<long>(m->name);
  MJMODEL_SIZES
#undef X
  {
    MJMODEL_POINTERS_PREAMBLE(m)
#undef MJ_M
#define MJ_M(name) m->name
#define X(type, name, rows, columns) take_array(#name, m->name, 1L * m->rows * (columns), &raw);
#undef XNV
#define XNV X
    MJMODEL_POINTERS
#undef X
#undef MJ_M
#define MJ_M(name) name
  }
#define X(type, name, count) take_option(#name, &m->opt.name, count, &raw);
#define XVEC(type, name, count) take_option(#name, m->opt.name, count, &raw);
  MJOPTION_FIELDS
#undef X
#undef XVEC
  raw.names.assign(m->names, m->names + m->nnames);
  raw.text.assign(m->text_data, m->text_data + m->ntextdata);
  return load_model(raw);
}

Model load_mjcf(const std::string& path) {
  char message[1024] = "";
  const std::unique_ptr<mjModel, decltype(&mj_deleteModel)> compiled(
      mj_loadXML(path.c_str(), nullptr, message, sizeof message), &mj_deleteModel);
  if (!compiled) throw InvalidModelError(path + ": " + message);
  return load_mjmodel(*compiled);
}

}  // namespace dualstep
