// A PTX module as the machine of machine.h runs it: functions of decoded instructions.
//
// Registers are slots of eight bytes in the frame of a call. A reference to one is its number; a negative
// number counts from the end of the module's constants, so that an instruction need not know which it reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace ptx_interpreter {

struct Thread;
struct Op;
struct Function;

using Execute = void (*)(Thread&, const Op&);
using Ref = int32_t;
constexpr Ref kNone = INT32_MAX;
constexpr int kRefs = 8;

// what threads of a warp or a block do together
enum class Together : uint8_t {
  kAlone,
  kWarpBarrier,
  kShuffle,
  kVote,
  kMatch,
  kBlockBarrier,
};

// bytes of the caller's frame that a call hands over, or takes back
struct Passed {
  int from, to, bytes;
};
struct Call {
  const Function* callee = nullptr;
  std::string name;
  std::vector<Passed> arguments, results;
};

struct Op {
  Execute run = nullptr;
  Ref guard = kNone;  // a predicate, or none
  bool guard_negated = false;
  bool negated_source = false;  // of the one predicate that an instruction may take negated
  uint8_t mode = 0;             // of shuffles, votes, atomics: what exactly
  bool stores = false;
  Together together = Together::kAlone;
  Ref r[kRefs] = {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
  int64_t offset = 0;  // of an address; in a frame, where a variable stands
  int target = -1;     // of a jump
  const Call* call = nullptr;
  const std::vector<int>* targets = nullptr;  // of a jump by number
  int line = 0;                               // in the PTX
  int file = 0, source_line = 0;              // in the source, where .loc tells
};

struct Parameter {
  std::string name;
  int offset, bytes;
};

struct Function {
  std::string name;
  bool entry = false;
  std::vector<Op> ops;
  int registers = 0;
  int frame_bytes = 0;  // parameters, then local variables
  int parameter_bytes = 0;
  std::vector<Parameter> parameters, results;
  int most_threads = 1024;  // of a block
  int shared_bytes = 0;     // of variables in shared memory: its own, and those of the module
};

// a variable of the module in global or constant memory
struct Variable {
  std::string name;
  std::vector<char> bytes;
  std::unique_ptr<char[]> memory;
  char* at = nullptr;
};

struct Module {
  std::unordered_map<std::string, std::unique_ptr<Function>> functions;
  std::vector<std::unique_ptr<Variable>> variables;
  std::vector<uint64_t> constants;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<std::unique_ptr<std::vector<int>>> jump_tables;
  std::unordered_map<int, std::string> files;
  int shared_bytes = 0;
};

// text that is no PTX, or has what is not simulated: the message has the line
class PtxError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::unique_ptr<Module> read_ptx(const std::string& text);

// what an instruction does
struct Decoded {
  Execute run = nullptr;
  Together together = Together::kAlone;
  uint8_t mode = 0;
  bool stores = false;
};
// by its name, with all that follows after dots; in_frame: its address is a variable of the frame. Throws
// PtxError for names that are not known, among them all approximate arithmetic
Decoded decode(const std::string& name, bool in_frame);
// mov of %tid.x and the like
Execute special_register(const std::string& name);

}  // namespace ptx_interpreter
