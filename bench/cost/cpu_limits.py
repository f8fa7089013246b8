"""What a step executes on a CPU, counted, beside what a core can do at most, measured.

    python bench/cost/cpu_limits.py build/test                    the humanoid, as a table in Markdown
    python bench/cost/cpu_limits.py build/test MODEL.xml ...      others

Needs valgrind and g++, and a build folder, whose library has the symbols that an installed one is stripped of; a minute
a model. Counted by callgrind, which executes AVX2 and no AVX-512: instructions, reads and writes of the kernels, and
those that miss a first- and a second-level cache of this processor's sizes. Measured: the time of the same steps, and
of loops that do nothing but add, multiply or load (core_limits.cpp). What is counted for packs of 8 holds for packs of
16 nearly: the kernels are the same, with registers twice as wide.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

HERE = pathlib.Path(__file__).parent
CACHES = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")
ENVS, SUBSTEPS, CALLS = 256, 5, 2
# a call as a whole, or a segment of one
KERNELS = [f"{name}<dualstep::avx2::Pack<float, 8> >*"
           for name in ("void dualstep::avx2::run_block", "bool dualstep::avx2::run_segment_of_block")]  # fmt: skip


def steps(model: str, file: str, repeat: int) -> None:
    """Takes the steps that are counted and timed; the first call leaves the environments sorted."""
    import dualstep as ds
    from dualstep.measure.workload import States

    with np.load(file) as saved:
        states = States({name: saved[name] for name in saved.files if name != "ctrl"})
        controls = saved["ctrl"]
    with ds.Batch(ds.Model.from_mjcf(model), ENVS, device="cpu", num_threads=1) as batch:
        spent = []
        for _ in range(repeat):
            states.put(batch)
            start = time.process_time()
            for ctrl in controls:
                batch.ctrl = ctrl
                batch.step(SUBSTEPS)
            spent.append((time.process_time() - start) / (ENVS * SUBSTEPS * CALLS))
        print(f"microseconds {1e6 * np.median(spent)}")


def prepare(model: str, file: str) -> None:
    """States of all parts of an episode under random actions, and actions."""
    import dualstep as ds
    from dualstep.measure.workload import Controls, play

    loaded, rng = ds.Model.from_mjcf(model), np.random.default_rng(0)
    controls = Controls(loaded, rng)
    with ds.Batch(loaded, 32, device="cpu", num_threads=1) as batch:
        pool = play(batch, controls, SUBSTEPS, 2.0, rng).states
    states = pool.take(rng.integers(len(pool), size=ENVS))
    arrays: dict[str, Any] = {"ctrl": controls.draw(CALLS, ENVS), **states.arrays}
    np.savez(file, **arrays)


def package(build: pathlib.Path, folder: str) -> None:
    """Puts the installed package into a folder, with the library of a build, for the commands that follow."""
    spec = importlib.util.find_spec("dualstep")
    libraries = list(build.glob("_core*.so"))
    if spec is None or spec.origin is None or len(libraries) != 1:
        sys.exit(f"{build} has {len(libraries)} files _core*.so, where one is wanted, or dualstep is not installed")
    place = pathlib.Path(folder, "dualstep")
    place.mkdir()
    for item in [*pathlib.Path(spec.origin).parent.iterdir(), libraries[0].resolve()]:
        if item == libraries[0].resolve() or not item.name.startswith("_core"):
            (place / item.name).symlink_to(item)
    os.environ["PYTHONPATH"] = folder


def output(*words: str, isa: str = "") -> str:
    env = os.environ | ({"DUALSTEP_ISA": isa} if isa else {})
    found = subprocess.run(words, env=env, capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{found.stderr}")
    return found.stdout


def numbers(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.e+-]+)$", text, re.M)}


def cache(level: int) -> str:
    """A data cache of this processor as valgrind wants it: bytes, ways, bytes of a line."""
    for index in CACHES.glob("index*"):
        read = {name: (index / name).read_text().strip() for name in ("type", "level", "size", "ways_of_associativity",
                                                                       "coherency_line_size")}  # fmt: skip
        if int(read["level"]) == level and read["type"] != "Instruction":
            size = int(read["size"].rstrip("K")) * 1024
            return f"{size},{read['ways_of_associativity']},{read['coherency_line_size']}"
    sys.exit(f"{CACHES} does not say how large the cache of level {level} is")


def command(model: str, file: str, repeat: int) -> list[str]:
    """This script, taking the steps, or choosing what to start from."""
    return [sys.executable, __file__, "--steps", model, file, str(repeat)]


def count(model: str, file: str) -> dict[str, float]:
    """Events of a step of one environment."""
    with tempfile.NamedTemporaryFile() as out:
        output(
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", "--cache-sim=yes",
            f"--D1={cache(1)}", f"--LL={cache(2)}",
            *(f"--toggle-collect={kernel}" for kernel in KERNELS), *command(model, file, 1),
        )  # fmt: skip
        text = pathlib.Path(out.name).read_text()
    names = re.search(r"^events: (.*)$", text, re.M)
    sums = re.search(r"^(?:summary|totals): (.*)$", text, re.M)
    if not names or not sums or len(names[1].split()) != len(sums[1].split()):
        sys.exit(f"callgrind counted nothing: the library has none of {KERNELS}")
    found = dict(zip(names[1].split(), map(float, sums[1].split()), strict=True))
    return {name: value / (ENVS * SUBSTEPS * CALLS) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "build", type=pathlib.Path, nargs="?", default=pathlib.Path("build/test"), help="a build folder"
    )
    parser.add_argument("model", nargs="*", default=[str(HERE.parent / "models" / "humanoid.xml")], help="MJCF files")
    parser.add_argument("--steps", nargs=3, metavar=("MODEL", "FILE", "REPEAT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.steps:
        model, file, repeat = args.steps
        return steps(model, file, int(repeat)) if int(repeat) else prepare(model, file)
    for tool in ("valgrind", "g++"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is needed, and not found")
    limits = {}
    with tempfile.TemporaryDirectory() as folder:
        package(args.build, folder)
        for bits in (256, 512):
            program = f"{folder}/limits{bits}"
            output("g++", "-std=c++20", "-O2", "-march=native", f"-DWIDTH={bits // 8}", "-o", program,
                   str(HERE / "core_limits.cpp"))  # fmt: skip
            limits[bits] = numbers(output(program))
        print("| registers | clock | multiply-adds a cycle | loads a cycle | bytes a cycle from the second level |")
        print("|---|---|---|---|---|")
        for bits, one in limits.items():
            print(f"| {bits} bits | {one['clock'] / 1e9:.2f} GHz | {one['fma']:.1f} | {one['l1_loads']:.1f} |", end=" ")
            print(f"{one['l2_bytes']:.0f} |")
        for model in args.model:
            file = f"{folder}/states.npz"
            output(*command(model, file, 0))
            spent = {isa: numbers(output(*command(model, file, 40), isa=isa))["microseconds"]
                     for isa in ("avx2", "avx512")}  # fmt: skip
            found = count(model, file)
            clock = {"avx2": limits[256]["clock"], "avx512": limits[512]["clock"]}
            cycles = {isa: micros * clock[isa] / 1e6 for isa, micros in spent.items()}
            missed = {level: found[f"{level}mr"] + found[f"{level}mw"] for level in ("D1", "DL")}
            print(f"\n{pathlib.Path(model).stem}, an environment's step\n")
            print("| | packs of 8, AVX2 | packs of 16, AVX-512 |")
            print("|---|---|---|")
            print(f"| microseconds | {spent['avx2']:.2f} | {spent['avx512']:.2f} |")
            print(f"| cycles | {cycles['avx2']:,.0f} | {cycles['avx512']:,.0f} |")
            print(f"| instructions, in a cycle | {found['Ir']:,.0f}, {found['Ir'] / cycles['avx2']:.1f} | |")
            access = f"{found['Dr']:,.0f} and {found['Dw']:,.0f}, {(found['Dr'] + found['Dw']) / cycles['avx2']:.1f}"
            print(f"| reads and writes, in a cycle | {access} | |")
            wait = 64 * missed["D1"] / limits[256]["l2_bytes"]
            print(f"| lines from the second level, cycles for them | {missed['D1']:,.0f}, {wait:,.0f} | |")
            print(f"| lines from beyond it | {missed['DL']:,.0f} | |")


if __name__ == "__main__":
    main()
