"""Machine code of the steps that the calls use, into DUALSTEP_CACHE_DIR; no GPU is needed.

    fill_cache.py [--archs sm_90] [--models humanoid,ant] [--jobs 2]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from figures import ROOT, load

import dualstep as ds
from dualstep import _core

# the scenes of the golden hashes
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("golden", "python", "python/support")]
import golden  # noqa: E402

IN_PARTS = [1, 8, 8, 8, 1]


def jobs(only: list[str] | None) -> list[tuple[str, str, list[int]]]:
    """Name, text and lanes of every program, those that are waited for first."""
    bench: list[tuple[str, list[list[int]]]] = [
        ("humanoid", [[8], [16], [4], [32], [1], IN_PARTS]),
        ("three_humanoids", [[8]]),
        ("g1", [[8]]),
    ]
    found: list[tuple[str, str, list[int]]] = []
    for name, all_lanes in bench:
        try:
            model = load(name)
        except Exception as error:
            print(f"{name} is left out: {error}", flush=True)
            continue
        found += [(name, _core.specialized_program(model, lanes), lanes) for lanes in all_lanes]
    # a variant that the second call compares
    os.environ["DUALSTEP_CUDA_ADDRESSES"] = "1"
    found.append(("humanoid", _core.specialized_program(load("humanoid"), [8]), [8]))
    del os.environ["DUALSTEP_CUDA_ADDRESSES"]
    for name in golden.MODELS:
        found.append((f"golden {name}", _core.specialized_program(ds.Model.from_mjcf(golden.SOURCES[name]), [8]), [8]))
    return [job for job in found if not only or job[0] in only]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archs", default="sm_90", metavar="A,B")
    parser.add_argument("--models", metavar="A,B")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    failed = 0

    def one(job: tuple[str, str, str, list[int]]) -> None:
        nonlocal failed
        arch, name, program, lanes = job
        made = _core.specialize(program, arch)
        failed += not made["code"]
        print(f"{arch} {name} {lanes}: {made['seconds']:.1f} s, {len(made['code']):,} bytes {made['why'][:200]}", flush=True)

    began = time.monotonic()
    wanted = jobs(args.models.split(",") if args.models else None)
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(one, [(arch, *job) for arch in args.archs.split(",") for job in wanted]))
    print(f"{len(wanted)} programs in {time.monotonic() - began:.0f} s, {failed} failed; sources in {ROOT}")
    return 1 if failed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
