# The CUDA backend. The kernels are compiled by nvcc, one object a variant (precision and threads an
# environment), by rules of their own: nothing else of the project needs a CUDA compiler, and toolkits that
# come in parts (from PyPI, conda) work too. Sets DUALSTEP_HAS_CUDA where it can be built.
#
#   DUALSTEP_CUDA_ARCHS   machine code for these; "all" is what a release has. By default that of the devices
#                         here, or 80, which serves 86 and 89 too. PTX of 75 serves every other device
#   DUALSTEP_CUDA_LANES   threads an environment that float kernels are built for
#   DUALSTEP_CUDA_FLOAT64 whether there are kernels in double precision, to validate with

set(cuda_here 80)
find_program(DUALSTEP_NVIDIA_SMI nvidia-smi)
if(DUALSTEP_NVIDIA_SMI)
  execute_process(COMMAND ${DUALSTEP_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE cuda_found ERROR_QUIET RESULT_VARIABLE cuda_failed)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" cuda_found "${cuda_found}")
  if(NOT cuda_failed AND cuda_found)
    string(REPLACE "." "" cuda_here "${cuda_found}")
    list(REMOVE_DUPLICATES cuda_here)
  endif()
endif()
set(DUALSTEP_CUDA_ARCHS "${cuda_here}" CACHE STRING "compute capabilities to build CUDA kernels for, or 'all'")
set(DUALSTEP_CUDA_LANES "1;8;32" CACHE STRING "threads an environment that CUDA kernels are built for")
option(DUALSTEP_CUDA_FLOAT64 "build CUDA kernels in double precision too" ON)
set(DUALSTEP_CUDA_RELEASE_ARCHS 75 80 86 89 90 100 120)

function(dualstep_no_cuda why)
  if(DUALSTEP_CUDA STREQUAL "ON")
    message(FATAL_ERROR "DUALSTEP_CUDA is ON, but ${why}")
  endif()
  message(STATUS "dualstep: no CUDA backend, because ${why}")
endfunction()

get_filename_component(cuda_nvcc ${DUALSTEP_NVCC} REALPATH)
execute_process(COMMAND ${cuda_nvcc} --version OUTPUT_VARIABLE cuda_said ERROR_QUIET RESULT_VARIABLE cuda_failed)
string(REGEX MATCH "release ([0-9]+)\\.([0-9]+)" cuda_release "${cuda_said}")
set(cuda_version "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}")
if(cuda_failed OR NOT cuda_release OR cuda_version VERSION_LESS 12.0)
  dualstep_no_cuda("${DUALSTEP_NVCC} is not the compiler of CUDA 12.0 or newer (it says: ${cuda_said})")
  return()
endif()
# a kernel in double precision has 4,104 bytes of parameters
if(DUALSTEP_CUDA_FLOAT64 AND cuda_version VERSION_LESS 12.1)
  string(CONCAT cuda_why "${DUALSTEP_NVCC} is of CUDA 12.0, whose kernels take 4,096 bytes of parameters, and "
                         "in double precision they have more: CUDA 12.1 or newer is wanted, or "
                         "-DDUALSTEP_CUDA_FLOAT64=OFF")
  dualstep_no_cuda("${cuda_why}")
  return()
endif()

# a wrapper may stand for nvcc: it knows where its toolkit is
execute_process(COMMAND ${cuda_nvcc} --dryrun -x cu /dev/null OUTPUT_VARIABLE cuda_plan ERROR_VARIABLE cuda_plan)
string(REGEX MATCH "#\\$ TOP=([^\n]+)" cuda_top "${cuda_plan}")
get_filename_component(cuda_root "${CMAKE_MATCH_1}" REALPATH)
find_path(DUALSTEP_CUDA_INCLUDE cuda_runtime_api.h HINTS ${cuda_root}/include
          ${cuda_root}/targets/x86_64-linux/include ${cuda_root}/targets/sbsa-linux/include NO_DEFAULT_PATH)
find_library(DUALSTEP_CUDART NAMES cudart_static libcudart_static.a
             HINTS ${cuda_root}/lib64 ${cuda_root}/lib ${cuda_root}/targets/x86_64-linux/lib
                   ${cuda_root}/targets/sbsa-linux/lib NO_DEFAULT_PATH)
if(NOT DUALSTEP_CUDA_INCLUDE OR NOT DUALSTEP_CUDART)
  dualstep_no_cuda("the CUDA runtime (cuda_runtime_api.h, libcudart_static.a) is not beside nvcc in ${cuda_root}")
  return()
endif()

find_path(DUALSTEP_CUB cub/cub.cuh HINTS ${DUALSTEP_CUDA_INCLUDE} ${DUALSTEP_CUDA_INCLUDE}/cccl NO_DEFAULT_PATH)
if(NOT DUALSTEP_CUB)
  dualstep_no_cuda("CUB and Thrust (the toolkit's part \"cccl\") are not in ${DUALSTEP_CUDA_INCLUDE}")
  return()
endif()

# architectures that this compiler knows
if(DUALSTEP_CUDA_ARCHS STREQUAL "all")
  set(cuda_archs ${DUALSTEP_CUDA_RELEASE_ARCHS})
else()
  set(cuda_archs ${DUALSTEP_CUDA_ARCHS})
endif()
execute_process(COMMAND ${cuda_nvcc} --list-gpu-arch OUTPUT_VARIABLE cuda_known ERROR_QUIET)
foreach(arch IN LISTS cuda_archs)
  if(NOT cuda_known MATCHES "compute_${arch}\n")
    if(NOT DUALSTEP_CUDA_ARCHS STREQUAL "all")
      message(FATAL_ERROR "DUALSTEP_CUDA_ARCHS has ${arch}, and nvcc ${cuda_version} knows: ${cuda_known}")
    endif()
    list(REMOVE_ITEM cuda_archs ${arch})
  endif()
endforeach()
set(cuda_code -gencode arch=compute_75,code=compute_75)
foreach(arch IN LISTS cuda_archs)
  list(APPEND cuda_code -gencode arch=compute_${arch},code=sm_${arch})
endforeach()

# no contraction and no approximation: the same bits as every other backend
set(DUALSTEP_CUDA_FLAGS -std=c++20 -O3 -fmad=false -prec-div=true -prec-sqrt=true -ftz=false -lineinfo
    --diag-suppress=128)
if(DUALSTEP_WERROR)
  list(APPEND DUALSTEP_CUDA_FLAGS -Werror all-warnings)
endif()
set(cuda_objects)
set(cuda_float "")
set(cuda_double "")
set(cuda_variants)
if(DUALSTEP_CUDA_FLOAT64)
  set(cuda_double "X(double, 8)")
  set(cuda_variants double:8)
endif()
foreach(lanes IN LISTS DUALSTEP_CUDA_LANES)
  list(APPEND cuda_variants float:${lanes})
  string(APPEND cuda_float " X(float, ${lanes})")
endforeach()
# compiles a source into an object; what ptxas says of registers and spills stays beside it, for
# tests/cuda/check_budgets.py
function(dualstep_cuda_object name source what)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND sh -c "\"$@\" > \"$0\" 2>&1 || { cat \"$0\"; exit 1; }" ${object}.log ${cuda_nvcc}
            ${DUALSTEP_CUDA_FLAGS} ${cuda_code} -Xptxas -v -Xcompiler -fPIC,-fvisibility=hidden
            -ccbin ${CMAKE_CXX_COMPILER} -I${PROJECT_SOURCE_DIR} ${ARGN} -MD -MF ${object}.d
            -c ${PROJECT_SOURCE_DIR}/kernels/${source} -o ${object}
    DEPENDS ${PROJECT_SOURCE_DIR}/kernels/${source}
    DEPFILE ${object}.d
    COMMENT "CUDA, ${what}, for ${cuda_archs}"
    VERBATIM)
  set(cuda_objects ${cuda_objects} ${object} PARENT_SCOPE)
endfunction()
dualstep_cuda_object(batch_ops launch/cuda/batch_ops.cu "scatter, flag, compact, sort")
foreach(variant IN LISTS cuda_variants)
  string(REPLACE ":" ";" variant ${variant})
  list(GET variant 0 scalar)
  list(GET variant 1 lanes)
  dualstep_cuda_object(launch_${scalar}_${lanes} launch/cuda/launch.cu
                       "kernels: ${scalar}, ${lanes} threads an environment"
                       -DDUALSTEP_SCALAR=${scalar} -DDUALSTEP_LANES=${lanes})
endforeach()
# a target of their own waits for no library: the longest commands of a build begin first
add_custom_target(dualstep_cuda_kernels DEPENDS ${cuda_objects})
add_dependencies(dualstep_batch dualstep_cuda_kernels)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cuda)
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/cuda/cuda_variants.h CONTENT
"// the variants of kernels/launch/cuda/launch.cu in this build
#define DUALSTEP_CUDA_FLOAT(X)${cuda_float}
#define DUALSTEP_CUDA_DOUBLE(X) ${cuda_double}
")

# statically: a process without a driver can still load it
set(cuda_backend host/backends/cuda)
target_sources(dualstep_batch PRIVATE
  ${cuda_backend}/cuda_backend.cpp ${cuda_backend}/cuda_choices.cpp ${cuda_backend}/cuda_memory.cpp
  ${cuda_backend}/cuda_errors.cpp ${cuda_backend}/cuda_fused.cpp ${cuda_backend}/cuda_rows.cpp
  ${cuda_backend}/cuda_graphs.cpp ${cuda_backend}/cuda_batch_ops.cpp ${cuda_backend}/cuda_staged.cpp
  ${cuda_backend}/specialized_kernels.cpp ${cuda_objects})
set_source_files_properties(${cuda_objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
target_include_directories(dualstep_batch PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/cuda)
target_include_directories(dualstep_batch SYSTEM PRIVATE ${DUALSTEP_CUDA_INCLUDE})
target_compile_definitions(dualstep_batch PRIVATE DUALSTEP_HAS_CUDA=1)
target_link_libraries(dualstep_batch PRIVATE ${DUALSTEP_CUDART} ${CMAKE_DL_LIBS} Threads::Threads rt)
set(DUALSTEP_HAS_CUDA ON)
message(STATUS "dualstep: CUDA ${cuda_version}, kernels for ${cuda_archs} and PTX")
