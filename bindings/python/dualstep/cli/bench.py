"""`dualstep bench MODEL`: steps per second, and beside every figure what it is worth."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dualstep.cli.common import (
    CommandError,
    Progress,
    a_path,
    add_common,
    find_model,
    folder_to_write,
    gymnasium_models,
    load_model,
    need,
    positive,
    print_json,
)

# the timesteps that an action of Gymnasium's tasks is held for
FRAME_SKIP = {
    "ant": 5, "half_cheetah": 5, "hopper": 4, "humanoid": 5, "humanoidstandup": 5, "inverted_double_pendulum": 5,
    "inverted_pendulum": 2, "pusher": 5, "reacher": 2, "swimmer": 4, "walker2d": 4,
}  # fmt: skip
ROBOTS = ("Go1Joystick", "G1Joystick")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", nargs="+", metavar="MODEL",
        help="a file of MJCF or URDF, the name of one of Gymnasium's models (humanoid), 'gymnasium' for them all, or a "
        "robot of mjlab (Go1Joystick, G1Joystick)",
    )  # fmt: skip
    add_common(parser)
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--num-threads", type=int, default=0, metavar="T", help="of both sides (default: all)")
    parser.add_argument(
        "--substeps",
        type=positive,
        metavar="K",
        help="timesteps that an action is held for (default: the task's, or 5)",
    )
    parser.add_argument(
        "--seconds", type=float, default=20.0, metavar="S", help="of timing for each model (default: %(default)s)"
    )
    parser.add_argument("--no-peer", action="store_true", help="leave mujoco.batch out")
    parser.add_argument("--check", action="store_true", help="time nothing: compare steps in double precision with the "
                        "reference, which shares no code with them")  # fmt: skip
    parser.add_argument("--out", type=a_path, metavar="DIR", help="write the figures, a plot and a picture there")


@dataclass
class Subject:
    """A model to measure."""

    load: Callable[[], Any]
    path: Path | None = None
    """of the file to draw; None where a task makes the model"""
    substeps: int = 5


def subjects_of(names: list[str]) -> dict[str, Subject]:
    """The models by name, in the order given."""
    found: dict[str, Subject] = {}

    def add(title: str, path: Path) -> None:
        # two humanoids are two models
        taken = title in found and found[title].path != path
        found[str(path) if taken else title] = Subject(lambda: load_model(path), path, FRAME_SKIP.get(title, 5))

    for name in names:
        if name in ROBOTS:
            found[name] = _robot(name)
        elif name == "gymnasium":
            need("gymnasium", "bench")
            for title, path in gymnasium_models().items():
                add(title, path)
        else:
            path = find_model(name)
            add(path.stem.partition("_v")[0] if path in gymnasium_models().values() else path.stem, path)
    return found


def _robot(name: str) -> Subject:
    """A robot on the floor of its task, with the task's actuators."""
    need("gymnasium", "bench")
    from dualstep.envs import registry

    try:
        task = registry.task_class(registry.find(name)[1])()
    except ImportError as error:
        raise CommandError(str(error)) from None
    return Subject(lambda: task.model, None, task.frame_skip)


def main(args: argparse.Namespace) -> int:
    if args.seconds <= 0:
        raise CommandError(f"--seconds {args.seconds} is given, and it must be positive")
    if args.out:
        need("matplotlib", "bench")
    subjects = subjects_of(args.model)
    # whatever can be refused is, before the first minute is spent
    models = {name: subject.load() for name, subject in subjects.items()}
    if args.out:
        folder_to_write(args.out)
    results: list[dict[str, Any]] = []
    try:
        return _all(args, subjects, models, results)
    finally:
        # of the models that were done, where a later one ends the command
        if args.json:
            print_json(results)


def _all(
    args: argparse.Namespace, subjects: dict[str, Subject], models: dict[str, Any], results: list[dict[str, Any]]
) -> int:
    """Measures the models, and adds what each gives to `results`; the status that the command ends with."""
    from dualstep.measure import peer, throughput
    from dualstep.measure.accuracy import Unchecked

    lacking = None if args.no_peer else peer.available()
    failed = 0
    for name, subject in subjects.items():
        settings = throughput.Settings(
            num_envs=args.num_envs, device=args.device, dtype=args.dtype, num_threads=args.num_threads,
            substeps=args.substeps or subject.substeps, seed=args.seed, seconds=args.seconds,
            peer=not args.no_peer and lacking is None,
        )  # fmt: skip
        if args.check:
            few = replace(settings, num_envs=min(args.num_envs, 64), peer=False)
            try:
                checked = throughput.check(models[name], few)
            except Unchecked as error:
                print(f"dualstep bench: {name}: not checked: {error}", file=sys.stderr)
                failed = 1
                continue
            results.append({"model": {"name": name}, "checked": checked.checked, "off": checked.worst_disagreement})
            if not args.json:
                print(f"{name}: {checked.checked} steps in double precision agree with the reference to "
                      f"{checked.worst_disagreement:.0e}")
            continue
        progress = Progress(f"{name} x {args.num_envs:,}")
        try:
            found = throughput.measure(models[name], settings, name, progress.update)
        except Unchecked as error:
            print(f"dualstep bench: {name}: no figures, for they could not be checked: {error}", file=sys.stderr)
            results.append({"model": {"name": name}, "unchecked": str(error)})
            failed = 1
            continue
        except ValueError as error:
            raise CommandError(f"{name}: {error}") from None
        results.append(found.to_dict())
        if not args.json:
            print(report(results[-1]))
            if lacking:
                print(f"  no ratio: {lacking}")
        if args.out:
            _write(args.out, subject.path, found, results[-1], quiet=args.json)
    return failed


def _write(folder: Path, path: Path | None, found: Any, figures: dict[str, Any], *, quiet: bool) -> None:
    import json

    from dualstep.measure import picture, plot

    # a model of the same name as another is called by its path
    stem = folder / figures["model"]["name"].replace("/", "_")
    written = [stem.with_name(stem.name + ending) for ending in ("_bench.json", "_bench.png", "_envs.png")]
    written[0].write_text(json.dumps(figures, indent=2) + "\n")
    plot.draw(found, written[1])
    drawn = f", {written[2]} (picture, {picture.draw(path, found.episode, written[2])})" if path else ""
    if not quiet:
        print(f"  written    {written[0]}, {written[1]} (plot){drawn}")


def _quantiles(values: dict[str, Any]) -> str:
    if values["median"] is None:
        return "no values"
    return ", ".join(f"{name} {values[name]:.1e}" for name in ("median", "p95", "p99", "max"))


def report(figures: dict[str, Any]) -> str:
    """The figures of one model, for people."""
    model, settings, speed = figures["model"], figures["settings"], figures["steps_per_second"]
    accuracy, status, peer = figures["accuracy"], figures["status"], figures["peer"]
    converged = accuracy["converged"]
    lines = [
        f"{model['name']}: {settings['num_envs']:,} environments, {figures['runs_on']}, {settings['dtype']}",
        f"  model      nv {model['nv']}, nu {model['nu']}, timestep {model['timestep']:g} s, {model['integrator']}, "
        f"{model['cone']} cones; random actions, each held {settings['substeps']} steps",
        f"  speed      {speed['median']:,.0f} environment-steps/s (quartiles {speed['low']:,.0f} to "
        f"{speed['high']:,.0f}; a step is one timestep of one environment)",
    ]
    core = figures["steps_per_core_second"]
    if core:
        lines.append(f"             {core['median']:,.0f} steps per second of processor time")
    met = "within" if accuracy["met"] else "MISSES"
    if accuracy["constrained"]:
        lines.append(f"  accuracy   error {_quantiles(accuracy)}")
        lines.append(
            f"             {met} the target (median {accuracy['target']['median']:g}, p95 "
            f"{accuracy['target']['p95']:g}); {accuracy['constrained']:,} constrained of "
            f"{accuracy['samples']:,} sampled steps"
        )
    else:
        lines.append(f"  accuracy   none of {accuracy['samples']:,} sampled steps had an active constraint")
    checked = "not checked by the reference"
    if converged["states_checked_by_reference"]:
        checked = (f"{converged['states_checked_by_reference']} of them agree with the reference to "
                   f"{converged['reference_disagreement']:.0e}")  # fmt: skip
    lines.append(
        f"             against double precision converged to a residual of {converged['residual']:.0e}; {checked}"
    )
    if converged["untrusted"]:
        lines.append(f"             {converged['untrusted']} steps left out: no converged solution to compare with")
    lines.append(
        f"  residual   {_quantiles(figures['residual'])}; {figures['iterations']:.1f} iterations, "
        f"{figures['contacts']:.1f} contacts on average"
    )
    counts = ", ".join(f"{status[bit]} {bit.lower().replace('_', ' ')}"
                       for bit in ("DIVERGED", "CONTACT_OVERFLOW", "NOT_CONVERGED"))  # fmt: skip
    lines.append(f"  status     {counts}, of {status['of']:,} environments (all blocks)")
    if figures["stages"]:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in figures["stages"].items() if share >= 0.01)
        lines.append(f"  stages     {shares}")
    if peer:
        ratio, other = peer["ratio"], peer["steps_per_second"]
        lines.append(
            f"  ratio      {ratio['median']:.2f} x mujoco.batch {peer['version']} (quartiles {ratio['low']:.2f} to "
            f"{ratio['high']:.2f}, {ratio['blocks']} blocks interleaved)"
            + (f"; by processor time {peer['core_ratio']['median']:.2f} x" if peer["core_ratio"] else "")
        )
        lines.append(
            f"             mujoco.batch: {other['median']:,.0f} steps/s, {peer['num_envs']:,} environments, Newton at "
            f"its default tolerance; its error {_quantiles(peer['accuracy'])}"
        )
    return "\n".join(lines)
