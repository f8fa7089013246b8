// A model read from C++ is the model that MuJoCo compiled: its physics is MuJoCo's, and what is refused is
// refused by name.
#include "host/model/mjcf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <random>

#include "host/reference/reference.h"

namespace dualstep {
namespace {

using ModelPtr = std::unique_ptr<mjModel, decltype(&mj_deleteModel)>;
using DataPtr = std::unique_ptr<mjData, decltype(&mj_deleteData)>;

ModelPtr compile(const std::string& path) {
  char message[1024] = "";
  ModelPtr m(mj_loadXML(path.c_str(), nullptr, message, sizeof message), &mj_deleteModel);
  EXPECT_TRUE(m) << message;
  return m;
}

std::string write(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

class Reader : public testing::TestWithParam<const char*> {};

TEST_P(Reader, GivesMujocosAccelerations) {
  const ModelPtr m = compile(GetParam());
  // to convergence
  m->opt.solver = mjSOL_NEWTON;
  m->opt.iterations = 1000;
  m->opt.tolerance = 0;
  const DataPtr d(mj_makeData(m.get()), &mj_deleteData);
  const Model model = load_mjmodel(*m);
  reference::Reference reference(model);
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 20; trial++) {
    mj_resetData(m.get(), d.get());
    for (int i = 0; i < m->nv; i++) d->qvel[i] = 2 * normal(random);
    for (int i = 0; i < m->nu; i++) d->ctrl[i] = normal(random);
    for (int k = 0; k < trial; k++) mj_step(m.get(), d.get());
    mj_forward(m.get(), d.get());
    const auto put = [&](const char* name, const mjtNum* from) {
      auto& to = reference.arrays().at(name).values;
      std::copy(from, from + to.size(), to.data());
    };
    put("qpos", d->qpos), put("qvel", d->qvel), put("act", d->act), put("ctrl", d->ctrl);
    reference.forward();
    const Eigen::VectorXd want = Eigen::VectorXd::Map(d->qacc, m->nv);
    const double scale = std::max(1e-3, want.lpNorm<Eigen::Infinity>());
    EXPECT_LT((reference.data().qacc - want).lpNorm<Eigen::Infinity>() / scale, 1e-8) << "trial " << trial;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Reader,
                         testing::Values(SCENES "/everything.xml", SCENES "/equality_weld.xml",
                                         MODELS "/humanoid.xml"));

TEST(Reader, NamesWhatItRefuses) {
  const std::string path = write("wrapped.xml", R"(<mujoco>
    <worldbody><body name="arm"><joint name="j" axis="0 1 0"/><geom size=".1"/><site name="s"/></body>
      <site name="anchor" pos="1 0 0"/></worldbody>
    <tendon><spatial name="rope" stiffness="3 1"><site site="s"/><site site="anchor"/></spatial></tendon>
    </mujoco>)");
  try {
    load_mjcf(path);
    FAIL() << "a spring of a polynomial was taken";
  } catch (const UnsupportedModelError& error) {
    EXPECT_NE(std::string(error.what()).find("rope"), std::string::npos) << error.what();
  }
}

TEST(Reader, GivesMujocosMessage) {
  const std::string path =
      write("broken.xml", "<mujoco>\n  <worldbody>\n    <geom sise='1'/></worldbody></mujoco>");
  try {
    load_mjcf(path);
    FAIL() << "broken XML was taken";
  } catch (const InvalidModelError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("broken.xml"), std::string::npos) << text;
    EXPECT_NE(text.find("line 3"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace dualstep
