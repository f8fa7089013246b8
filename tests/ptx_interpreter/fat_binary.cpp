#include "fat_binary.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "ptx.h"

namespace ptx_interpreter {
namespace {

// The format is not documented. Read from what nvcc 12 and 13 write: a header, then entries, each with a
// header of its own; numbers are little-endian.
struct FatHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // of all entries
};
struct EntryHeader {
  uint16_t kind, version;  // 1: PTX, 2: machine code
  uint32_t header_bytes;
  uint64_t bytes;
  uint32_t compressed_bytes, options;
  uint16_t minor, major;
  uint32_t arch, name, name_bytes;
  uint64_t flags, zero, text_bytes;
};
constexpr uint32_t kMagic = 0xba55ed50, kZstd = 0xfd2fb528;

template <class T>
T at(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

std::string decompressed(const char* data, size_t bytes, size_t text_bytes) {
  void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  using Decompress = size_t (*)(void*, size_t, const void*, size_t);
  const auto decompress = library ? reinterpret_cast<Decompress>(dlsym(library, "ZSTD_decompress")) : nullptr;
  if (!decompress)
    throw PtxError("libzstd.so.1, which unpacks PTX, is not here (Debian, Ubuntu: apt install libzstd1)");
  std::string text(text_bytes, '\0');
  const size_t found = decompress(text.data(), text.size(), data, bytes);
  if (found != text_bytes) throw PtxError("PTX that cannot be unpacked");
  return text;
}

}  // namespace

std::string ptx_of_fat_binary(const void* fat_binary) {
  const char* p = static_cast<const char*>(fat_binary);
  const auto header = at<FatHeader>(p);
  if (header.magic != kMagic) throw PtxError("a fat binary of another format than is known");
  p += header.header_bytes;
  for (const char* const end = p + header.bytes; p < end;) {
    const auto entry = at<EntryHeader>(p);
    const char* const data = p + entry.header_bytes;
    if (entry.kind == 1) {
      if (entry.compressed_bytes == 0) return std::string(data, strnlen(data, entry.bytes));
      if (at<uint32_t>(data) != kZstd) throw PtxError("PTX that is packed in another way than is known");
      return decompressed(data, entry.compressed_bytes, entry.text_bytes);
    }
    p = data + entry.bytes;
  }
  throw PtxError("no PTX in a fat binary");
}

}  // namespace ptx_interpreter
