// Modules, kernels and launches: what nvcc's stubs register, and libraries that are loaded at run time.
#include <algorithm>
#include <cstring>

#include "runtime/fat_binary.h"
#include "runtime/state.h"

namespace ptx_interpreter {
namespace {

const Module& loaded(LoadedModule* m) {
  if (!m->module) {
    if (m->text.empty()) m->text = ptx_of_fat_binary(m->fat_binary);
    m->module = read_ptx(m->text);
    m->text.clear();
    for (const auto& variable : m->module->variables)
      for (Device& device : process().devices)
        device.machine.memory.add(variable->at, variable->bytes.size());
  }
  return *m->module;
}
const Function* function_of(const void* kernel) {
  device().initialized = true;
  const auto found = process().kernels.find(kernel);
  if (found == process().kernels.end()) return nullptr;
  try {
    const auto& functions = loaded(found->second.module).functions;
    const auto entry = functions.find(found->second.name);
    return entry == functions.end() ? nullptr : entry->second.get();
  } catch (const PtxError& error) {
    say(error.what());
    return nullptr;
  }
}

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                   cudaStream_t stream) {
  const Function* const f = function_of(kernel);
  if (!f) return cudaErrorInvalidDeviceFunction;
  const Kernel& k = process().kernels.at(kernel);
  Launch made;
  made.module = k.module->module.get();
  made.function = f;
  made.grid = {grid.x, grid.y, grid.z}, made.block = {block.x, block.y, block.z};
  made.dynamic_shared = shared;
  if (made.grid.count() == 0 || made.block.count() == 0 ||
      made.block.count() > static_cast<unsigned>(f->most_threads)) {
    say("a launch of " + f->name + " with " + std::to_string(made.grid.count()) + " blocks of " +
        std::to_string(made.block.count()) + " threads");
    return cudaErrorInvalidConfiguration;
  }
  if (shared > k.dynamic_most) {
    say("a launch of " + f->name + " with " + std::to_string(shared) + " bytes of shared memory, where " +
        std::to_string(k.dynamic_most) + " are allowed");
    return cudaErrorInvalidValue;
  }
  made.parameters.assign(static_cast<size_t>(f->parameter_bytes), 0);
  for (size_t i = 0; i < f->parameters.size(); ++i) {
    const Parameter& p = f->parameters[i];
    std::memcpy(made.parameters.data() + p.offset, arguments[i], static_cast<size_t>(p.bytes));
  }
  return enqueue(stream, [made] {
    Device& d = device();
    Faults& faults = process().faults;
    if (faults.launches_until_lost-- == 0) {
      d.stuck = cudaErrorECCUncorrectable;
      return;
    }
    const uint64_t before = d.machine.executed;
    d.machine.run(made);
    Process::Executed& count = process().executed[made.function->name];
    ++count.launches;
    count.instructions += d.machine.executed - before;
  });
}

}  // namespace
}  // namespace ptx_interpreter

using namespace ptx_interpreter;

extern "C" {

// what nvcc's stubs call ------------------------------------------------------------------------------------

void** CUDARTAPI __cudaRegisterFatBinary(void* given) {
  // magic, version, the binary
  struct Wrapper {
    int magic, version;
    const void* data;
    void* name;
  };
  const Hold hold;
  Process& d = process();
  d.modules.emplace_back();
  d.modules.back().fat_binary = static_cast<const Wrapper*>(given)->data;
  return reinterpret_cast<void**>(&d.modules.back());
}
void CUDARTAPI __cudaRegisterFatBinaryEnd(void**) {}
void CUDARTAPI __cudaUnregisterFatBinary(void**) {}
void CUDARTAPI __cudaRegisterFunction(void** module, const char* host, char*, const char* name, int, uint3*,
                                      uint3*, dim3*, dim3*, int*) {
  const Hold hold;
  Process& d = process();
  d.kernels[host] = {reinterpret_cast<LoadedModule*>(module), name, kSharedByDefault};
}
void CUDARTAPI __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                               struct CUstream_st* stream) {
  const Hold hold;
  process().configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  const Hold hold;
  if (process().configurations.empty()) return cudaErrorMissingConfiguration;
  const auto c = process().configurations.back();
  process().configurations.pop_back();
  *grid = c.grid, *block = c.block, *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}
cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                         size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

// kernels -------------------------------------------------------------------------------------------------

cudaError_t CUDARTAPI cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                       size_t shared, cudaStream_t stream) {
  const Hold hold;
  return answer(launch(kernel, grid, block, arguments, shared, stream));
}
cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const Hold hold;
  const Function* const f = function_of(kernel);
  if (!f) return answer(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
    process().kernels.at(kernel).carve_out = value;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return answer(cudaSuccess);
  if (value < 0 || static_cast<size_t>(value) > kSharedMost) return answer(cudaErrorInvalidValue);
  process().kernels.at(kernel).dynamic_most = static_cast<size_t>(value);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  const Hold hold;
  const Function* const f = function_of(kernel);
  if (!f) return answer(cudaErrorInvalidDeviceFunction);
  *attributes = cudaFuncAttributes{};
  attributes->ptxVersion = attributes->binaryVersion = 10 * kMajor + kMinor;
  attributes->maxThreadsPerBlock = f->most_threads;
  attributes->numRegs = 32;
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                             int threads, size_t shared,
                                                                             unsigned) {
  const Hold hold;
  const Function* const f = function_of(kernel);
  if (!f) return answer(cudaErrorInvalidDeviceFunction);
  *blocks = threads > f->most_threads || shared > kSharedMost
                ? 0
                : std::min<int>(kBlocksOfMultiprocessor,
                                shared ? static_cast<int>(kSharedMost / shared) : kBlocksOfMultiprocessor);
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                                    int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, 0);
}

// libraries: PTX, which the NVRTC of nvrtc.cpp makes where machine code is asked for
cudaError_t CUDARTAPI cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                          unsigned, cudaLibraryOption*, void**, unsigned) {
  const Hold hold;
  Process& d = process();
  if (forbidden_by_capture()) return answer(cudaErrorStreamCaptureUnsupported);
  device().initialized = true;
  d.modules.emplace_back();
  LoadedModule& made = d.modules.back();
  made.text = static_cast<const char*>(code);
  try {
    (void)loaded(&made);
  } catch (const PtxError& error) {
    say(error.what());
    return answer(cudaErrorInvalidPtx);
  }
  *library = reinterpret_cast<cudaLibrary_t>(&made);
  d.libraries[&made] = {};
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  const Hold hold;
  Process& d = process();
  auto* const module = reinterpret_cast<LoadedModule*>(library);
  if (!d.libraries.count(module) || !module->module->functions.count(name))
    return answer(cudaErrorSymbolNotFound);
  const void* const handle = new char;  // an address that nobody else has
  d.kernels[handle] = {module, name, kSharedByDefault};
  d.libraries[module].push_back(handle);
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(handle));
  return answer(cudaSuccess);
}
cudaError_t CUDARTAPI cudaLibraryUnload(cudaLibrary_t library) {
  const Hold hold;
  Process& d = process();
  const auto found = d.libraries.find(library);
  if (found == d.libraries.end()) return answer(cudaErrorInvalidResourceHandle);
  if (forbidden_by_capture()) return answer(cudaErrorStreamCaptureUnsupported);
  // who launches one of its kernels now is told that there is no such function; what waits in a queue would
  // have run on a GPU, or not: nobody may rely on it
  for (const void* handle : found->second) d.kernels.erase(handle);
  d.libraries.erase(found);
  return answer(cudaSuccess);
}

}  // extern "C"
