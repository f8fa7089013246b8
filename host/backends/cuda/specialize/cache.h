// Files of machine code by key, in $DUALSTEP_CACHE_DIR, $XDG_CACHE_HOME/dualstep or ~/.cache/dualstep. A file
// is written under another name and then renamed, so that nobody reads half of one; it carries its key and a
// hash of what it holds, and one that does not fit them is as good as absent, as is one that somebody else could
// have written. Nothing here fails: a cache that cannot be read or written costs time only.
#pragma once

#include <optional>
#include <string>

namespace dualstep {

// 32 hexadecimal digits of FNV-1a, 128 bits (Fowler, Noll, Vo)
std::string digest(const std::string& bytes);

// the folder; "" where the environment names none
std::string cache_folder();
// what a file holds: machine code, or the key of the machine code that was made last
enum class Kept { kCode, kKey };
// "", or why machine code is not taken from there: another user than this one, or root, owns it or may write to it,
// or may put something else in its place
std::string distrust(const std::string& path);
// a file's bytes; none where it is missing or damaged
std::optional<std::string> cache_read(const std::string& key, Kept kind = Kept::kCode);
// false where it could not be written
bool cache_write(const std::string& key, const std::string& bytes, Kept kind = Kept::kCode);

}  // namespace dualstep
