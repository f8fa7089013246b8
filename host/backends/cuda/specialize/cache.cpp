#include "host/backends/cuda/specialize/cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace dualstep {
namespace {

namespace fs = std::filesystem;

const char kMagic[] = "dualstep machine code, format 1";

fs::path path_of(const std::string& key, Kept kind) {
  return fs::path(cache_folder()) / (key + (kind == Kept::kCode ? ".cubin" : ".latest"));
}

}  // namespace

std::string digest(const std::string& bytes) {
  using Wide = unsigned __int128;
  const Wide prime = (static_cast<Wide>(1) << 88) + 0x13b;
  Wide hash = (static_cast<Wide>(0x6c62272e07bb0142) << 64) + 0x62b821756295c58d;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  std::string digits;
  for (int shift = 124; shift >= 0; shift -= 4)
    digits += "0123456789abcdef"[static_cast<int>(hash >> shift) & 15];
  return digits;
}

std::string cache_folder() {
  const auto named = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::string(value ? value : "");
  };
  if (const std::string own = named("DUALSTEP_CACHE_DIR"); !own.empty()) return own;
  if (const std::string all = named("XDG_CACHE_HOME"); !all.empty()) return all + "/dualstep";
  if (const std::string home = named("HOME"); !home.empty()) return home + "/.cache/dualstep";
  return "";
}

std::string distrust(const std::string& path) {
  struct stat found;
  if (lstat(path.c_str(), &found) != 0) return "'" + path + "' is not there";
  if (S_ISLNK(found.st_mode) && stat(path.c_str(), &found) != 0) return "'" + path + "' leads nowhere";
  if (found.st_uid != geteuid() && found.st_uid != 0)
    return "'" + path + "' belongs to another user (" + std::to_string(found.st_uid) + ")";
  if (found.st_mode & (S_IWGRP | S_IWOTH)) return "'" + path + "' can be written by others";
  // who may write to a folder above may put another in its place, where no sticky bit is set
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  if (error) return "'" + path + "' leads nowhere";
  struct stat root;
  if (stat("/", &root) != 0) return "'/' is not there";
  for (fs::path above = whole.parent_path(); !above.empty(); above = above.parent_path()) {
    if (stat(above.c_str(), &found) != 0) return "'" + above.string() + "' is not there";
    const bool ours = found.st_uid == geteuid() || found.st_uid == 0 || found.st_uid == root.st_uid;
    const bool others_write = (found.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !(found.st_mode & S_ISVTX);
    if (!ours || others_write)
      return "'" + above.string() + "' above '" + path + "' " +
             (ours ? "can be written by others"
                   : "belongs to another user (" + std::to_string(found.st_uid) + ")");
    if (above == above.root_path()) break;
  }
  return "";
}

std::optional<std::string> cache_read(const std::string& key, Kept kind) {
  if (cache_folder().empty()) return std::nullopt;
  if (!distrust(cache_folder()).empty() || !distrust(path_of(key, kind)).empty()) return std::nullopt;
  std::ifstream file(path_of(key, kind), std::ios::binary);
  std::string magic, name, hash;
  if (!std::getline(file, magic) || !std::getline(file, name) || !std::getline(file, hash))
    return std::nullopt;
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (magic != kMagic || name != key || hash != digest(bytes)) return std::nullopt;
  return bytes;
}

bool cache_write(const std::string& key, const std::string& bytes, Kept kind) {
  if (cache_folder().empty()) return false;
  std::error_code error;
  // for this user alone
  if (fs::create_directories(cache_folder(), error))
    fs::permissions(cache_folder(), fs::perms::owner_all, error);
  if (!distrust(cache_folder()).empty()) return false;
  static std::atomic<int> count{0};
  fs::path part = path_of(key, kind);
  part += "." + std::to_string(getpid()) + "." + std::to_string(count++) + ".part";
  {
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file << kMagic << '\n' << key << '\n' << digest(bytes) << '\n' << bytes;
    file.close();
    if (!file) {
      fs::remove(part, error);
      return false;
    }
  }
  fs::permissions(part, fs::perms::owner_read | fs::perms::owner_write, error);
  fs::rename(part, path_of(key, kind), error);
  if (!error) return true;
  fs::remove(part, error);
  return false;
}

}  // namespace dualstep
