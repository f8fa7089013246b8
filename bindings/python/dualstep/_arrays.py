"""What a user gives, as the arrays and numbers that the compiled part takes: conversion, and errors that say what is
wanted."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dualstep import _core

_DTYPES = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}


def integer(name: str, value: Any) -> int:
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise ValueError(f"{name} {value!r} is given, and it must be an integer")


def substeps(value: Any) -> int:
    """Timesteps that one call may take."""
    found = integer("nsubsteps", value)
    if not 1 <= found < 2**31:
        raise ValueError(f"nsubsteps {found} is given, and it must be positive and below 2**31")
    return found


def text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} is given, and it must be a name, a string")
    return value


def word(name: str, value: Any, words: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in words:
        allowed = ", ".join(f"'{word}'" for word in words)
        raise ValueError(f"{name} {value!r} is given, and it must be one of {allowed}")
    return value


def dtype_of(value: Any) -> np.dtype:
    try:
        name = "" if value is None else np.dtype(value).name
    except TypeError:
        name = ""
    if name not in _DTYPES:
        raise ValueError(f"dtype {value!r} is given, and it must be 'float32' or 'float64'")
    return _DTYPES[name]


def on_host(name: str, value: Any) -> Any:
    """An array of any library as a numpy array; plain lists and numbers stay what they are."""
    if isinstance(value, _core.Array):
        return value.numpy()
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack_device__"):
        return value
    kind, index = value.__dlpack_device__()
    if int(kind) != 1:
        raise ValueError(f"{name}: an array on device {int(kind)}:{index} is given, and one of the host is wanted")
    try:
        return np.asarray(value)
    except (TypeError, RuntimeError, BufferError) as error:
        raise ValueError(
            f"{name}: a {type(value).__name__} is given that cannot be read as an array: {error}"
        ) from None


class OnDevice(NamedTuple):
    """What an array of another library on a CUDA device says of itself."""

    pointer: int
    shape: tuple[int, ...]
    dtype: np.dtype
    stream: int  # that still writes it
    said: bool = True  # by the array itself
    owner: Any = None  # to be held until the memory was read, where its library knows of no reader


def on_device(name: str, value: Any, index: int) -> OnDevice | None:
    """The array as memory of CUDA device `index`; None where it is no array of a CUDA device."""
    if index < 0 or not hasattr(value, "__cuda_array_interface__"):
        return None
    kind, device = value.__dlpack_device__() if hasattr(value, "__dlpack_device__") else (2, index)
    if (int(kind), int(device)) != (2, index):
        raise ValueError(f"{name}: an array on device {int(kind)}:{device} is given, and the batch is on cuda:{index}")
    face = value.__cuda_array_interface__
    shape, dtype = tuple(face["shape"]), np.dtype(face["typestr"])
    strides = face.get("strides")
    packed = tuple(int(np.prod(shape[i + 1 :], dtype=np.int64)) * dtype.itemsize for i in range(len(shape)))
    if strides is not None and tuple(strides) != packed:
        raise ValueError(f"{name}: an array with strides {tuple(strides)} is given, and one without gaps is wanted")
    stream = _handle(face["stream"]) if "stream" in face else _present_stream(value, index)
    return OnDevice(int(face["data"][0]), shape, dtype, stream or 0, stream is not None)


def _handle(stream: int | None) -> int:
    """Of a stream as the CUDA array interface names it: 1 is the legacy one."""
    return 0 if stream in (None, 1) else int(stream)


def _present_stream(value: Any, index: int) -> int | None:
    """The stream that still writes an array which does not say so itself: torch's, for this thread."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    return int(torch.cuda.current_stream(index).cuda_stream)


def ready(name: str, value: Any, near: OnDevice, index: int, stream: int) -> OnDevice:
    """An array that did not say its stream, once what `stream` does next comes after all that writes it. Its owner is
    to be held, and the stream to be waited for, until the memory was read."""
    lent, awaited = hasattr(value, "__dlpack__"), hasattr(value, "block_until_ready")
    if not (lent or awaited):
        return near
    if not _core.cuda_may_wait(index, stream):
        raise RuntimeError(
            f"{name}: a {type(value).__name__} is given, which does not say in which stream it is written, while the "
            "stream of the batch is being captured into a graph: give it before, or an array that says so"
        )
    if lent:
        try:
            return near._replace(stream=stream, owner=value.__dlpack__(stream=stream or 1))
        except (BufferError, TypeError, ValueError, RuntimeError):
            # booleans are not lent everywhere
            if not awaited:
                raise
    value.block_until_ready()
    return near._replace(stream=stream, owner=value)


def host(array: Any) -> np.ndarray:
    """An array of a batch, or a tensor, as numpy's: itself on the CPU, a copy on a device."""
    if isinstance(array, np.ndarray):
        return array
    return array.cpu().numpy() if hasattr(array, "cpu") else array.numpy()


def assign(name: str, array: Any, value: Any) -> None:
    """Puts the value into an array of a batch, on whatever device it lies."""
    shape, dtype = tuple(array.shape), array.dtype
    if isinstance(array, np.ndarray):
        # nearly always there is nothing to convert and nothing to say
        fits = type(value) is np.ndarray and value.shape == shape and value.dtype == dtype
        array[...] = value if fits else array_of(name, value, shape, dtype)
        return
    index = int(array.device.partition(":")[2])
    near = on_device(name, value, index)
    if near is None:
        array.assign(array_of(name, value, shape, dtype))
        return
    if near.shape != shape or near.dtype != dtype:
        raise ValueError(
            f"{name}: an array of shape {near.shape} and dtype {near.dtype} is given, and an array of shape {shape} "
            f"and dtype {dtype} is wanted"
        )
    if array.size:
        if not near.said:
            near = ready(name, value, near, index, _handle(array.__cuda_array_interface__["stream"]))
        array.assign_device(near.pointer, array.nbytes, near.stream, near.owner is not None)


def array_of(name: str, value: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The value as an array of exactly this shape and type; raises ValueError that says what was wanted."""
    value = on_host(name, value)
    wanted = f"an array of shape {shape} and dtype {dtype} is wanted"
    try:
        given = np.asarray(value)
        # lists have no type of their own
        if not hasattr(value, "dtype") and given.dtype.kind in ("biuf" if dtype.kind == "f" else dtype.kind):
            given = given.astype(dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {type(value).__name__} is given, and {wanted} ({error})") from None
    if given.shape != shape or given.dtype != dtype:
        raise ValueError(f"{name}: an array of shape {given.shape} and dtype {given.dtype} is given, and {wanted}")
    return given


def lanes_of(lanes: Any) -> list[int]:
    """How many threads share an environment: nothing said, one number, or one a part."""
    if lanes is None or (isinstance(lanes, str) and lanes == "tuned"):
        return []
    if isinstance(lanes, str):
        raise ValueError(f"lanes {lanes!r} is given, and it is a number, five numbers, or 'tuned'")
    return [integer("lanes", n) for n in (lanes if isinstance(lanes, Sequence) else [lanes])]
