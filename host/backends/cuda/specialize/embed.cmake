# The sources of the kernels as text inside the library: cmake -DROOT=... -DOUT=... -P embed.cmake
# What host compilers alone can read stays out.
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/kernels/*.h ${ROOT}/kernels/data/*.inl)
list(REMOVE_ITEM files kernels/base/pack.h kernels/launch/cpu/cpu_kernels.h kernels/launch/cpu/regroup.h)
list(APPEND files kernels/launch/cuda/fused.cuh kernels/launch/cuda/staged.cuh)
list(SORT files)
set(text "// made by host/backends/cuda/specialize/embed.cmake\n#include \"host/backends/cuda/specialize/program.h\"\n\nnamespace dualstep {\n")
string(APPEND text "const std::vector<SourceFile>& kernel_sources() {\n  static const std::vector<SourceFile> list = {\n")
# the compiler inside a process has no headers of its own
string(APPEND text "      {\"stdint.h\", \"using int32_t = int; using int64_t = long long; using uint8_t = unsigned char; using uint32_t = unsigned; "
                   "using uint64_t = unsigned long long;\\n\"},\n")
foreach(file IN LISTS files)
  file(READ ${ROOT}/${file} content)
  string(APPEND text "      {\"${file}\", R\"=====(${content})=====\"},\n")
endforeach()
string(APPEND text "  };\n  return list;\n}\n}  // namespace dualstep\n")
file(WRITE ${OUT} "${text}")
