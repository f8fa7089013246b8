"""`dualstep audit MODEL`: one model under every contact model, and what each gets wrong."""

from __future__ import annotations

import argparse
from pathlib import Path

from dualstep.cli.common import CommandError, add_common, find_model, load_model, need, not_negative


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is given, and it must be a number of at least 0")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from dualstep.measure.audit import FORMULATIONS

    parser.add_argument("model", help="an MJCF or URDF file, or the name of one of Gymnasium's models")
    parser.add_argument("--formulations", nargs="+", choices=list(FORMULATIONS), metavar="NAME",
                        help=f"some of {', '.join(FORMULATIONS)} (default: all)")  # fmt: skip
    parser.add_argument("--duration", type=_number, default=1.0, metavar="T", help="seconds (default: %(default)s)")
    parser.add_argument("--actions", type=_number, default=0.0, metavar="S", help="random controls, in their range times S")
    parser.add_argument("--noise", type=_number, default=0.0, metavar="V", help="size of a random velocity at the start")
    parser.add_argument("--keyframe", type=not_negative, default=None, metavar="K", help="start from this keyframe")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the model, as "
                        "restitution=0.5 or contact_parameters=seed; may be given several times")  # fmt: skip
    parser.add_argument("--no-convergence", action="store_true", help="leave out the runs with smaller timesteps")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the curves to a picture")
    add_common(parser, num_envs=1)


def _set_options(model, texts: list[str]) -> None:  # noqa: ANN001
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
        try:
            if not hasattr(model.opt, name):
                raise ValueError(f"there is no option '{name}'")
            setattr(model.opt, name, given)
        except ValueError as error:
            raise CommandError(str(error)) from None


def main(args: argparse.Namespace) -> int:
    from dualstep.measure.audit import audit

    if args.plot is not None:
        need("matplotlib", "bench")
    if args.duration == 0:
        raise CommandError("--duration is 0, and it must be positive")
    model = load_model(find_model(args.model))
    _set_options(model, args.option)
    qpos = qvel = None
    if args.keyframe is not None:
        if args.keyframe >= model.nkey:
            raise CommandError(f"keyframe {args.keyframe} is given, and the model has {model.nkey}")
        qpos, qvel = model.key_qpos[args.keyframe], model.key_qvel[args.keyframe]
    try:
        found = audit(model, formulations=args.formulations, duration=args.duration, num_envs=args.num_envs,
                      seed=args.seed, actions=args.actions, noise=args.noise, qpos=qpos, qvel=qvel,
                      convergence=not args.no_convergence, device=args.device)  # fmt: skip
    except (ValueError, RuntimeError) as error:
        raise CommandError(str(error), status=1) from None
    if args.plot is not None:
        found.draw(args.plot)
    print(found.to_json() if args.json else found.table())
    return 0
