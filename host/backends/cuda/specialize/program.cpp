#include "host/backends/cuda/specialize/program.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "kernels/collide/kinds.h"
#include "kernels/launch/cuda/launch.cuh"

namespace dualstep {
namespace {

void put(std::string* out, int value) { *out += std::to_string(value) + ", "; }
// all bits, by hexadecimal digits
void put(std::string* out, double value, const char* ending = "") {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%a%s, ", value, ending);
  *out += digits;
}
void put(std::string* out, float value) { put(out, static_cast<double>(value), "f"); }

// a struct of nothing but integers, in order
template <class Struct>
std::string integers(const Struct& values) {
  static_assert(sizeof(Struct) % sizeof(int) == 0 && alignof(Struct) == alignof(int));
  std::vector<int> list(sizeof(Struct) / sizeof(int));
  std::memcpy(list.data(), &values, sizeof values);
  std::string out;
  for (const int value : list) put(&out, value);
  return out;
}

template <class Scalar>
std::string options(const StepOptions<Scalar>& o) {
  std::string out;
#define OPTION_I(name, source, meaning) put(&out, o.name);
#define OPTION_R(name, source, meaning) put(&out, o.name);
#define OPTION_R3(name, source, meaning)      \
  out += "{";                                 \
  for (const Scalar x : o.name) put(&out, x); \
  out += "}, ";
#define OPTION_D(name, source, meaning) put(&out, o.name);
#include "kernels/data/options.inl"
  return out;
}

template <class Scalar>
bool all_shared(const Tables<Scalar>& t) {
  bool shared = true;
#define TABLE_R(name, meaning) shared = shared && t.name.env_stride == 0;
#include "kernels/data/fields.inl"
  return shared;
}

// both compilers lay the parameters of the kernel out alike, or the program does not compile
template <class Scalar>
std::string same_sizes(const std::string& number) {
  const auto same = [](const std::string& type, size_t bytes) {
    return "static_assert(sizeof(" + type + ") == " + std::to_string(bytes) + ");\n";
  };
  return same("StepTables<" + number + ">", sizeof(Tables<Scalar>)) +
         same("BatchView<" + number + ">", sizeof(BatchView<Scalar>)) + same("StepArgs", sizeof(StepArgs)) +
         same("EvalIndex", sizeof(EvalIndex));
}

}  // namespace

template <class Scalar>
std::string fixed_tables(const Tables<Scalar>& t) {
  std::string present;
  for (int kind = 0; kind < kPairKinds; ++kind)
    present += t.n.npair > 0 && t.pair_adr[kind] < t.pair_adr[kind + 1] ? "true, " : "false, ";
  return "#define DUALSTEP_FIXED_TABLES\n#include \"kernels/data/tables.h\"\nnamespace dualstep {\n"
         "template <class Scalar>\nstruct StepTables : Tables<Scalar> {\n"
         "  static constexpr Sizes n = {" +
         integers(t.n) +
         "};\n"
         "  static constexpr StepOptions<Scalar> o = {" +
         options(t.o) +
         "};\n"
         "  static constexpr Layout l = {" +
         integers(t.l) +
         "};\n"
         "  static constexpr Widths w = {" +
         integers(t.w) +
         "};\n"
         "  static constexpr bool kKindPresent[] = {" +
         present +
         "};\n"
         "  static constexpr bool kAllShared = " +
         (all_shared(t) ? "true" : "false") +
         ";\n"
         "};\n}  // namespace dualstep\n";
}

std::vector<std::string> program_entries(const LaneChoice& choice) {
  if (!choice.staged) return {"dualstep_fused_step"};
  return {
#define DS_PART_NAME(name) "dualstep_staged_" #name,
      DS_PARTS(DS_PART_NAME)
#undef DS_PART_NAME
  };
}

namespace {

// whether the workspace of a warp is more than the shared memory of any device, or those of a step in parts, which
// all lie in device memory
template <class Scalar>
bool workspace_in_device_memory(const Tables<Scalar>& t, const LaneChoice& choice) {
  constexpr size_t kMostShared = 227 << 10;  // of a block, up to compute capability 12
  return choice.staged || group_bytes(t, kWarpThreads / choice.lanes[0]) > kMostShared;
}

// whether accesses of a specialised program know their memory: a variant that a device is to compare
bool addresses_wanted() {
  const char* value = std::getenv("DUALSTEP_CUDA_ADDRESSES");
  const std::string said = value ? value : "";
  if (said.empty() || said == "0") return false;
  if (said == "1") return true;
  throw std::invalid_argument("environment variable DUALSTEP_CUDA_ADDRESSES=" + said +
                              " is given, and it must be 0 or 1");
}

}  // namespace

template <class Scalar>
std::string program_text(const Tables<Scalar>& t, const LaneChoice& choice) {
  const std::string number = sizeof(Scalar) == 4 ? "float" : "double", kdim = std::to_string(t.n.kdim);
  const std::string same_tables = "const __grid_constant__ StepTables<" + number +
                                  "> tables, const __grid_constant__ BatchView<" + number +
                                  "> batch,\n    const __grid_constant__ StepArgs args, ";
  const std::string file = choice.staged ? "staged" : "fused";
  std::string text = "#define DUALSTEP_ISA cuda\n";
  if (addresses_wanted()) {
    text += "#define DUALSTEP_TABLES_IN_DEVICE_MEMORY\n";
    if (workspace_in_device_memory(t, choice)) text += "#define DUALSTEP_WORKSPACE_IN_DEVICE_MEMORY\n";
  }
  text += fixed_tables(t) + "#include \"kernels/launch/cuda/" + file + ".cuh\"\nusing namespace dualstep;\n" +
          same_sizes<Scalar>(number);
  if (choice.staged)
    text += "static_assert(kStagedGroup == " + std::to_string(kStagedInterleaved) +
            " && sizeof(CarriedOnDevice<" + number + ">) <= " + std::to_string(kStagedCarriedBytes) + ");\n";
  const std::vector<std::string> entries = program_entries(choice);
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string lanes = std::to_string(choice.lanes[i]), part = std::to_string(i);
    text += "extern \"C\" __global__ void __launch_bounds__(kWarp * " + (kWarpsMacro + entries[i]) +
            ", 1)\n    " + entries[i] + "(" + same_tables;
    if (choice.staged)
      text +=
          "const __grid_constant__ EvalIndex moment, char* scratch,\n    size_t group_bytes, char* carried) "
          "{\n"
          "  staged_body<" +
          number + ", " + lanes + ", " + kdim + ", static_cast<Part>(" + part +
          ")>(tables, batch, args, moment, scratch, group_bytes, carried);\n}\n";
    else
      text += "char* scratch, size_t warp_bytes) {\n  fused_body<" + number + ", " + lanes + ", " + kdim +
              ">(tables, batch, args, scratch, warp_bytes);\n}\n";
  }
  return text;
}

template std::string fixed_tables<float>(const Tables<float>& tables);
template std::string fixed_tables<double>(const Tables<double>& tables);
template std::string program_text<float>(const Tables<float>& tables, const LaneChoice& choice);
template std::string program_text<double>(const Tables<double>& tables, const LaneChoice& choice);

}  // namespace dualstep
