// dualstep._core.Array: memory of a batch for torch, JAX, CuPy and numpy, without a copy.
//
// Streams: who takes an array by __dlpack__ names the stream it will use, and that stream waits for what the
// batch has queued; who takes it by __cuda_array_interface__ finds the batch's stream there and waits itself.
// Work of a taker that is still under way when the batch steps is ordered the same way if it is queued in the
// batch's stream (Batch.stream), which by default is the legacy stream, on which other libraries queue too.
#include "bindings/tensor.h"

#include <pybind11/numpy.h>

#include <cstring>
#include <string>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/dlpack.h"
#include "bindings/gil.h"
#include "host/backends/cuda/cuda_memory.h"

namespace py = pybind11;

namespace dualstep {

int64_t Tensor::size() const {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

namespace {

using namespace dlpack;

std::string typestr(const Tensor& t) {
  const uint16_t one = 1;
  const bool little = *reinterpret_cast<const uint8_t*>(&one) == 1;
  return (little ? "<" : ">") + std::string(1, t.kind) + std::to_string(t.item_bytes);
}

py::tuple shape_of(const Tensor& t) {
  py::tuple shape(t.shape.size());
  for (size_t i = 0; i < t.shape.size(); ++i) shape[i] = t.shape[i];
  return shape;
}

uintptr_t stream_of(const Tensor& t) { return t.stream ? t.stream->load() : 0; }

py::dict cuda_array_interface(const Tensor& t) {
  if (t.device < 0) throw py::attribute_error("this array is memory of the host");
  py::dict d;
  d["shape"] = shape_of(t);
  d["typestr"] = typestr(t);
  d["data"] = py::make_tuple(t.size() == 0 ? 0 : reinterpret_cast<uintptr_t>(t.data.get()), false);
  d["strides"] = py::none();
  d["version"] = 3;
  // 0 would be ambiguous: 1 is the legacy stream
  const uintptr_t stream = stream_of(t);
  d["stream"] = stream == 0 ? 1 : stream;
  return d;
}

DLDevice device_of(const Tensor& t) {
  return t.device < 0 ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, t.device};
}

// what a managed tensor points to, and what keeps it alive
template <class Managed>
struct Holder {
  Managed managed{};
  std::vector<int64_t> shape, strides;
  std::shared_ptr<void> data;
};

template <class Managed>
Managed* manage(const Tensor& t) {
  auto* holder = new Holder<Managed>;
  holder->shape = t.shape;
  holder->strides.resize(t.shape.size());
  int64_t stride = 1;
  for (size_t i = t.shape.size(); i-- > 0; stride *= t.shape[i]) holder->strides[i] = stride;
  holder->data = t.data;
  const uint8_t code = t.kind == 'f' ? kDLFloat : t.kind == 'i' ? kDLInt : kDLUInt;
  const auto bits = static_cast<uint8_t>(8 * t.item_bytes);
  holder->managed.dl_tensor = {.data = t.data.get(),
                               .device = device_of(t),
                               .ndim = static_cast<int32_t>(t.shape.size()),
                               .dtype = {.code = code, .bits = bits, .lanes = 1},
                               .shape = holder->shape.data(),
                               .strides = holder->strides.data(),
                               .byte_offset = 0};
  holder->managed.manager_ctx = holder;
  holder->managed.deleter = [](Managed* m) { delete static_cast<Holder<Managed>*>(m->manager_ctx); };
  return &holder->managed;
}

template <class Managed>
py::object capsule_of(Managed* managed, const char* name) {
  // one that nobody took still has its first name
  PyObject* capsule = PyCapsule_New(managed, name, [](PyObject* self) {
    const char* present = PyCapsule_GetName(self);
    if (present && std::string(present).rfind("used_", 0) == 0) return;
    auto* m = static_cast<Managed*>(PyCapsule_GetPointer(self, present));
    if (m) m->deleter(m);
  });
  if (!capsule) {
    managed->deleter(managed);
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(capsule);
}

// makes the taker's stream wait for the owner's
void order(const Tensor& t, const py::object& stream) {
  if (t.device < 0) {
    if (!stream.is_none() && stream.cast<long>() != -1)
      throw py::value_error("stream " + py::repr(stream).cast<std::string>() +
                            " is given, and this array is memory of the host: None is wanted");
    return;
  }
  uintptr_t taker = 0;  // the legacy stream
  if (!stream.is_none()) {
    const long long given = stream.cast<long long>();
    if (given == -1) return;
    if (given == 0 || given < -1)
      throw py::value_error("stream " + std::to_string(given) +
                            " is given, and 1 (legacy), 2 (per thread), -1 (do not wait) or the handle of a "
                            "stream is wanted");
    taker = given == 1 ? 0 : static_cast<uintptr_t>(given);
  }
  cuda_wait(t.device, taker, stream_of(t));
}

py::object to_dlpack(const Tensor& t, const py::object& stream, const py::object& max_version,
                     const py::object& dl_device, const py::object& copy) {
  const DLDevice here = device_of(t);
  if (!dl_device.is_none()) {
    const auto wanted = dl_device.cast<std::pair<int, int>>();
    if (wanted.first != here.device_type || wanted.second != here.device_id)
      throw py::buffer_error("this array is on DLPack device (" + std::to_string(here.device_type) + ", " +
                             std::to_string(here.device_id) + ") and is not copied to another");
  }
  if (!copy.is_none() && copy.cast<bool>()) throw py::buffer_error("this array is given without a copy only");
  order(t, stream);
  const bool versioned = !max_version.is_none() && max_version.cast<std::pair<int, int>>().first >= 1;
  if (!versioned) return capsule_of(manage<DLManagedTensor>(t), "dltensor");
  auto* managed = manage<DLManagedTensorVersioned>(t);
  managed->version = {1, 0};
  managed->flags = 0;
  return capsule_of(managed, "dltensor_versioned");
}

py::array to_numpy(const Tensor& t) {
  const py::dtype dtype(typestr(t));
  const std::vector<py::ssize_t> shape(t.shape.begin(), t.shape.end());
  py::array out(dtype, shape);
  if (t.device < 0) {
    std::memcpy(out.mutable_data(), t.data.get(), t.bytes());
  } else {
    void* to = out.mutable_data();
    const ReleasedGil released;
    cuda_read(t.device, stream_of(t), to, t.data.get(), t.bytes());
  }
  return out;
}

// of the same shape and type, which the caller has checked
void assign(const Tensor& t, const py::array& values) {
  const py::array packed = py::array::ensure(values, py::array::c_style);
  if (!packed || static_cast<size_t>(packed.nbytes()) != t.bytes()) throw py::value_error("wrong size");
  const void* from = packed.data();
  const ReleasedGil released;
  if (t.device < 0)
    std::memcpy(t.data.get(), from, t.bytes());
  else
    cuda_write(t.device, stream_of(t), t.data.get(), from, t.bytes());
}

// from memory of the same device; `stream` is the one that is still writing it, and what it does next comes after
// the copy, which is waited for where that is said
void assign_device(const Tensor& t, uintptr_t from, size_t bytes, uintptr_t stream, bool wait) {
  if (t.device < 0 || bytes != t.bytes()) throw py::value_error("wrong size or device");
  const ReleasedGil released;
  cuda_wait(t.device, stream_of(t), stream);
  cuda_copy(t.device, stream_of(t), t.data.get(), reinterpret_cast<const void*>(from), bytes);
  cuda_wait(t.device, stream, stream_of(t));
  if (wait) cuda_finish(t.device, stream_of(t));
}

}  // namespace

void bind_tensor(py::module_& module) {
  module.def("cuda_device_present", &cuda_device_present, "whether device 'auto' is a GPU");
  module.def("cuda_may_wait", &cuda_may_wait, py::arg("device"), py::arg("stream"),
             "whether the host may wait for a stream: no graph captures it");
  py::class_<Tensor>(module, "Array",
                     "Memory of a batch: for torch.from_dlpack, jax.dlpack.from_dlpack, cupy.asarray, "
                     "numpy.from_dlpack, without a copy.")
      .def_property_readonly("shape", &shape_of)
      .def_property_readonly("dtype", [](const Tensor& t) { return py::dtype(typestr(t)); })
      .def_property_readonly("ndim", [](const Tensor& t) { return t.shape.size(); })
      .def_property_readonly("size", &Tensor::size)
      .def_property_readonly("nbytes", &Tensor::bytes)
      .def_property_readonly(
          "device", [](const Tensor& t) { return t.device < 0 ? "cpu" : "cuda:" + std::to_string(t.device); })
      .def_property_readonly("__cuda_array_interface__", &cuda_array_interface)
      .def("__dlpack__", &to_dlpack, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
           py::arg("copy") = py::none())
      .def("__dlpack_device__",
           [](const Tensor& t) {
             const DLDevice d = device_of(t);
             return py::make_tuple(d.device_type, d.device_id);
           })
      .def("__len__", [](const Tensor& t) { return t.shape.empty() ? 0 : t.shape[0]; })
      .def("numpy", &to_numpy, "a copy in memory of the host, once the device has done what was queued")
      .def("assign", &assign, py::arg("values"), "replaces every entry by those of a numpy array")
      .def("assign_device", &assign_device, py::arg("pointer"), py::arg("nbytes"), py::arg("stream"),
           py::arg("wait") = false, "the same from memory of the array's own device")
      .def("__repr__", [](const Tensor& t) {
        return "Array(shape=" + py::repr(shape_of(t)).cast<std::string>() +
               ", dtype=" + py::str(py::dtype(typestr(t))).cast<std::string>() +
               ", device=" + (t.device < 0 ? std::string("cpu") : "cuda:" + std::to_string(t.device)) + ")";
      });
}

}  // namespace dualstep
