// From the name of an instruction to what it does to one thread: a table for each chapter of the "PTX ISA".
#include "instructions/instruction.h"

namespace ptx_interpreter {
namespace {

// a compiler of the driver makes machine code of PTX: it may join a multiplication and an addition that do not
// say .rn, and nothing may be approximate or flush small numbers
void refuse_what_may_round_otherwise(const Name& name) {
  if (name.has("approx") || name.has("full") || name.has("ftz"))
    unknown(name.whole, "is approximate, which no kernel may be");
  static constexpr std::string_view kRounds[] = {"add", "sub", "mul", "mad", "fma", "div", "sqrt", "rcp"};
  const bool real = name.last() == "f32" || name.last() == "f64";
  if (real && !name.has("rn") &&
      std::find(std::begin(kRounds), std::end(kRounds), name.parts[0]) != std::end(kRounds))
    unknown(name.whole, "does not say .rn, so that a compiler may contract it");
  if (name.has("sat") || name.has("NaN") || name.has("xorsign")) unknown(name.whole);
}

}  // namespace

Decoded decode(const std::string& whole, bool in_frame) {
  const Name name = split(whole);
  refuse_what_may_round_otherwise(name);
  const std::string& op = name.parts[0];
  for (const AddressChapter* chapter : {&data_movement(), &atomics()})
    if (const auto found = chapter->find(op); found != chapter->end()) return found->second(name, in_frame);
  const Chapter& arithmetic = is_float(name.last()) ? floating_point() : integer_arithmetic();
  for (const Chapter* chapter : {&arithmetic, &comparison_and_selection(), &logic_and_shift(), &conversion(),
                                 &control_flow(), &parallel()})
    if (const auto found = chapter->find(op); found != chapter->end()) return found->second(name);
  unknown(whole);
}

}  // namespace ptx_interpreter
