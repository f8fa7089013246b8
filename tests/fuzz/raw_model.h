// Changes to the arrays of a model that follow from bytes.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "tests/support/read_raw.h"

namespace dualstep::fuzz {

// bytes, taken from the front; zeros behind the end
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool any() const { return left_ > 0; }
  uint32_t take(int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; ++i) value = value << 8 | (left_ > 0 ? (--left_, *data_++) : 0u);
    return value;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

inline int changed_int(Bytes* bytes, int now, const std::vector<int>& others) {
  const int by = static_cast<int>(bytes->take(1) % 5);
  switch (bytes->take(1) % 6) {
    case 0:
      return static_cast<int>(static_cast<uint32_t>(now) + static_cast<uint32_t>(by) + 1);
    case 1:
      return static_cast<int>(static_cast<uint32_t>(now) - static_cast<uint32_t>(by) - 1);
    case 2:
      return others[bytes->take(2) % others.size()];
    case 3:
      return by - 2;
    case 4:
      return by % 2 ? std::numeric_limits<int>::max() - by : std::numeric_limits<int>::min() + by;
    default:
      return static_cast<int>(bytes->take(4));
  }
}

inline double changed_real(Bytes* bytes, double now, const std::vector<double>& others) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kSome[] = {0, -1, 1, kNan, kInf, -kInf, 1e300, -1e300, 1e-300, 1e9, 1e18, 0.5};
  switch (bytes->take(1) % 4) {
    case 0:
      return kSome[bytes->take(1) % 12];
    case 1:
      return -now;
    case 2:
      return now * (1 + bytes->take(1) / 16.0);
    default:
      return others[bytes->take(2) % others.size()];
  }
}

template <class Map, class Change>
void change_one(Bytes* bytes, Map* arrays, Change change) {
  if (arrays->empty()) return;
  auto it = std::next(arrays->begin(), bytes->take(2) % arrays->size());
  auto& values = it->second;
  if (values.empty()) return;
  auto& value = values[bytes->take(2) % values.size()];
  value = change(bytes, value, values);
}

// a few changes, most of them to integers
inline void change(RawModel* raw, const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  for (int changes = 0; bytes.any() && changes < 8; ++changes) {
    const uint32_t kind = bytes.take(1) % 16;
    if (kind < 10) {
      change_one(&bytes, &raw->ints, changed_int);
    } else if (kind < 13) {
      change_one(&bytes, &raw->reals, changed_real);
    } else if (kind == 13) {
      change_one(&bytes, &raw->option, changed_real);
    } else if (kind == 14) {
      auto it = std::next(raw->sizes.begin(), bytes.take(1) % raw->sizes.size());
      it->second += static_cast<int>(bytes.take(1) % 5) - 2;
    } else {
      auto it = std::next(raw->ints.begin(), bytes.take(2) % raw->ints.size());
      it->second.resize(it->second.size() / 2);
    }
  }
}

}  // namespace dualstep::fuzz
