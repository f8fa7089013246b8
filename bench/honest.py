"""Counts how often status says what is so, over scenes that are hard to solve in single precision: silent wrong steps and
false flags of float32 steps at their defaults, against the converged solution in double precision; and how often that is
unlike MuJoCo's, converged as well.

    python bench/honest.py                          # a hundred thousand environment-steps, some minutes
    python bench/honest.py --each 1 --steps 20      # a rehearsal
    python bench/honest.py --out bench/results/honest.md

The scenes are those of tests/python/support/hard_scenes.py and Gymnasium's; honesty.py there says what is counted.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "python" / "support")]

import hard_scenes  # noqa: E402
import honesty  # noqa: E402
from scenes import GYM  # noqa: E402

import dualstep as ds  # noqa: E402

COLUMNS = [field.name for field in dataclasses.fields(honesty.Counts)]


def row(name: str, counts: honesty.Counts) -> str:
    """A line of the table."""
    values = dataclasses.astuple(counts)
    return f"| {name} | " + " | ".join(f"{v:.1e}" if isinstance(v, float) else str(v) for v in values) + " |"


def main() -> int:
    """Plays the scenes and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--each", type=int, default=6, help="scenes of every family")
    parser.add_argument("--envs", type=int, default=32)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", default="", help="only scenes whose name begins so")
    parser.add_argument("--out", type=pathlib.Path, help="writes the table there")
    args = parser.parse_args()
    scenes = dict(hard_scenes.draw(args.seed, args.each)) | {f"gymnasium: {name}": path for name, path in GYM.items()}
    start, total, groups = time.monotonic(), honesty.Counts(), {}
    for name, mjcf in scenes.items():
        if not name.startswith(args.family):
            continue
        counts = honesty.count(ds.Model.from_mjcf(mjcf), args.envs, args.steps, args.seed, peer=honesty.Peer(mjcf))
        group = name.partition(":")[0] if ":" in name else name.rpartition(" ")[0]
        groups[group] = groups.get(group, honesty.Counts()) + counts
        total += counts
    table = [
        "| scenes | " + " | ".join(column.replace("_", " ") for column in COLUMNS) + " |",
        "|" + "---|" * (1 + len(COLUMNS)),
        *(row(name, counts) for name, counts in groups.items()),
        row("all", total),
    ]
    print("\n".join(table))
    print(f"{time.monotonic() - start:.0f} s")
    if args.out:
        heading = f"# Honest status\n\n`python bench/honest.py --each {args.each} --envs {args.envs} --steps {args.steps} --seed {args.seed}`\n\n"
        args.out.write_text(heading + "\n".join(table) + "\n")
    return 1 if total.silent_wrong or total.not_finite or total.unlike_mujoco else 0


if __name__ == "__main__":
    sys.exit(main())
