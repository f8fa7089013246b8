"""Models as text that something damaged: refused by a message, or simulated; nothing crashes, hangs or takes what memory there is.

    python tests/fuzz/fuzz_mjcf.py --runs 1000000           # two hours on a core
    python tests/fuzz/fuzz_mjcf.py --first 4711 --runs 1    # one again, and its text

A run is a model of tests/scenes, or of the package, whose elements and attributes were changed as its number says. It is compiled,
loaded, stepped twice in a Batch and in the Reference. Runs are made in a child, which is ended after two seconds of one, or
where it takes a gigabyte more than at its start; the next child goes on behind it. MuJoCo compiles a text first, alone: what it
does not survive, or takes longer for (it simulates to find how long muscles get, at times for ever), is counted apart, and is
what DUALSTEP_LOAD_SECONDS is for.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import faulthandler
import mmap
import os
import pathlib
import random
import resource
import signal
import struct
import sys
import time
import xml.etree.ElementTree as ElementTree

import mujoco

import dualstep as ds

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGEST = 6000  # characters of a text that is changed: small ones take little time and have all there is
SECONDS, MEMORY = 2, 1 << 30
NUMBERS = ("0", "-1", "1e300", "-1e300", "nan", "inf", "1e-300", "1e9", "0 0 0", "1 2", "", "true", "2147483648", "3.5")
Known = dict[str, list[str]]


def corpus() -> list[str]:
    files = [*sorted((ROOT / "tests" / "scenes").glob("*.xml")), *sorted((ROOT / "bench" / "models").rglob("*.xml"))]
    texts = [path.read_text() for path in files]
    return [text for text in texts if len(text) < LARGEST]


def known_values(texts: list[str]) -> tuple[list[str], Known]:
    """Tags, and values that attributes have somewhere."""
    tags: set[str] = set()
    values: Known = {}
    for text in texts:
        for element in ElementTree.fromstring(text).iter():
            tags.add(element.tag)
            for name, value in element.attrib.items():
                values.setdefault(name, []).append(value)
    return sorted(tags), values


def damage(text: str, rng: random.Random, tags: list[str], values: Known) -> str:
    """A few changes of elements and attributes; at times of characters too."""
    tree = ElementTree.fromstring(text)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        elements = [element for element in tree.iter() if isinstance(element.tag, str)]
        element, parents = rng.choice(elements), {child: parent for parent in elements for child in parent}
        what = rng.randrange(8)
        if what <= 2 and element.attrib:
            name = rng.choice(sorted(element.attrib))
            words = element.attrib[name].split()
            if what == 0 and words:
                words[rng.randrange(len(words))] = rng.choice(NUMBERS)
            elif what == 1:
                words = [rng.choice(values[name])]
            else:
                words += words[: rng.randrange(3)] if rng.random() < 0.5 else []
                words = words[: rng.randrange(len(words) + 1)] if rng.random() < 0.5 else words
            element.attrib[name] = " ".join(words)
        elif what == 3:
            name = rng.choice(sorted(values))
            element.attrib[name] = rng.choice(values[name])
        elif what == 4 and element.attrib:
            del element.attrib[rng.choice(sorted(element.attrib))]
        elif what == 5:
            element.tag = rng.choice(tags)
        elif element in parents and what == 6:
            parents[element].remove(element)
        else:
            host = rng.choice(elements)
            # a copy, elsewhere; not into itself
            host.append(ElementTree.fromstring(ElementTree.tostring(element)))
    whole = ElementTree.tostring(tree, encoding="unicode")
    if rng.random() < 0.1 and whole:
        at = rng.randrange(len(whole))
        whole = whole[:at] + rng.choice(("", "<", ">", '"', "&", "\0", "é", "]]>", whole[:40])) + whole[at + rng.randrange(3) :]
    return whole


def text_of(number: int, texts: list[str], tags: list[str], values: Known) -> str:
    rng = random.Random(number)
    return damage(rng.choice(texts), rng, tags, values)


def simulate(text: str) -> str:
    """What became of it: "refused", or "taken"."""
    try:
        model = ds.Model.from_mjcf(text)
        with ds.Batch(model, 1, device="cpu", num_threads=1) as batch:
            batch.step(2)
            assert all(map(_finite, batch.qpos[0])) or batch.status[0], "a position is not finite, without a bit of status"
        reference = ds.Reference(model)
        reference.step()
    except (ValueError, MemoryError, OSError):
        return "refused"
    return "taken"


def _finite(x: float) -> bool:
    return abs(x) < float("inf")


def in_child(first: int, end: int, shared: mmap.mmap, texts: list[str], tags: list[str], values: Known) -> None:
    """Runs from `first` on, each noted before it begins; ends the process."""
    used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1), os.dup2(silence, 2)
    libc = ctypes.CDLL(None)
    taken = longest = 0.0
    for number in range(first, end):
        struct.pack_into("=qqd?", shared, 0, number, int(taken), longest, True)
        text = text_of(number, texts, tags, values)
        # of processor time: other processes may be at work
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            mujoco.MjModel.from_xml_string(text)
        except (ValueError, mujoco.FatalError):
            pass
        except RuntimeError:
            os._exit(8)  # an exception that it does not know: the next text would find it locked
        struct.pack_into("=qqd?", shared, 0, number, int(taken), longest, False)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        began = time.process_time()
        try:
            taken += simulate(text) == "taken"
        except BaseException as error:
            struct.pack_into("=qqd?64s", shared, 0, number, int(taken), longest, False, repr(error).encode()[:64])
            os._exit(9)
        longest = max(longest, time.process_time() - began)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if number % 64 == 0:
            libc.malloc_trim(0)
    struct.pack_into("=qqd?", shared, 0, end, int(taken), longest, False)
    os._exit(0)


def search(first: int, runs: int, quiet: bool = False) -> tuple[collections.Counter[str], list[tuple[int, str]], float]:
    """Counts of what became of models; numbers that ended a child, and how; the longest run in seconds."""
    texts = corpus()
    tags, values = known_values(texts)
    shared, at, end = mmap.mmap(-1, 4096), first, first + runs
    counts: collections.Counter[str] = collections.Counter()
    found: list[tuple[int, str]] = []
    longest = 0.0
    while at < end:
        shared[:] = bytes(4096)
        last = min(end, at + 5000)
        child = os.fork()
        if child == 0:
            in_child(at, last, shared, texts, tags, values)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        number, taken, own, compiling = struct.unpack_from("=qqd?", shared, 0)
        said = shared[25:89].rstrip(b"\0").decode(errors="replace")
        counts["taken"] += taken
        longest = max(longest, own)
        if code and compiling:
            counts["compiler"] += 1
        elif code:
            how = said or ("more than two seconds" if code == -signal.SIGPROF else f"signal {-code}" if code < 0 else f"status {code}")
            found.append((number, how))
            print(f"{number}: {how}", flush=True)
        counts["models"] += number - at + (code != 0)
        at = number + (code != 0)
        if not quiet and sys.stderr.isatty():
            print(f"  {at - first:,} of {runs:,}, {len(found)} found", end="\r", file=sys.stderr)
    return counts, found, longest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the first number")
    parser.add_argument("--runs", type=int, default=10_000)
    given = parser.parse_args()
    if given.runs == 1:
        texts = corpus()
        text = text_of(given.first, texts, *known_values(texts))
        print(text, flush=True)
        print(simulate(text))
        return 0
    counts, found, longest = search(given.first, given.runs)
    print(f"{counts['models']:,} models, {counts['taken']:,} taken, the longest took {longest:.2f} s; {len(found)} ended the process, and "
          f"{counts['compiler']} that of MuJoCo's compiler")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
