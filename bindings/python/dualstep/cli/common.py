"""What the commands share: their usual arguments, errors for people, finding a model, progress."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

from dualstep._folders import FolderError, make_folder
from dualstep._models import gymnasium_models, shipped_models


class CommandError(Exception):
    """Ends a command with a line on stderr."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def need(module: str, extra: str) -> None:
    """Refuses to go on without an optional package, and says how to get it."""
    if importlib.util.find_spec(module) is None:
        raise CommandError(f"{module} is missing: pip install 'dualstep[{extra}]' brings it")


def positive(text: str) -> int:
    """An argument that is an integer from 1 on."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is given, and it must be a positive integer")
    return value


def a_path(text: str) -> Path:
    """An argument that names a file or a folder; without a word it would be the folder that one is in."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is given, and it must be a path")
    return Path(text)


def not_negative(text: str, most: float = math.inf) -> int:
    """An argument that is an integer from 0 on."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not 0 <= value <= most:
        range_ = "of 0 or more" if most == math.inf else f"from 0 to {most}"
        raise argparse.ArgumentTypeError(f"{text!r} is given, and it must be an integer {range_}")
    return value


def port(text: str) -> int:
    """An argument that is a port of TCP; 0 is any that is free."""
    return not_negative(text, 65535)


def positive_number(text: str) -> float:
    """An argument that is a number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is given, and it must be a positive number")
    return value


def count(text: str) -> int:
    """An argument that is a positive integer, and may be written as 2e6."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not (value >= 1 and value.is_integer()):
        raise argparse.ArgumentTypeError(f"{text!r} is given, and it must be a positive integer, such as 2000 or 2e6")
    return int(value)


def add_common(parser: argparse.ArgumentParser, *, num_envs: int | None = 4096, as_json: bool = True) -> None:
    """--device, --num-envs, --seed and, for commands that print figures, --json."""
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1, emulated, or auto (default: %(default)s)")
    shown = "default: %(default)s" if num_envs else "default: as the command chooses"
    parser.add_argument("--num-envs", type=positive, default=num_envs, metavar="N", help=f"environments ({shown})")
    parser.add_argument("--seed", type=not_negative, default=0, metavar="S", help="of random numbers (default: 0)")
    if as_json:
        parser.add_argument("--json", action="store_true", help="print JSON on stdout, and nothing else there")


def add_task(parser: argparse.ArgumentParser) -> None:
    """--task and --trust: whose code a checkpoint of a task of one's own is played with."""
    parser.add_argument(
        "--task", metavar="TASK", help="the checkpoint's task, where it is yours: FILE.py:CLASS; others are refused"
    )
    parser.add_argument(
        "--trust", action="store_true", help="import the task from the file or module that the checkpoint names"
    )


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))


def folder_to_write(folder: Path) -> None:
    """Makes the folder, or refuses it before there is anything to write."""
    try:
        make_folder(folder, "nothing")
    except FolderError as error:
        raise CommandError(str(error)) from None


def find_model(text: str) -> Path:
    """A model file: by its path, or by name, of one of Gymnasium's ("humanoid") or of one that is shipped ("stack")."""
    from dualstep._models import named_models

    path = Path(text)
    if path.is_file():
        return path
    # Gymnasium's humanoid is what its tasks have, and what figures are of
    known = {**shipped_models(), **gymnasium_models(), **{key: at for key, at in named_models().items() if "/" in key}}
    if text in known:
        return known[text]
    if text and path.is_dir():
        raise CommandError(f"'{text}' is a directory, and a model file, or the name of a model, is wanted")
    if path.suffix or len(path.parts) > 1:
        raise CommandError(f"there is no model file '{text}'")
    lower = {name.lower(): name for name in known}
    near = [lower[word] for word in difflib.get_close_matches(text.lower(), lower, n=3)] or sorted(known)
    more = "" if gymnasium_models() else "; Gymnasium, whose models have such names, is not installed: pip install " \
        "'dualstep[bench]' brings it"  # fmt: skip
    raise CommandError(f"there is no model file '{text}', and no model has that name: {', '.join(near)}{more}")


def load_model(path: Path):
    """The compiled model; a refusal ends the command with the loader's own words."""
    import dualstep as ds

    try:
        return ds.Model.from_mjcf(path)
    except (ValueError, FileNotFoundError) as error:
        raise CommandError(str(error)) from None


def quiet_threads() -> None:
    """OpenMP's threads sleep while they wait, instead of taking a processor each. To be said before torch is loaded."""
    for name, value in (("OMP_WAIT_POLICY", "passive"), ("KMP_BLOCKTIME", "0")):
        os.environ.setdefault(name, value)


class Progress:
    """A line on stderr that says how far a job is: redrawn on a terminal, a few plain lines elsewhere."""

    WIDTH = 24

    def __init__(self, title: str, *, quiet: bool = False) -> None:
        self._title, self._quiet = title, quiet
        self._live = sys.stderr.isatty()
        self._shown = -1.0
        self._began = time.monotonic()
        self._open = False

    def line(self, text: str) -> None:
        """A line of its own; what is redrawn goes on below it."""
        if not self._quiet:
            sys.stderr.write(("\n" if self._open else "") + text + "\n")
            sys.stderr.flush()
        self._open = False

    def update(self, done: float, note: str = "") -> None:
        """`done` from 0 to 1."""
        done = min(max(done, 0.0), 1.0)
        # elsewhere than on a terminal, a line for each quarter
        if self._quiet or (not self._live and done < min(self._shown + 0.25, 1.0)) or done == self._shown:
            return
        self._shown = done
        bar = "#" * round(done * self.WIDTH)
        seconds = time.monotonic() - self._began
        line = f"{self._title:<28} [{bar:<{self.WIDTH}}] {done:4.0%} {seconds:5.1f} s  {note}"
        self._open = self._live and done < 1.0
        if self._live:
            sys.stderr.write(f"\r\x1b[2K{line[:118]}" + ("\n" if done == 1.0 else ""))
        else:
            sys.stderr.write(line.rstrip() + "\n")
        sys.stderr.flush()
