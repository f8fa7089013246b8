"""`dualstep play CHECKPOINT`: a trained policy in a web page, in MuJoCo's viewer, in a film, or in figures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dualstep.cli.common import (
    CommandError,
    a_path,
    add_common,
    add_task,
    need,
    not_negative,
    print_json,
    quiet_threads,
)
from dualstep.cli.view import add_viewer, show


def _film(text: str) -> Path:
    """An argument that is a file that a film can be written to."""
    file = a_path(text)
    if file.suffix not in ("", ".mp4", ".gif"):
        raise argparse.ArgumentTypeError(f"{text!r} is given, and its ending must be .mp4 or .gif")
    return file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "checkpoint", type=a_path, metavar="CHECKPOINT",
        help="of a training: a file, its folder, or the folder of several, of which it is the last one then",
    )  # fmt: skip
    add_common(parser, num_envs=None)
    add_task(parser)
    parser.add_argument(
        "--episodes", type=not_negative, default=0, metavar="E",
        help="print what it is worth in so many episodes, here and on MuJoCo, and show nothing",
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
    quiet_threads()
    from dualstep.envs import registry
    from dualstep.envs.training.film import FilmError, film_file
    from dualstep.envs.training.learner import CheckpointError
    from dualstep.envs.training.player import load_policy
    from dualstep.envs.training.runs import find_checkpoint
    from dualstep.envs.training.threads import torch_threads

    checkpoint = find_checkpoint(args.checkpoint)
    try:
        if args.video:
            film_file(args.video)
        task = None if args.task is None else registry.find(args.task)[0]
        task, settings, policy = load_policy(checkpoint, task, trust=args.trust)
    except (FilmError, CheckpointError, FileNotFoundError, TypeError, ValueError, ImportError) as error:
        raise CommandError(str(error)) from None
    # a policy for a few environments is no work for several threads
    with torch_threads(1):
        return _play(args, checkpoint, task, settings, policy)


def _play(args: argparse.Namespace, checkpoint: Path, task: str, settings: Any, policy: Any) -> int:
    from dualstep.cli.train import print_worth, worth
    from dualstep.envs.groups import each_group, policy_group
    from dualstep.envs.training.acting import follow, seen
    from dualstep.envs.training.player import film_of, make_env

    if args.episodes or args.video:
        found: dict[str, Any] = {"task": task, "checkpoint": str(checkpoint)}
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
            print(f"{task}, {checkpoint}")
            print_worth(found)
            if "video" in found:
                print(f"  {found['video']}")
        return 0
    env = make_env(task, settings, args.num_envs or 4, device=args.device)
    follow(env, policy)

    def act(observation: Any) -> Any:
        given = each_group(seen(policy, observation), lambda array: array.cpu())
        return policy(given).to(policy_group(observation).device)

    return show(env, act, args, f"{task}, {checkpoint}")
