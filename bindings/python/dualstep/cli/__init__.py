"""The command line. A command is a line in COMMANDS and a module of this folder with `add_arguments` and `main`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from dualstep.cli.common import CommandError

# name: what it does. The module dualstep.cli.<name> has add_arguments(parser) and main(args) -> exit status;
# it is imported only when its command is asked for, so that what it needs may be an extra
COMMANDS = {
    "audit": "run a model, or a trained policy, under every contact model, and report what differs",
    "bench": "measure steps per second, with their accuracy, beside mujoco.batch",
    "demo": "show robots that run, in a web page",
    "export": "write a trained policy as ONNX or TorchScript",
    "info": "what this installation can run on, and what a model holds",
    "tasks": "list what there is to train",
    "train": "train a policy for a task, with PPO",
    "play": "show what a trained policy does, and what it is worth",
    "view": "show a model, or a task, in a web page",
}


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser of all commands, with the arguments of the chosen one."""
    from dualstep import __version__

    parser = argparse.ArgumentParser(prog="dualstep", description="A batched rigid-body simulator.")
    parser.add_argument("--version", action="version", version=f"dualstep {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == chosen:
            module = importlib.import_module(f"dualstep.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(main=module.main)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit status: 0, 1 where its work failed, 2 where it was asked wrongly."""
    argv = list(sys.argv[1:] if argv is None else argv)
    chosen = next((word for word in argv if not word.startswith("-")), None)
    args = build_parser(chosen).parse_args(argv)
    try:
        return args.main(args)
    except CommandError as error:
        print(f"dualstep {args.command}: {error}", file=sys.stderr)
        return error.status
    except BrokenPipeError:
        # the reader of our output has left, as `| head` does; closing it again at exit would complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError as error:
        print(f"dualstep {args.command}: {str(error) or 'there is not enough memory'}", file=sys.stderr)
        return 1
    except OSError as error:
        where = f": '{error.filename}'" if error.filename else ""
        print(f"dualstep {args.command}: {(error.strerror or str(error)).lower()}{where}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"dualstep {args.command}: interrupted", file=sys.stderr)
        return 130
