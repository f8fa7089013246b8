"""`dualstep audit MODEL`: one model under every contact model, and what each gets wrong."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path

from dualstep.cli.common import CommandError, Progress, add_common, find_model, load_model, need, not_negative


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is given, and it must be a number of at least 0")
    return value


COLUMNS = """columns of the table, none of which should be above 0 but the last two:
  penetration     deepest overlap [m]
  distance_force  largest normal force on a contact that is apart [N]
  signorini       mean distance from closed at which the normal forces act [m]
  dissipation     part of the friction power mu f_n |v_t| that is missing
  cone            largest friction above mu f_n, relative to the largest f_n
  energy          largest energy gained beyond the work of the actuators [J]
  momentum        largest momentum that no force explains, relative to gravity's of a step
  order           how the final position converges with the timestep h: differences ~ h^order
  us/step         microseconds for a step of one environment
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from dualstep.measure.audit import FORMULATIONS

    parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, COLUMNS
    parser.add_argument("model", help="an MJCF or URDF file, or the name of one of Gymnasium's models")
    parser.add_argument("--formulations", nargs="+", choices=list(FORMULATIONS), metavar="NAME",
                        help=f"some of {', '.join(FORMULATIONS)} (default: all)")  # fmt: skip
    parser.add_argument("--duration", type=_number, default=1.0, metavar="T", help="seconds (default: %(default)s)")
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
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the curves to a picture")
    add_common(parser, num_envs=1)


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
        found = audit(model, formulations=args.formulations, duration=args.duration, num_envs=args.num_envs,
                      seed=args.seed, actions=args.actions, noise=args.noise, qpos=qpos, qvel=qvel,
                      convergence=not args.no_convergence, device=device, report=progress.update)  # fmt: skip
    except (ValueError, RuntimeError) as error:
        raise CommandError(str(error), status=1) from None
    if args.plot is not None:
        found.draw(args.plot)
    print(found.to_json() if args.json else found.table())
    return 0
