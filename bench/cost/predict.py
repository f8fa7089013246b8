"""A model of what a step costs on an H200, from the compiled code and from counted work; no device has checked it.

    cmake --build build/test --target count_work     (with -DDUALSTEP_TESTS=ON, where Boost.Context and libmujoco are)
    python bench/cost/predict.py build/test/tests/mjcf/count_work           print the table of bench/README.md
    python bench/cost/predict.py build/test/tests/mjcf/count_work --write   and put it there

What is counted, for `STATES` states of the humanoid under random actions, warm started:
    work        operations on numbers of every lane between two barriers, by function (bench/cost/count_work.cpp): a
                warp issues what its slowest lane needs. Environments of one warp go the same way: the slowest counts
    barriers    how often the lanes of an environment meet: a chain that nothing shortens
What is read from the machine code (sm_90, a step made for the model, tests/cuda/check_special.py): of each function, or
where it is inlined of all functions of its file, the instructions for every operation on numbers, and those among them
that touch memory.
What is assumed stands in `H200` and `Assumed`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cuda"))

from check_budgets import read_log  # noqa: E402
from check_special import ENTRY, stage_name, symbols  # noqa: E402
from tools import demangle, output, tool  # noqa: E402

README = ROOT / "bench" / "README.md"
BEGIN, END = "<!-- made by bench/cost/predict.py -->", "<!-- end of what bench/cost/predict.py made -->"
MODEL = ROOT / "bench" / "models" / "humanoid.xml"
STATES = 64
NUM_ENVS = 8192


@dataclass(frozen=True)
class H200:
    """The device's limits, from its data sheet, and the clock that it is sold with."""

    clock: float = 1.98e9
    processors: int = 132
    schedulers: int = 4
    registers: int = 65536
    """of a processor"""
    shared_bytes: int = 227 * 1024
    """of a processor, for workspaces"""
    shared_rate: float = 128.0
    """bytes a clock and processor"""
    memory_rate: float = 4.8e12
    cache_bytes: float = 50e6


@dataclass(frozen=True)
class Assumed:
    """What neither the code nor a data sheet says."""

    warps: int = 12
    """of a processor, by registers (kernels/fused.cuh)"""
    cycles_of_instruction: float = 4.0
    """from one to the next of a warp, which depends on it"""
    shared_latency: float = 30.0
    cache_latency: float = 270.0
    """of a load from device memory that lies in the cache"""
    loads_in_a_row: float = 2.0
    """between two barriers, one that waits for the other"""
    cache_rate: float = 5.5e12
    launch: float = 3e-6
    """seconds from one kernel of a graph to the next"""
    bytes_of_access: float = 4.0


def states(count: int) -> tuple[bytes, float]:
    """Rows of (qpos, qvel, qacc_warmstart, ctrl) from all parts of an episode, and their mean number of contacts."""
    import dualstep as ds
    from dualstep.measure.sweep import Plan, Workload, episode

    model, plan = ds.Model.from_mjcf(MODEL), Plan()
    work = Workload(model, "random", plan, episode(model, plan))
    drawn, ctrl = work.states(count), work.controls(count)
    with ds.Batch(model, count, "cpu") as batch:
        drawn.put(batch)
        batch.forward()
        contacts = float(batch.contacts().count.mean())
    rows = np.hstack([*(drawn.arrays[name] for name in ("qpos", "qvel", "qacc_warmstart")), ctrl])
    return rows.astype(np.float32).tobytes(), contacts


def counted(program: Path, rows: Path, lanes: int) -> list[dict[tuple[str, str], list[int]]]:
    """Of every environment, by file and function: cost, operations, barriers."""
    done = subprocess.run([program, MODEL, rows, str(lanes)], capture_output=True, text=True, check=True)
    out = []
    for env in json.loads(done.stdout):
        sums: dict[tuple[str, str], list[int]] = {}
        for place, numbers in env.items():
            file, signature = place.split(" ", 1)
            match = re.search(r"(\w+)(?:<[^()]*>)?\(", signature)
            old = sums.setdefault((file, match[1] if match else ""), [0, 0, 0])
            sums[file, match[1] if match else ""] = [a + b for a, b in zip(old, numbers, strict=True)]
        out.append(sums)
    return out


def file_of() -> dict[str, str]:
    """The file of kernels/ that each device function is written in."""
    found = {}
    for path in sorted((ROOT / "kernels").rglob("*.h")):
        for match in re.finditer(r"DS_(?:STAGE|FN)\s[^(;{]*?\b(\w+)\(", path.read_text()):
            found[match[1]] = str(path.relative_to(ROOT))
    return found


NUMBERS = ("FADD", "FMUL", "FFMA", "FSETP", "FSEL", "FMNMX", "FCHK", "MUFU")
MEMORY = ("LD", "ST", "LDG", "STG", "LDS", "STS", "LDL", "STL")


def compiled(lanes: int) -> dict[tuple[str, str], Counter]:
    """Instructions by file and function, and by file and "": all, on numbers, on memory."""
    import dualstep as ds
    from dualstep import _core

    made = _core.specialize(_core.specialized_program(ds.Model.from_mjcf(MODEL), [lanes]), "sm_90")
    if not made["code"]:
        raise RuntimeError(made["why"])
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(made["code"])
        file.flush()
        sass = output(tool("cuobjdump"), "-sass", file.name)
    places = function_places(made["code"])
    starts = np.array([start for start, _ in places])
    files = file_of()
    counts: dict[tuple[str, str], Counter] = {}
    for match in re.finditer(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", sass):
        name = places[int(np.searchsorted(starts, int(match[1], 16), side="right")) - 1][1]
        base = re.match(r"\w*", name.split("::")[-1])
        function = base[0] if base else ""
        file = files.get(function, "kernels/step.h")
        for key in ((file, function), (file, "")):
            counter = counts.setdefault(key, Counter())
            counter["all"] += 1
            counter["numbers"] += match[2] in NUMBERS
            counter["memory"] += match[2] in MEMORY
    return counts


def function_places(code: bytes) -> list[tuple[int, str]]:
    """Where every function of the kernel begins, with its readable name."""
    prefix = f"${ENTRY}$"
    starts = {name.removeprefix(prefix): at for name, at, _ in symbols(code) if name.startswith(prefix)}
    readable = demangle(list(starts))
    return sorted([(0, ENTRY), *((at, stage_name(readable[name])) for name, at in starts.items())])


@dataclass
class Stage:
    file: str
    operations: float
    """on numbers, of all lanes, an environment and step"""
    share: float
    """of the lanes' time that they are busy"""
    per_operation: float
    """instructions"""
    instructions: float
    """of a warp, an environment and step"""
    accesses: float
    """of memory, by single lanes, an environment and step"""
    barriers: float


Work = dict[tuple[str, str], list[int]]  # by file and function: cost, operations, barriers


def stages(work: list[Work], code: dict[tuple[str, str], Counter], lanes: int) -> list[Stage]:
    """By file, the costliest first."""
    group = 32 // lanes
    whole = sum((counter for (_, function), counter in code.items() if not function), Counter())
    by_file: dict[str, Stage] = {}
    busy: dict[str, float] = {}
    for file, function in sorted({key for env in work for key in env}):
        cost, operations, barriers = np.array([env.get((file, function), [0, 0, 0]) for env in work], float).T
        # the environments of a warp, as they come
        count = len(cost) // group * group
        slowest = cost[:count].reshape(-1, group).max(axis=1).mean()
        # a function with a few operations says little about itself
        mixes = (code.get((file, function)), code.get((file, "")))
        mix = next((m for m in mixes if m and m["numbers"] >= 20), whole)
        stage = by_file.setdefault(file, Stage(file, 0, 0, 0, 0, 0, 0))
        stage.operations += operations.mean()
        busy[file] = busy.get(file, 0) + cost.mean() * lanes
        stage.instructions += slowest * mix["all"] / mix["numbers"] / group
        stage.per_operation += slowest / group
        stage.accesses += operations.mean() * mix["memory"] / mix["numbers"]
        stage.barriers += barriers[:count].reshape(-1, group).max(axis=1).mean()
    for stage in by_file.values():
        stage.share = stage.operations / max(busy[stage.file], 1)
        stage.per_operation = stage.instructions / max(stage.per_operation, 1)
    return sorted(by_file.values(), key=lambda stage: -stage.instructions)


@dataclass
class Prediction:
    lanes: int
    place: str
    issue: float
    latency: float
    bytes: float
    warps: int

    @property
    def rate(self) -> float:
        return min(self.issue, self.latency, self.bytes)


def predict(found: list[Stage], lanes: int, workspace: int, device: H200, assumed: Assumed) -> list[Prediction]:
    group = 32 // lanes
    instructions = sum(s.instructions for s in found) * group  # of a warp's step, with all its environments
    barriers = max(sum(s.barriers for s in found), 1.0)
    accesses = sum(s.accesses for s in found)
    warp_bytes = workspace * group
    out = []
    for place in ("shared", "device"):
        warps = assumed.warps
        if place == "shared":
            warps = min(warps, device.shared_bytes // (2 * warp_bytes) * 2)  # two warps a block
            if warps == 0:
                continue
        # groups of environments are taken in rounds, the last of which may leave warps idle
        resident = min(warps * device.processors, NUM_ENVS / group)
        rounds = math.ceil(NUM_ENVS / group / (warps * device.processors))
        latency = assumed.shared_latency if place == "shared" else assumed.cache_latency
        cycles = instructions * assumed.cycles_of_instruction + barriers * assumed.loads_in_a_row * latency
        issue = device.processors * device.schedulers * device.clock * group / instructions
        if place == "shared":
            rate = device.processors * device.shared_rate * device.clock
        else:
            # what does not fit into the cache comes from memory
            fits = min(1.0, device.cache_bytes / (resident * warp_bytes))
            rate = 1 / (fits / assumed.cache_rate + (1 - fits) / device.memory_rate)
        out.append(Prediction(lanes, place, issue, NUM_ENVS * device.clock / (rounds * cycles),
                              rate / (accesses * assumed.bytes_of_access), int(warps)))  # fmt: skip
    return out


# the part of a step that each file belongs to (kernels/staged.h); the rest is smooth dynamics
PART_OF = {"collide": "collide", "rows": "rows", "dual": "solve", "newton": "solve", "pgs": "solve", "solve": "solve",
           "cone": "solve", "whitened_rows": "solve", "accelerate": "solve", "integrate": "integrate", "sense": "integrate"}  # fmt: skip
PARTS = ("smooth", "collide", "rows", "solve", "integrate")


def part_of(file: str) -> str:
    name = Path(file).stem
    return "collide" if "/collide/" in file else PART_OF.get(name, "smooth")


def warps_of_parts(lanes: int, device: H200) -> dict[str, int]:
    """How many warps of each part a processor holds, by the registers that it was compiled to."""
    import dualstep as ds
    from dualstep import _core

    made = _core.specialize(_core.specialized_program(ds.Model.from_mjcf(MODEL), [lanes] * len(PARTS)), "sm_90")
    if not made["log"]:
        raise RuntimeError(made["why"])
    used = {entry.rpartition("_")[2]: numbers["registers"] for entry, numbers in read_log(made["log"])["sm_90"].items()}
    # registers go to a warp by 256, and to blocks of two warps
    return {part: min(64, device.registers // (2 * 32 * (-(-used[part] // 8) * 8)) * 2) for part in PARTS}


def predict_parts(found: list[Stage], lanes: int, warps: dict[str, int], workspace: int, device: H200,
                  assumed: Assumed) -> dict[str, float]:
    """Seconds of each part of a step of NUM_ENVS environments, launched on its own; all workspaces in device memory."""
    group = 32 // lanes
    fits = min(1.0, device.cache_bytes / (NUM_ENVS * workspace))
    rate = 1 / (fits / assumed.cache_rate + (1 - fits) / device.memory_rate)
    out = {}
    for part in PARTS:
        mine = [s for s in found if part_of(s.file) == part]
        instructions = sum(s.instructions for s in mine) * group
        cycles = (instructions * assumed.cycles_of_instruction
                  + sum(s.barriers for s in mine) * assumed.loads_in_a_row * assumed.cache_latency)  # fmt: skip
        rounds = math.ceil(NUM_ENVS / group / (warps[part] * device.processors))
        issue = NUM_ENVS / group * instructions / (device.processors * device.schedulers * device.clock)
        moved = NUM_ENVS * sum(s.accesses for s in mine) * assumed.bytes_of_access / rate
        out[part] = max(rounds * cycles / device.clock, issue, moved) + assumed.launch
    return out


def workspace_bytes(lanes: int) -> int:
    """Of an environment: numbers and words, as the program of the model has them."""
    import dualstep as ds
    from dualstep import _core

    text = _core.specialized_program(ds.Model.from_mjcf(MODEL), [lanes])

    def numbers(name: str) -> list[int]:
        match = re.search(rf"static constexpr {name} \w = \{{([^}}]*)\}}", text)
        assert match
        return [int(word) for word in match[1].split(",") if word.strip()]

    header = (ROOT / "kernels" / "tables.h").read_text()
    declared = re.search(r"struct Sizes \{(.*?)\n\};", header, re.S)
    assert declared
    names = re.findall(r"\w+", re.sub(r"//.*|\bint\b", "", declared[1]))
    n = dict(zip(names, numbers("Sizes"), strict=True))
    words = 2 * (n["ncon"] + n["nv"]) * n["nword"] + n["nv"] + n["nrow"] + n["nv"] + n["nunit"] + n["ncon"]
    return 4 * (numbers("Layout")[-1] + words)


def fill(text: str) -> str:
    return textwrap.fill(text, 120)


def table(program: Path) -> str:
    device, assumed = H200(), Assumed()
    with tempfile.NamedTemporaryFile() as file:
        rows, contacts = states(STATES)
        file.write(rows)
        file.flush()
        work = {lanes: counted(program, Path(file.name), lanes) for lanes in (8, 32)}
    by_lanes = {lanes: stages(work[lanes], compiled(lanes), lanes) for lanes in work}
    size = workspace_bytes(8)
    # what is assumed, and half and one and a half of its times
    guesses = [assumed, *(replace(assumed, cycles_of_instruction=f * assumed.cycles_of_instruction,
                                  shared_latency=f * assumed.shared_latency, cache_latency=f * assumed.cache_latency,
                                  cache_rate=assumed.cache_rate / f) for f in (1.5, 0.5))]  # fmt: skip
    predictions = [
        row for lanes in work
        for row in zip(*(predict(by_lanes[lanes], lanes, size, device, guess) for guess in guesses), strict=True)
    ]  # fmt: skip
    lines = [
        fill(f"Humanoid, {STATES} states under random actions with {contacts:.1f} contacts on average, 8 threads an "
             "environment; of an environment and step:"),
        "",
        "| file | operations | lanes busy | instructions an operation | instructions of a warp | accesses | barriers |",
        "|---|---|---|---|---|---|---|",
    ]
    for s in by_lanes[8]:
        lines.append(f"| `{s.file}` | {s.operations:,.0f} | {s.share:.0%} | {s.per_operation:.1f} | "
                     f"{s.instructions:,.0f} | {s.accesses:,.0f} | {s.barriers:.0f} |")  # fmt: skip
    whole = by_lanes[8]
    lines.append(f"| all | {sum(s.operations for s in whole):,.0f} | | | {sum(s.instructions for s in whole):,.0f} | "
                 f"{sum(s.accesses for s in whole):,.0f} | {sum(s.barriers for s in whole):.0f} |")  # fmt: skip
    # the products with rows that the sweeps make have a file of their own
    sweeps = ("kernels/pgs.h", "kernels/whitened_rows.h")
    sweep = sum(s.barriers for s in whole if s.file in sweeps) * assumed.loads_in_a_row
    rest = sum(s.barriers for s in whole) * assumed.loads_in_a_row
    lines += [
        "",
        fill(f"The chain that lanes cannot shorten: the two sweeps of block Gauss-Seidel wait {sweep:,.0f} times for "
             f"memory, {sweep * assumed.shared_latency:,.0f} cycles in shared memory and "
             f"{sweep * assumed.cache_latency:,.0f} in the cache; all stages {rest:,.0f} times, "
             f"{rest * assumed.shared_latency:,.0f} and {rest * assumed.cache_latency:,.0f} cycles. The lanes of an "
             f"environment touch {sum(s.accesses for s in whole) * assumed.bytes_of_access / 1024:,.0f} KiB of "
             "workspace in a step."),
        "",
        fill(f"The workspace of an environment has {size:,} bytes. Million steps per second at {NUM_ENVS:,} "
             "environments, as each limit alone would have it; the least is the prediction (with every assumed time half "
             "as long again, and half as long):"),
        "",
        "| threads | workspace | warps a processor | issue | latency | bytes | predicted |",
        "|---|---|---|---|---|---|---|",
    ]
    for p, slow, fast in predictions:
        lines.append(f"| {p.lanes} | {p.place} memory | {p.warps} | {p.issue / 1e6:.1f} | {p.latency / 1e6:.1f} | "
                     f"{p.bytes / 1e6:.1f} | **{p.rate / 1e6:.1f}** ({slow.rate / 1e6:.1f} to {fast.rate / 1e6:.1f}) |"
                     )  # fmt: skip
    lines += ["", fill("In parts, each a launch of its own with as many warps as its registers allow, microseconds a step of "
                       f"{NUM_ENVS:,} environments (warps a processor):"), "",
              "| threads | " + " | ".join(PARTS) + " | million steps per second |",
              "|---|" + "---|" * (len(PARTS) + 1)]  # fmt: skip
    for lanes in work:
        warps = warps_of_parts(lanes, device)
        times, slow, fast = (predict_parts(by_lanes[lanes], lanes, warps, size, device, guess) for guess in guesses)
        rates = [NUM_ENVS / sum(t.values()) / 1e6 for t in (times, slow, fast)]
        lines.append(f"| {lanes} | " + " | ".join(f"{1e6 * times[p]:.0f} ({warps[p]})" for p in PARTS)
                     + f" | **{rates[0]:.1f}** ({rates[1]:.1f} to {rates[2]:.1f}) |")  # fmt: skip
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count_work", type=Path)
    parser.add_argument("--write", action="store_true", help="put it into bench/README.md")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # what the assembler says of registers is not kept in a cache
        os.environ["DUALSTEP_CACHE_DIR"] = folder
        text = table(args.count_work)
    print(text)
    if args.write:
        page = README.read_text()
        before, rest = page.split(BEGIN)
        README.write_text(before + BEGIN + "\n\n" + text + "\n\n" + END + rest.split(END)[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
