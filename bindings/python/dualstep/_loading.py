"""Before MuJoCo compiles a model: how large it says it is, which files it names, how long it may take.

MuJoCo's compiler opens every path that a model names, multiplies what `<replicate>` asks for, and cannot be
interrupted. So sizes and paths are looked at in the text first, a limit on time or memory is kept by a child, which
Ctrl-C ends at once, and without one the compiler runs in a thread, beside which Ctrl-C is heard.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from dualstep.errors import InvalidModelError

if TYPE_CHECKING:
    import mujoco

# by what is counted: the variable that sets the limit, and the limit where it is not set
LIMITS = {
    "bodies": ("DUALSTEP_LOAD_BODIES", 20_000),
    "geoms": ("DUALSTEP_LOAD_GEOMS", 100_000),
    "keys": ("DUALSTEP_LOAD_KEYS", 10_000),
    "numbers": ("DUALSTEP_LOAD_NUMBERS", 100_000_000),
    "elements": ("DUALSTEP_LOAD_ELEMENTS", 300_000),
}
SECONDS, MEGABYTES = "DUALSTEP_LOAD_SECONDS", "DUALSTEP_LOAD_MEGABYTES"
_COUNTED = {"body": "bodies", "geom": "geoms", "key": "keys", "link": "bodies", "collision": "geoms", "visual": "geoms"}
_FOLDERS = ("meshdir", "texturedir", "assetdir")
_MOST_FILES = 1000
# what has numbers of users: tags, or the section whose children do
_USERS = {"body": "body", "joint": "jnt", "freejoint": "jnt", "geom": "geom", "site": "site", "camera": "cam"}
_USERS_IN = {"tendon": "tendon", "actuator": "actuator", "sensor": "sensor"}
# most numbers of a joint in a keyframe: position and velocity of a free one
_JOINT_IN_KEY = 13
# most numbers of a match of a contact sensor, and of a pixel of a rangefinder
_MATCH, _PIXEL = 17, 8


def _limit(variable: str, otherwise: float) -> float:
    text = os.environ.get(variable, "")
    if not text:
        return otherwise
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise ValueError(f"environment variable {variable} is '{text}', and a positive number, or inf, is wanted")
    return value


def check_sizes(counts: dict[str, float], where: str = "") -> None:
    """Raises InvalidModelError where a count is beyond its limit."""
    for what, (variable, otherwise) in LIMITS.items():
        most = _limit(variable, otherwise)
        if counts.get(what, 0) > most:
            raise InvalidModelError(
                f"{where}the model has {counts[what]:.10g} {what}, and at most {most:.10g} are loaded: "
                f"{variable} sets that limit"
            )


def _number(text: str | None, otherwise: float = 1) -> float:
    """Of an attribute; what is no number is the compiler's to complain of."""
    try:
        value = float(text) if text is not None else otherwise
    except ValueError:
        return otherwise
    return max(value, 0) if math.isfinite(value) else math.inf


def _elements(text: str | bytes) -> list[tuple[str, dict[str, str] | None]]:
    """Tags where they begin, with attributes, and where they end. Raises InvalidModelError for what is no XML."""
    # as MuJoCo reads it: UTF-8, whatever it says of itself
    whole = text if isinstance(text, str) else text.decode("utf-8", "replace")
    found: list[tuple[str, dict[str, str] | None]] = []

    def no_entities(*_: object) -> None:
        raise InvalidModelError("the model declares entities of XML, which MuJoCo does not read")

    def parse(whole: str) -> None:
        found.clear()
        parser = expat.ParserCreate()
        parser.StartElementHandler = lambda tag, attributes: found.append((tag, attributes))
        parser.EndElementHandler = lambda tag: found.append((tag, None))
        parser.EntityDeclHandler = no_entities
        parser.Parse(whole, True)

    try:
        parse(whole)
    except expat.ExpatError:
        # MuJoCo's reader takes "--" in a comment, and people write it; the lines stay where they are
        try:
            parse(re.sub(r"<!--.*?-->", lambda comment: re.sub(r"[^\n]", " ", comment[0]), whole, flags=re.DOTALL))
        except expat.ExpatError as error:
            raise InvalidModelError(f"XML that cannot be read: {error}") from None
    return found


def _grid(tag: str, attributes: dict[str, str]) -> float:
    """Numbers of a field that is as large as its attributes say; 0 of others."""
    if tag == "hfield":
        return math.prod(_number(attributes.get(side), 0) for side in ("nrow", "ncol"))
    if tag == "texture":
        return math.prod(_number(attributes.get(side), 0) for side in ("width", "height"))
    shape = attributes.get("builtin", "none") if tag == "mesh" else "none"
    sides = [_number(word, 0) for word in attributes.get("params", "").split()]
    if shape == "none" or not sides:
        return 0
    if shape in ("wedge", "plate"):
        return math.prod(sides[:2])
    # of a cone the corners; else as many around as along
    return sides[0] if shape == "cone" else sides[0] ** 2


def _pixels(content: bytes) -> float:
    """Pixels of an image in PNG, which says so at its head; 0 of other files."""
    if not content.startswith(b"\x89PNG\r\n\x1a\n") or len(content) < 24:
        return 0
    return float(int.from_bytes(content[16:20], "big")) * int.from_bytes(content[20:24], "big")


def _places(base: Path, *parts: str) -> list[Path]:
    """Where a name leads: as it stands, and as MuJoCo reduces it, which takes "\\" for "/", and "x/.." away unseen."""
    whole = os.path.join(base, *parts)
    joined = os.path.join(base, *(part.replace("\\", "/") for part in parts))
    return [Path(os.path.normpath(joined)), Path(whole)]


class _Scan:
    """Counts and paths of a model and of what it includes."""

    def __init__(self, main: Path, assets: dict[str, Any], root: Path | None) -> None:
        self.folder = main
        self.root = root
        self.assets = assets
        self.counts = dict.fromkeys(LIMITS, 0.0)
        # as they are named, the folder of the model, and that of the file that names them
        self.files: list[tuple[str, Path, Path]] = []
        self.folders: set[str] = {""}
        self._attached: dict[str, dict[str, float]] = {}  # what models that are attached count for, by their names
        # counts that others are multiplied by, and how long the longest numbers of users and the largest picture are
        self._tallies = dict.fromkeys([*set(_USERS.values()), *_USERS_IN, "in a key", "of a rangefinder"], 0.0)
        self._widths: dict[str, float] = {}
        self._picture = 0.0
        self._read = 0
        self._open: list[Path] = []

    def text(self, text: str | bytes, folder: Path, times: float = 1) -> None:
        self._read += 1
        if self._read > _MOST_FILES:
            raise InvalidModelError(f"the model includes more than {_MOST_FILES} files")
        factors, within = [times], [""]
        for tag, attributes in _elements(text):
            if attributes is None:
                factors.pop()
                within.pop()
            else:
                self._tally(tag, attributes, factors[-1], within[-1])
                factors.append(factors[-1] * self._element(tag, attributes, factors[-1], folder))
                within.append(tag)

    def _tally(self, tag: str, attributes: dict[str, str], times: float, section: str) -> None:
        """What an element adds to numbers that grow as a product."""
        kind = _USERS_IN.get(section) or _USERS.get(tag)
        if kind is not None:
            self._tallies[kind] += times
            self._widths[kind] = max(self._widths.get(kind, 0), len(attributes.get("user", "").split()))
        if tag in ("joint", "freejoint"):
            self._tallies["in a key"] += _JOINT_IN_KEY * times
        elif section == "actuator" or attributes.get("mocap") == "true":
            # control and activation; position and orientation
            self._tallies["in a key"] += 7 * times
        elif tag == "size":
            for name, value in attributes.items():
                if name.startswith("nuser_"):
                    self._widths[name[6:]] = max(self._widths.get(name[6:], 0), _number(value, 0))
        if tag == "camera":
            sides = [_number(side, 0) for side in attributes.get("resolution", "").split()]
            self._picture = max(self._picture, math.prod(sides) if sides else 0)
        elif section == "sensor":
            self._tallies["of a rangefinder"] += _PIXEL * times if "camera" in attributes else 0
            wide, many = (_number(attributes.get(name), 0) for name in ("dim", "num"))
            self.counts["numbers"] += times * max(wide, _MATCH * many)
        self.counts["numbers"] += times * sum(_number(attributes.get(name), 0) for name in ("nsample", "actdim"))

    def total(self) -> dict[str, float]:
        """All counts, with numbers that others multiply."""
        users = sum(width * self._tallies.get(kind, 0) for kind, width in self._widths.items())
        keys = self.counts["keys"] * self._tallies["in a key"]
        pictures = self._picture * self._tallies["of a rangefinder"]
        return {**self.counts, "numbers": self.counts["numbers"] + users + keys + pictures}

    def _element(self, tag: str, attributes: dict[str, str], times: float, folder: Path) -> float:
        """What an element counts for; by how much its children are multiplied."""
        copies = _number(attributes.get("count")) if tag == "replicate" else 1
        # what is repeated is walked through that often, though nothing is in it
        self.counts["elements"] += times * max(1, copies)
        if tag in _COUNTED:
            self.counts[_COUNTED[tag]] += times
        for name, value in attributes.items():
            if name.startswith("file"):
                self.files.append((re.sub(r"^\w+://", "", value), self.folder, folder))
            elif name in _FOLDERS and tag == "compiler":
                self.folders.add(value)
        if tag == "include":
            self._include(attributes.get("file", ""), folder, times)
        elif tag == "model" and "file" in attributes:
            before = dict(self.counts)
            self._include(attributes["file"], folder, times, attached=True)
            own = {what: count - before[what] for what, count in self.counts.items()}
            self._attached[attributes.get("name", "")] = own
        elif tag == "attach":
            # a name that is none of these is one that a file gives itself
            name = attributes.get("model", "")
            for own in [self._attached[name]] if name in self._attached else self._attached.values():
                for what, count in own.items():
                    self.counts[what] += times * count
        elif tag == "size":
            self.counts["keys"] = max(self.counts["keys"], _number(attributes.get("nkey"), 0))
            widths = [_number(value, 0) for name, value in attributes.items() if name.startswith("nuser")]
            self.counts["numbers"] += sum(widths)
        elif tag in ("composite", "flexcomp"):
            many = math.prod(_number(word) for word in attributes.get("count", "1").split())
            self.counts["bodies"] += times * many
            self.counts["geoms"] += times * many
        self.counts["numbers"] += _grid(tag, attributes)
        # elements of all kinds at the end: what there are too many of has a name mostly
        check_sizes({**self.counts, "elements": 0})
        return copies

    def _include(self, name: str, folder: Path, times: float, attached: bool = False) -> None:
        """Looks at another file of the model, or at another model, whose own files lie beside it."""
        brought = self._brought(name)
        if brought is not None:
            self.text(brought, folder, times)
            return
        for base in (self.folder, folder):
            for place in _places(base, name):
                path = place.resolve()
                if path in self._open or not path.is_file():
                    continue
                if self.root is not None and not path.is_relative_to(self.root):
                    raise _outside(name, path, self.root)
                self._open.append(path)
                own, self.folder = self.folder, path.parent if attached else self.folder
                try:
                    self.text(path.read_bytes(), path.parent, times)
                except OSError:
                    pass
                self._open.pop()
                self.folder = own
                return

    def check_files(self, root: Path | None) -> None:
        """Raises InvalidModelError where a file that is named is there, and not below `root`, or is too large."""
        for name, *bases in self.files:
            for sub in self.folders:
                brought = self._brought(name, os.path.join(sub, name))
                if brought is not None:
                    self.counts["numbers"] += _pixels(brought)
                    continue
                named = [place for base in bases for place in _places(base, sub, name) if place.exists()]
                for path, place in {place.resolve(): place for place in named}.items():
                    if root is not None and not path.is_relative_to(root):
                        raise _outside(name, place, root)
                    if path.is_file():
                        with path.open("rb") as file:
                            self.counts["numbers"] += _pixels(file.read(24))
        check_sizes(self.total())

    def _brought(self, *names: str) -> bytes | None:
        """The asset of one of these names, or of one as MuJoCo reduces it."""
        for name in (*names, *(str(_places(Path(), name)[0]) for name in names)):
            if name in self.assets:
                return bytes(self.assets[name])
        return None


def _outside(name: str, path: Path, root: Path) -> InvalidModelError:
    return InvalidModelError(
        f"the model names the file '{name}', which is '{path}', outside of the folder '{root}': "
        f"from_mjcf(..., root=...) says below which folder files may lie"
    )


def look(text: str | None, path: Path | None, assets: dict[str, Any] | None, root: Path | None) -> None:
    """Raises InvalidModelError for a model that is too large, or that names a file outside `root`."""
    folder = Path.cwd() if path is None else path.resolve().parent
    scan = _Scan(folder, assets or {}, root)
    if root is not None and path is not None and not path.resolve().is_relative_to(root):
        raise InvalidModelError(f"the model file '{path}' lies outside of the folder '{root}'")
    scan.text(text if text is not None else (path.read_bytes() if path else ""), folder)
    check_sizes(scan.total())
    scan.check_files(root)


def in_thread(compiler: Callable[[], mujoco.MjModel]) -> mujoco.MjModel:
    """What a compiler gives. Ctrl-C is heard meanwhile; it then goes on to its end, for which a process waits."""
    if threading.current_thread() is not threading.main_thread():
        return compiler()
    given: Future[mujoco.MjModel] = Future()

    def work() -> None:
        # they come to the thread that waits, which they wake
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            given.set_result(compiler())
        except BaseException as error:
            given.set_exception(error)

    try:
        threading.Thread(target=work, name="dualstep compiler").start()
    except RuntimeError:  # there is no room for a thread
        return compiler()
    return given.result()


# what a child does: compile, or read, and hand on the compiled model
_CHILD = """
import resource, sys, mujoco, numpy
kind, place, to, megabytes = sys.argv[1:]
if float(megabytes) > 0:
    most = int(float(megabytes) * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    if kind == "binary":
        model = mujoco.MjModel.from_binary_path(place)
    else:
        import pickle  # of a file that the parent wrote for this child alone
        assets = pickle.load(open(to + ".assets", "rb"))
        read = mujoco.MjModel.from_xml_string if kind == "text" else mujoco.MjModel.from_xml_path
        model = read(open(place, encoding="utf-8").read() if kind == "text" else place, assets)
except MemoryError:
    sys.exit(3)
except (ValueError, mujoco.FatalError) as error:
    sys.stdout.write(str(error))
    sys.exit(3 if "alloc" in str(error).lower() else 2)
except RuntimeError as error:
    # an exception that MuJoCo does not know: where memory is limited, that it has none
    sys.stdout.write("MuJoCo's compiler ends with an exception that it says nothing of: " + str(error))
    sys.exit(3 if float(megabytes) > 0 else 2)
buffer = numpy.empty(mujoco.mj_sizeModel(model), numpy.uint8)
mujoco.mj_saveModel(model, None, buffer)
buffer.tofile(to)
"""


def limited() -> bool:
    """Whether a limit on time or memory is set."""
    return bool(os.environ.get(SECONDS) or os.environ.get(MEGABYTES))


def ran(command: list[str], env: dict[str, str], folder: str, seconds: float) -> tuple[int | None, str, str]:
    """How a command ended, None where it was ended after `seconds`, and what it wrote.

    An exception ends it at once: subprocess waits a quarter of a second for it after Ctrl-C.
    """
    names = [os.path.join(folder, name) for name in ("stdout", "stderr")]
    with open(names[0], "wb") as said, open(names[1], "wb") as complained:
        child = subprocess.Popen(command, env=env, stdout=said, stderr=complained)
    began, pause = time.monotonic(), 0.002
    try:
        while (ended := child.poll()) is None and time.monotonic() - began < seconds:
            time.sleep(pause)
            pause = min(0.05, 1.2 * pause)
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
    texts = [Path(name).read_text(encoding="utf-8", errors="replace") for name in names]
    return ended, texts[0], texts[1]


def _check_end(ended: int | None, said: str, complained: str, seconds: float, megabytes: float) -> None:
    """Raises InvalidModelError where a child, which ended as `ran` says, has no model."""
    too_large = f"the model takes more memory to compile than {MEGABYTES} = {megabytes:g} allows"
    if ended is None:
        raise InvalidModelError(f"the model takes longer to compile than {SECONDS} = {seconds:g} allows")
    if ended == 2:
        raise InvalidModelError(said)
    if ended == 3 or (ended != 0 and "bad_alloc" in complained):
        raise InvalidModelError(too_large)
    if ended != 0:
        how = f"MuJoCo does not survive this model: it ends with {'signal' if ended < 0 else 'status'} {abs(ended)}"
        # a process that has not even the memory to throw an exception ends with a signal, too
        raise InvalidModelError(f"{too_large}, or {how}" if ended < 0 and math.isfinite(megabytes) else how)


def in_child(kind: str, source: str | bytes, assets: dict[str, Any] | None = None) -> mujoco.MjModel:
    """Compiles or reads a model in a child: text, the path of a file, or MuJoCo's binary. Raises InvalidModelError."""
    import pickle

    import mujoco

    seconds, megabytes = _limit(SECONDS, math.inf), _limit(MEGABYTES, math.inf)
    with tempfile.TemporaryDirectory(prefix="dualstep-") as folder:
        to = os.path.join(folder, "model.mjb")
        place = os.path.join(folder, "source")
        if kind == "path":
            place = str(source)
        else:
            Path(place).write_bytes(source.encode() if isinstance(source, str) else source)
        Path(to + ".assets").write_bytes(pickle.dumps({k: bytes(v) for k, v in (assets or {}).items()}))
        command = [sys.executable, "-c", _CHILD, kind, place, to,
                   str(megabytes if math.isfinite(megabytes) else 0)]  # fmt: skip
        # the packages that are at hand here
        given = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        ended, said, complained = ran(command, given, folder, seconds)
        _check_end(ended, said, complained, seconds, megabytes)
        return mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": Path(to).read_bytes()})
