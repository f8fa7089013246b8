"""Figures of `python bench/reliability.py --build FOLDER`, which programs of a build measure: one with DUALSTEP_TESTS, the
emulator and, for the PTX interpreter, CUDA, as `./test` leaves in build/test."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = [ROOT / "build" / "test"]
RUNS = [100_000]
"""of the fuzzers' targets, each"""


def _output(command: list[str | pathlib.Path], **environment: str) -> tuple[int, str]:
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    return ran.returncode, ran.stdout + ran.stderr


def interpreted() -> tuple[float, str]:
    """4: the PTX that nvcc and NVRTC make of the kernels, run by an interpreter, against the committed hashes of the CPU."""
    command = [sys.executable, ROOT / "tests" / "ptx_interpreter" / "run.py", BUILD[0], ROOT / "tests" / "golden" / "golden.py"]
    code, told = _output([*command, "check", "--device", "cuda"])
    right = re.findall(r"^(\S+) on cuda: ok$", told, re.MULTILINE)
    wrong = re.findall(r"^(\S+) on cuda: (?!ok$)", told, re.MULTILINE)
    return len(wrong) + (code != 0 or not right), (
        f"the bits of {len(right)} of {len(right) + len(wrong)} models' rollouts of 1,000 steps are those of the CPU"
        if right else told[-300:]
    )  # fmt: skip


def fuzzed() -> tuple[float, str]:
    """21, 22: models and checkpoints that random bytes changed, loaded, checked and stepped in `Reference` and `Batch`."""
    code, told = _output([BUILD[0] / "tests" / "fuzz" / "fuzz_test"], FUZZ_RUNS=str(RUNS[0]))
    found = re.findall(r"(\d+) taken, the longest took ([\d.]+) s", told)
    if code or len(found) != 2:
        return 1.0, told[-300:]
    (models, longest), (states, longest_state) = found
    return 0.0, (
        f"{RUNS[0]:,} models, of which {int(models):,} load, at most {longest} s each; {RUNS[0]:,} checkpoints, of which {int(states):,} "
        f"load, at most {longest_state} s each; none crashes. With the sanitizers, and guided by what code they reach: `tests/fuzz/README.md`"
    )


def races() -> tuple[float, str]:
    """23: the kernels' lanes in other orders and under ThreadSanitizer, arrays that stages touch against the table, and bugs that
    are there to be found."""
    command = ["ctest", "--test-dir", BUILD[0], "-R", r"^emulator\."]
    code, told = _output([*command, "--parallel", "2", "--no-tests=error"])
    found = re.search(r"tests passed(?:, (\d+) tests failed)? out of (\d+)", told)
    if found is None:
        return 1.0, told[-300:]
    failed, count = (int(number or 0) for number in found.groups())
    planted = re.findall(r"OrderFindsWhatOrderCanFind/\w+", _output([*command, "-N"])[1])
    return failed + (code != 0), f"{count - failed} of {count} tests of the emulated device hold; {len(planted)} kernels among them have a bug"
