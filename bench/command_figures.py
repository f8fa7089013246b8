"""Figures of bench/reliability.py that other commands of the repository measure."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SEARCH = [30.0]
"""seconds of the search"""
CORPUS: list[pathlib.Path] = []
"""the folder of models"""
SECONDS = 600
"""the most that one of them may take"""


def corpus() -> tuple[float, str]:
    """16 again: models of MuJoCo's own repository, by `bench/coverage.py`: those whose accelerations are not MuJoCo's."""
    folder = CORPUS[0].resolve()
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, str(ROOT / "bench" / "coverage.py"), "--path", str(folder.parent), "--only", folder.name, "--quiet",
                   "--jobs", "2", "--seconds", str(SECONDS), "--out", str(pathlib.Path(out, "corpus"))]  # fmt: skip
        subprocess.run(command, capture_output=True, check=True)
        record = json.loads(pathlib.Path(out, "corpus.json").read_text())
    (row,) = record["table"].values()
    refused = ", ".join(f"{feature} {count}" for feature, count in record["reasons"].items())
    wrong = [fact["file"] for fact in record["models"] if fact["outcome"] in ("differs", "failed")]
    late = [fact["file"] for fact in record["models"] if fact["outcome"] == "out of time"]
    told = f"{row['agree']} agree, {row['to the depth of contacts']} to the depth of contacts, {row['but for contacts']} but for contacts"
    return len(wrong), (
        f"of {row['models']} models that move, {row['load']} load, {told}; {len(wrong)} do not agree"
        f"{': ' + ', '.join(wrong) if wrong else ''}; "
        f"{f'not compared within {SECONDS // 60} minutes: ' + ', '.join(late) + '; ' if late else ''}refused are {refused}"
    )


def golden() -> tuple[float, str]:
    """5: hashes of rollouts of all models, committed."""
    ran = subprocess.run([sys.executable, str(ROOT / "tests" / "golden" / "golden.py"), "check"], capture_output=True, text=True)
    if ran.returncode:
        return 1.0, ran.stdout[-300:]
    ran_here = [line.split()[0] for line in ran.stdout.splitlines() if line.endswith("on cpu: ok")]
    return 0.0, f"the bits of {len(ran_here)} models' rollouts are those that are committed"


def searched() -> tuple[float, str]:
    """1, 2 again, as a search: laws, models, precisions, neighbours, parameters and resets by chance."""
    seconds = SEARCH[0]
    # a case takes a tenth of a second whatever it compares: a long search has many environments and steps in each
    large = ["--watched", "64", "--substeps", "60", "--no-emulator"] if seconds > 60 else []
    command = [sys.executable, str(ROOT / "tests" / "search" / "same_bits.py"), "--seconds", str(seconds), *large]
    ran = subprocess.run(command, capture_output=True, text=True)
    told = ran.stdout.strip().splitlines()[-1]
    return float(ran.returncode != 0), f"{seconds:.0f} s of `{' '.join(['tests/search/same_bits.py', *large])}`: {told}"


def machines() -> tuple[float, str]:
    """5 again: the committed hashes by another compiler, optimized otherwise, and for another processor under emulation."""
    sys.path.append(str(ROOT / "tests" / "golden"))
    import elsewhere

    told = elsewhere.compare()
    ran = [f"{name} ({what.split(',')[0]})" for name, what, wrong in told if wrong is not None]
    differing = [f"{name}: {', '.join(wrong)}" for name, _, wrong in told if wrong]
    return len(differing) + (not ran), f"the same bits by {'; '.join(ran)}" if not differing else "; ".join(differing)
