// Memory and streams of a CUDA device, for those who hold an array of it: plain functions, by device number
// and stream handle. In a build without CUDA there is no such array, and they throw std::logic_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace dualstep {

// whether there is a device, a driver that serves it, and kernels for it: what "auto" is. Where no driver is installed,
// nothing of CUDA is initialized; false in a build without CUDA
bool cuda_device_present();

// on a device; throws std::bad_alloc whose text names the bytes
std::shared_ptr<void> cuda_allocate(int device, size_t bytes);
// to memory that nothing uses yet, by a stream of its own; returns when it is done. Whoever captures goes on
void cuda_send(int device, void* to, const void* from, size_t bytes);
// these three return when it is done, and throw std::runtime_error where the stream captures
void cuda_fill(int device, uintptr_t stream, void* to, unsigned char byte, size_t bytes);
void cuda_read(int device, uintptr_t stream, void* to, const void* from, size_t bytes);
void cuda_write(int device, uintptr_t stream, void* to, const void* from, size_t bytes);
// these two queue it: a copy between arrays; what `stream` does from now on comes after what `other` was told. Of what
// is captured and what is not neither can wait for the other: cuda_wait throws std::runtime_error, cuda_order is false
void cuda_copy(int device, uintptr_t stream, void* to, const void* from, size_t bytes);
void cuda_wait(int device, uintptr_t stream, uintptr_t other);
bool cuda_order(int device, uintptr_t stream, uintptr_t other);
// whether the host may wait for a stream, which it may not for one that is captured; and does
bool cuda_may_wait(int device, uintptr_t stream);
void cuda_finish(int device, uintptr_t stream);

}  // namespace dualstep
