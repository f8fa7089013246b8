// A model's arrays by name, from a file that tests/python/support/raw_models.py made of what MuJoCo compiled: models for
// programs that have neither MuJoCo nor Python.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "host/model/model.h"

namespace dualstep {

inline std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

inline RawModel read_raw(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("there is no file of a model '" + path + "'");
  RawModel raw;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, name, hex;
    words >> kind >> name;
    if (kind == "size") words >> raw.sizes[name];
    for (int v; kind == "int" && words >> v;) raw.ints[name].push_back(v);
    for (double v; kind == "real" && words >> v;) raw.reals[name].push_back(v);
    for (double v; kind == "option" && words >> v;) raw.option[name].push_back(v);
    if (kind == "int") raw.ints[name];
    if (kind == "real") raw.reals[name];
    if (kind == "names" || kind == "text") (kind == "names" ? raw.names : raw.text) = from_hex(name);
  }
  return raw;
}

}  // namespace dualstep
