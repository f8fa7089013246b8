// PTX ISA, "Comparison and Selection Instructions".
#include "instructions/instruction.h"

namespace ptx_interpreter {
namespace {

enum class Compare { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };
enum class Join { kNone, kAnd, kOr, kXor };

template <Compare kCompare, class T>
bool compare(T a, T b) {
  const bool nan = a != a || b != b;
  switch (kCompare) {
    case Compare::kEq:
      return a == b;
    case Compare::kNe:
      return !nan && a != b;
    case Compare::kLt:
      return a < b;
    case Compare::kLe:
      return a <= b;
    case Compare::kGt:
      return a > b;
    case Compare::kGe:
      return a >= b;
    case Compare::kEqu:
      return nan || a == b;
    case Compare::kNeu:
      return nan || a != b;
    case Compare::kLtu:
      return nan || a < b;
    case Compare::kLeu:
      return nan || a <= b;
    case Compare::kGtu:
      return nan || a > b;
    case Compare::kGeu:
      return nan || a >= b;
    case Compare::kNum:
      return !nan;
    case Compare::kNan:
      return nan;
  }
}
// p, q, a, b, and c where a predicate joins
template <Compare kCompare, Join kJoin, class T>
void set_predicate(Thread& t, const Op& o) {
  const bool found = compare<kCompare, T>(get<T>(t, o.r[2]), get<T>(t, o.r[3]));
  if constexpr (kJoin == Join::kNone) {
    put_predicate(t, o.r[0], found);
    put_predicate(t, o.r[1], !found);
  } else {
    const bool c = predicate(t, o.r[4]) != o.negated_source;
    const auto join = [c](bool a) {
      return kJoin == Join::kAnd ? a && c : kJoin == Join::kOr ? a || c : a != c;
    };
    put_predicate(t, o.r[0], join(found));
    put_predicate(t, o.r[1], join(!found));
  }
}
template <Compare kCompare>
Execute comparison(const Name& name, const std::string& type) {
  return with_number(type, name, [&]<class T>() -> Execute {
    if (name.has("and")) return set_predicate<kCompare, Join::kAnd, T>;
    if (name.has("or")) return set_predicate<kCompare, Join::kOr, T>;
    if (name.has("xor")) return set_predicate<kCompare, Join::kXor, T>;
    return set_predicate<kCompare, Join::kNone, T>;
  });
}
Execute decode_comparison(const Name& name) {
  const std::string& op = name.parts[1];
  const std::string& type = name.last();
  if (op == "eq") return comparison<Compare::kEq>(name, type);
  if (op == "ne") return comparison<Compare::kNe>(name, type);
  if (op == "lt" || op == "lo") return comparison<Compare::kLt>(name, type);
  if (op == "le" || op == "ls") return comparison<Compare::kLe>(name, type);
  if (op == "gt" || op == "hi") return comparison<Compare::kGt>(name, type);
  if (op == "ge" || op == "hs") return comparison<Compare::kGe>(name, type);
  if (op == "equ") return comparison<Compare::kEqu>(name, type);
  if (op == "neu") return comparison<Compare::kNeu>(name, type);
  if (op == "ltu") return comparison<Compare::kLtu>(name, type);
  if (op == "leu") return comparison<Compare::kLeu>(name, type);
  if (op == "gtu") return comparison<Compare::kGtu>(name, type);
  if (op == "geu") return comparison<Compare::kGeu>(name, type);
  if (op == "num") return comparison<Compare::kNum>(name, type);
  if (op == "nan") return comparison<Compare::kNan>(name, type);
  unknown(name.whole);
}
void select(Thread& t, const Op& o) {
  t.registers[o.r[0]] = t.slot(predicate(t, o.r[3]) != o.negated_source ? o.r[1] : o.r[2]);
}
Decoded decode_setp(const Name& name) { return plain(decode_comparison(name)); }

}  // namespace

const Chapter& comparison_and_selection() {
  static const Chapter kChapter = {{"setp", decode_setp}, {"selp", always<select>}};
  return kChapter;
}

}  // namespace ptx_interpreter
