"""Tasks in C++: a file with four functions, compiled for where the batch is, called on its arrays.

The header is cpp/task.h, the arrays that it knows are in cpp/task_arrays.inl, the example is examples/balance.cpp. The
host's compiler makes a library of it (`CXX`, else c++), nvcc one for a batch on a GPU (`NVCC`, else nvcc); libraries
are kept in the cache (DUALSTEP_CACHE_DIR) under the hash of source, header and command. A library is loaded only where
this user, or root, alone can write it and its folder, and where it is the one that was made, of included files that are
as they were: its own hash and theirs stand beside it. Arrays are passed by their addresses, and nothing is copied.
"""

from __future__ import annotations

import contextlib
import copyreg
import ctypes
import functools
import hashlib
import math
import os
import re
import shlex
import shutil
import tempfile
import warnings
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep import _core, _loading
from dualstep.envs.task import Task, View, number
from dualstep.model import Model

if TYPE_CHECKING:
    from dualstep.envs.draws import Draws

HEADERS = Path(__file__).with_name("cpp")
RESET, OBSERVE, REWARD, TERMINATED = range(4)
OBSERVATIONS, NORMALS, UNIFORMS = range(3)
# numbers behind the first observation, and what is in them
ROOM, UNTOUCHED = 256, -1.0625e30
# the arrays that tasks may name, out of their table
NAMES: list[str] = re.findall(
    r"^TASK_ARRAY\((\w+),", (HEADERS / "task_arrays.inl").read_text(encoding="utf-8"), re.MULTILINE
)


class _Call(ctypes.Structure):
    """`dualstep::Call`"""

    _fields_ = [
        ("rows", ctypes.c_longlong),
        ("row", ctypes.c_void_p),
        *(field for n in NAMES for field in ((n, ctypes.c_void_p), (n + "_width", ctypes.c_longlong))),
        ("normal", ctypes.c_void_p),
        ("uniform", ctypes.c_void_p),
        ("options", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("device", ctypes.c_longlong),
    ]


def _compiler(arch: str) -> list[str]:
    variable, usual = ("NVCC", "nvcc") if arch else ("CXX", "c++")
    words = shlex.split(os.environ.get(variable, usual))
    if not words or shutil.which(words[0]) is None:
        raise ImportError(
            f"a task in C++ wants a compiler, and '{' '.join(words)}' is not there: {variable} names another"
        )
    # no contraction on either, and none by a vectorizer (CMakeLists.txt): the same bits
    on_gpu = ["-x", "cu", f"-arch={arch}", "-fmad=false", "-Xcompiler", "-fPIC"]
    flags = on_gpu if arch else ["-fPIC", "-ffp-contract=off", "-fno-tree-slp-vectorize"]
    return [*words, "-O2", "-std=c++17", "-shared", *flags]


def compile_task(source: Path, dtype: str, arch: str = "") -> Path:
    """The library of a source, for the host or a GPU of `arch` ("sm_90"); made where it is not in the cache. What the
    compiler complains of is in the error."""
    command = [*_compiler(arch), f"-DDUALSTEP_REAL={'double' if dtype == 'float64' else 'float'}", f"-I{HEADERS}"]
    headers = b"".join((HEADERS / name).read_bytes() for name in ("task.h", "task_arrays.inl"))
    whole = source.read_bytes() + headers + "\0".join(command).encode()
    cache = _cache()
    made = cache / f"{source.stem}-{hashlib.sha256(whole).hexdigest()[:20]}.so"
    if not _is_ours(made):
        # under another name first: others may look for it meanwhile
        part = made.with_suffix(f".{os.getpid()}")
        part.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix="dualstep-") as folder:
            reads = Path(folder, "reads")
            told = [*command, "-MMD", "-MF", str(reads), str(source), "-o", str(part)]
            ended, _, complained = _loading.ran(told, dict(os.environ), folder, math.inf)
            if ended:
                part.unlink(missing_ok=True)
                raise ValueError(f"{source} does not compile:\n{complained.strip()}")
            included = _files_read(reads)
        part.chmod(0o700)
        lines = [_hash(part), *(f"{_hash(file)} {file}" for file in included)]
        _seal(made).write_text("\n".join(lines))
        _seal(made).chmod(0o600)
        part.replace(made)
    return made


def _cache() -> Path:
    """The folder of libraries, which this user alone can write; a new one where the cache is not so."""
    folder = _core.specialization_cache()
    if folder:
        cache = Path(folder) / "tasks"
        with contextlib.suppress(OSError):
            Path(folder).mkdir(parents=True, exist_ok=True, mode=0o700)
            cache.mkdir(exist_ok=True, mode=0o700)
        why = _core.distrust(folder) or _core.distrust(str(cache))
        if not why and os.access(cache, os.W_OK):
            return cache
        if why:
            warnings.warn(f"tasks in C++ are compiled anew: {why}", stacklevel=2)
    return _own_folder()


@functools.cache
def _own_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="dualstep-"))


def _seal(library: Path) -> Path:
    return library.with_suffix(".sha256")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _files_read(rule: Path) -> list[Path]:
    """The files of a rule for make, as compilers write it."""
    if not rule.is_file():
        return []
    words = re.split(r"(?<!\\)\s+", rule.read_text(encoding="utf-8").partition(":")[2].replace("\\\n", " ").strip())
    return [Path(word.replace("\\ ", " ")).resolve() for word in words if word]


def _is_ours(library: Path) -> bool:
    """Whether the library is there, and what was made by this user's compiler, of files that are as they were."""
    seal = _seal(library)
    if not library.is_file() or not seal.is_file() or _core.distrust(str(library)) or _core.distrust(str(seal)):
        return False
    made, *included = seal.read_text().splitlines() or [""]
    files = [line.partition(" ") for line in included]
    return made == _hash(library) and all(Path(file).is_file() and _hash(Path(file)) == was for was, _, file in files)


@functools.cache
def _library(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    if hasattr(library, "dualstep_task_options"):
        library.dualstep_task_options.restype = ctypes.c_char_p
    return library


def _address(array: Any) -> int:
    return array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data


def _architecture(arrays: Any) -> str:
    """What machine code is compiled for, of the GPU that the arrays are on."""
    return "sm_{}{}".format(*arrays.xp.cuda.get_device_capability(arrays.device))


class _FromSource(type):
    """What is pickled of a class that `cpp_task` made is what it was made of; others are found by their names."""


def _class_parts(cls: _FromSource) -> str | tuple[Any, ...]:
    made: Any = cls
    return (_class_again, (made.source, *made.given, made.options())) if "source" in vars(cls) else cls.__qualname__


def _class_again(source: Path, model: Model | str, frame_skip: int, options: list[str]) -> type[CppTask]:
    made = cpp_task(source, model, frame_skip)
    _want_options(source, made.options(), options, "the task that was pickled")
    return made


copyreg.pickle(_FromSource, _class_parts)


# by class, precision and architecture; not in the class, since classes are pickled by value too (cloudpickle)
_loaded: weakref.WeakKeyDictionary[type, dict[tuple[str, str], ctypes.CDLL]] = weakref.WeakKeyDictionary()


def _library_of(cls: type[CppTask], kind: tuple[str, str]) -> ctypes.CDLL:
    """The library of a class for a precision and an architecture; made and loaded where this process has none yet."""
    loaded = _loaded.setdefault(cls, {})
    if kind not in loaded:
        library = _library(compile_task(cls.source, *kind))
        _want_options(cls.source, _options_of(library), cls.options(), "this task")
        loaded[kind] = library
    return loaded[kind]


def _options_of(library: ctypes.CDLL) -> list[str]:
    return [name.strip() for name in library.dualstep_task_options().decode().split(",") if name.strip()]


def _want_options(source: Path, given: list[str], wanted: list[str], whose: str) -> None:
    """Refuses a source that has changed so that it has other options than the task that was made of it."""
    if given != wanted:
        found, there = (", ".join(names) or "none" for names in (given, wanted))
        raise ValueError(f"{source} has the options {found}, and those of {whose} are {there}")


class CppTask(Task, metaclass=_FromSource):
    """What `cpp_task` makes subclasses of. TypeError where an option is given that the source has not."""

    source: Path
    arrays: tuple[str, ...] = ()
    defaults: dict[str, float] = {}
    sizes: tuple[int, int, int] = (0, 0, 0)
    given: tuple[Any, int] = ("", 1)
    tried: set[tuple[str, str, bytes]] = set()
    """with which options observe() was found to write what it says"""

    def __init__(self, **options: float) -> None:
        for name in options:
            if name not in self.defaults:
                there = ", ".join(self.defaults) or "none"
                raise TypeError(f"{self.source} got an unexpected keyword argument '{name}'; there are: {there}")
        super().__init__(*self.given)
        values = {**self.defaults, **options}
        self.values = np.array([number(name, values[name]) for name in self.defaults])

    @classmethod
    def options(cls) -> list[str]:
        return list(cls.defaults)

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        rows = s.qpos.shape[0]
        kept = [s.arrays.own(s.qpos), s.arrays.own(s.qvel)]
        random = [
            s.arrays.real(draw.normal(self.sizes[NORMALS]), np.float64) if self.sizes[NORMALS] else None,
            s.arrays.real(draw.uniform(0.0, 1.0, self.sizes[UNIFORMS]), np.float64) if self.sizes[UNIFORMS] else None,
        ]
        self._call(RESET, s, rows, *kept, random=random)
        return {"qpos": kept[0], "qvel": kept[1]}

    def observe(self, s: View) -> Any:
        rows = s.qpos.shape[0]
        trial = (*self._kind(s), self.values.tobytes())
        if trial not in self.tried:
            self._observe_once(s)
            self.tried.add(trial)
        return self._call(OBSERVE, s, rows, s.arrays.zeros((rows, self.sizes[OBSERVATIONS]), s.sim.dtype))

    def _observe_once(self, s: View) -> None:
        """The first environment, with room behind what it is said to write, none of which may change."""
        declared = self.sizes[OBSERVATIONS]
        s.arrays.follow(s.sim)
        out = s.arrays.zeros((1, declared + ROOM), s.sim.dtype) + UNTOUCHED
        after = out[0, declared:] + 0
        self._call(OBSERVE, s, 1, out)
        changed = s.arrays.rows(out[0, declared:] != after)
        if len(changed):
            count = declared + 1 + int(changed[-1])
            raise ValueError(f"{self.source}: observe() writes {count} numbers, and observations = {declared}")

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        rows = s.qpos.shape[0]
        return self._call(REWARD, s, rows, s.arrays.zeros((rows,), s.sim.dtype)), {}

    def terminated(self, s: View) -> Any:
        rows = s.qpos.shape[0]
        return self._call(TERMINATED, s, rows, s.arrays.zeros((rows,), bool))

    def _kind(self, s: View) -> tuple[str, str]:
        return s.sim.dtype.name, "" if s.arrays.on_host else _architecture(s.arrays)

    def _call(self, function: int, s: View, rows: int, out: Any, more: Any = None, random: Any = (None, None)) -> Any:
        cuda = not s.arrays.on_host
        kind = self._kind(s)
        library = _library_of(type(self), kind)
        place = {"stream": int(s.sim.stream), "device": int(s.sim.device.partition(":")[2])} if cuda else {}
        call = _Call(rows=rows, **place)
        call.options = self.values.ctypes.data if len(self.values) else None
        kept: list[Any] = []
        if s.rows is not None:
            kept.append(s.rows if cuda else np.ascontiguousarray(s.rows, np.int64))
            call.row = _address(kept[-1])
        for name in self.arrays:
            array = self._action(s) if name == "action" else s.arrays.native(getattr(s.sim, name))
            kept.append(array)
            setattr(call, name, _address(array))
            setattr(call, name + "_width", math.prod(array.shape[1:]))
        for name, numbers in zip(("normal", "uniform"), random, strict=True):
            if numbers is not None:
                kept.append(numbers)
                setattr(call, name, _address(numbers))
        where = ctypes.c_void_p(_address(out)), ctypes.c_void_p(0 if more is None else _address(more))
        failed = library.dualstep_task_apply(function, ctypes.byref(call), *where)
        if failed:
            raise RuntimeError(f"{self.source}: error {failed} of the device")
        return out

    def _action(self, s: View) -> Any:
        """(N, nu); zero where an episode has not been stepped yet."""
        count = (s.sim.num_envs, s.model.nu)
        return s.arrays.zeros(count, s.sim.dtype) if s.action is None else s.arrays.real(s.action, s.sim.dtype)


def cpp_task(source: str | os.PathLike[str], model: Model | str, frame_skip: int = 1) -> type[CppTask]:
    """A task from a file of C++: a class to make it with, or to register. Its options are the keyword arguments."""
    path = Path(source).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file '{path}', out of which a task of C++ is wanted")
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    library = _library(compile_task(path, "float32"))
    if not hasattr(library, "dualstep_task_apply"):
        raise ValueError(f"{path} has no DUALSTEP_TASK(Name, options...), which is wanted after the task")
    for what, name in ((NORMALS, "normal"), (UNIFORMS, "uniform")):
        if library.dualstep_task_size(what) == 0 and re.search(rf"(\.|->)\s*{name}\b", text):
            raise ValueError(f"{path} reads s.{name}, and {name}s = 0: how many are drawn is wanted there")
    names = _options_of(library)
    defaults = np.zeros(len(names))
    library.dualstep_task_defaults(ctypes.c_void_p(defaults.ctypes.data))
    # qpos and qvel are what rows and widths are known by
    arrays = tuple(n for n in NAMES if n in ("qpos", "qvel") or re.search(rf"\b{n}\b", text))
    # of the records the time alone is one that no evaluation writes
    state = {"action", "time", *(name for name, role, *_ in _core.batch_fields() if role == "state")}
    return _FromSource(
        path.stem.title().replace("_", ""),
        (CppTask,),
        {
            "source": path,
            "arrays": arrays,
            "defaults": dict(zip(names, defaults.tolist(), strict=True)),
            "sizes": tuple(library.dualstep_task_size(what) for what in range(3)),
            "given": (model, frame_skip),
            "tried": set(),
            "derived": not state.issuperset(arrays),
        },
    )
