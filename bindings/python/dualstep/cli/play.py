"""`dualstep play CHECKPOINT`: a trained policy in a web page, in MuJoCo's viewer, in a film, or in figures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dualstep.cli.common import CommandError, add_common, need, not_negative, print_json
from dualstep.cli.view import add_viewer, show


def _film(text: str) -> Path:
    """An argument that is a file that a film can be written to."""
    path = Path(text)
    if path.suffix not in ("", ".mp4", ".gif"):
        raise argparse.ArgumentTypeError(f"{text!r} is given, and its ending must be .mp4 or .gif")
    return path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="latest.pt of a training, or its folder")
    add_common(parser, num_envs=None)
    parser.add_argument("--task", metavar="TASK", help="refuse a checkpoint of another task")
    parser.add_argument(
        "--episodes", type=not_negative, default=0, metavar="E",
        help="print what it is worth in so many episodes, here and in Gymnasium's environment, and show nothing",
    )  # fmt: skip
    parser.add_argument(
        "--video", type=_film, metavar="FILE", help="write a film, and show nothing (.mp4, or .gif without ffmpeg)"
    )
    parser.add_argument(
        "--seconds", type=not_negative, default=10, metavar="S", help="of the film (default: %(default)s)"
    )
    add_viewer(parser)


def main(args: argparse.Namespace) -> int:
    for module in ("gymnasium", "torch", "rsl_rl"):
        need(module, "train")
    from dualstep.cli.train import LATEST, print_worth, worth
    from dualstep.envs import registry
    from dualstep.envs.training.learner import CheckpointError
    from dualstep.envs.training.player import film_of, load_policy, make_env

    path = args.checkpoint / LATEST if args.checkpoint.is_dir() else args.checkpoint
    try:
        task = None if args.task is None else registry.find(args.task)[0]
        task, settings, policy = load_policy(path, task)
    except (CheckpointError, TypeError, ValueError, ImportError) as error:
        raise CommandError(str(error)) from None
    if args.episodes or args.video:
        found: dict[str, Any] = {"task": task, "checkpoint": str(path)}
        if args.episodes:
            found.update(worth(task, settings, policy, args.episodes, args.device, args.seed))
        if args.video:
            try:
                found["video"] = str(film_of(task, settings, policy, args.video, args.seconds, seed=args.seed))
            except (ImportError, OSError, RuntimeError) as error:
                raise CommandError(str(error), status=1) from None
        if args.json:
            print_json(found)
        else:
            print(f"{task}, {path}")
            print_worth(found)
            if "video" in found:
                print(f"  {found['video']}")
        return 0
    env = make_env(task, settings, args.num_envs or 4, device=args.device)
    return show(
        env, lambda observation: policy(observation.float().cpu()).to(observation.device), args, f"{task}, {path}"
    )
