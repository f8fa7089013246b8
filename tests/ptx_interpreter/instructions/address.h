// Where an instruction reads or writes memory: checked for alignment, and to lie in what was allocated.
#pragma once

#include "instructions/instruction.h"

namespace ptx_interpreter {

enum class Where { kAbsolute, kShared, kFrame };

template <Where kWhere>
char* address(Thread& t, const Op& o, Ref base, size_t bytes) {
  if constexpr (kWhere == Where::kFrame) {
    return t.memory + o.offset;
  } else if constexpr (kWhere == Where::kShared) {
    const u64 at = (get<u64>(t, base) & 0xffffffffu) + static_cast<u64>(o.offset);
    if (at + bytes > t.block->shared_bytes)
      fault(t, "byte " + std::to_string(at) + " of shared memory, which has " +
                   std::to_string(t.block->shared_bytes));
    if (at % bytes) fault(t, "an address that is not aligned in shared memory");
    return t.block->shared + at;
  } else {
    const uintptr_t at = get<u64>(t, base) + static_cast<u64>(o.offset);
    char* const p = reinterpret_cast<char*>(at);
    if (at % bytes) fault(t, "an address that is not aligned");
    if (p >= t.stack && p + bytes <= t.stack_top) return p;
    if (p >= t.block->shared && p + bytes <= t.block->shared + t.block->shared_bytes) return p;
    if (at < t.last.from || at + bytes > t.last.to) {
      t.last = t.block->memory->find(at);
      if (at < t.last.from || at + bytes > t.last.to) fault(t, "an address where nothing was allocated");
    }
    if (t.cache) t.cache->use(at, o.stores ? bytes : 0);
    return p;
  }
}

// all other spaces have the addresses of the host
inline bool of_shared(const Name& name) {
  return std::any_of(name.parts.begin(), name.parts.end(),
                     [](const std::string& part) { return part.substr(0, part.find("::")) == "shared"; });
}
template <class F>
Execute with_where(bool shared, bool in_frame, F f) {
  if (in_frame) return f.template operator()<Where::kFrame>();
  if (shared) return f.template operator()<Where::kShared>();
  return f.template operator()<Where::kAbsolute>();
}
}  // namespace ptx_interpreter
