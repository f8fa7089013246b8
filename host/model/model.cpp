// Loading: arrays by name into a Model, with shapes and addresses checked so that nothing reads out of
// bounds, then options, then refusals. Sizes, shapes and addresses are those of mjModel.
#include "host/model/model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "host/model/contact_law.h"
#include "host/model/model_fields.h"
#include "host/model/options_table.h"
#include "host/model/relations.h"
#include "host/model/unsupported.h"

namespace dualstep {
namespace {

template <class T>
const std::vector<T>* lookup(const RawModel& raw, const std::string& name) {
  const auto& arrays = [&]() -> const std::map<std::string, std::vector<T>>& {
    if constexpr (std::is_same_v<T, int>) {
      return raw.ints;
    } else {
      return raw.reals;
    }
  }();
  const auto it = arrays.find(name);
  return it == arrays.end() ? nullptr : &it->second;
}

void load_sizes(const RawModel& raw, Model* m) {
  for_each_size(*m, [&](const std::string& name, int& size) {
    auto it = raw.sizes.find(name);
    // before MuJoCo 4 every actuator had one control
    if (it == raw.sizes.end() && name == "nactuator") it = raw.sizes.find("nu");
    if (it == raw.sizes.end()) throw InvalidModelError("the model has no size '" + name + "'");
    if (it->second < 0 || it->second > (1L << 26)) {
      throw InvalidModelError("the model's size " + name + " is " + std::to_string(it->second));
    }
    size = static_cast<int>(it->second);
  });
}

// a wrong shape leaves the fallback in place, so that refusals can still be looked for
void load_arrays(const RawModel& raw, Model* m, std::vector<Problem>* problems) {
  for_each_field(*m, [&](const std::string& name, auto& values, int rows, int cols, double fallback) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    const size_t fixed = static_cast<size_t>(rows) * static_cast<size_t>(cols < 0 ? 0 : cols);
    values.assign(fixed, static_cast<T>(fallback));
    const std::vector<T>* from = lookup<T>(raw, name);
    if (!from) return;
    const bool fits =
        cols < 0 ? (rows == 0 ? from->empty() : from->size() % rows == 0) : from->size() == fixed;
    if (fits) {
      values = *from;
    } else {
      const std::string wanted = std::to_string(rows) + " x " + (cols < 0 ? "any" : std::to_string(cols));
      problems->push_back(
          {name, "array", "has " + std::to_string(from->size()) + " entries, must have " + wanted});
    }
  });
}

// an infinite bound of a range becomes one that no state reaches
void bound_ranges(Model* m) {
  constexpr double kOutOfReach = 1e10;
  for (std::vector<double>* range :
       {&m->jnt_range, &m->jnt_actfrcrange, &m->tendon_range, &m->tendon_actfrcrange, &m->actuator_ctrlrange,
        &m->actuator_forcerange, &m->actuator_actrange})
    for (double& bound : *range)
      if (std::isinf(bound)) bound = std::copysign(kOutOfReach, bound);
}

// before MuJoCo 4 every actuator had one control
void number_controls(Model* m) {
  for (int a = 0, next = 0; a < m->nactuator; next += m->actuator_ctrlnum[a++]) m->actuator_ctrladr[a] = next;
}

void load_options(const RawModel& raw, Options* opt, std::vector<Problem>* problems) {
  auto number = [&](const char* name, double fallback) {
    const auto it = raw.option.find(name);
    return it == raw.option.end() || it->second.size() != 1 ? fallback : it->second[0];
  };
  auto array = [&](const char* name, auto* values) {
    const auto it = raw.option.find(name);
    if (it != raw.option.end() && it->second.size() == values->size()) {
      std::copy(it->second.begin(), it->second.end(), values->begin());
    }
  };
  // one of a few, or flags
  auto whole = [&](const char* name, double least, double most) {
    const double value = number(name, 0);
    if (value >= least && value <= most && value == std::floor(value)) return static_cast<int>(value);
    std::ostringstream reason;
    reason << "is " << value << ", must be a whole number from " << static_cast<int>(least) << " to "
           << static_cast<int>(most);
    problems->push_back({name, "option", reason.str()});
    return 0;
  };
  constexpr double kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
  const auto read = [&](const char* name, auto* value) {
    using T = std::remove_pointer_t<decltype(value)>;
    if constexpr (std::is_same_v<T, double>) {
      *value = number(name, *value);
    } else if constexpr (std::is_same_v<T, Cone>) {
      *value = static_cast<Cone>(whole(name, 0, 1));
    } else if constexpr (std::is_same_v<T, Integrator>) {
      // any other whole number is refused by name, elsewhere
      *value = integrator_of(whole(name, kLeast, kMost)).value_or(*value);
    } else {
      array(name, value);
    }
  };
  const auto check_sign = [&](const char* name) {
    const double value = number(name, 0);
    if (!(value >= 0))
      problems->push_back({name, "option", "is " + std::to_string(value) + ", must not be negative"});
  };
#define MUJOCO_OPTION(type, name, ...) read(#name, &opt->name);
#define MUJOCO_BITS(type, name, ...) opt->name = whole(#name, kLeast, kMost);
#define MUJOCO_SIGN(type, name, ...) check_sign(#name);
#include "host/model/options.inl"
}

// a numeric field dualstep_prescribe_<joint> = offset [amplitude frequency phase]; true where it is one
bool load_prescribed(Model* m, const std::string& name, const std::vector<double>& data,
                     std::vector<Problem>* problems) {
  const std::string prefix = "dualstep_prescribe_";
  if (name.rfind(prefix, 0) != 0) return false;
  double v[4] = {0, 0, 0, 0};
  if (data.empty() || data.size() > 4) {
    problems->push_back(
        {"custom field", name, "holds offset, amplitude, frequency and phase, the last three optional"});
    return true;
  }
  std::copy(data.begin(), data.end(), v);
  try {
    prescribe_velocity(m, m->id_of("jnt", name.substr(prefix.size())), v[0], v[1], v[2], v[3]);
  } catch (const std::invalid_argument& error) {
    problems->push_back({"custom field", name, error.what()});
  }
  return true;
}

// a text field dualstep_restitution_pairs = "geom geom e; geom geom e; ..."; true where it is one
bool load_restitution(Model* m, const std::string& name, const std::string& text,
                      std::vector<Problem>* problems) {
  if (name != "dualstep_restitution_pairs") return false;
  std::istringstream entries(text);
  for (std::string entry; std::getline(entries, entry, ';');) {
    std::istringstream words(entry);
    std::string geom1, geom2, rest;
    double e = -1;
    if (!(words >> geom1)) continue;
    const bool whole = (words >> geom2 >> e) && !(words >> rest);
    const int g1 = m->id_of("geom", geom1), g2 = m->id_of("geom", geom2);
    if (!whole || g1 < 0 || g2 < 0 || !(e >= 0 && e <= 1)) {
      problems->push_back(
          {"custom field", name, "'" + entry + "' is not two names of geoms and a number from 0 to 1"});
      continue;
    }
    m->pair_restitution[{std::min(g1, g2), std::max(g1, g2)}] = e;
  }
  return true;
}

// a text as the value of an option: what XML can say beside words
OptionValue text_value(const std::string& text) {
  if (text == "none" || text == "None") return std::monostate{};
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  return text;
}

// "" where an option of this name exists, else the field of <custom> that it may have been meant for
std::string unknown_field(const std::string& name) {
  std::vector<std::string> names = option_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return "";
  names.insert(names.end(), {"restitution_pairs", "prescribe_<joint>"});
  const std::string begins = name.substr(0, name.rfind('_'));
  std::string near = nearest_name(name, names);
  if (near.empty() && nearest_name(begins, {"prescribe"}) == "prescribe") near = "prescribe_<joint>";
  return "is no field of dualstep" + (near.empty() ? "" : "; did you mean 'dualstep_" + near + "'?");
}

// <custom>: numeric and text fields named dualstep_<option>
void load_custom_options(Model* model, std::vector<Problem>* problems) {
  const Model& m = *model;
  Options* opt = &model->opt;
  const std::string prefix = "dualstep_";
  auto set = [&](const std::string& name, const OptionValue& value) {
    if (name.rfind(prefix, 0) != 0) return;
    const std::string option = name.substr(prefix.size()), unknown = unknown_field(option);
    try {
      if (!unknown.empty()) throw std::invalid_argument(unknown);
      set_option(*opt, option, value);
      if (const auto* word = std::get_if<std::string>(&value); word && !replacement_of(option, *word).empty())
        model->deprecations.push_back("custom text " + name + " = '" + *word + "' is deprecated: use '" +
                                      replacement_of(option, *word) + "'");
    } catch (const std::invalid_argument& error) {
      std::string reason = error.what();
      // a number that was written as a text
      const std::string* word = std::get_if<std::string>(&value);
      char* end = nullptr;
      if (word && !word->empty() && (std::strtod(word->c_str(), &end), *end == '\0'))
        reason += "; numbers stand in <numeric>, words in <text>";
      problems->push_back({"custom field", name, reason});
    }
  };
  for (int i = 0; i < m.nnumeric; ++i) {
    const double* data = m.numeric_data.data() + m.numeric_adr[i];
    const int n = m.numeric_size[i];
    if (load_prescribed(model, m.name_of("numeric", i), {data, data + n}, problems)) continue;
    set(m.name_of("numeric", i),
        n == 1 ? OptionValue(data[0]) : OptionValue(std::vector<double>(data, data + n)));
  }
  for (int i = 0; i < m.ntext; ++i) {
    const std::string text = m.text.substr(m.text_adr[i], m.text_size[i]);
    const std::string value = text.substr(0, text.find('\0'));
    if (load_restitution(model, m.name_of("text", i), value, problems)) continue;
    set(m.name_of("text", i), text_value(value));
  }
}

const std::vector<int>* name_addresses(const Model& m, const std::string& kind) {
  if (kind == "body") return &m.name_bodyadr;
  if (kind == "jnt" || kind == "joint") return &m.name_jntadr;
  if (kind == "geom") return &m.name_geomadr;
  if (kind == "site") return &m.name_siteadr;
  if (kind == "mesh") return &m.name_meshadr;
  if (kind == "hfield") return &m.name_hfieldadr;
  if (kind == "pair") return &m.name_pairadr;
  if (kind == "eq" || kind == "equality") return &m.name_eqadr;
  if (kind == "tendon") return &m.name_tendonadr;
  if (kind == "actuator") return &m.name_actuatoradr;
  if (kind == "sensor") return &m.name_sensoradr;
  if (kind == "key" || kind == "keyframe") return &m.name_keyadr;
  if (kind == "numeric") return &m.name_numericadr;
  if (kind == "text") return &m.name_textadr;
  return nullptr;
}

// the zero-terminated string at an address, "" where the address is none
std::string string_at(const std::string& names, int address) {
  if (address < 0 || address >= static_cast<int>(names.size())) return "";
  return names.substr(address, names.find('\0', address) - address);
}

}  // namespace

std::string Model::name_of(const std::string& kind, int id) const {
  const std::vector<int>* addresses = name_addresses(*this, kind);
  if (!addresses) throw std::invalid_argument("there is no kind of element '" + kind + "'");
  const bool exists = id >= 0 && id < static_cast<int>(addresses->size());
  const std::string name = exists ? string_at(names, (*addresses)[id]) : "";
  return name.empty() ? kind + " " + std::to_string(id) : name;
}

int Model::id_of(const std::string& kind, const std::string& name) const {
  const std::vector<int>* addresses = name_addresses(*this, kind);
  if (!addresses) throw std::invalid_argument("there is no kind of element '" + kind + "'");
  for (size_t i = 0; i < addresses->size(); ++i) {
    if (!name.empty() && string_at(names, (*addresses)[i]) == name) return static_cast<int>(i);
  }
  return -1;
}

Model load_model(const RawModel& raw) {
  Model m;
  std::vector<Problem> unsupported, invalid, shapes;
  load_sizes(raw, &m);
  if (m.nbody < 1) throw InvalidModelError("the model has no world body");
  m.names = raw.names;
  m.text = raw.text;
  load_arrays(raw, &m, &shapes);
  bound_ranges(&m);
  if (!lookup<int>(raw, "actuator_ctrladr")) number_controls(&m);
  find_unsupported_raw(raw, &unsupported);
  // arrays of actuators with several forces have other shapes: that is a refusal, not a mistake
  const bool one_to_one =
      std::all_of(m.actuator_outnum.begin(), m.actuator_outnum.end(), [](int forces) { return forces == 1; });
  if (!shapes.empty() && one_to_one && unsupported.empty()) throw_problems({}, shapes);
  std::vector<Problem> contradictions;
  find_contradictions(m, &contradictions);
  throw_problems({}, contradictions);
  load_options(raw, &m.opt, &invalid);
  load_custom_options(&m, &invalid);
  find_unsupported(m, &unsupported);
  if (shapes.empty()) find_invalid(m, &invalid);
  throw_problems(unsupported, invalid);
  throw_problems({}, shapes);
  return m;
}

void prescribe_velocity(Model* m, int joint, double offset, double amplitude, double frequency,
                        double phase) {
  if (joint < 0 || joint >= m->njnt) throw std::invalid_argument("there is no such joint");
  if (m->jnt_type[joint] != kHinge && m->jnt_type[joint] != kSlide)
    throw std::invalid_argument("only hinges and slides have one velocity to prescribe");
  for (double v : {offset, amplitude, frequency, phase})
    if (!std::isfinite(v)) throw std::invalid_argument("a prescribed velocity must be finite");
  auto same = [&](const Model::Prescribed& p) { return p.joint == joint; };
  m->prescribed.erase(std::remove_if(m->prescribed.begin(), m->prescribed.end(), same), m->prescribed.end());
  m->prescribed.push_back({joint, offset, amplitude, frequency, phase});
}

void check_model(const Model& model) {
  std::vector<Problem> unsupported, invalid;
  find_unsupported(model, &unsupported);
  refuse_long_steps(model, &unsupported);
  find_invalid(model, &invalid);
  throw_problems(unsupported, invalid);
}

std::vector<std::string> model_field_names(char kind) {
  std::vector<std::string> names;
  Model empty;
  for_each_field(empty, [&](const char* name, const auto& values, int, int, double) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    if ((kind == 'I') == std::is_same_v<T, int>) names.push_back(name);
  });
  return names;
}

std::vector<std::string> model_size_names() {
  std::vector<std::string> names;
  Model empty;
  for_each_size(empty, [&](const char* name, int) { names.push_back(name); });
  // read only to refuse what they count
  for (const char* name : {"nflex", "nplugin"}) names.push_back(name);
  return names;
}

// values, then flags, then what is looked at for its sign
std::vector<std::string> model_option_names() {
  return {
#define MUJOCO_OPTION(type, name, ...) #name,
#include "host/model/options.inl"
#define MUJOCO_BITS(type, name, ...) #name,
#include "host/model/options.inl"
#define MUJOCO_SIGN(type, name, ...) #name,
#include "host/model/options.inl"
  };
}

}  // namespace dualstep
