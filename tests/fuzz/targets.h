// What the fuzzers call: each takes any bytes, and returns when nothing crashed. libFuzzer drives them where clang is
// (libfuzzer.cpp), and a search by random numbers everywhere (fuzz_test.cpp).
#pragma once

#include <cstdint>
#include <string>

namespace dualstep::fuzz {

// whether the mutated model was taken, and run by Reference and Batch
bool run_model(const uint8_t* data, size_t size);
// whether the mutated checkpoint was taken by a batch, which steps on with it
bool run_checkpoint(const uint8_t* data, size_t size);

}  // namespace dualstep::fuzz
