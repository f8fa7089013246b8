#include "host/batch/checkpoint.h"

#include <cstring>
#include <stdexcept>

#include "host/interruption.h"

namespace dualstep {
namespace {

constexpr char kMagic[] = "dualstep";  // 8 bytes
constexpr uint64_t kVersion = 2, kByteOrder = 0x0102030405060708;
constexpr size_t kNameBytes = 32;

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument("these bytes are no state that can be loaded: " + why);
}

struct Writer {
  std::string out;
  void number(uint64_t v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void bytes(const void* from, size_t size) {
    in_turns(size,
             [&](size_t begin, size_t count) { out.append(static_cast<const char*>(from) + begin, count); });
  }
  void name(const std::string& text) {
    if (text.size() >= kNameBytes) throw std::logic_error("name too long for a checkpoint: " + text);
    out.append(text).append(kNameBytes - text.size(), '\0');
  }
};

struct Reader {
  const char* at;
  const char* end;
  const char* take(uint64_t bytes) {
    if (bytes > static_cast<uint64_t>(end - at)) refuse("they end too early");
    const char* start = at;
    at += bytes;
    return start;
  }
  uint64_t number() {
    uint64_t v;
    std::memcpy(&v, take(sizeof v), sizeof v);
    return v;
  }
  std::string name() {
    const char* start = take(kNameBytes);
    const void* zero = std::memchr(start, 0, kNameBytes);
    if (!zero) refuse("a name is not closed");
    return std::string(start, static_cast<const char*>(zero));
  }
  // `count` pieces of `bytes` each must follow: before memory is asked for
  const char* take(uint64_t count, uint64_t bytes) {
    if (bytes != 0 && count > static_cast<uint64_t>(end - at) / bytes) refuse("they end too early");
    return take(count * bytes);
  }
};

}  // namespace

uint64_t hash_bytes(const void* data, size_t size, uint64_t seed) {
  // word by word: xor, multiplication by an odd number and a shifted xor are each reversible, so one changed
  // word always changes the result
  uint64_t h = seed ^ (static_cast<uint64_t>(size) * 0x9e3779b97f4a7c15u);
  const char* p = static_cast<const char*>(data);
  static_assert(kBytesOfTurn % 8 == 0);
  in_turns(size, [&](size_t begin, size_t count) {
    for (size_t i = begin; i < begin + count; i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, p + i, size - i < 8 ? size - i : 8);
      h = (h ^ word) * 0xff51afd7ed558ccdu;
      h ^= h >> 32;
    }
  });
  return h;
}

std::string encode(const Checkpoint& c) {
  Writer w;
  // room for all of it
  constexpr size_t kHeader = 128;
  size_t size = kHeader;
  for (const SavedArray& array : c.arrays) size += kHeader + array.rows.size();
  for (const SavedParameter& parameter : c.parameters) {
    size += kHeader + parameter.rows.size();
    // those that have none have no width
    for (const auto& row : parameter.rows) size += row.size() * sizeof(double);
  }
  w.out.reserve(size);
  w.out.append(kMagic, 8);
  for (const uint64_t v :
       {kVersion, kByteOrder, c.real_bytes, c.model, c.num_envs, static_cast<uint64_t>(c.arrays.size()),
        static_cast<uint64_t>(c.parameters.size())}) {
    w.number(v);
  }
  for (const SavedArray& array : c.arrays) {
    w.name(array.name);
    w.number(array.row_bytes);
    w.bytes(array.rows.data(), array.rows.size());
  }
  for (const SavedParameter& parameter : c.parameters) {
    w.name(parameter.name);
    w.number(parameter.width);
    for (const auto& row : parameter.rows) w.out.push_back(row.empty() ? 0 : 1);
    for (const auto& row : parameter.rows) {
      stop_if_told();
      w.bytes(row.data(), row.size() * sizeof(double));
    }
  }
  w.number(hash_bytes(w.out.data(), w.out.size(), 0));
  return std::move(w.out);
}

Checkpoint decode(std::string_view bytes) {
  const size_t header = 8 * 8;
  if (bytes.size() < header + 8) {
    refuse("there are " + std::to_string(bytes.size()) + " of them, fewer than any state has");
  }
  if (std::memcmp(bytes.data(), kMagic, 8) != 0) refuse("they do not begin as a state does");
  Reader r{bytes.data() + 8, bytes.data() + bytes.size() - 8};
  const uint64_t version = r.number();
  if (version != kVersion) {
    refuse("they have version " + std::to_string(version) + ", and this build reads version " +
           std::to_string(kVersion));
  }
  if (r.number() != kByteOrder) refuse("they come from a machine of another byte order");
  uint64_t checksum;
  std::memcpy(&checksum, r.end, sizeof checksum);
  if (checksum != hash_bytes(bytes.data(), bytes.size() - 8, 0)) {
    refuse("their checksum is wrong; they are cut off or corrupted");
  }
  Checkpoint c;
  c.real_bytes = r.number();
  c.model = r.number();
  c.num_envs = r.number();
  const uint64_t arrays = r.number(), parameters = r.number();
  for (uint64_t i = 0; i < arrays; ++i) {
    SavedArray array;
    array.name = r.name();
    array.row_bytes = r.number();
    const char* rows = r.take(c.num_envs, array.row_bytes);
    const size_t size = c.num_envs * array.row_bytes;
    array.rows.reserve(size);
    in_turns(size, [&](size_t begin, size_t count) { array.rows.append(rows + begin, count); });
    c.arrays.push_back(std::move(array));
  }
  for (uint64_t i = 0; i < parameters; ++i) {
    SavedParameter parameter;
    parameter.name = r.name();
    parameter.width = r.number();
    const char* own = r.take(c.num_envs);
    parameter.rows.resize(c.num_envs);
    for (uint64_t e = 0; e < c.num_envs; ++e) {
      if (!own[e]) continue;
      stop_if_told();
      const char* row = r.take(parameter.width, sizeof(double));
      parameter.rows[e].resize(parameter.width);
      if (parameter.width > 0) std::memcpy(parameter.rows[e].data(), row, parameter.width * sizeof(double));
    }
    c.parameters.push_back(std::move(parameter));
  }
  if (r.at != r.end) refuse("more follows where they should end");
  return c;
}

}  // namespace dualstep
