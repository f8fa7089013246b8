// PTX ISA, "Parallel Synchronization and Communication Instructions": atom and red.
#include "instructions/address.h"
#include "instructions/arithmetic.h"

namespace ptx_interpreter {
namespace {

enum Atomic : uint8_t { kAdd, kExchange, kSwap, kAnd, kOr, kXor, kMin, kMax, kIncrement, kDecrement };

template <Where kWhere, class T, bool kResult>
void atomic(Thread& t, const Op& o) {
  char* const at = address<kWhere>(t, o, o.r[kResult ? 1 : 0], sizeof(T));
  const Ref* const given = o.r + (kResult ? 2 : 1);
  T old;
  std::memcpy(&old, at, sizeof old);
  const T b = get<T>(t, given[0]);
  T next = old;
  switch (o.mode) {
    case kAdd:
      next = Add::of<T>(old, b);
      break;
    case kExchange:
      next = b;
      break;
    case kSwap:
      if (std::memcmp(&old, &b, sizeof b) == 0) next = get<T>(t, given[1]);
      break;
    case kMin:
      next = Minimum::of<T>(old, b);
      break;
    case kMax:
      next = Maximum::of<T>(old, b);
      break;
    default:
      if constexpr (std::is_integral_v<T>) {
        if (o.mode == kAnd) next = old & b;
        if (o.mode == kOr) next = old | b;
        if (o.mode == kXor) next = old ^ b;
        if (o.mode == kIncrement) next = old >= b ? T(0) : old + 1;
        if (o.mode == kDecrement) next = old == 0 || old > b ? b : old - 1;
      }
  }
  std::memcpy(at, &next, sizeof next);
  if constexpr (kResult) {
    if (o.r[0] != kNone) put<T>(t, o.r[0], old);
  }
}

Decoded decode_atomic(const Name& name, bool in_frame) {
  Decoded d;
  static const std::unordered_map<std::string, Atomic> kNames = {
      {"add", kAdd}, {"exch", kExchange}, {"cas", kSwap}, {"and", kAnd},       {"or", kOr},
      {"xor", kXor}, {"min", kMin},       {"max", kMax},  {"inc", kIncrement}, {"dec", kDecrement}};
  const auto found = kNames.find(name.before_last());
  if (found == kNames.end()) unknown(name.whole);
  d.mode = found->second;
  const bool result = name.parts[0] == "atom";
  d.run = with_where(of_shared(name), in_frame, [&]<Where kWhere>() -> Execute {
    return with_number(name.last(), name, [&]<class T>() -> Execute {
      return result ? atomic<kWhere, T, true> : atomic<kWhere, T, false>;
    });
  });
  return d;
}

}  // namespace

const AddressChapter& atomics() {
  static const AddressChapter kChapter = {{"atom", decode_atomic}, {"red", decode_atomic}};
  return kChapter;
}

}  // namespace ptx_interpreter
