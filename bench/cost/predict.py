"""A model of what a step costs on an H200, from the compiled code and what it executes; no device has checked it.

    python bench/cost/predict.py                        print what the machine code says: registers, warps, workspace
    python bench/cost/predict.py build/test             and what follows from it and from what a step executes
    python bench/cost/predict.py build/test --write     and put it into bench/README.md, as far as it is made

The machine code takes NVRTC alone. The build folder is one with DUALSTEP_TESTS and nvcc. What is counted, on the PTX
interpreter (tests/ptx_interpreter), where the kernel specialised for the humanoid runs for `STATES` states under random
actions, once they are sorted by their last step:
    instructions  of PTX, of every device function, as often as a warp issues them
    barriers      where the threads of an environment meet, and shuffles: a chain that nothing shortens
    bytes         written, or read where a warp's share of the first-level cache (12 KB, the oldest make room) has them not
What is read from the machine code for sm_90 (tests/cuda/check_special.py): how many instructions of it a function has for
each of PTX, and the registers of a thread, from which follows how many warps an SM holds. A function belongs to the part of
the step whose kernel has it where the step is compiled in parts.
What is assumed stands in `H200` and `Assumed`.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cuda"))

from check_budgets import read_log  # noqa: E402
from check_special import ENTRY, WARPS, functions, stage_name, stages  # noqa: E402
from tools import demangle  # noqa: E402

README = ROOT / "bench" / "README.md"
# where the tables begin and end in it: what the machine code says, and the prediction
MARKS = {"code": ("<!-- of machine code, made by bench/cost/predict.py -->", "<!-- end of machine code -->"),
         "step": ("<!-- made by bench/cost/predict.py -->", "<!-- end of what bench/cost/predict.py made -->")}  # fmt: skip
MODEL = ROOT / "bench" / "models" / "humanoid.xml"
STATES = 256
NUM_ENVS = 8192
# threads of an environment: the default, which every build has; environments of a warp
LANES = 8
GROUP = 32 // LANES
PARTS = ("smooth", "collide", "rows", "solve", "integrate")
# what has the kernel of a step in one launch, and its loop over environments
LAUNCH = "kernels/launch/cuda/fused.cuh"


@dataclass(frozen=True)
class H200:
    """The device's limits, from its data sheet, and the clock that it is sold with."""

    clock: float = 1.98e9
    sms: int = 132
    schedulers: int = 4
    registers: int = 65536
    """of an SM"""
    shared_bytes: int = 227 * 1024
    """of an SM, for workspaces"""
    shared_rate: float = 128.0
    """bytes a clock and SM"""
    memory_rate: float = 4.8e12
    cache_bytes: float = 50e6


@dataclass(frozen=True)
class Assumed:
    """What neither the code nor a data sheet says."""

    cycles_of_instruction: float = 4.0
    """from one to the next of a warp, which depends on it"""
    shuffle: float = 24.0
    """cycles"""
    shared_latency: float = 30.0
    cache_latency: float = 270.0
    """of a load from device memory that lies in the cache"""
    loads_in_a_row: float = 2.0
    """between two barriers, one that waits for the other"""
    shuffles_of_sum: float = 3.0
    """of one number over eight threads; the sum begins with a load"""
    cache_rate: float = 5.5e12
    launch: float = 3e-6
    """seconds from one kernel of a graph to the next"""


@dataclass
class Work:
    """Of one environment and step."""

    instructions: float = 0
    """of a warp, divided by its environments"""
    threads: float = 0
    """instructions of its threads, likewise"""
    barriers: float = 0
    """of a warp: its environments meet at the same time"""
    shuffles: float = 0
    bytes: float = 0

    @property
    def busy(self) -> float:
        """Threads of a warp that take part, on average."""
        return self.threads / max(self.instructions, 1e-9)

    @classmethod
    def total(cls, works: Iterable[Work]) -> Work:
        return cls(*map(sum, zip(*map(astuple, works))))


@dataclass(frozen=True)
class Place:
    """Where a function of the step is at home."""

    file: str
    part: str


@dataclass(frozen=True)
class Compiled:
    """A program for sm_90."""

    text: str
    code: bytes
    registers: dict[str, int]
    """by kernel"""


def program(lanes: Sequence[int]) -> str:
    import dualstep as ds
    from dualstep import _core

    return _core.specialized_program(ds.Model.from_mjcf(MODEL), list(lanes))


def compiled(lanes: Sequence[int]) -> Compiled:
    from dualstep import _core

    text = program(lanes)
    made = _core.specialize(text, "sm_90")
    if not made["log"]:
        raise RuntimeError(made["why"] or "the machine code is from a cache, which does not say what registers it has")
    used = read_log(made["log"])["sm_90"]
    return Compiled(text, made["code"], {entry: numbers["registers"] for entry, numbers in used.items()})


def ratios(text: str, code: bytes) -> dict[str, float]:
    """Instructions of machine code for each of PTX, by mangled function."""
    from dualstep import _core

    written = statements(_core.specialize(text, "compute_90")["code"].decode(errors="replace"))
    final: dict[str, int] = {}
    for name, count in functions(code).items():
        kernel, _, function = name.strip("$").rpartition("$")
        final[function] = final.get(function, 0) + count
        # a kernel has its functions in it
        if kernel:
            final[kernel] = final.get(kernel, 0) - count
    return {name: final[name] / count for name, count in written.items() if final.get(name, 0) > 0 and count}


def statements(ptx: str) -> dict[str, int]:
    """Instructions of every function of PTX."""
    counts: dict[str, int] = {}
    name = None
    for line in ptx.splitlines():
        if match := re.match(r"(?:\.visible |\.weak )?\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)", line):
            name = match[1]
        elif name and re.match(r"\s+(?!param|retval)(@!?%\w+ +)?[a-z]", line):
            counts[name] = counts.get(name, 0) + 1
    return counts


def executed(build: Path) -> tuple[dict[str, dict[str, int]], float]:
    """What `run` counts of a second step, and the mean number of contacts."""
    one, two = (run(build, steps) for steps in (1, 2))
    return {name: {what: count - one[0].get(name, {}).get(what, 0) for what, count in numbers.items()}
            for name, numbers in two[0].items()}, two[1]  # fmt: skip


def run(build: Path, steps: int) -> tuple[dict[str, dict[str, int]], float]:
    """What Machine::Issued of the PTX interpreter counts, by mangled function, of STATES environments; and their mean
    number of contacts."""
    given: list[str | Path] = [
        sys.executable,
        ROOT / "tests" / "ptx_interpreter" / "run.py",
        build,
        __file__,
        "--steps",
        str(steps),
    ]
    done = subprocess.run(given, capture_output=True, text=True, check=False,
                          env=os.environ | {"PTX_INTERPRETER_PROFILE": "1"})  # fmt: skip
    line = re.compile(r"^PTX interpreter: in (\w+), (.*)$", re.M)
    if done.returncode:
        raise RuntimeError(line.sub("", done.stderr))
    counts: dict[str, dict[str, int]] = {}
    for name, numbers in line.findall(done.stderr):
        counts[name] = {what: int(number) for number, what in re.findall(r"(\d+) ([a-z ]+)", numbers)}
    return counts, float(done.stdout.split()[-1])


def step(steps: int) -> None:
    """What `run` counts: steps, and nothing else of the kernels."""
    import dualstep as ds
    from dualstep.measure.sweep import Plan, Workload, episode
    from dualstep.measure.workload import host

    model, plan = ds.Model.from_mjcf(MODEL), Plan()
    work = Workload(model, "random", plan, episode(model, plan))
    states, ctrl = work.states(STATES), work.controls(STATES)
    with ds.Batch(model, STATES, "cpu") as batch:
        states.put(batch)
        batch.forward()
        contacts = float(batch.contacts().count.mean())
    with ds.Batch(model, STATES, "cuda", lanes=LANES) as batch:
        if "kernels specialised for this model" not in batch.description:
            raise RuntimeError(f"no kernel is specialised for the model: {batch.description}")
        states.put(batch)
        batch.ctrl = ctrl.astype(batch.dtype)
        for _ in range(steps):
            batch.step()
        host(batch.status)  # waits for them
    print(contacts)


def files() -> dict[str, set[str]]:
    """Where kernels/ has each device function and each class, by its name."""
    from dualstep import _core

    found: dict[str, set[str]] = {}
    for file, text in _core.kernel_sources().items():
        for match in re.finditer(r"DS_(?:STAGE|FN)\s[^(;{]*?\b(\w+)\(|^\s*(?:struct|class) (\w+)[^;]*?\{", text, re.M):
            found.setdefault(match[1] or match[2], set()).add(file)
    return found


def file_of(stage: str, known: Mapping[str, set[str]]) -> str:
    """The file that a stage is written in, by its name of check_special.py."""
    if stage == ENTRY:
        return LAUNCH
    # without what is between angles, and what it returns
    name = stage
    while name != (name := re.sub(r"<[^<>]*>", "", name)):
        pass
    *owner, function = name.split()[-1].split("::")
    where = known.get(owner[-1] if owner else function, set())
    if len(where) != 1:
        written = " and ".join(sorted(where)) or "no file of kernels/"
        raise LookupError(f"the function {stage} of the step is written in {written}")
    return next(iter(where))


def places(fused: Iterable[str], staged: Mapping[str, Iterable[str]]) -> dict[str, Place]:
    """Of every stage of the step in one launch, from the stages of the kernel of each part. One that several parts call
    counts with the first. One that no part has (it calls stages, or has nothing to do where one thread has an environment)
    counts with its file, if all others of that are of one part."""
    known = files()
    file = {stage: file_of(stage, known) for stage in fused}
    part = {stage: next((part for part in PARTS if stage in staged[part]), "") for stage in file}
    of_file: dict[str, set[str]] = {LAUNCH: {PARTS[0]}}
    for stage in file:
        if part[stage]:
            of_file.setdefault(file[stage], set()).add(part[stage])
    for stage in file:
        if not part[stage]:
            parts = of_file.get(file[stage], set())
            if len(parts) != 1:
                raise LookupError(f"the function {stage} of {file[stage]} is in the step, and belongs to no part of it")
            part[stage] = next(iter(parts))
    return {stage: Place(file[stage], part[stage]) for stage in file}


def stages_by_part(code: bytes) -> dict[str, dict[str, int]]:
    """Instructions of every stage of a step in parts."""
    return {part: stages(code, f"dualstep_staged_{part}") for part in PARTS}


def work_by_place(counts: dict[str, dict[str, int]], by_function: dict[str, float],
                  place_of: Mapping[str, Place]) -> dict[Place, Work]:  # fmt: skip
    """Of the step's functions. What is inlined counts where it is called."""
    found: dict[Place, list[Work]] = {}
    readable = demangle(list(counts))
    usual = sum(by_function.values()) / len(by_function)
    for name, numbers in counts.items():
        stage = stage_name(readable[name])
        # what sorts and resets environments is none of them
        if stage not in place_of:
            if "dualstep::cuda::" in readable[name]:
                raise LookupError(f"the function {stage} runs, and is not in the step that was compiled")
            continue
        ratio = by_function.get(name, usual)
        found.setdefault(place_of[stage], []).append(Work(
            instructions=numbers["instructions of warps"] * ratio / STATES,
            threads=numbers["instructions of threads"] * ratio / STATES,
            barriers=numbers["barriers"] * GROUP / STATES,
            shuffles=numbers["shuffles"] * GROUP / STATES,
            bytes=(numbers["bytes fetched"] + numbers["bytes written"]) / STATES))  # fmt: skip
    return {place: Work.total(works) for place, works in found.items()}


def work_by_file(work: Mapping[Place, Work]) -> dict[str, Work]:
    """The costliest file first."""
    found = {file: Work.total(w for place, w in work.items() if place.file == file)
             for file in {place.file for place in work}}  # fmt: skip
    return dict(sorted(found.items(), key=lambda item: -item[1].instructions))


@dataclass
class Prediction:
    place: str
    warps: int
    issue: float
    latency: float
    bytes: float

    @property
    def rate(self) -> float:
        return min(self.issue, self.latency, self.bytes)


def cycles_of(work: Sequence[Work], latency: float, assumed: Assumed) -> float:
    """Of a warp's step, with all its environments, if nothing else runs."""
    return sum(
        w.instructions * GROUP * assumed.cycles_of_instruction
        + w.barriers * assumed.loads_in_a_row * latency
        + w.shuffles * (assumed.shuffle + latency / assumed.shuffles_of_sum)
        for w in work
    )  # fmt: skip


def byte_rate(resident: float, workspace: int, device: H200, assumed: Assumed) -> float:
    """Of device memory: what does not fit into the cache comes from behind it."""
    fits = min(1.0, device.cache_bytes / (resident * workspace))
    return 1 / (fits / assumed.cache_rate + (1 - fits) / device.memory_rate)


def rounds_of(warps: int, device: H200) -> int:
    """Groups of environments are taken in rounds, the last of which may leave warps idle."""
    return math.ceil(NUM_ENVS / GROUP / (warps * device.sms))


def predict(work: Sequence[Work], registers: int, workspace: int, device: H200, assumed: Assumed) -> list[Prediction]:
    """The step in one launch, where the workspace fits."""
    out = []
    for place in ("shared", "device"):
        warps = warps_of(registers, device)
        if place == "shared":
            warps = min(warps, device.shared_bytes // (workspace * GROUP))
            if warps == 0:
                continue
        latency = assumed.shared_latency if place == "shared" else assumed.cache_latency
        resident = min(warps * device.sms * GROUP, NUM_ENVS)
        rate = (device.sms * device.shared_rate * device.clock if place == "shared"
                else byte_rate(resident, workspace, device, assumed))  # fmt: skip
        issue = device.sms * device.schedulers * device.clock / sum(w.instructions for w in work)
        chain = NUM_ENVS * device.clock / (rounds_of(warps, device) * cycles_of(work, latency, assumed))
        out.append(Prediction(place, warps, issue, chain, rate / sum(w.bytes for w in work)))
    return out


def predict_parts(work: Mapping[Place, Work], registers: dict[str, int], workspace: int, device: H200,
                  assumed: Assumed) -> dict[str, float]:
    """Seconds of each part of a step of NUM_ENVS environments, launched on its own; all workspaces in device memory."""
    out, rate = {}, byte_rate(NUM_ENVS, workspace, device, assumed)
    for part in PARTS:
        mine = [w for place, w in work.items() if place.part == part]
        rounds = rounds_of(warps_of(registers[f"dualstep_staged_{part}"], device), device)
        chain = rounds * cycles_of(mine, assumed.cache_latency, assumed) / device.clock
        issue = NUM_ENVS * sum(w.instructions for w in mine) / (device.sms * device.schedulers * device.clock)
        moved = NUM_ENVS * sum(w.bytes for w in mine) / rate
        out[part] = max(chain, issue, moved) + assumed.launch
    return out


def warps_of(registers: int, device: H200) -> int:
    """How many an SM holds in one block: the most that a kernel is tried with whose registers fit, which go to a warp by 256."""
    return next(warps for warps in WARPS if warps * 32 * (-(-registers // 8) * 8) <= device.registers)


def sizes(text: str) -> dict[str, int]:
    """Of the model of a program (kernels/data/sizes.inl)."""
    from dualstep import _core

    names = re.findall(r"^SIZE\((\w+),", _core.kernel_sources()["kernels/data/sizes.inl"], re.M)
    return dict(zip(names, numbers(text, "Sizes"), strict=True))


def numbers(text: str, name: str) -> list[int]:
    """What the struct of that name holds in a program."""
    match = re.search(rf"static constexpr {name} \w = \{{([^}}]*)\}}", text)
    if not match:
        raise LookupError(f"the program of the model has no {name}")
    return [int(word) for word in match[1].split(",") if word.strip()]


def workspace_bytes(text: str) -> int:
    """Of an environment: numbers and words, as a program in single precision has them (kernels/launch/cuda/launch.cuh)."""
    n = sizes(text)
    if n["nisland"]:
        raise ValueError("the model's islands are solved apart, and the bytes of their arena are not known here")
    return 4 * (numbers(text, "Layout")[-1] + n["arena_begin"])


def fill(text: str) -> str:
    return textwrap.fill(text, 120)


def code_table(fused: Compiled, staged: Compiled) -> str:
    """What the machine code says of the step."""
    from dualstep import _core

    compiler = _core.describe_specialization().split(",")[0]
    in_parts = stages_by_part(staged.code)
    kernels = {"all at once": (stages(fused.code), fused.registers[ENTRY]),
               **{part: (in_parts[part], staged.registers[f"dualstep_staged_{part}"]) for part in PARTS}}  # fmt: skip
    lines = [
        fill(
            f"Humanoid, sm_90, {compiler}, {LANES} threads an environment, whose workspace has "
            f"{workspace_bytes(fused.text):,} bytes:"
        ),
        "",
        "| kernel | instructions | registers | warps an SM |",
        "|---|---|---|---|",
    ]
    for name, (counts, registers) in kernels.items():
        lines.append(f"| {name} | {sum(counts.values()):,} | {registers} | {warps_of(registers, H200())} |")
    return "\n".join(lines)


def table(build: Path, fused: Compiled, staged: Compiled) -> str:
    device, assumed, size = H200(), Assumed(), workspace_bytes(fused.text)
    registers = fused.registers
    place_of = places(stages(fused.code), stages_by_part(staged.code))
    counts, contacts = executed(build)
    by_place = work_by_place(counts, ratios(fused.text, fused.code), place_of)
    work = work_by_file(by_place)
    # what is assumed, and half and one and a half of its times
    guesses = [assumed, *(replace(assumed, cycles_of_instruction=f * assumed.cycles_of_instruction,
                                  shuffle=f * assumed.shuffle, shared_latency=f * assumed.shared_latency,
                                  cache_latency=f * assumed.cache_latency, cache_rate=assumed.cache_rate / f)
                          for f in (1.5, 0.5))]  # fmt: skip
    lines = [
        fill(
            f"Humanoid, {STATES} states under random actions with {contacts:.1f} contacts on average, {LANES} threads "
            "an environment; of an environment and step, and where threads wait, of a warp with all its environments:"
        ),
        "",
        "| file | instructions of a warp | threads busy | bytes | barriers | shuffles |",
        "|---|---|---|---|---|---|",
    ]
    rows = [*((f"`{file}`", w, f"{w.busy:.0f}") for file, w in work.items() if w.instructions >= 1)]
    total = Work.total(work.values())
    for name, w, busy in [*rows, ("all", total, "")]:
        lines.append(
            f"| {name} | {w.instructions:,.0f} | {busy} | {w.bytes:,.0f} | {w.barriers:.0f} | {w.shuffles:.0f} |"
        )
    chain = {place: cycles_of([replace(total, instructions=0)], latency, assumed)
             for place, latency in (("shared", assumed.shared_latency), ("cache", assumed.cache_latency))}  # fmt: skip
    lines += [
        "",
        fill(
            f"A warp issues {GROUP * total.instructions:,.0f} instructions, and waits {chain['cache']:,.0f} cycles at "
            f"barriers and sums for what lies in the cache, or {chain['shared']:,.0f} for what lies in shared memory. "
            f"The workspace of an environment has {size:,} bytes. Million steps per second at {NUM_ENVS:,} "
            "environments, as each limit alone would have it; the least is the prediction (with every assumed time half "
            "as long again, and half as long):"
        ),
        "",
        "| workspace | registers | warps an SM | issue | latency | bytes | predicted |",
        "|---|---|---|---|---|---|---|",
    ]
    columns = (predict(list(work.values()), registers[ENTRY], size, device, guess) for guess in guesses)
    for p, slow, fast in zip(*columns, strict=True):
        lines.append(
            f"| {p.place} memory | {registers[ENTRY]} | {p.warps} | {p.issue / 1e6:.1f} | {p.latency / 1e6:.1f} | "
            f"{p.bytes / 1e6:.1f} | **{p.rate / 1e6:.1f}** ({slow.rate / 1e6:.1f} to {fast.rate / 1e6:.1f}) |"
        )
    used = staged.registers
    times, slow, fast = (predict_parts(by_place, used, size, device, guess) for guess in guesses)
    rates = [NUM_ENVS / sum(t.values()) / 1e6 for t in (times, slow, fast)]
    lines += ["", fill("In parts, each a launch of its own with as many warps as its registers allow, microseconds a step of "
                       f"{NUM_ENVS:,} environments (warps an SM):"), "",
              "| " + " | ".join(PARTS) + " | million steps per second |", "|" + "---|" * (len(PARTS) + 1),
              "| " + " | ".join(f"{1e6 * times[p]:.0f} "
              f"({warps_of(used[f'dualstep_staged_{p}'], device)})" for p in PARTS)
              + f" | **{rates[0]:.1f}** ({rates[1]:.1f} to {rates[2]:.1f}) |"]  # fmt: skip
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, nargs="?")
    parser.add_argument("--write", action="store_true", help="put what is printed into bench/README.md")
    parser.add_argument("--steps", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.steps:
        step(args.steps)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        # what the assembler says of registers is not kept in a cache
        os.environ["DUALSTEP_CACHE_DIR"] = folder
        fused, staged = compiled([LANES]), compiled([LANES] * len(PARTS))
        # fails before anything runs, where a function is new
        places(stages(fused.code), stages_by_part(staged.code))
        made = {"code": code_table(fused, staged)}
        if args.build:
            made["step"] = table(args.build, fused, staged)
    print("\n\n".join(made.values()))
    if args.write:
        page = README.read_text()
        for what, text in made.items():
            begin, end = MARKS[what]
            before, rest = page.split(begin)
            page = before + begin + "\n\n" + text + "\n\n" + end + rest.split(end)[1]
        README.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
