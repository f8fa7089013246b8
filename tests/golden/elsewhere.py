"""Golden hashes by other compilers, optimized otherwise, and for another processor: no bit may differ.

    python tests/golden/elsewhere.py                    # each toolchain that is here; minutes to compile for each
    python tests/golden/elsewhere.py --only aarch64     # those with this in their names

The kernels are cross-compiled and run under emulation where Debian's g++-aarch64-linux-gnu and qemu-user are installed;
clang++ or clang++-14 is the other compiler. Nothing of Python runs there: golden_rollout.cpp takes the steps of
tests/python/support/answers.py, and what it prints is hashed here and compared with hashes.json.
"""

from __future__ import annotations

import argparse
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "python"), str(ROOT / "tests" / "python" / "support")]


class Toolchain(NamedTuple):
    compilers: tuple[str, ...]  # the first that is here
    optimize: str
    options: tuple[str, ...] = ()
    runner: str = ""
    environments: int = 4


PORTABLE = "-DDUALSTEP_PORTABLE_ONLY=ON"
CROSS = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_EXE_LINKER_FLAGS=-static", PORTABLE,
         "-DDUALSTEP_EIGEN_INCLUDE=/usr/include/eigen3")  # fmt: skip
CLANG = ("clang++", "clang++-19", "clang++-16", "clang++-14")
TOOLCHAINS = {
    "gcc -O1, portable": Toolchain(("g++",), "-O1", (PORTABLE,)),
    "clang -O1, portable": Toolchain(CLANG, "-O1", (PORTABLE,)),
    "clang -O3, best here": Toolchain(CLANG, "-O3", ("-DDUALSTEP_ISAS=native",)),
    "gcc -O2, aarch64": Toolchain(("aarch64-linux-gnu-g++",), "-O2", CROSS, "qemu-aarch64", 1),
}


def write_models(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    import golden
    import raw_models

    import dualstep as ds

    files = {name: folder / f"{name}.raw" for name in golden.MODELS}
    for name, file in files.items():
        raw_models.write(file, ds.Model.from_mjcf(golden.SOURCES[name]).mj_model)
    return files


def build(compiler: str, chain: Toolchain, folder: pathlib.Path) -> pathlib.Path:
    for command in (
        ["cmake", "-S", HERE / "elsewhere", "-B", folder, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release",
         f"-DDUALSTEP_OPTIMIZE={chain.optimize}", *chain.options],
        ["cmake", "--build", folder, "--target", "golden_rollout"],
    ):  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    return folder / "golden_rollout"


def hashes(program: pathlib.Path, chain: Toolchain, steps: int, files: dict[str, pathlib.Path]) -> dict[str, list[str]]:
    """By model, of each environment."""
    command = [*chain.runner.split(), program, str(steps), str(chain.environments), *files.values()]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    names, found = {str(file): name for name, file in files.items()}, {}
    for line in lines:
        if line in names:
            rows = found[names[line]] = []
        else:
            rows.append(hashlib.sha256(bytes.fromhex(line)).hexdigest()[:16])
    return found


def compare(only: str = "") -> list[tuple[str, str, list[str] | None]]:
    """By toolchain: what it is, and the models whose hashes differ; None where it is not here."""
    import golden

    wanted, told = golden.load(), []
    with tempfile.TemporaryDirectory() as temporary:
        files = write_models(pathlib.Path(temporary))
        for name, chain in TOOLCHAINS.items():
            if only not in name:
                continue
            compiler = next(filter(shutil.which, chain.compilers), None)
            if compiler is None or (chain.runner and not shutil.which(chain.runner)):
                told.append((name, f"{chain.compilers[0]} or {chain.runner or 'another'} is not here", None))
                continue
            began = time.monotonic()
            version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
            kept = ROOT / "build" / "elsewhere" / "".join(c if c.isalnum() else "-" for c in name)
            found = hashes(build(compiler, chain, kept), chain, golden.STEPS, files)
            wrong = [model for model in files if found[model] != wanted[model]["environments"][: chain.environments]]
            told.append((name, f"{version}, {len(files)} models, {time.monotonic() - began:.0f} s", wrong))
            print(f"{name}: {told[-1][1]}: {'differ: ' + ', '.join(wrong) if wrong else 'the same bits'}", flush=True)
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="toolchains with this in their names")
    told = compare(parser.parse_args().only)
    for name, what, wrong in told:
        if wrong is None:
            print(f"{name}: left out: {what}")
    ran = [wrong for *_, wrong in told if wrong is not None]
    if not ran:
        print("no toolchain of that name is here", file=sys.stderr)
    return int(not ran or any(ran))


if __name__ == "__main__":
    sys.exit(main())
