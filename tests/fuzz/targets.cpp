#include "targets.h"

#include <algorithm>
#include <filesystem>

#include "host/batch/batch.h"
#include "host/batch/checkpoint.h"
#include "host/model/unsupported.h"
#include "host/reference/reference.h"
#include "raw_model.h"

namespace dualstep::fuzz {
namespace {

const std::vector<RawModel>& corpus() {
  static const std::vector<RawModel> models = [] {
    std::vector<std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(CORPUS))
      files.push_back(file.path().string());
    std::sort(files.begin(), files.end());
    std::vector<RawModel> read;
    for (const std::string& file : files) read.push_back(read_raw(file));
    return read;
  }();
  return models;
}

BatchOptions few() {
  BatchOptions o;
  o.num_envs = 3;
  o.device.device = "cpu";
  o.device.num_threads = 1;
  return o;
}

}  // namespace

bool run_model(const uint8_t* data, size_t size) {
  if (size < 2) return false;
  RawModel raw = corpus()[data[0] % corpus().size()];
  change(&raw, data + 1, size - 1);
  try {
    const Model model = load_model(raw);
    check_model(model);
    reference::Reference reference(model);
    reference.step(1);
    check_kernels(model);
    Batch batch(model, few());
    batch.step(2);
    for (const BatchField& field : batch_fields()) batch.array(field.name);
    batch.step(1);
    return true;
  } catch (const InvalidModelError&) {
  } catch (const UnsupportedModelError&) {
  }
  return false;
}

bool run_checkpoint(const uint8_t* data, size_t size) {
  static const Model model = load_model(read_raw(CORPUS "/links.raw"));
  static Batch batch(model, few());
  static const std::string whole = [] {
    batch.set_parameter("opt_gravity", {0, 0, -5}, {1});
    batch.step(3);
    return batch.save({0, 1, 2});
  }();
  Bytes bytes(data, size);
  std::string state = whole;
  const uint32_t how = bytes.take(1) % 4;
  if (how < 2) {
    // as it lies in a file
    for (int k = 0; bytes.any() && k < 16; ++k) {
      const size_t at = bytes.take(3) % state.size();
      state[at] = static_cast<char>(bytes.take(1));
    }
    if (how == 1) state.resize(bytes.take(3) % (state.size() + 1));
  } else {
    // with a hash that fits
    Checkpoint c = decode(whole);
    for (int k = 0; bytes.any() && k < 8; ++k) {
      SavedArray& array = c.arrays[bytes.take(1) % c.arrays.size()];
      if (!array.rows.empty())
        array.rows[bytes.take(2) % array.rows.size()] = static_cast<char>(bytes.take(1));
      const uint32_t more = bytes.take(1);
      if (more == 1) array.row_bytes += bytes.take(1);
      if (more == 2) array.rows.resize(array.rows.size() / 2);
      if (more == 3) c.arrays.pop_back();
      if (more == 4) c.num_envs += bytes.take(1);
      if (more == 5 && !c.parameters.empty()) c.parameters[0].name = "geom_size";
      if (more == 6 && !c.parameters.empty()) c.parameters[0].width = bytes.take(4);
      if (more == 7 && !c.parameters.empty() && !c.parameters[0].rows.empty())
        c.parameters[0].rows.pop_back();
      if (c.arrays.empty()) break;
    }
    state = encode(c);
  }
  try {
    batch.load(state, {0, 1, 2});
  } catch (const std::invalid_argument&) {
    return false;
  } catch (const UnsupportedModelError&) {
    return false;
  }
  batch.step(1);
  return true;
}

}  // namespace dualstep::fuzz
