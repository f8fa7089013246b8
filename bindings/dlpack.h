// The structures of DLPack, versions 0.x and 1.x: how array libraries hand memory to each other in one
// process. Only what is needed to give an array away; names and order are the standard's, which every library
// shares.
#pragma once

#include <cstdint>

namespace dualstep::dlpack {

enum DeviceType : int32_t { kDLCPU = 1, kDLCUDA = 2 };
enum TypeCode : uint8_t { kDLInt = 0, kDLUInt = 1, kDLFloat = 2 };

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;  // strides in elements
  uint64_t byte_offset;
};

// handed over in a capsule "dltensor", which the taker renames "used_dltensor"
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};

struct DLPackVersion {
  uint32_t major, minor;
};
// likewise "dltensor_versioned"
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor dl_tensor;
};

}  // namespace dualstep::dlpack
