"""What warps of a specialised kernel waited for on a GPU: of Nsight Compute's samples, by stage and by line.

    ncu --set full -k regex:fused_step -s 1 -c 1 -o FILE python ...           on the GPU
    ncu --import FILE.ncu-rep --page source --csv | gzip > FILE.csv.gz        there too
    python bench/cost/stalls.py FILE.csv.gz humanoid [8] [sm_90]              anywhere: model and threads an environment

Compiles the model's step once more, with lines, and refuses where its instructions are not those that were profiled. A
stage is a device function that is not inlined; `no_inst` waits for the instruction itself, `long_sb` for memory beyond
the first-level cache or in it, `wait` for a fixed number of cycles, `branch` for a branch. bench/first_contact/call1.sh makes such a file.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cuda"), str(ROOT / "bench" / "first_contact")]

from check_special import ENTRY, stage_name  # noqa: E402
from tools import demangle, output, tool  # noqa: E402

SAMPLES, EXECUTED = "# Samples", "Instructions Executed"
REASONS = ("stall_no_inst", "stall_long_sb", "stall_wait", "stall_branch_resolving", "stall_short_sb")


def instructions(code: bytes) -> Iterator[tuple[str, str, str]]:
    """Opcode, symbol of the function and file:line in it, of every instruction of the kernel in order."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "code.cubin"
        file.write_bytes(code)
        text = output(tool("nvdisasm"), "-c", "-gi", file)
    symbol, line, inside = ENTRY, "?", False
    for row in text.splitlines():
        if row.startswith(".text."):
            inside = row.startswith(f".text.{ENTRY}")
        elif match := re.match(r"(\$[\w$]+):$", row):
            symbol, line = match[1], "?"
        elif match := re.search(r'//## File "([^"]+)", line (\d+)', row):
            line = f"{match[1].rpartition('kernels/')[2]}:{match[2]}"  # the last of a chain of inlined calls is the function's own
        elif inside and (match := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(\S+)", row)):
            yield match[1].rstrip(";"), symbol, line


def profile(file: Path) -> list[dict[str, str]]:
    """The rows of Nsight Compute's page of instructions."""
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as text:
        rows = list(csv.reader(text))
    at = next((i for i, row in enumerate(rows) if "Source" in row), None)
    if at is None:
        raise SystemExit(f"stalls.py: {file} has no column 'Source': it is made by ncu --page source --csv")
    return [dict(zip(rows[at], row, strict=True)) for row in rows[at + 1 :] if len(row) == len(rows[at])]


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    from figures import load

    from dualstep import _core

    rows, lanes = profile(Path(sys.argv[1])), json.loads(sys.argv[3]) if len(sys.argv) > 3 else 8
    program = _core.specialized_program(load(sys.argv[2]), lanes if isinstance(lanes, list) else [lanes])
    made = _core.specialize(program, sys.argv[4] if len(sys.argv) > 4 else "sm_90", lines=True)
    if not made["code"]:
        raise SystemExit(f"stalls.py: {made['why']}")
    own = list(instructions(made["code"]))
    opcode = re.compile(r"(?:@!?U?P\w+\s+)?(\S+)")
    if [o for o, _, _ in own] != [opcode.match(r["Source"].strip())[1].rstrip(";") for r in rows]:  # type: ignore[index]
        raise SystemExit(f"stalls.py: {sys.argv[1]} has {len(rows):,} instructions, and they are not the {len(own):,} that "
                         "are compiled here for this model: profile this commit, with this number of threads")  # fmt: skip
    names = demangle(sorted({symbol.split("$")[-1] for _, symbol, _ in own}))
    by = {"stage": defaultdict(Counter), "line": defaultdict(Counter)}
    everything: Counter[str] = Counter()
    for (_, symbol, line), row in zip(own, rows, strict=True):
        found = Counter({key: float((row.get(key) or "0").replace(",", "")) for key in (SAMPLES, EXECUTED, *REASONS)})
        everything += found
        by["stage"][stage_name(names[symbol.split("$")[-1]])] += found
        by["line"][line] += found
    for what, groups in (("all", {"all": everything}), *by.items()):
        print(f"\n{'% samples':>10} {'% executed':>10} " + " ".join(f"{r[6:14]:>8}" for r in REASONS) + f"  {what}")
        for name, found in sorted(groups.items(), key=lambda item: -item[1][SAMPLES])[:40]:
            print(f"{100 * found[SAMPLES] / everything[SAMPLES]:10.1f} {100 * found[EXECUTED] / everything[EXECUTED]:10.1f} "
                  + " ".join(f"{found[r] / max(found[SAMPLES], 1):8.2f}" for r in REASONS) + f"  {name}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
