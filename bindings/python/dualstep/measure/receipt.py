"""What a machine with a GPU found, as a file of figures and a page that says how far they can be trusted."""

from __future__ import annotations

import json
import platform
import subprocess
import xml.etree.ElementTree as ElementTree
from datetime import datetime, timezone
from pathlib import Path
from typing import Any


def _said(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def commit(folder: Path) -> str:
    """The commit of the sources; "+" where files differ from it. Where they are no checkout, what a file COMMIT says in
    a folder above them, and "unknown" where there is none."""
    found = _said("git", "-C", str(folder), "rev-parse", "--short=12", "HEAD")
    if found is None:
        above = folder.resolve()
        files = [place / "COMMIT" for place in (above, *above.parents)]
        return next((file.read_text().strip() for file in files if file.is_file()), "unknown")
    return found + ("+" if _said("git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no") else "")


def machine(device: str, folder: Path) -> dict[str, Any]:
    """Device, driver, CUDA, commit."""
    import mujoco
    import numpy as np

    import dualstep as ds
    from dualstep import _core

    facts: dict[str, Any] = {
        "device": platform.processor() or platform.machine(),
        "driver": None,
        "nvcc": None,
        "compute_capability": None,
        "clocks": None,
        "specialization": _core.describe_specialization(),
        "commit": commit(folder),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "dualstep": ds.__version__,
        "mujoco": mujoco.__version__,
        "numpy": np.__version__,
        "platform": platform.platform(),
    }
    if device.startswith("cuda"):
        index = device.partition(":")[2] or "0"
        names = ("name", "driver_version", "compute_cap", "clocks.max.sm")
        row = _said("nvidia-smi", "-i", index, f"--query-gpu={','.join(names)}", "--format=csv,noheader")
        if row:
            keys = ("device", "driver", "compute_capability", "clocks")
            facts.update(zip(keys, (cell.strip() for cell in row.splitlines()[0].split(",")), strict=True))
        compiler = _said("nvcc", "--version") or _said("/usr/local/cuda/bin/nvcc", "--version")
        facts["nvcc"] = compiler.splitlines()[-1] if compiler else None
    return facts


def tests(paths: list[Path]) -> dict[str, Any] | None:
    """Counts of files that pytest wrote (--junitxml); golden hashes are the tests of tests/golden among them."""
    if not paths:
        return None
    out = {"run": 0, "passed": 0, "failed": 0, "skipped": 0, "golden_checked": 0, "golden_equal": 0}
    for case in (case for path in paths for case in ElementTree.parse(path).iter("testcase")):
        kinds = {child.tag for child in case}
        skipped = "skipped" in kinds
        failed = bool(kinds & {"failure", "error"})
        out["skipped" if skipped else "run"] += 1
        if skipped:
            continue
        out["failed" if failed else "passed"] += 1
        if case.get("name", "").startswith("test_golden_hash"):
            out["golden_checked"] += 1
            out["golden_equal"] += not failed
    return out


def stem(facts: dict[str, Any]) -> str:
    """<device>-<date>-<commit>, in letters that any file system takes."""
    device = "".join(c if c.isalnum() else "-" for c in facts["device"].lower())
    return "-".join([*filter(None, device.split("-")), facts["date"], facts["commit"].replace("+", "-changed")])


def _row(point: dict[str, Any]) -> str:
    speed, accuracy, counts = point["steps_per_second"], point["accuracy"], point["counts"]
    error = "no contact" if accuracy["median"] is None else f"{accuracy['median']:.1e}, {accuracy['p95']:.1e}"
    told = [f"{'?' if counts[name] < 0 else counts[name]}" for name in ("diverged", "overflowed", "unconverged")]
    return (f"| {point['model']} | {point['workload']} | {point['num_envs']:,} | {point['side']} | "
            f"{speed['median']:,.0f} ({speed['low']:,.0f} to {speed['high']:,.0f}) | {error} | "
            f"{' / '.join(told)} of {counts['of']:,} |")  # fmt: skip


def page(result: dict[str, Any]) -> str:
    """The receipt."""
    facts, checks = result["machine"], result["tests"]
    lines = [f"# {facts['device']}, {facts['date']}, commit {facts['commit']}", ""]
    if not result["device"].startswith("cuda"):
        lines += ["**A rehearsal on the CPU: it shows that the script works, and nothing about a GPU.**", ""]
    lines += [
        f"- driver {facts['driver']}, compute capability {facts['compute_capability']}, {facts['nvcc']}, "
        f"clock {facts['clocks']}",
        f"- dualstep {facts['dualstep']}, MuJoCo {facts['mujoco']}, specialised kernels: {facts['specialization']}",
    ]
    if checks is None:
        lines.append("- tests: **none were run**")
    else:
        lines.append(f"- tests: {checks['passed']} of {checks['run']} passed, {checks['failed']} failed, "
                     f"{checks['skipped']} skipped; golden hashes: {checks['golden_equal']} of "
                     f"{checks['golden_checked']} equal")  # fmt: skip
    lines += [f"- {note}" for note in result["notes"]]
    lines += [
        "",
        "Steps per second: median of blocks (quartiles). Error: median, 95th percentile, against the converged "
        "solution.",
        "",
        "| model | workload | environments | simulator | steps/s | error | diverged / overflowed / unconverged |",
        "|---|---|---|---|---|---|---|",
        *map(_row, result["points"]),
        "",
    ]
    return "\n".join(lines)


def write(folder: Path, result: dict[str, Any]) -> list[Path]:
    """Both files, named after the device, the day and the commit."""
    folder.mkdir(parents=True, exist_ok=True)
    base = folder / stem(result["machine"])
    paths = [base.with_name(base.name + ending) for ending in (".json", ".md")]
    paths[0].write_text(json.dumps(result, indent=1, allow_nan=False) + "\n")
    paths[1].write_text(page(result))
    return paths
