// What the chapters of instructions share: registers of a thread, the parts of a name, and types by name.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "machine.h"
#include "ptx.h"

namespace ptx_interpreter {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;

template <class T>
T get(const Thread& t, Ref r) {
  T value;
  std::memcpy(&value, &t.slot(r), sizeof value);
  return value;
}
template <class T>
void put(Thread& t, Ref r, T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (value != value) value = std::bit_cast<float>(0x7fffffffu);  // the one NaN that a GPU makes
  }
  u64 word = 0;
  std::memcpy(&word, &value, sizeof value);
  t.registers[r] = word;
}
inline bool predicate(const Thread& t, Ref r) { return t.slot(r) != 0; }
inline void put_predicate(Thread& t, Ref r, bool value) {
  if (r != kNone) t.registers[r] = value;
}
// of a value that may be narrower than its register
template <class T>
void put_extended(Thread& t, Ref r, T value) {
  if constexpr (std::is_signed_v<T>)
    t.registers[r] = static_cast<u64>(static_cast<s64>(value));
  else
    t.registers[r] = static_cast<u64>(value);
}

// names --------------------------------------------------------------------------------------------------

struct Name {
  std::string whole;
  std::vector<std::string> parts;
  bool has(std::string_view part) const {
    return std::find(parts.begin() + 1, parts.end(), part) != parts.end();
  }
  const std::string& last() const { return parts.back(); }
  const std::string& before_last() const { return parts[parts.size() - 2]; }
};
[[noreturn]] inline void unknown(const std::string& name, const char* why = "is not simulated") {
  throw PtxError("instruction " + name + " " + why);
}
inline Name split(const std::string& whole) {
  Name name{whole, {}};
  size_t from = 0;
  while (from <= whole.size()) {
    const size_t dot = std::min(whole.find('.', from), whole.size());
    name.parts.push_back(whole.substr(from, dot - from));
    from = dot + 1;
  }
  return name;
}

template <class F>
Execute with_integer(const std::string& type, const Name& name, F f) {
  if (type == "u16" || type == "b16") return f.template operator()<u16>();
  if (type == "s16") return f.template operator()<s16>();
  if (type == "u32" || type == "b32") return f.template operator()<u32>();
  if (type == "s32") return f.template operator()<s32>();
  if (type == "u64" || type == "b64") return f.template operator()<u64>();
  if (type == "s64") return f.template operator()<s64>();
  unknown(name.whole);
}
template <class F>
Execute with_float(const std::string& type, const Name& name, F f) {
  if (type == "f32") return f.template operator()<float>();
  if (type == "f64") return f.template operator()<double>();
  unknown(name.whole);
}
inline bool is_float(const std::string& type) { return type[0] == 'f'; }
template <class F>
Execute with_number(const std::string& type, const Name& name, F f) {
  return is_float(type) ? with_float(type, name, f) : with_integer(type, name, f);
}

// tables -------------------------------------------------------------------------------------------------

// a chapter: by the first part of a name, what decodes it
using Chapter = std::unordered_map<std::string_view, Decoded (*)(const Name&)>;
const Chapter& integer_arithmetic();
const Chapter& floating_point();
const Chapter& comparison_and_selection();
const Chapter& logic_and_shift();
const Chapter& conversion();
const Chapter& control_flow();
const Chapter& parallel();
// of instructions that may have an address; in_frame: it is a variable of the frame
using AddressChapter = std::unordered_map<std::string_view, Decoded (*)(const Name&, bool in_frame)>;
const AddressChapter& data_movement();
const AddressChapter& atomics();

inline Decoded plain(Execute run) {
  Decoded d;
  d.run = run;
  return d;
}
template <Execute kRun>
Decoded always(const Name&) {
  return plain(kRun);
}

}  // namespace ptx_interpreter
