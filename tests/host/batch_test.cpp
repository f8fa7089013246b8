// The table of fields is the struct that kernels see; a step asks for no memory; arrays are where they should
// be.
#include "host/batch/batch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "allocations.h"
#include "host/backends/cpu/cpu_backend.h"
#include "host/batch/checkpoint.h"
#include "host/interruption.h"
#include "tiny_model.h"

namespace dualstep {
namespace {

BatchOptions options(int num_envs, int threads = 2) {
  BatchOptions o;
  o.num_envs = num_envs;
  o.device.device = "cpu";
  o.device.num_threads = threads;
  return o;
}

template <class T>
T* data(Batch& batch, const char* name) {
  return static_cast<T*>(batch.array(name)->data.get());
}

template <class Scalar>
void table_is_struct() {
  size_t pointers = 0, beside = 0;
  std::set<std::string> names;
  for (const BatchField& field : batch_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name << " stands twice";
    EXPECT_FALSE(field.meaning.empty()) << field.name;
    if (field.name == "reset_count") {
      beside++;
    } else {
      pointers +=
          field.role == FieldRole::kState ? 2 : 1;  // the state, and what the last evaluation saw of it
    }
  }
  EXPECT_EQ(beside, 1u);
  // one int (padded to a pointer), then nothing but the arrays of the table
  EXPECT_EQ(sizeof(BatchView<Scalar>), (1 + pointers) * sizeof(void*));
}

TEST(Fields, TableIsStruct) {
  table_is_struct<float>();
  table_is_struct<double>();
}

TEST(Fields, ShapesHoldTheWidths) {
  Sizes sizes{};
  // different primes, so that no two sizes can be taken for each other
  const int primes[] = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29, 31,  37,  41,  43,  47,
                        53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113};
  int values[sizeof(Sizes) / sizeof(int)];
  for (size_t i = 0; i < std::size(values); ++i) values[i] = primes[i % std::size(primes)];
  std::memcpy(&sizes, values, sizeof sizes);
  for (const BatchField& field : batch_fields()) {
    long product = 1;
    for (const int axis : field_shape(field, sizes)) product *= axis;
    EXPECT_EQ(product, field_width(field, sizes)) << field.name;
  }
}

TEST(Batch, EveryArrayReachesTheKernels) {
  // outputs begin as NaN, integers as -1: whoever is not connected stays so
  Batch batch(tiny_model(), options(5));
  for (const BatchField& field : batch_fields()) batch.array(field.name);
  batch.reset(nullptr, 0);
  batch.step(2);
  for (const BatchField& field : batch_fields()) {
    const BatchArray& array = *batch.array(field.name);
    ASSERT_NE(array.data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data.get()) % 64, 0u) << field.name;
    if (array.row_bytes == 0) continue;
    const std::string untouched(array.row_bytes * 5, '\xff');
    EXPECT_NE(std::memcmp(array.data.get(), untouched.data(), untouched.size()), 0) << field.name;
  }
  EXPECT_EQ(batch.array("nonsense"), nullptr);
}

TEST(Batch, StepAllocatesNothing) {
  if (!test::counts_allocations()) GTEST_SKIP() << "a sanitizer owns the allocator";
  for (const bool wanted : {false, true}) {
    for (const bool reset : {false, true}) {
      BatchOptions o = options(100);
      o.reset_diverged = reset;
      Batch batch(tiny_model(), o);
      if (wanted) {
        for (const BatchField& field : batch_fields()) batch.array(field.name);
      }
      batch.reset(nullptr, 0);
      batch.step(1);
      float* qvel = data<float>(batch, "qvel");
      const auto disturb = [qvel] { qvel[7 * 13] = std::numeric_limits<float>::quiet_NaN(); };
      disturb();
      batch.step(1);  // the first reset of a diverged environment may make room for its replay
      const long before = test::allocations();
      for (int i = 0; i < 50; ++i) {
        if (i % 10 == 0) disturb();
        batch.step(2);
      }
      batch.forward();
      EXPECT_EQ(test::allocations(), before) << "outputs " << wanted << ", reset " << reset;
      EXPECT_EQ(data<uint32_t>(batch, "reset_count")[13], reset ? 6u : 0u);
    }
  }
}

TEST(Batch, MemoryIsCounted) {
  if (!test::counts_allocations()) GTEST_SKIP() << "a sanitizer owns the allocator";
  const long before = test::allocations();
  const std::vector<double> vector(1000);
  const auto aligned = allocate_aligned(1000);
  void* volatile plain = std::malloc(10);
  std::free(plain);
  // one of operator new, one of malloc, and aligned memory with its counter
  EXPECT_EQ(test::allocations() - before, 4);
  EXPECT_EQ(vector[0], 0);
}

// what a step changes, array by array
std::vector<std::string> state(Batch& batch) {
  std::vector<std::string> arrays;
  for (const BatchField& field : batch_fields()) {
    const bool record = field.name == "time" || field.name == "status" || field.name == "iterations" ||
                        field.name == "residual";
    if (field.role != FieldRole::kState && !record) continue;
    const BatchArray& array = *batch.array(field.name);
    arrays.emplace_back(static_cast<const char*>(array.data.get()),
                        array.row_bytes * static_cast<size_t>(batch.num_envs()));
  }
  return arrays;
}

// whether a call ends before it was told to stop, by the question behind so many
template <class F>
bool whole_within(int questions, F call) {
  int asked = 0;
  const Interruptible interruptible([&] { return ++asked > questions; }, std::chrono::nanoseconds(0));
  try {
    call();
    return true;
  } catch (const Interrupted&) {
    return false;
  }
}

TEST(Interruption, WhoToldOnceToldForGood) {
  int asked = 0;
  EXPECT_FALSE(Interruptible::anyone());
  EXPECT_FALSE(Interruptible::told());
  {
    const Interruptible outer([&] { return ++asked == 2; }, std::chrono::nanoseconds(0));
    EXPECT_TRUE(Interruptible::anyone());
    EXPECT_FALSE(Interruptible::told());
    {
      const Uninterrupted whole;
      EXPECT_FALSE(Interruptible::anyone());
      EXPECT_FALSE(Interruptible::told());
      std::thread([] { EXPECT_FALSE(Interruptible::told()); }).join();
    }
    EXPECT_EQ(asked, 1);
    EXPECT_TRUE(Interruptible::told());
    EXPECT_TRUE(Interruptible::told());
    EXPECT_EQ(asked, 2);
    EXPECT_THROW(stop_if_told(), Interrupted);
  }
  EXPECT_NO_THROW(stop_if_told());
  // not before its time
  const Interruptible late([&] { return ++asked > 0; }, std::chrono::hours(1));
  EXPECT_FALSE(Interruptible::told());
  EXPECT_EQ(asked, 2);
}

// told to stop at every question that a call asks, one after the other: all or nothing has changed
TEST(Interruption, LeavesNothingHalfMade) {
  constexpr int kEnvs = 20;
  Batch batch(tiny_model(), options(kEnvs)), other(tiny_model(), options(kEnvs));
  std::vector<int> all(kEnvs);
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> values(3 * kEnvs);
  for (size_t i = 0; i < values.size(); ++i) values[i] = -1 - 0.1 * static_cast<double>(i);
  other.set_parameter("opt_gravity", values, all);
  other.step(3);
  (void)batch.array("xpos");
  const std::string before = batch.save(all), after = other.save(all);
  const auto stands = [&](const std::string& one, const std::string& two) {
    const std::string now = batch.save(all);
    EXPECT_TRUE(now == one || now == two);
    return now == two;
  };
  int stopped = 0;
  const auto more = [](int questions) { return questions + 1 + questions / 8; };
  for (int questions = 0; !whole_within(questions, [&] { batch.load(after, all); });
       questions = more(questions)) {
    ++stopped;
    // outputs alone may be left to do
    if (stands(before, after)) batch.load(before, all);
  }
  EXPECT_GT(stopped, 10);
  EXPECT_EQ(batch.save(all), after);
  const std::vector<double> was = batch.get_parameter("opt_gravity", all);
  for (double& value : values) value *= 2;
  for (int questions = 0; !whole_within(questions, [&] { batch.set_parameter("opt_gravity", values, all); });
       questions = more(questions)) {
    const std::vector<double> now = batch.get_parameter("opt_gravity", all);
    EXPECT_TRUE(now == was || now == values);
    if (now == values) batch.set_parameter("opt_gravity", was, all);
    Batch twin(tiny_model(), options(kEnvs));
    twin.load(batch.save(all), all);
    // the kernels' tables are those of the parameters
    batch.step(1);
    twin.step(1);
    EXPECT_EQ(batch.save(all), twin.save(all));
  }
  EXPECT_EQ(batch.get_parameter("opt_gravity", all), values);
  for (int questions = 0; !whole_within(questions, [&] { (void)batch.save(all); }); ++questions) ++stopped;
  for (int questions = 0; !whole_within(questions, [&] { (void)Batch(tiny_model(), options(kEnvs, 1)); });
       questions = more(questions))
    ++stopped;
  EXPECT_GT(stopped, 40);
}

// environments that had done a substep when it was stopped have not: with packs that change places, and that do not
TEST(Batch, ASubstepThatIsStoppedIsNone) {
  for (const int count : {40, 3000}) {
    for (const int threads : {1, 2}) {
      BatchOptions o = options(count);
      o.device.num_threads = threads;
      Batch batch(tiny_model(), o), twin(tiny_model(), o);
      std::vector<int> all(count);
      std::iota(all.begin(), all.end(), 0);
      for (Batch* each : {&batch, &twin}) {
        float* qpos = data<float>(*each, "qpos");
        for (int e = 0; e < count; ++e) qpos[8 * e + 7] = 1e-3f * static_cast<float>(e);
        each->step(30);
      }
      int stopped = 0;
      for (const int turns : {1, 7, 20, 25, 40}) {
        const std::vector<std::string> before = state(batch);
        const bool whole = whole_within(turns, [&] { batch.step(1); });
        EXPECT_EQ(state(batch) == before, !whole);
        stopped += whole ? 0 : 1;
        if (whole) twin.step(1);
      }
      EXPECT_GE(stopped, count > 1000 ? 2 : 1) << count << " environments, " << threads << " threads";
      EXPECT_FALSE(whole_within(0, [&] { batch.forward(); }));
      batch.step(3);
      twin.step(3);
      EXPECT_EQ(batch.save(all), twin.save(all));
      EXPECT_EQ(data<float>(batch, "xpos")[3 * 3 * 39 + 5], data<float>(twin, "xpos")[3 * 3 * 39 + 5]);
    }
  }
}

TEST(Batch, ResetReplaysOnlyItsBlocks) {
  Batch batch(tiny_model(), options(64));
  const float* xpos = data<float>(batch, "xpos");
  batch.step(3);
  // what stands in another block is left alone: a mark there survives
  float* marked = const_cast<float*>(xpos) + 9 * 63;
  *marked = 123;
  std::vector<uint8_t> mask(64, 0);
  mask[1] = 1;
  batch.reset(mask.data(), -1);
  EXPECT_EQ(*marked, 123);
  EXPECT_EQ(xpos[9 * 1 + 5], 0.2f);
}

TEST(Batch, StepsAreChecked) {
  Batch batch(tiny_model(), options(2));
  EXPECT_THROW(batch.step(0), std::invalid_argument);
  EXPECT_THROW(batch.reset(nullptr, 1), std::invalid_argument);
  EXPECT_THROW(Batch(tiny_model(), options(0)), std::invalid_argument);
  EXPECT_THROW(batch.load("dualstep", {0}), std::invalid_argument);
}

TEST(Batch, HashIsOfTheMechanics) {
  const Model model = tiny_model();
  Model other = model;
  EXPECT_EQ(model_hash(model), model_hash(other));
  other.geom_rgba[0] = 0.5;
  EXPECT_EQ(model_hash(model), model_hash(other));
  other.body_mass[1] = std::nextafter(other.body_mass[1], 2.0);
  EXPECT_NE(model_hash(model), model_hash(other));
}

TEST(Checkpoint, HashSeesEveryBit) {
  std::string bytes(37, 'x');
  const uint64_t before = hash_bytes(bytes.data(), bytes.size(), 0);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string other = bytes;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(hash_bytes(other.data(), other.size(), 0), before) << bit;
  }
  EXPECT_NE(hash_bytes(bytes.data(), bytes.size() - 1, 0), before);
  EXPECT_NE(hash_bytes(bytes.data(), bytes.size(), 1), before);
}

TEST(Checkpoint, ComesBackAsItWas) {
  Checkpoint c;
  c.model = 12345;
  c.real_bytes = 4;
  c.num_envs = 3;
  c.arrays = {{"qpos", 8, std::string(24, 'q')}, {"empty", 0, ""}};
  c.parameters = {{"body_mass", 2, {{1, 2}, {}, {3, 4}}}};
  const Checkpoint back = decode(encode(c));
  EXPECT_EQ(back.model, c.model);
  EXPECT_EQ(back.num_envs, c.num_envs);
  ASSERT_EQ(back.arrays.size(), 2u);
  EXPECT_EQ(back.arrays[0].rows, c.arrays[0].rows);
  EXPECT_EQ(back.arrays[1].name, "empty");
  ASSERT_EQ(back.parameters.size(), 1u);
  EXPECT_EQ(back.parameters[0].rows, c.parameters[0].rows);
}

// bytes changed at random under a checksum that fits: decoded or refused, never followed blindly
TEST(Checkpoint, SurvivesForgery) {
  Checkpoint c;
  c.real_bytes = 4;
  c.num_envs = 3;
  c.arrays = {{"qpos", 8, std::string(24, 'q')}, {"time", 8, std::string(24, 't')}};
  c.parameters = {{"body_mass", 2, {{1, 2}, {}, {3, 4}}}, {"opt_gravity", 3, {{}, {}, {0, 0, 1}}}};
  const std::string good = encode(c);
  std::minstd_rand draw(1);
  int refused = 0, taken = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good.substr(0, good.size() - 8);
    if (draw() % 4 == 0) bytes.resize(draw() % (bytes.size() + 1));
    for (unsigned k = draw() % 4; k > 0 && !bytes.empty(); --k) {
      const size_t at = draw() % bytes.size();
      if (draw() % 2) {
        bytes[at] = static_cast<char>(draw());
      } else if (at + 8 <= bytes.size()) {
        const uint64_t words[] = {0, 1, 1u << 31, 1ull << 61, 1ull << 63, ~0ull};
        std::memcpy(&bytes[at], &words[draw() % std::size(words)], 8);
      }
    }
    const uint64_t sum = hash_bytes(bytes.data(), bytes.size(), 0);
    bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
    try {
      const Checkpoint back = decode(bytes);
      for (const SavedArray& array : back.arrays) {
        ASSERT_EQ(array.rows.size(), back.num_envs * array.row_bytes);
      }
      ++taken;
    } catch (const std::invalid_argument&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2000);
  EXPECT_GT(taken, 2000);
}

}  // namespace
}  // namespace dualstep
