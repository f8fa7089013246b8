// PTX ISA, "Data Movement and Conversion Instructions", but for cvt (conversion.cpp).
#include "instructions/address.h"

namespace ptx_interpreter {
namespace {

// words are copied as they are, NaNs too
void copy(Thread& t, const Op& o) { t.registers[o.r[0]] = t.slot(o.r[1]); }

void copy_predicate(Thread& t, const Op& o) {
  put_predicate(t, o.r[0], predicate(t, o.r[1]) != o.negated_source);
}

void permute_bytes(Thread& t, const Op& o) {
  const u64 both = static_cast<u64>(get<u32>(t, o.r[2])) << 32 | get<u32>(t, o.r[1]);
  const u32 selector = get<u32>(t, o.r[3]);
  u32 d = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 pick = selector >> (4 * i) & 15;
    u32 byte = static_cast<u32>(both >> (8 * (pick & 7))) & 0xff;
    if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
    d |= byte << (8 * i);
  }
  put(t, o.r[0], d);
}

template <Where kWhere, class T, int kVector>
void load(Thread& t, const Op& o) {
  const char* from = address<kWhere>(t, o, o.r[kVector], kVector * sizeof(T));
  for (int i = 0; i < kVector; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof value);
    if (o.r[i] != kNone) put_extended<T>(t, o.r[i], value);
  }
}
template <Where kWhere, class T, int kVector>
void store(Thread& t, const Op& o) {
  char* to = address<kWhere>(t, o, o.r[0], kVector * sizeof(T));
  for (int i = 0; i < kVector; ++i) {
    const T value = get<T>(t, o.r[1 + i]);
    std::memcpy(to + i * sizeof(T), &value, sizeof value);
  }
}

template <class F>
Execute with_words(const std::string& type, const Name& name, F f) {
  if (type == "u8" || type == "b8") return f.template operator()<u8>();
  if (type == "s8") return f.template operator()<s8>();
  if (type == "u16" || type == "b16") return f.template operator()<u16>();
  if (type == "s16") return f.template operator()<s16>();
  if (type == "u32" || type == "b32" || type == "f32") return f.template operator()<u32>();
  if (type == "s32") return f.template operator()<s32>();
  if (type == "u64" || type == "b64" || type == "s64" || type == "f64") return f.template operator()<u64>();
  unknown(name.whole);
}
Decoded decode_memory(const Name& name, bool in_frame) {
  Decoded d;
  const int vector = name.has("v4") ? 4 : name.has("v2") ? 2 : 1;
  if (name.has("v8")) unknown(name.whole);
  const bool loads = name.parts[0] == "ld";
  d.stores = !loads;
  d.run = with_where(of_shared(name), in_frame, [&]<Where kWhere>() -> Execute {
    return with_words(name.last(), name, [&]<class T>() -> Execute {
      if (vector == 4) return loads ? load<kWhere, T, 4> : store<kWhere, T, 4>;
      if (vector == 2) return loads ? load<kWhere, T, 2> : store<kWhere, T, 2>;
      return loads ? load<kWhere, T, 1> : store<kWhere, T, 1>;
    });
  });
  return d;
}
void address_in_frame(Thread& t, const Op& o) {
  put<u64>(t, o.r[0], reinterpret_cast<u64>(t.memory + o.offset));
}
void generic_of_shared(Thread& t, const Op& o) {
  put<u64>(t, o.r[0], reinterpret_cast<u64>(t.block->shared) + (get<u64>(t, o.r[1]) & 0xffffffffu));
}
void shared_of_generic(Thread& t, const Op& o) {
  put<u64>(t, o.r[0], get<u64>(t, o.r[1]) - reinterpret_cast<u64>(t.block->shared));
}
void is_shared(Thread& t, const Op& o) {
  put_predicate(t, o.r[0],
                get<u64>(t, o.r[1]) - reinterpret_cast<u64>(t.block->shared) < t.block->shared_bytes);
}
template <class T>
void pack2(Thread& t, const Op& o) {
  put<u64>(t, o.r[0],
           static_cast<u64>(get<T>(t, o.r[1])) | static_cast<u64>(get<T>(t, o.r[2])) << (8 * sizeof(T)));
}
template <class T>
void unpack2(Thread& t, const Op& o) {
  const u64 word = get<u64>(t, o.r[2]);
  if (o.r[0] != kNone) put<T>(t, o.r[0], static_cast<T>(word));
  if (o.r[1] != kNone) put<T>(t, o.r[1], static_cast<T>(word >> (8 * sizeof(T))));
}

void nothing(Thread&, const Op&) {}

Decoded decode_mov(const Name& name, bool in_frame) {
  return plain(in_frame ? address_in_frame : name.last() == "pred" ? copy_predicate : copy);
}
Decoded decode_pack(const Name& name, bool) { return plain(name.last() == "b64" ? pack2<u32> : pack2<u16>); }
Decoded decode_unpack(const Name& name, bool) {
  return plain(name.last() == "b64" ? unpack2<u32> : unpack2<u16>);
}
Decoded decode_cvta(const Name& name, bool) {
  if (!of_shared(name)) return plain(copy);
  return plain(name.has("to") ? shared_of_generic : generic_of_shared);
}
Decoded decode_isspacep(const Name& name, bool) {
  if (!name.has("shared")) unknown(name.whole);
  return plain(is_shared);
}
Decoded decode_prmt(const Name& name, bool) {
  if (name.parts.size() != 2) unknown(name.whole);
  return plain(permute_bytes);
}
Decoded decode_prefetch(const Name&, bool) { return plain(nothing); }

}  // namespace

const AddressChapter& data_movement() {
  static const AddressChapter kChapter = {
      {"ld", decode_memory},          {"st", decode_memory},     {"mov", decode_mov},
      {"pack", decode_pack},          {"unpack", decode_unpack}, {"cvta", decode_cvta},
      {"isspacep", decode_isspacep},  {"prmt", decode_prmt},     {"prefetch", decode_prefetch},
      {"prefetchu", decode_prefetch},
  };
  return kChapter;
}

}  // namespace ptx_interpreter
