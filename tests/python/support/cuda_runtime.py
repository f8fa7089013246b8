"""The runtime of CUDA as the PTX interpreter has it (tests/ptx_interpreter/runtime), by its names in the module: streams and
captures of a user's own, and what was counted. On a GPU other libraries bring these (bench/first_contact/interop.py)."""

import contextlib
import ctypes

import numpy as np

from dualstep import _core

GLOBAL, RELAXED = 0, 2
BLOCKING, NON_BLOCKING = 0, 1
Pointer = ctypes.c_void_p


class OnDevice:
    """Booleans in memory of the batch's device, as torch and CuPy would give them: the memory is another batch's, and
    the stream, where one is given, the one that is present."""

    def __init__(self, mask, holder, stream=None):
        words = np.zeros(holder.qvel.shape, np.float32)
        words.reshape(-1).view(np.uint8)[: len(mask)] = mask
        holder.qvel = words
        self.__cuda_array_interface__ = holder.qvel.__cuda_array_interface__ | {"shape": mask.shape, "typestr": "|b1"}
        if stream is not None:
            self.__cuda_array_interface__["stream"] = stream

    def __dlpack_device__(self):
        return 2, 0


class Runtime:
    def __init__(self):
        self.library = ctypes.CDLL(_core.__file__)
        self.library.ptx_interpreter_calls.restype = ctypes.c_uint64
        self.library.ptx_interpreter_waits.restype = ctypes.c_uint64

    @staticmethod
    def here():
        return hasattr(ctypes.CDLL(_core.__file__), "ptx_interpreter_calls")

    def check(self, error):
        assert error == 0, f"error {error} of the runtime"

    def calls(self):
        """Of the runtime, since the process began."""
        return self.library.ptx_interpreter_calls()

    def waits(self):
        """Of the host for a device, since the process began."""
        return self.library.ptx_interpreter_waits()

    def carve_out(self, kernel):
        """What part of an SM's memory kernels of that name were asked to leave to shared memory: percent."""
        return self.library.ptx_interpreter_carve_out(kernel.encode())

    def initialized(self, device):
        """Whether somebody made a context there."""
        return bool(self.library.ptx_interpreter_initialized(device))

    def break_captures(self, number):
        """The next captures end as if another thread waited for the device meanwhile."""
        self.library.ptx_interpreter_break_captures(number)

    def last_error(self):
        return self.library.cudaGetLastError()

    def present_device(self):
        number = ctypes.c_int()
        self.check(self.library.cudaGetDevice(ctypes.byref(number)))
        return number.value

    def stream(self, flags=NON_BLOCKING):
        made = Pointer()
        self.check(self.library.cudaStreamCreateWithFlags(ctypes.byref(made), flags))
        return made.value

    def destroy(self, stream):
        self.check(self.library.cudaStreamDestroy(Pointer(stream)))

    def join(self, stream, other):
        """What the stream does next comes after what the other was told."""
        event = Pointer()
        self.check(self.library.cudaEventCreate(ctypes.byref(event)))
        self.check(self.library.cudaEventRecord(event, Pointer(other)))
        self.check(self.library.cudaStreamWaitEvent(Pointer(stream), event, 0))
        self.check(self.library.cudaEventDestroy(event))

    def wait(self, stream):
        self.check(self.library.cudaStreamSynchronize(Pointer(stream)))

    def launch(self, graph, stream):
        self.check(self.library.cudaGraphLaunch(graph, Pointer(stream)))

    @contextlib.contextmanager
    def capture(self, stream, mode=GLOBAL):
        """What is queued on the stream goes into a graph: the list that this gives holds it afterwards."""
        graphs, graph, made = [], Pointer(), Pointer()
        self.check(self.library.cudaStreamBeginCapture(Pointer(stream), mode))
        try:
            yield graphs
        finally:
            ended = self.library.cudaStreamEndCapture(Pointer(stream), ctypes.byref(graph))
        self.check(ended)
        self.check(self.library.cudaGraphInstantiate(ctypes.byref(made), graph, ctypes.c_ulonglong(0)))
        graphs.append(made)
