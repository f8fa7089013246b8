"""The arrays that tasks compute with, and those that users get: numpy where the batch is on the host, torch where
it is on a GPU, and the conversion to what `output` names. Nothing is copied where memory can be shared."""

from __future__ import annotations

from typing import Any

import numpy as np

OUTPUTS = ("numpy", "torch", "jax", "dlpack")


def require(module: str, extra: str) -> Any:
    """Imports an optional module, or says what to install."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name is None or module.split(".")[0] != error.name.split(".")[0]:
            raise
        raise ImportError(f"{module} is not installed: pip install 'dualstep[{extra}]' brings it") from None


class HostArrays:
    """numpy, for batches on the CPU and on emulated lanes."""

    xp = np
    on_host = True

    def follow(self, sim: Any) -> None:
        """The batch does its work where these arrays are computed: in one order with them."""

    def native(self, array: Any) -> np.ndarray:
        """A batch's array, or a user's, without a copy where that can be."""
        if isinstance(array, np.ndarray):
            return array
        if hasattr(array, "detach"):
            array = array.detach().cpu()
        return np.asarray(array)

    def from_host(self, array: np.ndarray) -> np.ndarray:
        return array

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.zeros(shape, dtype)

    def arange(self, n: int) -> np.ndarray:
        return np.arange(n)

    def eights_in_use(self, counts: np.ndarray, room: int) -> int:
        """How many of `room` places must be looked at where the first of each row are in use. A sum over them has the
        bits of one over all, with zeros in the others: numpy adds up to 128 numbers in eight strands, and halves more.
        """
        if room > 128:
            return room
        return min((int(counts.max(initial=0)) + 7) // 8 * 8, room)

    def real(self, array: Any, dtype: Any) -> np.ndarray:
        return np.asarray(array, dtype)

    def own(self, array: Any) -> np.ndarray:
        """The array, or a copy where it is a view of another's memory."""
        array = np.asarray(array)
        return array if array.base is None else array.copy()

    def copy(self, array: np.ndarray) -> np.ndarray:
        return array.copy()

    def rows(self, mask: np.ndarray) -> np.ndarray:
        """Indices where a mask is true."""
        return np.flatnonzero(mask)

    def words(self, array: np.ndarray) -> np.ndarray:
        """uint32 as an integer type that has arithmetic here."""
        return array


class TorchArrays:
    """torch on a GPU: arrays of the batch are tensors that share its memory."""

    on_host = False

    def __init__(self, device: str) -> None:
        self.xp = require("torch", "train")
        self.device = self.xp.device(device)

    def follow(self, sim: Any) -> None:
        if self.device.type == "cuda":
            stream = self.xp.cuda.current_stream(self.device)
            if stream.cuda_stream != sim.stream:
                sim.stream = stream

    def native(self, array: Any) -> Any:
        if isinstance(array, self.xp.Tensor):
            return array.detach().to(self.device)
        if isinstance(array, np.ndarray):
            return self.xp.from_numpy(array).to(self.device)
        return self.xp.from_dlpack(array).to(self.device)

    def from_host(self, array: np.ndarray) -> Any:
        return self.xp.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def to_host(self, array: Any) -> np.ndarray:
        return array.cpu().numpy()

    def _dtype(self, dtype: Any) -> Any:
        return getattr(self.xp, np.dtype(dtype).name)

    def eights_in_use(self, counts: Any, room: int) -> int:
        """All: a device is not waited for."""
        return room

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.xp.zeros(shape, dtype=self._dtype(dtype), device=self.device)

    def arange(self, n: int) -> Any:
        return self.xp.arange(n, device=self.device)

    def real(self, array: Any, dtype: Any) -> Any:
        return self.native(array).to(self._dtype(dtype))

    def own(self, array: Any) -> Any:
        return self.native(array).clone()

    def copy(self, array: Any) -> Any:
        return array.clone()

    def rows(self, mask: Any) -> Any:
        return mask.nonzero().flatten()

    def words(self, array: Any) -> Any:
        return array.view(self.xp.int32)


def arrays_of(device: str) -> HostArrays | TorchArrays:
    return TorchArrays(device) if device.startswith("cuda") else HostArrays()


class Output:
    """From a task's arrays to what the user asked for."""

    def __init__(self, kind: str, on_host: bool) -> None:
        if kind not in OUTPUTS:
            raise ValueError(f"output {kind!r} is given, and it must be one of {', '.join(map(repr, OUTPUTS))}")
        self.kind = kind
        self._on_host = on_host
        if kind in ("torch", "jax"):
            self._library = require("torch" if kind == "torch" else "jax.numpy", kind)

    def __call__(self, array: Any) -> Any:
        if self.kind == "dlpack":
            return array
        if self.kind == "numpy":
            return array if self._on_host else array.cpu().numpy()
        if self.kind == "torch":
            return self._library.from_numpy(np.ascontiguousarray(array)) if self._on_host else array
        return self._library.asarray(array) if self._on_host else self._library.from_dlpack(array)

    def tree(self, values: dict[str, Any]) -> dict[str, Any]:
        return {k: self.tree(v) if isinstance(v, dict) else self(v) for k, v in values.items()}
