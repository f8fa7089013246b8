// PTX ISA, "Special Registers": where a thread stands.
#include <utility>

#include "instructions/instruction.h"

namespace ptx_interpreter {
namespace {

template <unsigned Dim3::*kPart>
Execute with_grid(char which) {
  // ctaid, nctaid, tid, ntid
  if (which == 'c') return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.block->at.*kPart); };
  if (which == 'g') return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.block->grid.*kPart); };
  if (which == 't') return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.at.*kPart); };
  return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.block->size.*kPart); };
}
}  // namespace

Execute special_register(const std::string& name) {
  for (const auto& [prefix, which] :
       {std::pair{"%ctaid.", 'c'}, {"%nctaid.", 'g'}, {"%tid.", 't'}, {"%ntid.", 'n'}}) {
    if (name == std::string(prefix) + "x") return with_grid<&Dim3::x>(which);
    if (name == std::string(prefix) + "y") return with_grid<&Dim3::y>(which);
    if (name == std::string(prefix) + "z") return with_grid<&Dim3::z>(which);
  }
  if (name == "%laneid") return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.lane()); };
  if (name == "%warpid") return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], t.number / 32); };
  if (name == "%lanemask_lt")
    return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], (1u << t.lane()) - 1); };
  if (name == "%lanemask_le")
    return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], (2u << t.lane()) - 1); };
  if (name == "%lanemask_ge")
    return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], ~((1u << t.lane()) - 1)); };
  if (name == "%lanemask_gt")
    return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], ~((2u << t.lane()) - 1)); };
  if (name == "%lanemask_eq") return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], 1u << t.lane()); };
  if (name == "%smid") return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], 0); };
  // a clock that only goes on
  if (name == "%clock64" || name == "%globaltimer" || name == "%clock")
    return [](Thread& t, const Op& o) { put<u64>(t, o.r[0], t.executed); };
  if (name == "%dynamic_smem_size")
    return [](Thread& t, const Op& o) { put<u32>(t, o.r[0], static_cast<u32>(t.block->dynamic_bytes)); };
  unknown(name);
}

}  // namespace ptx_interpreter
