// The runtime is as unfriendly as it says: what a GPU would forgive now and then is an error here.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>

namespace {

const char* const kPtx =
    ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry put(.param .u64 out, .param .u32 value)\n"
    ".maxntid 64\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<3>;\nld.param.u64 %rd1, [out];\nld.param.u32 %r1, "
    "[value];\n"
    "st.global.u32 [%rd1], %r1;\nret;\n}\n";

class Runtime : public testing::Test {
 protected:
  void SetUp() override {
    cudaLibrary_t library = nullptr;
    ASSERT_EQ(cudaLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
    cudaKernel_t kernel = nullptr;
    ASSERT_EQ(cudaLibraryGetKernel(&kernel, library, "put"), cudaSuccess);
    put_ = kernel;
    ASSERT_EQ(cudaMalloc(&word_, 4), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  cudaError_t put(uint32_t value, cudaStream_t stream, unsigned threads = 1) {
    void* parameters[] = {&word_, &value};
    return cudaLaunchKernel(put_, dim3(1), dim3(threads), parameters, 0, stream);
  }
  const void* put_ = nullptr;
  void* word_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_F(Runtime, RunsWhatIsQueuedWhenSomebodyWaits) {
  uint32_t seen = 7;
  ASSERT_EQ(cudaMemcpyAsync(&seen, word_, 4, cudaMemcpyDefault, stream_), cudaSuccess);
  EXPECT_EQ(seen, 7u);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(seen, ~0u);  // poisoned
  ASSERT_EQ(put(5, stream_), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(&seen, word_, 4, cudaMemcpyDefault, stream_), cudaSuccess);
  EXPECT_EQ(seen, ~0u);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(seen, 5u);
}

TEST_F(Runtime, StreamsWaitForEachOtherWhereTheyAreTold) {
  for (const bool told : {false, true}) {
    uint32_t seen = 0;
    ASSERT_EQ(put(1, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    ASSERT_EQ(put(2, stream_), cudaSuccess);
    cudaStream_t other = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    if (told) {
      cudaEvent_t event = nullptr;
      ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
      ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
      ASSERT_EQ(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
      ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
    }
    ASSERT_EQ(cudaMemcpyAsync(&seen, word_, 4, cudaMemcpyDefault, other), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(other), cudaSuccess);
    EXPECT_EQ(seen, told ? 2u : 1u);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }
}

TEST_F(Runtime, GraphsRunWhatWasRecordedAndNothingBefore) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  uint32_t seen = 0;
  ASSERT_EQ(put(1, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(put(9, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (const uint32_t wanted : {1u, 9u}) {
    if (wanted == 9) {
      ASSERT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    }
    ASSERT_EQ(cudaMemcpyAsync(&seen, word_, 4, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(seen, wanted);
  }
}

TEST_F(Runtime, ACaptureIsInvalidAfterWhatItForbids) {
  const auto ends = [this](cudaStreamCaptureMode mode, auto call) {
    EXPECT_EQ(cudaStreamBeginCapture(stream_, mode), cudaSuccess);
    call();
    cudaGraph_t graph = nullptr;
    return cudaStreamEndCapture(stream_, &graph);
  };
  const auto wait = [this] { (void)cudaStreamSynchronize(stream_); };
  const auto allocate = [] {
    void* memory = nullptr;
    (void)cudaMalloc(&memory, 4);
  };
  const auto allocate_outside = [&] {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    allocate();
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
  };
  EXPECT_EQ(ends(cudaStreamCaptureModeRelaxed, wait), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(ends(cudaStreamCaptureModeGlobal, allocate), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(ends(cudaStreamCaptureModeRelaxed, allocate), cudaSuccess);
  EXPECT_EQ(ends(cudaStreamCaptureModeGlobal, allocate_outside), cudaSuccess);
  const auto load = [] {
    cudaLibrary_t library = nullptr;
    (void)cudaLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  EXPECT_EQ(ends(cudaStreamCaptureModeGlobal, load), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(ends(cudaStreamCaptureModeRelaxed, load), cudaSuccess);
  // whoever waits for the device waits for what is captured
  const auto wait_for_all = [] { EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported); };
  EXPECT_EQ(ends(cudaStreamCaptureModeRelaxed, wait_for_all), cudaErrorStreamCaptureInvalidated);
  (void)cudaGetLastError();
}

TEST_F(Runtime, TheLegacyStreamIsOfNoUseWhileAStreamThatWaitsForItCaptures) {
  cudaStream_t blocking = nullptr;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&blocking, 0), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(nullptr, &status), cudaErrorStreamCaptureImplicit);
  unsigned long long number = 0;
  EXPECT_EQ(cudaStreamGetCaptureInfo(nullptr, &status, &number), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamIsCapturing(stream_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaSuccess);  // asking does no harm
  for (const bool waits : {false, true}) {
    ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
    EXPECT_EQ(waits ? cudaStreamSynchronize(nullptr) : put(1, nullptr), cudaErrorStreamCaptureImplicit);
    EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  }
  (void)cudaGetLastError();
}

TEST_F(Runtime, StreamsJoinACaptureByWaitingForIt) {
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  const auto wait = [](cudaStream_t stream, cudaStream_t for_this) {
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, for_this), cudaSuccess);
    const cudaError_t error = cudaStreamWaitEvent(stream, event, 0);
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    return error;
  };
  const auto captured = [&](bool ordered, bool joined) {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
    EXPECT_EQ(wait(other, stream_), cudaSuccess);
    unsigned long long numbers[2] = {0, 1};
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    EXPECT_EQ(cudaStreamGetCaptureInfo(stream_, &status, &numbers[0]), cudaSuccess);
    EXPECT_EQ(cudaStreamGetCaptureInfo(other, &status, &numbers[1]), cudaSuccess);
    EXPECT_EQ(numbers[0], numbers[1]);
    EXPECT_EQ(put(1, stream_), cudaSuccess);
    if (ordered) {
      EXPECT_EQ(wait(other, stream_), cudaSuccess);
    }
    EXPECT_EQ(put(2, other), cudaSuccess);
    if (joined) {
      EXPECT_EQ(wait(stream_, other), cudaSuccess);
    }
    const cudaError_t error = cudaStreamEndCapture(stream_, &graph);
    EXPECT_EQ(error, joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
    return graph;
  };
  // without an order the one that was queued last comes first
  for (const bool ordered : {false, true}) {
    cudaGraphExec_t exec = nullptr;
    uint32_t seen = 0;
    ASSERT_EQ(cudaGraphInstantiate(&exec, captured(ordered, true), 0), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(&seen, word_, 4, cudaMemcpyDefault, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(seen, ordered ? 2u : 1u);
  }
  (void)captured(true, false);
  // what is captured waits for nothing that is not
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(wait(stream_, other), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  (void)cudaGetLastError();
}

TEST_F(Runtime, DevicesShareNothing) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  ASSERT_EQ(count, 2);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(put(1, stream_), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaMemsetAsync(word_, 0, 4, nullptr), cudaErrorInvalidValue);
  ASSERT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  (void)cudaGetLastError();
  EXPECT_EQ(put(1, stream_), cudaSuccess);
}

TEST_F(Runtime, RefusesWhatAGpuRefuses) {
  EXPECT_EQ(put(1, stream_, 65), cudaErrorInvalidConfiguration);
  void* parameters[] = {&word_, &word_};
  EXPECT_EQ(cudaLaunchKernel(put_, dim3(1), dim3(1), parameters, 49 << 10, stream_), cudaErrorInvalidValue);
  ASSERT_EQ(cudaFuncSetAttribute(put_, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(put_, dim3(1), dim3(1), parameters, 49 << 10, stream_), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(word_, parameters, 8, cudaMemcpyDefault, stream_),
            cudaErrorInvalidValue);  // 4 are there
  EXPECT_EQ(cudaMemcpyAsync(word_, parameters, 4, cudaMemcpyDeviceToDevice, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

using RuntimeDeathTest = Runtime;
TEST_F(RuntimeDeathTest, TheHostCannotTouchDeviceMemory) { EXPECT_DEATH(std::memset(word_, 0, 4), ""); }
TEST_F(RuntimeDeathTest, AnErrorStays) {
  // in a process of its own: nothing else would work afterwards
  EXPECT_EXIT(
      {
        (void)cudaFree(word_);
        (void)put(1, stream_);
        const bool failed = cudaStreamSynchronize(stream_) == cudaErrorIllegalAddress;
        void* other = nullptr;
        std::exit(failed && cudaMalloc(&other, 4) == cudaErrorIllegalAddress ? 0 : 1);
      },
      testing::ExitedWithCode(0), "where nothing was allocated");
}

}  // namespace
