"""`dualstep train TASK`: PPO or SAC, with a line of progress, checkpoints, a curve, and what the policy is worth."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from shlex import quote
from typing import Any

from dualstep import _core
from dualstep.cli.common import (
    CommandError,
    Progress,
    a_path,
    add_common,
    count,
    need,
    not_negative,
    positive_number,
    print_json,
    quiet_threads,
)

LATEST = "latest.pt"  # as dualstep.envs.training.runs has it, which needs what may not be there
# options of environments that are the learner's to say, and how it is told
OWNED = {
    "device": "--device", "num_envs": "--num-envs", "num_threads": "--num-threads", "seed": "--seed", "dtype": None,
    "lanes": None, "output": None, "autoreset_mode": None, "nonfinite": None, "render_mode": None,
}  # fmt: skip
# of an environment, and yet the task's
SHARED = ("max_episode_steps", "randomize", "contact")
# what a network is made of: none of it can change once it has learned
NETWORK = ("hidden", "activation")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="Ant, ..., or one of yours: module:Class, path/to/file.py:Class")
    add_common(parser, num_envs=None)
    parser.add_argument("--num-threads", type=not_negative, default=0, metavar="T", help="of the simulation (0: all)")
    parser.add_argument(
        "--steps", type=count, metavar="N", help="environment steps in all, 2e6 (default: the task's)"
    )
    parser.add_argument(
        "--minutes", type=positive_number, metavar="M", help="stop after this wall clock, if steps are left"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="a setting of the learner (learning_rate=3e-4), or an option of the task (task.ctrl_cost_weight=0.2)",
    )  # fmt: skip
    parser.add_argument("--algorithm", choices=("ppo", "sac"), help="ppo of rsl_rl, or sac of Stable-Baselines3, which "
                        "learns from fewer steps and longer from each (default: ppo, or the checkpoint's)")  # fmt: skip
    laws = ", ".join(law for law, *_ in _core.contact_models())
    parser.add_argument("--contact-model", metavar="LAW", help="train under this law of contact: "
                        f"{laws} (default: the task's)")  # fmt: skip
    parser.add_argument("--randomize-contact", action="store_true", help="train under all of them at once, a share of "
                        "the environments each")  # fmt: skip
    parser.add_argument("--out", type=a_path, metavar="DIR", help="for checkpoints and curves of this run (default: a "
                        "new folder in out/train/TASK-SEED, and the link 'latest' to it)")  # fmt: skip
    parser.add_argument("--resume", action="store_true", help="go on with the run in that folder, or its last one")
    parser.add_argument("--checkpoint", type=a_path, metavar="FILE", help="begin a run with what this checkpoint knows")
    parser.add_argument(
        "--save-minutes", type=positive_number, default=1.0, metavar="M",
        help="between checkpoints (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--keep", type=not_negative, default=10, metavar="K",
        help="checkpoints that stay, at equal distances of steps (default: %(default)s; 0: the latest alone)",
    )  # fmt: skip
    parser.add_argument(
        "--tensorboard", action=argparse.BooleanOptionalAction, default=None,
        help="curves for TensorBoard in the folder (default: where it is installed)",
    )  # fmt: skip
    parser.add_argument("--wandb", metavar="PROJECT", help="curves for Weights & Biases")
    parser.add_argument(
        "--episodes", type=not_negative, default=10, metavar="E",
        help="of the trained policy, here and in Gymnasium's own environment (default: %(default)s; 0: none)",
    )  # fmt: skip
    parser.add_argument(
        "--video-seconds", type=not_negative, default=6, metavar="S",
        help="of the trained policy, drawn when training is over (default: %(default)s; 0: none)",
    )  # fmt: skip


def _value(text: str) -> Any:
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _check_option(task: str, name: str) -> None:
    """Refuses an option of the task that is none, or not the task's."""
    from dualstep.envs import registry
    from dualstep.envs.making import TASK_OPTIONS, refuse_unknown

    if name in OWNED:
        instead = f": {OWNED[name]} says it" if OWNED[name] else ", and cannot be changed"
        raise CommandError(f"--set task.{name} is given, and it is no option of the task: the learner has it{instead}")
    try:
        refuse_unknown(task, [name], registry.task_class(registry.find(task)[1]).options(), (*TASK_OPTIONS, *SHARED))
    except TypeError as error:
        raise CommandError(f"--set task.{name}: {error}") from None


def _check_settings(given: list[str], base: Any, used: tuple[str, ...]) -> None:
    """Refuses settings of the learner that SAC has no use for; those that are none are refused elsewhere."""
    for words in given:
        name = words.partition("=")[0]
        if hasattr(base, name) and name not in used:
            raise CommandError(f"--set {words} is given, and SAC has no such setting; it has: {', '.join(used)}")


def _settings(args: argparse.Namespace, task: str, base: Any, checkpoint: Path | None) -> Any:
    changes: dict[str, Any] = {}
    options = dict(base.task_options)
    for given in args.set:
        name, mark, text = given.partition("=")
        if not mark:
            raise CommandError(f"--set {given} is given, and NAME=VALUE is wanted")
        if name.startswith("task."):
            _check_option(task, name.removeprefix("task."))
            options[name.removeprefix("task.")] = _value(text)
        else:
            changes[name] = _value(text)
    if "episode_steps" in changes and "max_episode_steps" in options:
        given, limit = changes["episode_steps"], options["max_episode_steps"]
        told = f"--set episode_steps={given} is given, and task.max_episode_steps={limit} says where episodes end"
        raise CommandError(told)
    if args.contact_model and args.randomize_contact:
        raise CommandError("--contact-model and --randomize-contact are given, and one of them says the law of contact")
    if args.contact_model:
        options["contact"] = args.contact_model
    if args.randomize_contact:
        from dualstep.envs.contact import LAWS

        options["contact"] = list(LAWS)
    if args.num_envs is not None:
        changes["num_envs"] = args.num_envs
    if args.steps is not None:
        changes["total_steps"] = args.steps
    try:
        settings = base.replace(**{"task_options": options, **changes})
    except ValueError as error:
        raise CommandError(str(error)) from None
    for name in NETWORK if checkpoint else ():
        was, given = getattr(base, name), getattr(settings, name)
        if was != given:
            raise CommandError(f"--set {name}={given} is given, and the network in {checkpoint} has {was} for good")
    return settings


def _short(steps: float) -> str:
    if steps < 1000:
        return f"{steps:.0f}"
    return f"{steps / 1e6:.2f}M" if steps >= 1e5 else f"{steps / 1e3:.0f}k"


def main(args: argparse.Namespace) -> int:
    for module in ("gymnasium", "torch", "rsl_rl", "matplotlib"):
        need(module, "train")
    quiet_threads()
    from dualstep.envs import registry
    from dualstep.envs.training.finite import WeightsError
    from dualstep.envs.training.record import Recorder, tensorboard_is_there
    from dualstep.envs.training.runs import hold
    from dualstep._folders import FolderError, explain

    if args.wandb:
        need("wandb", "wandb")
    try:
        task, _ = registry.find(args.task)
    except (TypeError, ValueError) as error:
        raise CommandError(str(error)) from None
    leads = os.environ.get("RANK", "0") == "0"
    learner, folder = _prepare(args, task, leads)
    progress = Progress(f"train {task}", quiet=not leads)
    try:
        held = hold(folder) if leads else None
    except FolderError as error:
        raise CommandError(str(error)) from None
    recorder = Recorder(folder, learner, leads=leads, kept=args.keep, say=progress.line)
    try:
        if leads and (tensorboard_is_there() if args.tensorboard is None else args.tensorboard):
            need("tensorboard", "train")
            recorder.tensorboard()
        if leads and args.wandb:
            recorder.wandb(args.wandb)
        interrupted = _learn(args, learner, recorder, progress)
        if learner.world == 1 or not interrupted:
            recorder.save(last=True)
            learner.count_everywhere()
    except OSError as error:
        told = f"nothing can be written to '{folder}', and what was learned since its last checkpoint is lost"
        raise CommandError(f"{told}: {explain(error)}", status=1) from None
    except WeightsError as error:
        last = folder / LATEST
        kept = f"the last checkpoint before it is '{last}'" if last.exists() else "no checkpoint was written before it"
        raise CommandError(f"{error}; {kept}", status=1) from None
    finally:
        recorder.close()
        if held is not None:
            os.close(held)
    if not leads:
        return 0
    return _finish(args, learner, folder, interrupted)


def _prepare(args: argparse.Namespace, task: str, leads: bool) -> tuple[Any, Path]:
    """The learner, and the folder of its run; whatever cannot be done is refused here."""
    from dualstep.envs.training.learner import CheckpointError, Learner, check_code, read_checkpoint, settings_from
    from dualstep._folders import FolderError
    from dualstep.envs.training.runs import find_checkpoint, new_run, own_folder
    from dualstep.envs.training.settings import settings_of

    if args.resume and args.checkpoint:
        raise CommandError("--resume and --checkpoint are given, and a run is gone on with, or begun from a checkpoint")
    home = args.out or Path("out") / "train" / f"{task}-{args.seed}"
    checkpoint = args.checkpoint and find_checkpoint(args.checkpoint)
    goes_on = args.resume
    if goes_on:
        checkpoint = find_checkpoint(home)
    try:
        whole = read_checkpoint(checkpoint, task) if checkpoint else None
        algorithm = whole.get("library", "ppo") if whole else args.algorithm or "ppo"
        if args.algorithm not in (None, algorithm):
            raise CommandError(f"--algorithm {args.algorithm} is given, and {checkpoint} is of {algorithm}")
        kind: Any = Learner
        base = settings_of(task)
        if algorithm == "sac":
            need("stable_baselines3", "sb3")
            from dualstep.envs.training.off_policy import SETTINGS as base
            from dualstep.envs.training.off_policy import USED, SacLearner as kind

            _check_settings(args.set, base, USED)
        if whole:
            base = settings_from(whole)
        if whole and goes_on and type(whole.get("seed")) is int:
            # a run has one seed, whatever folder it was asked for by
            args.seed = whole["seed"]
        settings = _settings(args, task, base, checkpoint)
        if checkpoint:
            check_code(settings, checkpoint, False, [words.partition("=")[0] for words in args.set])
        if whole and settings.total_steps <= whole["steps"]:
            taken = f"'{checkpoint}' has taken {whole['steps']:,} steps"
            raise CommandError(f"{taken}, and --steps is {settings.total_steps:,} in all: it must be above that")
        learner = kind(task, settings, seed=args.seed, device=args.device, num_threads=args.num_threads)
        exact = checkpoint is not None and learner.load(checkpoint)
        if goes_on and checkpoint is not None:
            folder = checkpoint.parent
        elif not leads:
            folder = home
        else:
            folder = new_run(home) if args.out is None else own_folder(home)
    except (CheckpointError, FileNotFoundError, FolderError, TypeError, ValueError, ImportError) as error:
        raise CommandError(str(error)) from None
    if leads:
        say(f"{learner.env.env!r}: {_short(settings.total_steps)} steps, batches of {learner.batch_size:,}"
            f"{f', on {learner.world} processes' if learner.world > 1 else ''}, to {folder}")
        if checkpoint:
            say(f"going on from {checkpoint}, {_short(learner.steps)} steps, "
                f"{'exactly where it was' if exact else 'with episodes that begin anew'}")
    return learner, folder


def _learn(args: argparse.Namespace, learner: Any, recorder: Any, progress: Progress) -> bool:
    """Runs it, tells of it, saves it now and then; whether Ctrl-C ended it."""
    total, task = learner.settings.total_steps, type(learner.env.env.task).__name__
    limit = None if args.minutes is None else 60 * args.minutes
    began, first, saved, told = time.monotonic(), learner.steps, time.monotonic(), set()

    def report(point: Any) -> None:
        nonlocal saved
        done = point.steps / total
        if limit is not None:
            done = max(done, (time.monotonic() - began) / limit)
        speed = (point.steps - first) / (time.monotonic() - began)
        for name in set(learner.nonfinite) - told:
            told.add(name)
            progress.line(f"{task}.{name} gave values that are not finite: they count as 0, and are counted")
        told_now = f"return {point.episode_return:.1f}  {_short(point.steps)}  {_short(speed)}/s"
        progress.update(min(done, 0.999), told_now)
        recorder.point(point)
        if learner.agree(time.monotonic() - saved > 60 * args.save_minutes or recorder.due(point.steps)):
            recorder.save()
            saved = time.monotonic()

    try:
        learner.learn(total, seconds=limit, report=report)
    except KeyboardInterrupt:
        progress.line(f"interrupted after {_short(learner.steps)} of {_short(total)} steps")
        return True
    progress.update(1.0)
    return False


def _finish(args: argparse.Namespace, learner: Any, folder: Path, interrupted: bool) -> int:
    """The curve as a picture, and what the policy is worth."""
    from dualstep._folders import explain
    from dualstep.envs.training import curves

    try:
        curves.draw(folder / "curve.png", f"{learner.task}, seed {args.seed}", learner.curve)
    except OSError as error:  # the training stands
        say(f"no curve.png could be written to '{folder}': {explain(error)}")
    found = _summary(args, learner, folder, interrupted)
    if args.json:
        print_json(found)
    else:
        _print(found, args.task)
    if not interrupted:
        return 0
    where = f"--out {quote(str(args.out))}" if args.out else f"--seed {args.seed}"
    say(f"to go on: dualstep train {quote(args.task)} {where} --resume")
    return 130


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _finite(value: float) -> float | None:
    return value if value == value else None


def _summary(args: argparse.Namespace, learner: Any, folder: Path, interrupted: bool) -> dict[str, Any]:
    whole = sum(learner.seconds.values()) or 1.0
    last = learner.curve[-1] if learner.curve else None
    found: dict[str, Any] = {
        "task": learner.task,
        "seed": args.seed,
        "device": learner.env.env.sim.description,
        "processes": learner.world,
        "interrupted": interrupted,
        "iterations": learner.iteration,
        "steps": learner.steps,
        "seconds": round(whole, 2),
        "processor_seconds": None if last is None else round(last.processor, 2),
        "steps_per_second": round(learner.steps / whole),
        "share": {name: round(value / whole, 3) for name, value in learner.seconds.items()},
        "training_return": None if last is None else _finite(last.episode_return),
        "diverged": learner.diverged_everywhere,
        "nonfinite": learner.nonfinite,
        "folder": str(folder),
    }
    if args.video_seconds and not interrupted:
        from dualstep.envs.training.player import film_of

        try:
            policy, seconds = learner.policy(), args.video_seconds
            found["video"] = str(film_of(learner.task, learner.settings, policy, folder / "video", seconds))
        except (ImportError, OSError, RuntimeError) as error:  # the training stands
            found["no_video"] = str(error)
    if args.episodes and not interrupted:
        found.update(worth(learner.task, learner.settings, learner.policy(), args.episodes, args.device))
    return found


def worth(task: str, settings: Any, policy: Any, episodes: int, device: str, seed: int = 0) -> dict[str, Any]:
    """Episodes without exploration, with starts that training did not see: here, and in Gymnasium's own environment or,
    where it has none of the name, in the same task on MuJoCo."""
    import gymnasium

    from dualstep.envs.contact import for_few
    from dualstep.envs.making import TASK_OPTIONS
    from dualstep.envs.training.evaluate import episodes_here, episodes_on_mujoco, returns_in_gymnasium

    def figures(returns: Any) -> dict[str, Any]:
        return {"mean": float(returns.mean()), "std": float(returns.std()), "episodes": episodes}

    def whole(found: Any) -> dict[str, Any]:
        told = {name: float(mean.mean()) for name, mean in found.told.items()}
        return {**figures(found.returns), "ended_early": float(found.ended_early.mean()), "told": told}

    options = dict(settings.task_options)
    limit = {name: value for name, value in options.items() if name == "max_episode_steps"}
    seed += 10_000
    here = for_few(options, episodes)
    found = {"return": whole(episodes_here(task, policy, episodes, seed=seed, device=device, **here))}
    law = options.get("contact")
    # that one has nothing of ours
    options = {name: value for name, value in options.items() if name not in SHARED}
    ours = not options.keys().isdisjoint(TASK_OPTIONS)
    where = "gymnasium" if f"{task}-v5" in gymnasium.registry and not ours else "mujoco"
    try:
        if where == "gymnasium":
            found[where] = figures(returns_in_gymnasium(task, policy, episodes, seed=seed, **limit, **options))
        elif law is not None:
            found[where] = {"unavailable": "it has no such law of contact"}
        else:
            found[where] = whole(episodes_on_mujoco(task, policy, episodes, seed=seed, **limit, **options))
    except Exception as error:  # a task of its own, or Gymnasium without MuJoCo: the rest stands
        found[where] = {"unavailable": f"{type(error).__name__}: {error}"}
    return found


def print_worth(found: dict[str, Any]) -> None:
    if "return" not in found:
        return
    here = found["return"]
    where = "gymnasium" if "gymnasium" in found else "mujoco"
    name = {"gymnasium": "in Gymnasium's environment, on MuJoCo", "mujoco": "the same task on MuJoCo"}[where]
    print(f"  return {here['mean']:.1f} +- {here['std']:.1f}, of {here['episodes']} episodes{_told(here)}")
    there = found[where]
    if "mean" in there:
        # of costs, which are below zero, a share says nothing
        share = f" ({there['mean'] / here['mean']:.0%})" if min(here["mean"], there["mean"]) > 0 else ""
        print(f"  {name}: {there['mean']:.1f} +- {there['std']:.1f}{share}{_told(there)}")
    else:
        print(f"  not tried {name}: {there['unavailable']}")


def _told(found: dict[str, Any]) -> str:
    """What a task calls an error and a success, and how many of its episodes it ended."""
    told = found.get("told", {})
    errors = [f"{name} {value:.3f}" for name, value in told.items() if name.endswith("_error")]
    errors += [f"success {told['success']:.0%} of the time"] if "success" in told else []
    return f"; {', '.join(errors)}, {found['ended_early']:.0%} ended early" if errors else ""


def _print(found: dict[str, Any], given: str) -> None:
    share = ", ".join(f"{name} {value:.0%}" for name, value in found["share"].items())
    speed = f"{found['steps_per_second']:,}/s"
    print(f"{found['task']}: {found['steps']:,} steps in {found['seconds']:.0f} s ({speed}; {share})")
    if found["diverged"]:
        print(f"  {found['diverged']} episodes ended because their simulation diverged")
    for name, times in found["nonfinite"].items():
        print(f"  {name} of the task was not finite {times:,} times: that counted as 0")
    print_worth(found)
    if "no_video" in found:
        print(f"  no video: {found['no_video']}")
    video = f", {Path(found['video']).name}" if "video" in found else ""
    print(f"  {found['folder']}: {LATEST}, curve.csv, curve.png{video}")
    # no code is run that a checkpoint names: a task of the user's own is said again
    task = f" --task {quote(given)}" if ":" in given else ""
    print(f"  to see it move: dualstep play {quote(found['folder'] + '/' + LATEST)}{task}")
