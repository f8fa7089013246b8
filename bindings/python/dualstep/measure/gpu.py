"""`python -m dualstep.measure.gpu`: what bench/gpu.sh runs once everything is built and tested.

Sweeps each model over batch sizes on one device, beside MuJoCo Warp and MJX where they are installed, and writes
figures and a receipt, again after each point. A point that cannot be measured or checked is named with its reason, and
the others still run. With --points several processes write one receipt, so that an error of the device ends one alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dualstep.cli.common import CommandError, find_model, load_model, positive
from dualstep.measure import receipt, sides, sweep
from dualstep.measure.accuracy import Unchecked
from dualstep.model import Model

# the capacities of a world in MuJoCo Warp's own nightly benchmark: contacts, rows
NIGHTLY = {"humanoid": (24, 64), "three_humanoids": (100, 192), "g1": (48, 192)}
PEERS = ("warp", "mjx")


def _g1() -> Model:
    from dualstep.envs.tasks.unitree_robots import G1, build

    return build(G1)[0]


def loaders(bench: Path) -> dict[str, Callable[[], Model]]:
    """The models of a sweep, by name."""
    return {
        "humanoid": lambda: load_model(bench / "models" / "humanoid.xml"),
        "three_humanoids": lambda: load_model(bench / "models" / "three_humanoids.xml"),
        "g1": _g1,
        "ant": lambda: load_model(find_model("ant")),
        "half_cheetah": lambda: load_model(find_model("half_cheetah")),
    }


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dualstep.measure.gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, or cpu to rehearse (default: %(default)s)")
    parser.add_argument("--models", default="humanoid,three_humanoids,g1,ant,half_cheetah", metavar="A,B")
    parser.add_argument("--sizes", default="512,2048,8192,32768,131072", metavar="N,M", help="environments")
    parser.add_argument("--peers", default=",".join(PEERS), metavar="P,Q", help="warp, mjx, or none")
    parser.add_argument("--seconds", type=float, default=3.0, metavar="S", help="of timed calls, each point")
    parser.add_argument("--substeps", type=positive, default=5, metavar="K", help="timesteps of a random action")
    parser.add_argument("--lanes", type=positive, metavar="W", help="threads an environment (default: the fastest)")
    parser.add_argument(
        "--samples", type=positive, default=64, metavar="N", help="environments whose error is measured"
    )
    parser.add_argument("--bench", type=Path, default=Path("bench"), metavar="DIR", help="the folder with models/")
    parser.add_argument("--tests", type=Path, metavar="XML", action="append", default=[],
                        help="what pytest wrote of tests that were run")  # fmt: skip
    parser.add_argument("--points", type=Path, metavar="FILE",
                        help="what this process and those before it found, all of which is in the receipt")  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("bench/results"), metavar="DIR")
    args = parser.parse_args(argv)
    args.models = args.models.split(",")
    args.peers = [] if args.peers == "none" else args.peers.split(",")
    try:
        args.sizes = [positive(size) for size in args.sizes.split(",")]
    except argparse.ArgumentTypeError as error:
        parser.error(f"--sizes: {error}")
    for given, known in ((args.models, loaders(args.bench)), (args.peers, PEERS)):
        if unknown := [name for name in given if name not in known]:
            parser.error(f"{', '.join(unknown)} given, and there are {', '.join(known)}")
    return args


def _makers(args: argparse.Namespace, note: Callable[[str], None]) -> dict[str, Callable[..., sides.Side]]:
    """How each side is made: (model, environments, name of the model, states of an episode)."""

    def ours(model: Model, n: int, name: str, pool: Any) -> sides.Side:
        return sides.Ours(model, n, args.device, min(args.samples, n), args.lanes or "tuned")

    def warp(model: Model, n: int, name: str, pool: Any) -> sides.Side:
        contacts, rows = (
            max(pair) for pair in zip(NIGHTLY.get(name, (0, 0)), sweep.capacities(model, pool), strict=True)
        )
        return sides.Warp(model, n, args.device, contacts, rows)

    def mjx(model: Model, n: int, name: str, pool: Any) -> sides.Side:
        return sides.Mjx(model, n, args.device)

    def sees_a_gpu() -> None:
        # it would take three quarters of the memory for itself, before anybody is measured
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        if args.device != "cpu":
            jax.devices("gpu")

    found: dict[str, Callable[..., sides.Side]] = {"dualstep": ours}
    for name, module, make, needs in (("warp", "mujoco_warp", warp, None), ("mjx", "mujoco.mjx", mjx, sees_a_gpu)):
        if name not in args.peers:
            continue
        if why := sides.missing(module, needs):
            note(f"{module} is left out: {why}")
        else:
            found[name] = make
    return found


class Found:
    """Points and notes, on disk as soon as they are there."""

    def __init__(self, args: argparse.Namespace, plan: sweep.Plan) -> None:
        self.notes: list[str] = []
        self.points: list[dict[str, Any]] = []
        self.written: list[Path] = []
        self._args, self._plan = args, plan
        self._machine: dict[str, Any] = {}
        self.tests = receipt.tests(args.tests)
        if args.points and args.points.exists():
            for line in args.points.read_text().splitlines():
                self._take(json.loads(line))

    def _take(self, line: dict[str, Any]) -> None:
        if "note" in line:
            self.notes.append(line["note"])
        else:
            self.points.append(line)

    def _add(self, line: dict[str, Any]) -> None:
        self._take(line)
        if self._args.points:
            with self._args.points.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def note(self, text: str) -> None:
        self._add({"note": text})
        print(text, file=sys.stderr, flush=True)

    def point(self, model: str, found: dict[str, Any]) -> None:
        self._add({"model": model, **found})
        speed = found["steps_per_second"]["median"]
        print(f"{model:16} {found['workload']:9} {found['num_envs']:7,} {found['side']:12} {speed:14,.0f} steps/s",
              file=sys.stderr, flush=True)  # fmt: skip
        self.write()

    def write(self) -> None:
        args, plan = self._args, self._plan
        self._machine = self._machine or receipt.machine(args.device, args.bench)
        result = {
            "device": args.device,
            "machine": self._machine,
            "tests": self.tests,
            "settings": {"seconds": plan.seconds, "substeps": plan.substeps, "samples": plan.samples,
                         "lanes": args.lanes, "calls": plan.calls,
                         "specialize": os.environ.get("DUALSTEP_SPECIALIZE", "1")},
            "notes": self.notes,
            "points": self.points,
        }  # fmt: skip
        self.written = receipt.write(args.out, result)


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)

    plan = sweep.Plan(seconds=args.seconds, substeps=args.substeps, samples=args.samples)
    if args.device == "cpu":
        plan.calls, plan.blocks = 4, 2
    found = Found(args, plan)
    makers, failed = _makers(args, found.note), 0
    for name in args.models:
        try:
            model = loaders(args.bench)[name]()
        except (ImportError, ValueError, FileNotFoundError, CommandError) as error:
            found.note(f"{name} is left out: {' '.join(str(error).split())}")
            continue
        pool = sweep.episode(model, plan)
        for num_envs in args.sizes:
            for side_name, make in makers.items():
                try:
                    side = make(model, num_envs, name, pool)
                    for workload in sweep.WORKLOADS:
                        work = sweep.Workload(model, workload, plan, pool)
                        found.point(name, sweep.measure(side, work, num_envs))
                except Unchecked as error:
                    found.note(f"no figure of {side_name} for {name} x {num_envs:,}, "
                               f"for it could not be checked: {error}")  # fmt: skip
                    failed = 1
                except Exception as error:
                    # whatever a peer raises, the others are measured; our own failure fails the run
                    found.note(f"no figure of {side_name} for {name} x {num_envs:,}: {type(error).__name__}: "
                               f"{' '.join(str(error).split())[:300]}")  # fmt: skip
                    failed = failed or int(side_name == "dualstep")
                side = None
    found.write()
    for path in found.written:
        print(f"written: {path}", file=sys.stderr)
    return 1 if failed or not found.points or (found.tests and found.tests["failed"]) else 0


if __name__ == "__main__":
    sys.exit(main())
