// Which stage reads and writes which array of the workspace is what the tables say: the stage column of fields.inl,
// and accesses.inl.
//
// The stages run with numbers that record their use (recorded.h), one environment, on every scene of
// tests/support/models.h. Where accesses.inl does not hold, the failure prints the rows that would.
#define DUALSTEP_ISA recorded
#include "tests/emulator/recorded.h"
// after it: the kernels find the functions of its number
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "kernels/step.h"
#include "tests/support/rollout.h"

namespace dualstep {
namespace {

constexpr const char* kStageNames[] = {
#define DS_STAGE_NAME(name) #name,
    DS_STAGES(DS_STAGE_NAME)
#undef DS_STAGE_NAME
};

struct RecordingEnv : Env<Recorded, SerialLanes> {
  void time_stage(Stage stage) const { recorder.end_stage(stage); }
};

struct Row {
  std::string name, stage;
};
const std::vector<Row>& rows_of_table() {
  static const std::vector<Row> rows = {
#define SCRATCH(name, size, stage, meaning) {#name, #stage},
#include "kernels/data/fields.inl"
  };
  return rows;
}

// which array each number of the workspace belongs to
std::vector<int> owners_of(const Layout& l) {
  const std::vector<int> begins = {
#define SCRATCH(name, size, stage, meaning) l.name,
#include "kernels/data/fields.inl"
      l.total};
  std::vector<int> owners;
  for (size_t a = 0; a + 1 < begins.size(); a++)
    owners.resize(static_cast<size_t>(begins[a + 1]), static_cast<int>(a));
  return owners;
}

// run_environment, with the snapshot of the state told apart from the stages that follow it; the order is that of
// DS_PARTS and of the stages of each part
template <int kDim, bool kByRows>
void run_recorded(RecordingEnv& env, const BatchView<float>& batch, const StepArgs& args) {
  const EnvIO<RecordingEnv> in(env, batch, args);
  in.load();
  env.time_stage(kStage_load);
  EvalIndex m;
  do {
    each_part([&](auto part) {
      constexpr Part kPart = decltype(part)::kPart;
      begin_part<kPart>(env, in, m);
      env.time_stage(kStage_store);
      stages_of_part<kPart, kDim, kByRows>(env, in);
      // impacts are added after the clock's last
      if constexpr (kPart == kPart_solve) env.time_stage(kStage_finish);
    });
    integrate(env, in, m);
  } while (advance(args, num_stages(env.t.o.integrator), &m));
}

void run_scene(const Scene& scene) {
  Rollout<float> rollout(scene, 1);
  const auto& t = rollout.tables;
  std::vector<Recorded> reals(static_cast<size_t>(t.l.total));
  std::vector<int> words(static_cast<size_t>(pool_words<float>(t.n)));
  recorder.watch(reals.data(), owners_of(t.l), static_cast<int>(rows_of_table().size()));
  const SerialLanes lanes;
  for (int step = 0; step < 12; step++)
    rollout.step([&](const StepArgs& args) {
      for (Recorded& x : reals) x.v = NAN;
      RecordingEnv env{make_env(t, lanes, Workspace<Recorded>{reals.data(), words.data()}, 0)};
      const bool by_rows = t.o.weights == kWeighsRows;
      if (t.n.kdim == 3)
        by_rows ? run_recorded<3, true>(env, rollout.batch, args)
                : run_recorded<3, false>(env, rollout.batch, args);
      else
        by_rows ? run_recorded<6, true>(env, rollout.batch, args)
                : run_recorded<6, false>(env, rollout.batch, args);
    });
}

// enough trees that islands are solved apart: balls that lie on a belt and push each other
Scene many_balls() {
  ModelBuilder b;
  b.geom(0, {.type = kPlane});
  for (int i = 0; i < 10; i++) {
    const int ball = b.body(0, {0.09 * i, 0.01 * (i % 2), 0.05}, 0.3);
    b.joint(ball, {.type = kFree});
    b.geom(ball, {.size = {0.05, 0, 0}});
  }
  return {"many_balls", scenes::on_belts(scenes::with_options(b, {{"cone", {1}}}))};
}

struct Found {
  std::vector<AccessRecorder::Access> without_impacts, all;
};
const Found& accesses() {
  static const Found found = [] {
    Found f;
    for (const bool impacts : {false, true}) {
      if (!impacts) run_scene(many_balls());
      for (const Scene& scene : all_scenes())
        if ((scene.model.opt.contact_model == ContactModel::kImpulsive) == impacts) run_scene(scene);
      (impacts ? f.all : f.without_impacts) = recorder.access();
    }
    return f;
  }();
  return found;
}

std::string words_of(const AccessRecorder::Stages& stages) {
  std::string words;
  for (int s = 0; s < kStages; s++)
    if (stages[static_cast<size_t>(s)]) words += (words.empty() ? "" : " ") + std::string(kStageNames[s]);
  return words;
}

// the solver is one stage of the table and three of the clock; impacts belong to the rows
std::string stage_of_table(const std::string& stage) {
  if (stage == "sweeps" || stage == "newton" || stage == "finish") return "solve";
  return stage;
}

TEST(Accesses, AreThoseOfTheTable) {
  struct Declared {
    std::string writers, readers;
  };
  const std::map<std::string, Declared> declared = {
#define ACCESS(array, writers, readers) {#array, {writers, readers}},
#include "kernels/data/accesses.inl"
  };
  const auto& found = accesses().all;
  std::string rows;
  for (size_t a = 0; a < found.size(); a++) {
    const std::string name = rows_of_table()[a].name, writers = words_of(found[a].writes),
                      readers = words_of(found[a].reads);
    const auto row = declared.find(name);
    if (row == declared.end() || row->second.writers != writers || row->second.readers != readers)
      rows += "ACCESS(" + name + ", \"" + writers + "\", \"" + readers + "\")\n";
  }
  EXPECT_EQ(rows, "");
  EXPECT_EQ(declared.size(), found.size());
}

// impacts use the room of the solver earlier, and have arrays of their own
TEST(Accesses, TheStageColumnNamesTheFirstWriter) {
  const std::set<std::string> of_packs = {
#define OF_PACKS(array) #array,
#include "kernels/data/accesses.inl"
  };
  for (size_t a = 0; a < rows_of_table().size(); a++) {
    const Row& row = rows_of_table()[a];
    if (of_packs.count(row.name) > 0) continue;
    const bool impact = row.stage == "impact";
    const auto& found = impact ? accesses().all : accesses().without_impacts;
    const std::string writers = words_of(found[a].writes), first = writers.substr(0, writers.find(' '));
    EXPECT_EQ(stage_of_table(first), impact ? "rows" : row.stage) << row.name;
  }
}

// no array is only written, and none is read that nobody writes
TEST(Accesses, WhatIsWrittenIsRead) {
  const auto& found = accesses().all;
  for (size_t a = 0; a < found.size(); a++) {
    const std::string writers = words_of(found[a].writes), readers = words_of(found[a].reads);
    EXPECT_EQ(writers.empty(), readers.empty())
        << rows_of_table()[a].name << ": " << writers << " / " << readers;
  }
}

}  // namespace
}  // namespace dualstep
