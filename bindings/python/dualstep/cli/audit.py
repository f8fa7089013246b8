"""`dualstep audit MODEL`: one model under every contact model, and what each gets wrong.

`dualstep audit CHECKPOINT`: a trained policy under every contact model that a batch runs, and what is left of it.
"""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path

from dualstep.cli.common import (
    CommandError,
    Progress,
    a_path,
    add_common,
    add_task,
    find_model,
    load_model,
    need,
    not_negative,
    quiet_threads,
)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is given, and it must be a number of at least 0")
    return value


COLUMNS = """columns of a model's table, none of which should be above 0 but the last two:
  penetration     deepest overlap [m]
  distance_force  largest normal force on a contact that is apart [N]
  signorini       mean distance from closed at which the normal forces act [m]
  dissipation     part of the friction power mu f_n |v_t| that is missing
  cone            largest friction above mu f_n, relative to the largest f_n
  energy          largest energy gained beyond the work of the actuators and of surfaces that move [J]
  momentum        largest momentum that no force explains, relative to gravity's of a step
  order           how the final position converges with the timestep h: differences ~ h^order
  us/step         microseconds for a step of one environment

of a policy's table, under every law from the same starts:
  kept            return, relative to that under the law that the policy was trained under
  difference      of returns from the same starts, with its standard error
  falls           share of the episodes that ended before their time limit
  given, net      work of contacts: the positive part, and all of it [W]; motors: positive work of the actuators
  penetration     mean over time of the deepest overlap; deepest: of all [mm]
  slip            speed at which loaded contacts slide, weighted by normal force [mm/s]
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from dualstep.measure.audit import FORMULATIONS

    parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, COLUMNS
    parser.add_argument("model", help="an MJCF or URDF file, the name of a model, or a "
                        "checkpoint or folder of a training: the policy is then audited")  # fmt: skip
    parser.add_argument("--formulations", nargs="+", choices=list(FORMULATIONS), metavar="NAME",
                        help=f"some of {', '.join(FORMULATIONS)} (default: all)")  # fmt: skip
    parser.add_argument("--duration", type=_number, metavar="T", help="seconds (default: 1; of a policy: whole "
                        "episodes)")  # fmt: skip
    parser.add_argument(
        "--actions", type=_number, default=0.0, metavar="S", help="random controls, in their range times S"
    )
    parser.add_argument(
        "--noise", type=_number, default=0.0, metavar="V", help="size of a random velocity at the start"
    )
    parser.add_argument("--keyframe", type=not_negative, default=None, metavar="K", help="start from this keyframe")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the model, "
                        "as restitution=0.5 or contact_parameters=spring_damper; may be repeated")  # fmt: skip
    parser.add_argument("--no-convergence", action="store_true", help="leave out the runs with smaller timesteps")
    add_task(parser)
    parser.add_argument("--plot", type=a_path, metavar="FILE", help="write the curves to a picture")
    add_common(parser, num_envs=None)


def _policy(args: argparse.Namespace) -> int:
    """The audit of a checkpoint."""
    for module in ("gymnasium", "torch", "rsl_rl"):
        need(module, "train")
    for name in ("actions", "noise", "keyframe", "option", "no_convergence"):
        if getattr(args, name):
            raise CommandError(f"--{name.replace('_', '-')} is given, and it is for a model, not for a policy")
    quiet_threads()
    from dualstep.envs.training.contact_audit import audit_policy
    from dualstep.envs.training.learner import CheckpointError
    from dualstep.envs.training.player import load_policy
    from dualstep.envs.training.threads import torch_threads

    from dualstep.envs import registry

    try:
        known = None if args.task is None else registry.find(args.task)[0]
        task, settings, policy = load_policy(Path(args.model), known, trust=args.trust)
    except (CheckpointError, TypeError, ValueError, ImportError) as error:
        raise CommandError(str(error)) from None
    progress = Progress(f"audit {task}")
    try:
        with torch_threads(1):
            found = audit_policy(
                task, policy, settings.task_options, chosen=args.formulations, episodes=args.num_envs or 32,
                seed=args.seed + 10_000, device="cpu" if args.device == "auto" else args.device, seconds=args.duration,
                report=progress.update,
            )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise CommandError(str(error), status=1) from None
    if args.plot is not None:
        found.draw(args.plot)
    print(found.to_json() if args.json else found.table())
    return 0


def _set_options(model, texts: list[str]) -> None:
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise CommandError(f"--option is given {text!r}, and wants NAME=VALUE")
        given: object = value
        if value in ("None", "True", "False"):
            given = {"None": None, "True": True, "False": False}[value]
        else:
            try:
                given = float(value)
                given = int(given) if given.is_integer() and "." not in value and "e" not in value.lower() else given
            except ValueError:
                pass
        if not hasattr(model.opt, name):
            near = difflib.get_close_matches(name, [word for word in dir(model.opt) if not word.startswith("_")], n=1)
            raise CommandError(f"there is no option '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
        try:
            setattr(model.opt, name, given)
        except ValueError as error:
            raise CommandError(str(error)) from None


def main(args: argparse.Namespace) -> int:
    from dualstep.measure.audit import audit

    if args.plot is not None:
        need("matplotlib", "bench")
        if args.plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise CommandError(f"--plot is given '{args.plot}', and its name must end in .png, .svg or .pdf")
        if not args.plot.resolve().parent.is_dir():
            raise CommandError(f"--plot is given '{args.plot}', and there is no folder '{args.plot.parent}'")
    if args.duration == 0:
        raise CommandError("--duration is 0, and it must be positive")
    if Path(args.model).is_dir() or Path(args.model).suffix == ".pt":
        return _policy(args)
    if args.task is not None or args.trust:
        raise CommandError("--task and --trust are for the checkpoint of a policy, and a model is given")
    model = load_model(find_model(args.model))
    _set_options(model, args.option)
    qpos = qvel = None
    if args.keyframe is not None:
        if args.keyframe >= model.nkey:
            raise CommandError(f"keyframe {args.keyframe} is given, and the model has {model.nkey}")
        qpos, qvel = model.key_qpos[args.keyframe], model.key_qvel[args.keyframe]
    # the kernels of a GPU pay off from thousands of environments on
    device = "cpu" if args.device == "auto" else args.device
    progress = Progress("audit")
    try:
        found = audit(model, formulations=args.formulations, duration=args.duration or 1.0, num_envs=args.num_envs or 1,
                      seed=args.seed, actions=args.actions, noise=args.noise, qpos=qpos, qvel=qvel,
                      convergence=not args.no_convergence, device=device, report=progress.update)  # fmt: skip
    except (ValueError, RuntimeError) as error:
        raise CommandError(str(error), status=1) from None
    if args.plot is not None:
        found.draw(args.plot)
    print(found.to_json() if args.json else found.table())
    return 0
