"""Steps per second of the host's own cores: humanoid, Go1, G1 and a heap, at 1 to all threads. A line of JSON each.

    cores.py [--models humanoid,g1] [--threads 1,16] [--environments 4096] [--seconds 2]
"""

from __future__ import annotations

import argparse
import json
import os
import sys

import numpy as np
from figures import ROOT, load, rates

import dualstep as ds
from dualstep.measure.receipt import commit
from dualstep.measure.sweep import Plan, Workload, episode


def heap() -> ds.Model:
    """Twenty-four bodies of three shapes that fall into a box."""
    shapes = ('type="sphere" size=".1"', 'type="capsule" size=".08 .08"', 'type="box" size=".1 .08 .06"')
    bodies = "".join(
        f'<body pos="{0.25 * (i % 3 - 1):.2f} {0.25 * (i // 3 % 2) - 0.1:.2f} {0.2 + 0.25 * (i // 6):.2f}"><freejoint/>'
        f"<geom {shapes[i % 3]}/></body>"
        for i in range(24)
    )
    walls = "".join(
        f'<geom type="box" pos="{x} {y} .5" size="{a} {b} .5"/>'
        for x, y, a, b in ((0.6, 0, 0.1, 0.7), (-0.6, 0, 0.1, 0.7), (0, 0.6, 0.5, 0.1), (0, -0.6, 0.5, 0.1))
    )
    return ds.Model.from_mjcf(
        f'<mujoco><worldbody><geom type="plane" size="5 5 .1"/>{walls}{bodies}</worldbody></mujoco>'
    )


def counts_of_threads() -> list[int]:
    most = len(os.sched_getaffinity(0))
    return sorted({1, *(n for n in (2, 4, 8, 16) if n < most), most})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="humanoid,go1,g1,heap", metavar="A,B")
    parser.add_argument("--threads", default=",".join(map(str, counts_of_threads())), metavar="N,M")
    parser.add_argument("--environments", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=2.0, help="of timed calls, each point")
    args = parser.parse_args()
    measured = 0
    for name in args.models.split(","):
        try:
            model = heap() if name == "heap" else load(name)
        except Exception as error:
            print(f"{name} is left out: {' '.join(str(error).split())[:200]}", flush=True)
            continue
        plan = Plan()
        work = Workload(model, "random", plan, episode(model, plan, seconds=0.05 if os.environ.get("FAST") else 0.5))
        states, ctrl = work.states(args.environments), work.controls(args.environments)
        for threads in map(int, args.threads.split(",")):
            with ds.Batch(model, args.environments, "cpu", num_threads=threads) as sim:
                once = rates(sim, states, ctrl, 1, 1)[0]
                calls = max(1, round(args.seconds / 3 * once / (5 * args.environments)))
                found = rates(sim, states, ctrl, 3, calls)
                line = {
                    "cores": name, "threads": threads, "n": args.environments, "median": round(float(np.median(found))),
                    "rates": [round(rate) for rate in found], "how": sim.description, "commit": commit(ROOT),
                }  # fmt: skip
            measured += 1
            print(json.dumps(line), flush=True)
            with open(os.path.join(os.environ.get("OUT", "/tmp"), "figures.jsonl"), "a") as out:
                out.write(json.dumps(line) + "\n")
    return 0 if measured else 1


if __name__ == "__main__":
    sys.exit(main())
