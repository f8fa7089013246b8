// Prints what a program of one model begins with (host/backends/cuda/specialize), for a scene: fixed_tables_test is
// compiled with it.
#include <cstdio>
#include <string>

#include "host/backends/cuda/specialize/program.h"
#include "tests/support/rollout.h"

int main(int count, char** arguments) {
  for (const dualstep::Scene& scene : dualstep::all_scenes()) {
    if (count != 2 || scene.name != arguments[1]) continue;
    std::fputs(dualstep::fixed_tables(dualstep::Rollout<float>(scene, 1).tables).c_str(), stdout);
    return 0;
  }
  std::fprintf(stderr, "usage: %s SCENE\n", arguments[0]);
  return 1;
}
